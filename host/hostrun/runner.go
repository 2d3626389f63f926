package hostrun

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
)

// Endpoint is a host of some transport, with ports numbered from 1.
type Endpoint interface {
	Advance(now time.Duration) (next time.Duration, pending bool)
	// ReceiveAll takes frames that arrived by a port together, and keeps none.
	ReceiveAll(now time.Duration, port int, frames [][]byte)
	RegisterMR(va uint64, rkey uint32, buf []byte, access verbs.Access) (*verbs.Region, error)
}

const (
	frameQueue    = 8192 // received frames that may wait; more are dropped
	frameBatch    = 256  // frames handled before sending continues
	reportingTime = time.Second
)

// A Runner does a host's work. Start from New, and set the fields, of which the first three are
// required.
type Runner struct {
	Endpoint Endpoint
	// Pump collects completions, and posts what queues have room for.
	Pump func() error
	// Received is how many octets of payload were executed.
	Received func() uint64
	// The runner calls the functions that arrive on Calls and News; either channel may be nil. A
	// caller that sends there calls Wake afterwards.
	Calls, News <-chan func()
	// Rest, if not nil, is called before the runner waits; true: work remains, so do not wait.
	Rest func() bool
	// Why, if not nil, says what held up a host that was interrupted; it is added to the error.
	Why func() string

	expect   uint64
	linger   time.Duration
	progress Progress

	start  time.Time
	out    []outbox // by number of the endpoint's port
	polled []Polled
	bell   bell
	arrivals
	refused uint64        // frames that ports did not take
	last    time.Duration // when the last frame came
	busy    time.Duration // when there was something to do last
	regions []region
	writes  []*writing
}

// New returns a runner whose time begins now. expect is how many octets the runner waits for; 0:
// the host serves until told to end or, if it has writes, until the writes are done. linger is how
// long after its last frame a finished host still answers retransmissions. progress, if not nil,
// receives the progress of the host.
func New(expect uint64, linger time.Duration, progress Progress) *Runner {
	return &Runner{
		expect: expect, linger: linger, progress: progress,
		start:    time.Now(),
		arrivals: arrivals{frames: make(chan frame, frameQueue), spare: make(chan []byte, frameQueue)},
	}
}

// arrivals are the frames of ports that wait for a runner, and buffers for more.
type arrivals struct {
	frames  chan frame
	spare   chan []byte
	batch   [][]byte      // of take
	dropped atomic.Uint64 // frames that found the queue full
	cameUp  cameUp
}

// Start is when the runner's time began.
func (r *Runner) Start() time.Time { return r.start }

// Now is the runner's time.
func (r *Runner) Now() time.Duration { return time.Since(r.start) }

// Run runs until the host has done its work or ctx ends. Run returns errors of Pump, or errors that
// wrap ErrInterrupted.
func (r *Runner) Run(ctx context.Context) error {
	wait := r.sleep
	if len(r.polled) > 0 {
		if err := r.bell.open(); err != nil {
			return err
		}
		defer r.bell.close()
		defer context.AfterFunc(ctx, r.Wake)()
		wait = r.poll
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	reporting := time.NewTicker(reportingTime)
	defer reporting.Stop()
	defer r.Flush()
	for {
		if err := r.pump(); err != nil {
			return err
		}
		next, pending := r.Endpoint.Advance(r.Now())
		if err := r.pump(); err != nil {
			return err
		}
		if at, more := r.neighbors(); more && (!pending || at < next) {
			next, pending = at, true
		}
		r.Flush()
		over, at := r.over()
		if over {
			return nil
		}
		if at > 0 && (!pending || at < next) {
			next, pending = at, true
		}
		if !wait(ctx, timer, reporting.C, next, pending) {
			return r.interrupted()
		}
	}
}

// pump calls Pump, unless no port has found where to send yet.
func (r *Runner) pump() error {
	if !r.found() {
		return nil
	}
	return r.Pump()
}

// sleep waits for something to do, or until next where that is pending, and does what has come;
// false when ctx has ended.
func (r *Runner) sleep(ctx context.Context, timer *time.Timer, reporting <-chan time.Time,
	next time.Duration, pending bool) bool {
	if r.Rest != nil && r.Rest() {
		next, pending = 0, true
	}
	var due <-chan time.Time
	if pending {
		timer.Reset(max(0, next-r.Now()))
		due = timer.C
	}
	select {
	case f := <-r.frames:
		r.receive(f)
	case call := <-r.Calls:
		call()
	case news := <-r.News:
		news()
	case <-due:
	case <-reporting:
		r.Tell()
	case <-ctx.Done():
		return false
	}
	return true
}

// busyTime is how long a runner with polled ports goes on looking for work after the last, which
// takes less than to sleep and be woken.
const busyTime = 50 * time.Microsecond

// poll replaces sleep for polled ports. While work remains, and a little longer, poll makes no
// system calls except those that carry frames.
func (r *Runner) poll(ctx context.Context, _ *time.Timer, reporting <-chan time.Time,
	next time.Duration, pending bool) bool {
	found := false
	for _, p := range r.polled {
		found = p.Poll() || found
	}
	select {
	case call := <-r.Calls:
		call()
		found = true
	case news := <-r.News:
		news()
		found = true
	case <-reporting:
		r.Tell()
		found = true // the bell may have rung for a call that waits
	case <-ctx.Done():
		return false
	default:
	}
	now := r.Now()
	switch {
	case found:
		r.busy = now
	case pending && next <= now:
	case now < r.busy+busyTime, pending && next < now+busyTime:
		runtime.Gosched() // sched_yield would have the kernel put the NIC off for long
	case r.Rest != nil && r.Rest():
		r.busy = now
	default:
		until := reportingTime
		if pending {
			until = min(until, next-now)
		}
		r.bell.wait(r.polled, until)
	}
	return true
}

// Wake has a runner that waits look for what has come by Calls and News.
func (r *Runner) Wake() { r.bell.ring() }

// over reports whether the host has done its work, or when it will have lingered long enough, or
// when a write begins again.
func (r *Runner) over() (over bool, at time.Duration) {
	busy := false
	for _, w := range r.writes {
		if !w.done() || w.Every > 0 {
			busy = true
		}
		if w.next > 0 && (at == 0 || w.next < at) {
			at = w.next
		}
	}
	if busy {
		return false, at
	}
	n := r.Counts()
	if n.Expected == 0 && len(r.writes) == 0 || n.Received < n.Expected {
		return false, 0
	}
	if n.Expected == 0 {
		return true, 0
	}
	at = r.last + r.linger
	return r.Now() >= at, at
}

// interrupted is what the end of ctx means.
func (r *Runner) interrupted() error {
	n := r.Counts()
	why := ""
	if r.Why != nil {
		why = r.Why()
	}
	if !r.found() {
		why = ": no switch answers as the gateway" + why
	}
	switch {
	case n.Written < n.ToWrite:
		return fmt.Errorf("%w after %d of %d octets were written%s", ErrInterrupted, n.Written, n.ToWrite,
			why)
	case n.Received < n.Expected:
		return fmt.Errorf("%w after %d of %d octets were received%s", ErrInterrupted, n.Received,
			n.Expected, why)
	}
	return nil
}
