package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-sdn/weft/dataplane"
)

// Config defines what to replay. Run may be called once.
type Config struct {
	Inputs []Input
	// OutDir is the folder of the outputs. Replay makes the folder if its parent exists.
	OutDir string
	// Discard has what leaves counted and not written; OutDir is not wanted.
	Discard bool
	// CPUPort is the port that is named cpu.
	CPUPort uint32
	// Repeat is how many times the inputs are fed, one pass after the other.
	// 0: once.
	Repeat int
}

// Result counts what became of every packet: Packets + Copies is
// Out + Dropped + Waiting.
type Result struct {
	Packets uint64  `json:"packets"` // in
	Out     uint64  `json:"out"`
	Dropped uint64  `json:"dropped"`
	Seconds float64 `json:"seconds"` // from the first packet in until all outputs are written
	PPS     float64 `json:"pps"`     // packets in a second

	Drops map[string]uint64 `json:"drops"` // by name of drop.Reason; those that are not 0
	// made by multicast and clone, less the packets that multicast replaced
	Copies int64 `json:"copies"`
	// Waiting is what was still in the switch when nothing had come in for
	// settle: packets that circulate, or that their queue's rate holds back.
	Waiting int    `json:"waiting"`
	Digests uint64 `json:"digests"` // nobody takes them
}

// Replay is opened inputs and outputs.
type Replay struct {
	cfg Config
	in  sources
	out *sinks
}

// ErrConfig reports that a Config cannot be used.
var ErrConfig = errors.New("replay")

// Open opens and checks everything a run needs; nothing of a refused
// configuration is left open.
func Open(cfg Config) (*Replay, error) {
	switch {
	case len(cfg.Inputs) == 0:
		return nil, fmt.Errorf("%w: no input", ErrConfig)
	case cfg.OutDir == "" && !cfg.Discard:
		return nil, fmt.Errorf("%w: no folder for the outputs", ErrConfig)
	case cfg.Repeat < 0:
		return nil, fmt.Errorf("%w: %d passes; want 1 or more", ErrConfig, cfg.Repeat)
	}
	cfg.Repeat = max(1, cfg.Repeat)
	in, err := openSources(cfg.Inputs)
	if err != nil {
		return nil, err
	}
	out := &sinks{discard: true}
	if !cfg.Discard {
		if out, err = openSinks(cfg.OutDir, cfg.CPUPort, in); err != nil {
			return nil, errors.Join(err, in.close())
		}
	}
	return &Replay{cfg: cfg, in: in, out: out}, nil
}

// Close writes what is left and closes every file.
func (r *Replay) Close() error { return errors.Join(r.out.close(), r.in.close()) }

const (
	// settle is how long after the last packet the switch may go on.
	settle = 100 * time.Millisecond
	// circulations is how many times packets may go round again between two
	// that arrive, beyond what the time between these allows: the clock waits
	// for them.
	circulations = 64
	// passGap is from the last packet of a pass to the first of the next.
	passGap = time.Microsecond
	// turns is how many packets go by between two looks at the context.
	turns = 1024
)

// Run feeds the inputs to a switch, whose output it takes over. When it fails,
// what has left by then is in the outputs.
func (r *Replay) Run(ctx context.Context, sw *dataplane.Switch) (Result, error) {
	sw.SetOutput(r.out)
	before := sw.Stats()
	start := time.Now()
	err := r.run(ctx, sw)
	err = errors.Join(err, r.out.flush())
	took := time.Since(start)

	n := sw.Stats()
	queued, again := sw.Waiting()
	result := Result{
		Packets: n.Received - before.Received, Out: n.Transmitted - before.Transmitted,
		Dropped: n.Drops.Total() - before.Drops.Total(),
		Seconds: took.Seconds(), Drops: map[string]uint64{},
		Copies:  int64(n.Replicated-before.Replicated) - int64(n.Multicast-before.Multicast),
		Waiting: queued + again, Digests: r.out.digests,
	}
	result.PPS = float64(result.Packets) / took.Seconds()
	for reason, count := range n.Drops.All() {
		if count -= before.Drops[reason]; count > 0 {
			result.Drops[reason.String()] = count
		}
	}
	return result, err
}

func (r *Replay) run(ctx context.Context, sw *dataplane.Switch) error {
	c := clock{sw: sw}
	count := 0
	for pass := range r.cfg.Repeat {
		if pass > 0 {
			if err := r.in.rewind(); err != nil {
				return err
			}
		}
		first := r.in.earliest()
		if first == nil {
			return nil
		}
		base := first.at
		began := time.Duration(0)
		if pass == 0 {
			r.out.began = base
		} else {
			began = c.now + passGap
		}
		for s := first; s != nil; s = r.in.earliest() {
			c.until(began + time.Duration(s.at-base))
			sw.Receive(c.now, s.Port, s.frame)
			c.advance()
			if r.out.err != nil {
				return r.out.err
			}
			if err := s.next(); err != nil {
				return err
			}
			if count++; count%turns == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	c.until(c.now + settle)
	return nil
}

// clock is the time of a switch in a replay.
type clock struct {
	sw      *dataplane.Switch
	now     time.Duration
	next    time.Duration // when something is due, if pending
	pending bool
}

// until runs everything due before a time, and moves the clock to that time unless the clock is
// already later.
func (c *clock) until(t time.Duration) {
	for c.pending && c.next < t {
		c.now = c.next
		c.next, c.pending = c.sw.Advance(c.now)
	}
	c.now = max(c.now, t)
}

// advance runs everything due now. A capture with stamps that lie too close, or are all equal,
// gives recirculation no time. The clock gives it some time, but not so much that a packet that
// never ends holds up the rest.
func (c *clock) advance() {
	c.next, c.pending = c.sw.Advance(c.now)
	for range circulations {
		if !c.pending {
			return
		}
		if _, again := c.sw.Waiting(); again == 0 {
			return
		}
		c.now = c.next
		c.next, c.pending = c.sw.Advance(c.now)
	}
}
