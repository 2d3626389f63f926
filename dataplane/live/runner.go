package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-sdn/weft/dataplane/p4rt"
)

// Config is what a Runner is started with.
type Config struct {
	// Device configures the switch and its P4Runtime device. Transmit and
	// Ports are set by the runner; Epoch too, when it is zero.
	Device p4rt.Config
	// Ports are the ports by number. The CPU port is not among them.
	Ports map[uint32]Port
	// Queue is how many received frames may wait for the switch per port;
	// more are dropped and counted. 0: DefaultQueue.
	Queue int
	// Batch is how many frames of a port are processed before the others
	// and the control calls have their turn. 0: DefaultBatch.
	Batch int
}

// Defaults of Config.
const (
	DefaultQueue = 4096
	DefaultBatch = 64
)

// ErrClosed says that a runner has been closed.
var ErrClosed = errors.New("live: switch closed")

// PortStats counts the frames of one port.
type PortStats struct {
	Received   uint64 // handed to the switch
	RxDropped  uint64 // dropped because too many waited
	Sent       uint64 // taken by the port
	TxDropped  uint64 // refused by the port
	RxOctets   uint64
	SentOctets uint64
}

type portCounters struct {
	received, sent, txDropped, rxOctets, sentOctets atomic.Uint64
}

// Runner owns a switch and its device on one goroutine.
type Runner struct {
	cfg      Config
	sessions *p4rt.Sessions
	dev      *p4rt.Device
	in       *inbox
	start    time.Time
	ports    []uint32                 // in order; not changed after Start
	counters map[uint32]*portCounters // not changed after Start
	unknown  atomic.Uint64            // frames sent to a port there is not

	stop     chan struct{} // closed by Close
	stopped  chan struct{} // closed when the goroutine has ended
	stopOnce sync.Once
}

// Start makes the device and runs it. The ports belong to the runner from now
// on, also when Start fails: it closes them.
func Start(cfg Config) (*Runner, error) {
	if cfg.Queue <= 0 {
		cfg.Queue = DefaultQueue
	}
	if cfg.Batch <= 0 {
		cfg.Batch = DefaultBatch
	}
	r := &Runner{
		cfg:      cfg,
		start:    time.Now(),
		counters: make(map[uint32]*portCounters, len(cfg.Ports)),
		stop:     make(chan struct{}),
		stopped:  make(chan struct{}),
	}
	numbers := slices.Sorted(maps.Keys(cfg.Ports))
	r.ports = numbers
	for _, n := range numbers {
		r.counters[n] = &portCounters{}
	}
	r.in = newInbox(numbers)

	dc := cfg.Device
	dc.Transmit = r.transmit
	if len(numbers) > 0 {
		dc.Ports = numbers
	}
	if dc.Epoch.IsZero() {
		dc.Epoch = r.start
	}
	dev, err := p4rt.NewDevice(dc)
	if err != nil {
		return nil, errors.Join(err, r.closePorts())
	}
	r.dev, r.sessions = dev, p4rt.NewSessions(dev)
	for _, n := range numbers {
		cfg.Ports[n].Attach(func(frame []byte) { r.in.putFrame(n, frame, cfg.Queue) })
	}
	go r.run()
	return r, nil
}

// Sessions returns the P4Runtime sessions of the device, for a p4rt.Server.
// They belong to the runner's goroutine: use them inside Do.
func (r *Runner) Sessions() *p4rt.Sessions { return r.sessions }

// Now returns the switch's time.
func (r *Runner) Now() time.Duration { return time.Since(r.start) }

// Do runs f on the goroutine that owns the switch and returns when it has
// run. f must not block. Do fails, and f never runs, when ctx ends before its
// turn comes or the runner is closed. It implements p4rt.Executor.
func (r *Runner) Do(ctx context.Context, f func(now time.Duration)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &call{f: f, done: make(chan struct{})}
	if !r.in.putCall(c) {
		return ErrClosed
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		if r.in.withdraw(c) {
			return ctx.Err()
		}
		<-c.done // it is running, or the runner is closing
	}
	if !c.ran {
		return ErrClosed
	}
	return nil
}

// WithDevice runs f with the device on the goroutine that owns it; see Do.
func (r *Runner) WithDevice(ctx context.Context, f func(now time.Duration, d *p4rt.Device)) error {
	return r.Do(ctx, func(now time.Duration) { f(now, r.dev) })
}

// PortStats returns the counts of a port.
func (r *Runner) PortStats(port uint32) PortStats {
	c := r.counters[port]
	if c == nil {
		return PortStats{}
	}
	return PortStats{
		Received: c.received.Load(), RxDropped: r.in.drops(port),
		Sent: c.sent.Load(), TxDropped: c.txDropped.Load(),
		RxOctets: c.rxOctets.Load(), SentOctets: c.sentOctets.Load(),
	}
}

// NoSuchPort returns how many frames the program sent to ports there are not.
func (r *Runner) NoSuchPort() uint64 { return r.unknown.Load() }

// Close stops the switch and closes its ports. Control calls that wait fail
// with ErrClosed. It returns when everything has ended, and may be called more
// than once, but not from inside Do.
func (r *Runner) Close() error {
	var err error
	r.stopOnce.Do(func() {
		close(r.stop)
		<-r.stopped
		err = r.closePorts()
	})
	<-r.stopped
	return err
}

func (r *Runner) closePorts() error {
	var errs []error
	for _, n := range slices.Sorted(maps.Keys(r.cfg.Ports)) {
		if err := r.cfg.Ports[n].Close(); err != nil {
			errs = append(errs, fmt.Errorf("port %d: %w", n, err))
		}
	}
	return errors.Join(errs...)
}

// transmit is the device's Transmit.
func (r *Runner) transmit(_ time.Duration, port uint32, frame []byte) {
	c := r.counters[port]
	if c == nil {
		r.unknown.Add(1)
		return
	}
	if r.cfg.Ports[port].Send(frame) {
		c.sent.Add(1)
		c.sentOctets.Add(uint64(len(frame)))
	} else {
		c.txDropped.Add(1)
	}
}

func (r *Runner) run() {
	defer close(r.stopped)
	defer func() {
		for _, c := range r.in.close() {
			close(c.done)
		}
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var (
		frames []arrival
		calls  []*call
	)
	for {
		frames, calls = r.in.take(frames, calls, r.cfg.Batch)
		for _, c := range calls {
			c.f(r.Now())
			c.ran = true
			close(c.done)
		}
		for _, a := range frames {
			c := r.counters[a.port]
			c.received.Add(1)
			c.rxOctets.Add(uint64(len(a.frame)))
			r.dev.Receive(r.Now(), a.port, a.frame)
		}
		next, pending := r.dev.Advance(r.Now())
		var due <-chan time.Time
		if pending {
			timer.Reset(max(0, next-r.Now()))
			due = timer.C
		}
		select {
		case <-r.stop:
			return
		case <-r.in.wake:
		case <-due:
		}
	}
}
