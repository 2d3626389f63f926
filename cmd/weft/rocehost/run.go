package rocehost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/weft-sdn/weft/endpoint"
	"github.com/weft-sdn/weft/packet"
)

// Port is where the host's frames go and come from; live.Port is one.
type Port interface {
	Attach(deliver func(frames [][]byte), link func(up bool))
	Send(frames [][]byte) (taken, octets int)
	Close() error
}

// Progress is told how far a host is about once a second, and at its end.
type Progress func(p Counts)

// Counts is how far a host is.
type Counts struct {
	Written    uint64 // octets that were acknowledged
	ToWrite    uint64 // octets of all writes
	Received   uint64 // octets of payload executed
	Expected   uint64 // octets waited for
	SinceStart time.Duration
}

var (
	// ErrInterrupted says that a host was told to end before it had done its work.
	ErrInterrupted = errors.New("interrupted")
	// ErrWrite says that a write failed.
	ErrWrite = errors.New("write failed")
)

const (
	frameQueue    = 8192 // received frames that may wait; more are dropped
	frameBatch    = 256  // frames handled before sending goes on
	reportingTime = time.Second
)

// runner owns the endpoint.
type runner struct {
	cfg     *Config
	host    *endpoint.Host
	port    Port
	start   time.Time
	frames  chan []byte
	spare   chan []byte
	dropped atomic.Uint64 // frames that found the queue full
	regions []*endpoint.Region
	writes  []*writing
	queues  []*sendQueue
	refused uint64        // frames the port did not take
	last    time.Duration // when the last frame came
}

// writing is a Write under way.
type writing struct {
	*Write
	data             []byte
	posted, complete int // octets
	began, ended     time.Duration
	status           endpoint.Status
}

// sendQueue is the writes of a queue pair, those that are done aside.
type sendQueue struct {
	qp     *endpoint.QP
	writes []*writing
}

func (w *writing) done() bool { return w.complete == len(w.data) && w.posted == len(w.data) }

// Run runs a host until its work is done or ctx ends, closes the port and
// reports. link is the Ethernet address of the interface. The report is there
// also when the work failed; errors wrap ErrWrite, ErrInterrupted or ErrConfig.
func Run(ctx context.Context, cfg *Config, port Port, link packet.MAC, progress Progress) (*Report, error) {
	r := &runner{
		cfg: cfg, port: port, start: time.Now(),
		frames: make(chan []byte, frameQueue), spare: make(chan []byte, frameQueue),
	}
	if err := r.prepare(link); err != nil {
		return nil, errors.Join(err, port.Close())
	}
	port.Attach(r.deliver, func(bool) {}) // a host that waits for its link just retries
	err := r.loop(ctx, progress)
	err = errors.Join(err, port.Close())
	if progress != nil {
		progress(r.counts())
	}
	report, saveErr := r.report()
	return report, errors.Join(err, saveErr)
}

func (r *runner) prepare(link packet.MAC) error {
	cfg := r.cfg.endpoint(link)
	one := make([][]byte, 1)
	cfg.Output = func(_ time.Duration, frame []byte) {
		one[0] = frame
		if taken, _ := r.port.Send(one); taken == 0 {
			r.refused++
		}
	}
	var err error
	if r.host, err = endpoint.NewHost(cfg); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	for i := range r.cfg.Regions {
		g := &r.cfg.Regions[i]
		region, err := r.host.RegisterMR(g.VA, g.RKey, make([]byte, g.Size), endpoint.AccessRemoteWrite)
		if err != nil {
			return fmt.Errorf("regions[%d]: %w: %w", i, ErrConfig, err)
		}
		r.regions = append(r.regions, region)
	}
	for i := range r.cfg.QueuePairs {
		if _, err := r.host.CreateQP(r.cfg.QueuePairs[i].config()); err != nil {
			return fmt.Errorf("queuePairs[%d]: %w: %w", i, ErrConfig, err)
		}
	}
	for i := range r.cfg.Writes {
		w := &writing{Write: &r.cfg.Writes[i]}
		q, err := r.queue(w.QPN)
		if err != nil {
			return fmt.Errorf("writes[%d]: %w: %w", i, ErrConfig, err)
		}
		if w.data, err = os.ReadFile(w.File); err != nil {
			return fmt.Errorf("writes[%d]: %w: %w", i, ErrConfig, err)
		}
		r.writes, q.writes = append(r.writes, w), append(q.writes, w)
	}
	return nil
}

// queue returns the send queue of a queue pair, making it the first time.
func (r *runner) queue(qpn uint32) (*sendQueue, error) {
	for _, q := range r.queues {
		if q.qp.Config().QPN == qpn {
			return q, nil
		}
	}
	qp, err := r.host.QP(qpn)
	if err != nil {
		return nil, err
	}
	q := &sendQueue{qp: qp}
	r.queues = append(r.queues, q)
	return q, nil
}

// deliver queues copies of frames. It is called from the port's goroutine.
func (r *runner) deliver(frames [][]byte) {
	for _, frame := range frames {
		var b []byte
		select {
		case b = <-r.spare:
		default:
		}
		select {
		case r.frames <- append(b[:0], frame...):
		default: // the peer retransmits
			r.dropped.Add(1)
		}
	}
}

func (r *runner) now() time.Duration { return time.Since(r.start) }

func (r *runner) loop(ctx context.Context, progress Progress) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	reporting := time.NewTicker(reportingTime)
	defer reporting.Stop()
	for {
		if err := r.pump(); err != nil {
			return err
		}
		next, pending := r.host.Advance(r.now())
		if err := r.pump(); err != nil {
			return err
		}
		over, at := r.over()
		if over {
			return nil
		}
		var due <-chan time.Time
		if at > 0 && (!pending || at < next) {
			next, pending = at, true
		}
		if pending {
			timer.Reset(max(0, next-r.now()))
			due = timer.C
		}
		select {
		case f := <-r.frames:
			r.receive(f)
		case <-due:
		case <-reporting.C:
			if progress != nil {
				progress(r.counts())
			}
		case <-ctx.Done():
			return r.interrupted()
		}
	}
}

// receive handles a frame and those that wait behind it.
func (r *runner) receive(f []byte) {
	for i := 1; ; i++ {
		r.last = r.now()
		r.host.Receive(r.last, f)
		select {
		case r.spare <- f:
		default:
		}
		if i == frameBatch {
			return
		}
		select {
		case f = <-r.frames:
		default:
			return
		}
	}
}

// pump collects completions and posts what the send queues have room for.
func (r *runner) pump() error {
	for _, q := range r.queues {
		for len(q.writes) > 0 {
			w := q.writes[0]
			if err := r.advance(q.qp, w); err != nil {
				return err
			}
			if !w.done() {
				break
			}
			w.ended = r.now()
			q.writes = q.writes[1:]
		}
	}
	return nil
}

// advance moves a write on.
func (r *runner) advance(qp *endpoint.QP, w *writing) error {
	if w.began == 0 {
		w.began = r.now()
	}
	for {
		c, ok := qp.Poll()
		if !ok {
			break
		}
		if c.Status != endpoint.StatusOK {
			w.status, w.ended = c.Status, r.now()
			return fmt.Errorf("%w: %s: %d of %d octets: %v", ErrWrite, w.File, w.complete, len(w.data), c.Status)
		}
		w.complete += c.Octets
	}
	for w.posted < len(w.data) && qp.SendQueueLen() < qp.Config().SendDepth {
		end := min(w.posted+w.Message, len(w.data))
		err := qp.PostSend(endpoint.WorkRequest{
			Op: endpoint.OpWrite, Data: w.data[w.posted:end], RemoteVA: w.VA + uint64(w.posted), RKey: w.RKey,
		})
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrWrite, w.File, err)
		}
		w.posted = end
	}
	return nil
}

// over reports whether the host has done its work, or when it will have lingered
// long enough.
func (r *runner) over() (over bool, at time.Duration) {
	for _, w := range r.writes {
		if !w.done() {
			return false, 0
		}
	}
	n := r.counts()
	if n.Expected == 0 && len(r.writes) == 0 || n.Received < n.Expected {
		return false, 0
	}
	if n.Expected == 0 {
		return true, 0
	}
	at = r.last + r.cfg.Linger.D()
	return r.now() >= at, at
}

// interrupted is what the end of ctx means.
func (r *runner) interrupted() error {
	n := r.counts()
	if n.Written < n.ToWrite {
		return fmt.Errorf("%w after %d of %d octets were written", ErrInterrupted, n.Written, n.ToWrite)
	}
	if n.Received < n.Expected {
		return fmt.Errorf("%w after %d of %d octets were received", ErrInterrupted, n.Received, n.Expected)
	}
	return nil
}

func (r *runner) counts() Counts {
	n := Counts{Expected: r.cfg.Expect, SinceStart: r.now()}
	for _, w := range r.writes {
		n.ToWrite += uint64(len(w.data))
		n.Written += uint64(w.complete)
	}
	for i := range r.cfg.QueuePairs {
		if q, err := r.host.QP(r.cfg.QueuePairs[i].QPN); err == nil {
			n.Received += q.Counters().PayloadReceived
		}
	}
	return n
}
