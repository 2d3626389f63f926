package dataplane

import (
	"time"

	"github.com/weft-sdn/weft/internal/ring"

	"github.com/weft-sdn/weft/dataplane/drop"
	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/queue"
	"github.com/weft-sdn/weft/dataplane/trace"
	"github.com/weft-sdn/weft/p4"
)

// Config sets a switch up. A zero field takes its default.
type Config struct {
	// CPUPort is the port towards the control plane; default 510.
	CPUPort uint32
	// DropPort is the egress_spec that drops; default 511.
	DropPort uint32
	// Priorities is the number of priority queues a port has, at most 32;
	// default 8. 0 is the lowest priority.
	Priorities int
	// QueueDepth is the default limit of packets in a queue; 0 is none.
	QueueDepth int
	// QueueRate is the default rate of a queue in packets a second; 0 is no
	// limit.
	QueueRate uint64
	// PFCPort is the port through which a program with the table pfc_queue talks to the traffic
	// manager (p4.TargetFrame); default 508. With NoPort, such frames leave like all others.
	PFCPort uint32
	// PauseBuffer is how many octets may wait in an egress queue that was
	// paused and has no entry in that table; default 32 MiB.
	PauseBuffer int
	// PauseSpeed is what pauses are measured by at a port without a speed,
	// in bits a second; default 100 Gb/s.
	PauseSpeed uint64
	// MTU is the longest frame received, in octets; default 10240. Longer
	// ones are dropped.
	MTU int
	// InputQueue is how many received frames of a port may wait for Advance;
	// default 65536. More are dropped. Ports take turns.
	InputQueue int
	// RecirculationQueue is how many recirculated and resubmitted packets may
	// wait; default 4096. More are dropped.
	RecirculationQueue int
	// RecirculationRate bounds recirculations and resubmissions a second, beyond a burst of
	// RecirculationBurst. Packets above the rate wait, so a packet that circulates for ever takes a
	// bounded share. Defaults 4,000,000 and 65,536.
	RecirculationRate  uint64
	RecirculationBurst uint64
	// Seed starts the random number generator of the random primitive.
	Seed uint64
	// Trace observes everything that happens to packets; nil for no tracer.
	Trace trace.Tracer
	// PortChanged, if not nil, is called whenever SetPortUp has changed the state
	// of a port. It must neither block nor call the switch.
	PortChanged func(port uint32, up bool)
}

func (c Config) withDefaults() Config {
	def := func(v *uint32, d uint32) {
		if *v == 0 {
			*v = d
		}
	}
	def(&c.CPUPort, 510)
	def(&c.DropPort, 511)
	def(&c.PFCPort, p4.PfcPort)
	defInt := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	defInt(&c.Priorities, 8)
	c.Priorities = min(c.Priorities, queue.MaxPriorities)
	defInt(&c.MTU, 10240)
	defInt(&c.InputQueue, 65536)
	defInt(&c.RecirculationQueue, 4096)
	defInt(&c.PauseBuffer, 32<<20)
	if c.PauseSpeed == 0 {
		c.PauseSpeed = 100e9
	}
	if c.RecirculationRate == 0 {
		c.RecirculationRate = 4_000_000
	}
	if c.RecirculationBurst == 0 {
		c.RecirculationBurst = 65_536
	}
	return c
}

// Stats counts what a switch did with packets since it was made.
type Stats struct {
	Received, Transmitted     uint64
	Recirculated, Resubmitted uint64
	Cloned, Replicated        uint64
	Multicast                 uint64 // packets that their copies took the place of

	// Drops counts dropped packets by reason. Received + Replicated is the sum of Transmitted,
	// Multicast, all drops, and the packets that wait in the switch.
	Drops drop.Counts

	// NoSession counts clones that were not made because their session does not exist.
	NoSession uint64
	// Runaway counts actions that were cut short after 1,048,576 statements.
	Runaway uint64
	// OutOfRange counts accesses to a register, counter or meter at an index beyond its size. As in
	// BMv2, such a read leaves the destination unchanged, and such a write or count does nothing.
	OutOfRange uint64
}

// Switch is one switch. It is single-threaded; see the package comment.
type Switch struct {
	*engine.State // of the program, with its control methods
	ctx           *engine.Context

	cfg   Config
	out   Output
	stats Stats

	tracer     trace.Tracer
	traceLast  trace.ID     // given last
	traceSince trace.ID     // later ones are known to tracer
	copying    trace.Packet // what the copies being made have in common

	groups   map[uint16]*MulticastGroup
	sessions map[uint16]*CloneSession

	input  inputs            // received
	again  ring.Ring[inItem] // recirculated and resubmitted
	budget tokenBucket       // of again
	queues queue.Manager[queued]
	outBuf []byte // of the frame that leaves, or is copied as it comes

	pfcTable  int            // pfc_queue; -1: the program has none
	pfcParams map[string]int // of its action, by name
	pfcRead   uint64         // changes of the table that the traffic manager knows of
	pfcBuf    []byte
}

// New makes a switch without a program.
func New(cfg Config, out Output) *Switch {
	cfg = cfg.withDefaults()
	s := &Switch{cfg: cfg, out: out, pfcTable: -1}
	s.ctx = engine.New(engine.Config{DropPort: cfg.DropPort, Seed: cfg.Seed})
	s.State = s.ctx.State()
	s.SetTracer(cfg.Trace)
	s.groups = map[uint16]*MulticastGroup{}
	s.sessions = map[uint16]*CloneSession{}
	s.budget = tokenBucket{rate: cfg.RecirculationRate, burst: cfg.RecirculationBurst,
		tokens: cfg.RecirculationBurst}
	s.queues = queue.New[queued](queue.Config{Priorities: cfg.Priorities, Depth: cfg.QueueDepth,
		Rate:        cfg.QueueRate,
		PauseBuffer: uint64(cfg.PauseBuffer), PauseSpeed: cfg.PauseSpeed})
	return s
}

// Stats returns the counts so far.
func (s *Switch) Stats() Stats {
	n := s.stats
	n.OutOfRange, n.Runaway = s.ctx.Faults()
	return n
}

// FollowPaths has packets follow the paths of earlier packets (the default), or has each packet run
// the program, to measure the difference.
func (s *Switch) FollowPaths(follow bool) {
	mode := engine.PathsOff
	if follow {
		mode = engine.PathsEarned
	}
	s.ctx.SetPaths(mode)
}

// Recalled returns how many received frames have followed the path of another since FollowPaths or
// the start of the program.
func (s *Switch) Recalled() uint64 { return s.ctx.Recalled() }

// Config returns the configuration, defaults filled in.
func (s *Switch) Config() Config { return s.cfg }

// SetOutput sets who takes what leaves from now on.
func (s *Switch) SetOutput(out Output) { s.out = out }

// SetProgram starts a program with empty state; nil is none.
func (s *Switch) SetProgram(p *engine.Program) {
	s.drain()
	s.groups = map[uint16]*MulticastGroup{}
	s.sessions = map[uint16]*CloneSession{}
	s.ctx.Load(p)
	s.pfcTable, s.pfcParams, s.pfcRead = -1, nil, 0
	if p != nil {
		s.pfcTable, s.pfcParams = findPFCTable(p)
	}
}

// drain forgets every packet.
func (s *Switch) drain() {
	if s.tracer != nil {
		s.tracer.Forget()
	}
	s.input, s.again = inputs{}, ring.Ring[inItem]{}
	s.queues.Clear()
}

// inItem is a packet waiting for ingress. A recirculated or resubmitted one
// comes with its metadata.
type inItem struct {
	f       *engine.Frame
	p       *engine.PHV
	port    uint32
	arrived uint64
	id      trace.ID
}

// Receive takes a frame that arrived on a port; the frame is copied. It is
// processed by Advance.
func (s *Switch) Receive(now time.Duration, port uint32, data []byte) {
	s.outBuf = s.Exchange(now, port, append(s.outBuf[:0], data...))
}

// Exchange is Receive without a copy: it keeps the buffer of the frame and
// returns a buffer, of this frame or of an earlier one.
func (s *Switch) Exchange(now time.Duration, port uint32, data []byte) (buffer []byte) {
	s.ctx.Tick(now)
	s.stats.Received++
	var id trace.ID
	if s.tracer != nil {
		id = s.traceReceived(port, data)
	}
	switch {
	case s.Program() == nil:
		s.drop(id, drop.NoProgram)
	case !s.PortUp(port):
		s.drop(id, drop.PortDown)
	case len(data) == 0:
		s.drop(id, drop.Empty)
	case len(data) > s.cfg.MTU:
		s.drop(id, drop.Oversize)
	default:
		q := s.input.of(port)
		if q.Len() >= s.cfg.InputQueue {
			s.drop(id, drop.InputFull)
			break
		}
		it := inItem{port: port, arrived: s.ctx.Micros(), id: id}
		it.f, data = s.ctx.NewFrame(data)
		s.input.push(q, it)
	}
	return data
}

// Replace, called within Output.Transmit, leaves the buffer of the frame to the
// caller, and gives the switch another buffer.
func (s *Switch) Replace(buffer []byte) { s.outBuf = buffer }

// Advance runs everything that is due at now and returns when something will
// be due next, if anything is pending. Time never runs backwards: an earlier
// now counts as the latest one seen.
func (s *Switch) Advance(now time.Duration) (next time.Duration, pending bool) {
	s.ctx.Tick(now)
	if s.Program() == nil {
		return 0, false
	}
	now = s.ctx.Now()
	s.budget.refill(now)
	if s.pfcTable >= 0 {
		s.readWatches()
		s.queues.Tick(now, s.dropStorm)
	}
	for turn := 0; ; turn++ {
		if s.queues.Len() > 0 {
			s.egressAll()
		}
		if s.queues.Events() > 0 {
			s.tellProgram()
		}
		switch {
		case s.input.n > 0 && (s.again.Len() == 0 || turn >= againTurns || s.budget.tokens == 0):
			s.ingress(s.input.pop())
			turn = 0
		case s.again.Len() > 0 && s.budget.take():
			s.ingress(s.again.Take())
		case s.again.Len() > 0:
			return s.soonest(s.budget.ready(now))
		default:
			return s.soonest(-1)
		}
	}
}

// againTurns is how many recirculated packets go before a received one that
// waits.
const againTurns = 64

// soonest is the earlier of at (negative is never) and the queues' next.
func (s *Switch) soonest(at time.Duration) (time.Duration, bool) {
	if t, ok := s.queues.Due(); ok && (at < 0 || t < at) {
		at = t
	}
	return max(at, 0), at >= 0
}
