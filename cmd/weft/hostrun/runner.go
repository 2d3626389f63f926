package hostrun

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weft-sdn/weft/endpoint/verbs"
)

// Endpoint is a host of some transport, with ports numbered from 1.
type Endpoint interface {
	Advance(now time.Duration) (next time.Duration, pending bool)
	Receive(now time.Duration, port int, frame []byte)
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
	// What comes by Calls and News, where they are not nil, is called.
	Calls, News <-chan func()
	// Why, if not nil, says what held up a host that was interrupted; it is added to the error.
	Why func() string

	expect   uint64
	linger   time.Duration
	progress Progress

	start   time.Time
	one     [1][]byte
	frames  chan frame
	spare   chan []byte
	dropped atomic.Uint64 // frames that found the queue full
	refused uint64        // frames that ports did not take
	last    time.Duration // when the last frame came
	regions []region
	writes  []*writing
}

// New is a runner whose time begins now. Expect is how many octets are waited for; 0: the host
// serves until it is told to end, or, when it has writes, until these are done. Linger is how long
// after its last frame a host that has them still answers retransmissions. Progress, if not nil, is
// told how far the host is.
func New(expect uint64, linger time.Duration, progress Progress) *Runner {
	return &Runner{
		expect: expect, linger: linger, progress: progress,
		start: time.Now(), frames: make(chan frame, frameQueue), spare: make(chan []byte, frameQueue),
	}
}

// Start is when the runner's time began.
func (r *Runner) Start() time.Time { return r.start }

// Now is the runner's time.
func (r *Runner) Now() time.Duration { return time.Since(r.start) }

// Run runs until the host has done its work or ctx ends. Its errors are those of Pump, or wrap
// ErrInterrupted.
func (r *Runner) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	reporting := time.NewTicker(reportingTime)
	defer reporting.Stop()
	for {
		if err := r.Pump(); err != nil {
			return err
		}
		next, pending := r.Endpoint.Advance(r.Now())
		if err := r.Pump(); err != nil {
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
		case <-reporting.C:
			r.Tell()
		case <-ctx.Done():
			return r.interrupted()
		}
	}
}

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
