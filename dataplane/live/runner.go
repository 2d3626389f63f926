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
	"github.com/weft-sdn/weft/dataplane/trace"
)

// Config configures a Runner.
type Config struct {
	// Device configures the switch and its P4Runtime device. Transmit and
	// Ports are set by the runner; Epoch too, when it is zero.
	Device p4rt.Config
	// Ports are the ports by number. The CPU port is not among them.
	Ports map[uint32]Port
	// Queue is how many received frames may wait for the switch per port;
	// more are dropped and counted. 0: DefaultQueue.
	Queue int
	// Batch is how many frames of a port the runner processes before other ports and the control calls
	// get their turn. 0: DefaultBatch.
	Batch int
}

// Defaults of Config.
const (
	DefaultQueue = 4096
	DefaultBatch = 64
)

// ErrClosed reports that a runner has been closed.
var ErrClosed = errors.New("live: switch closed")

// PortStats counts the frames of one port.
type PortStats struct {
	Received   uint64 // handed to the switch
	RxOctets   uint64
	RxDropped  uint64 // dropped because too many waited
	RxLost     Losses // that never came as far
	Sent       uint64 // taken by the port
	SentOctets uint64
	TxDropped  uint64 // refused by the port
}

// attachment is a port with its input and output.
type attachment struct {
	Port
	polled             Polled // nil: the port delivers by itself, into in
	in                 *portQueue
	out                outbox
	received, rxOctets atomic.Uint64
}

// Runner owns a switch and its device on one goroutine.
type Runner struct {
	cfg      Config
	sessions *p4rt.Sessions
	dev      *p4rt.Device
	feed     *trace.Feed // of dev's switch
	in       *inbox
	start    time.Time
	ports    []*attachment // by number; not changed after Start
	// attachments at the index of their port number, nil elsewhere; not changed after Start
	numbers []*attachment
	holding []*attachment // with frames in their outboxes; of the goroutine
	unknown atomic.Uint64 // frames sent to a port there is not

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
		cfg:     cfg,
		start:   time.Now(),
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
	numbers := slices.Sorted(maps.Keys(cfg.Ports))
	r.in = newInbox(numbers, cfg.Queue)
	for _, q := range r.in.ports {
		p := cfg.Ports[q.port]
		r.ports = append(r.ports, &attachment{Port: p, in: q, out: outbox{port: p}})
	}

	dc := cfg.Device
	dc.Transmit = r.transmit
	if len(numbers) > 0 {
		dc.Ports = numbers
		r.numbers = make([]*attachment, p4rt.MaxPort+1)
	}
	if dc.Epoch.IsZero() {
		dc.Epoch = r.start
	}
	dev, err := p4rt.NewDevice(dc)
	if err != nil {
		return nil, errors.Join(err, r.closePorts())
	}
	r.dev, r.sessions = dev, p4rt.NewSessions(dev)
	r.feed = trace.NewFeed(dev.Switch().SetTracer)
	if r.in.poller, err = r.findPolled(); err != nil {
		return nil, errors.Join(err, r.closePorts())
	}
	for _, a := range r.ports {
		r.numbers[a.in.port] = a
		deliver := func(frames [][]byte) { r.in.put(a.in, frames) }
		if a.polled != nil {
			deliver = func(frames [][]byte) { r.take(a, frames) }
		}
		a.Attach(deliver, func(up bool) {
			r.setPortUp(a.in.port, up)
		})
	}
	go r.run()
	return r, nil
}

// findPolled finds the polled ports and returns a poller that waits for them; nil without polled
// ports.
func (r *Runner) findPolled() (*poller, error) {
	var descriptors []int
	for _, a := range r.ports {
		if p, ok := as[Polled](a.Port); ok && p.Descriptor() >= 0 {
			a.polled = p
			descriptors = append(descriptors, p.Descriptor())
		}
	}
	if descriptors == nil {
		return nil, nil
	}
	return newPoller(descriptors)
}

// setPortUp sets the link of a port in the switch.
func (r *Runner) setPortUp(port uint32, up bool) {
	r.in.putCall(&call{
		f:    func(time.Duration) { r.dev.Switch().SetPortUp(port, up) },
		done: make(chan struct{}),
	})
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
	return r.do(ctx, &call{f: f, done: make(chan struct{})})
}

// Steps runs f on the goroutine that owns the switch, again and again until f reports that it is
// done, and returns then. Frames and other calls have their turn after each step. Steps fails as Do
// does; once f has run, the end of ctx changes nothing. It implements p4rt.Stepper.
func (r *Runner) Steps(ctx context.Context, f func(now time.Duration) (done bool)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.do(ctx, &call{step: f, done: make(chan struct{})})
}

// do queues a call and waits for it.
func (r *Runner) do(ctx context.Context, c *call) error {
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
	a := r.port(port)
	if a == nil {
		return PortStats{}
	}
	return a.stats()
}

// port returns a port, nil if there is no such port.
func (r *Runner) port(n uint32) *attachment {
	if n < uint32(len(r.numbers)) {
		return r.numbers[n]
	}
	return nil
}

func (a *attachment) stats() PortStats {
	s := PortStats{
		Received: a.received.Load(), RxOctets: a.rxOctets.Load(), RxDropped: a.in.drops(),
		Sent: a.out.sent.Load(), SentOctets: a.out.octets.Load(), TxDropped: a.out.dropped.Load(),
	}
	if l, ok := a.Port.(losing); ok {
		s.RxLost = l.Losses()
	}
	return s
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
		r.in.signal()
		<-r.stopped
		err = r.closePorts()
		if p := r.in.poller; p != nil {
			err = errors.Join(err, p.close())
		}
	})
	<-r.stopped
	return err
}

func (r *Runner) closePorts() error {
	var errs []error
	for _, a := range r.ports {
		if err := a.Close(); err != nil {
			errs = append(errs, fmt.Errorf("port %d: %w", a.in.port, err))
		}
	}
	return errors.Join(errs...)
}

// transmit is the device's Transmit.
func (r *Runner) transmit(_ time.Duration, port uint32, frame []byte) {
	a := r.port(port)
	if a == nil {
		r.unknown.Add(1)
		return
	}
	if a.out.put(frame) {
		r.holding = append(r.holding, a)
	}
}

func (r *Runner) run() {
	defer close(r.stopped)
	defer r.feed.Close()
	defer func() {
		for _, c := range r.in.close() {
			close(c.done)
		}
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var calls []*call
	for {
		calls = r.in.takeCalls(calls)
		for _, c := range calls {
			if c.step == nil {
				c.f(r.Now())
			} else if !c.step(r.Now()) {
				r.in.again(c)
				continue
			}
			c.ran = true
			close(c.done)
		}
		clear(calls)
		more := r.receive()
		next, pending := r.dev.Advance(r.Now())
		for _, a := range r.holding {
			a.out.flush()
		}
		r.holding = r.holding[:0]
		if r.in.some() {
			r.in.signal()
		}
		if r.in.poller != nil {
			if r.poll(more, next, pending) {
				return
			}
			continue
		}
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

// poll waits for frames in rings, for the inbox, or until next; true when the runner is closed. It
// does not wait when there is more in a ring.
func (r *Runner) poll(more bool, next time.Duration, pending bool) (stopped bool) {
	early := func() bool {
		select {
		case <-r.stop:
			stopped = true
			return true
		case <-r.in.wake:
			return true
		default:
			return more
		}
	}
	if early() {
		return stopped
	}
	timeout := time.Duration(-1)
	if pending {
		timeout = max(0, next-r.Now())
	}
	r.in.poller.wait(timeout, early)
	return stopped
}

// take hands the switch frames of a port that is polled. The switch takes them in, and has one of
// each port in turn.
func (r *Runner) take(a *attachment, frames [][]byte) {
	now := r.Now()
	octets := 0
	for _, f := range frames {
		octets += len(f)
		r.dev.Receive(now, a.in.port, f)
	}
	a.received.Add(uint64(len(frames)))
	a.rxOctets.Add(uint64(octets))
}

// receive hands the switch up to a batch of frames of every port, one frame of each port in turn,
// and reports whether any polled port had frames.
func (r *Runner) receive() (polled bool) {
	for _, a := range r.ports {
		if a.polled != nil && a.polled.Poll() {
			polled = true
		}
	}
	for range r.cfg.Batch {
		some := false
		for _, a := range r.ports {
			frame, ok := a.in.next()
			if !ok {
				continue
			}
			some = true
			a.received.Add(1)
			a.rxOctets.Add(uint64(len(frame)))
			r.dev.Receive(r.Now(), a.in.port, frame)
		}
		if !some {
			break
		}
	}
	return polled
}
