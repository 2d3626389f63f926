// Package loop lets one goroutine own an object with a clock: other goroutines ask it to act on the
// object, and the goroutine does the work that is due.
package loop

import (
	"context"
	"errors"
	"time"
)

// ErrEnded reports a call of a loop that has ended; the call did nothing.
var ErrEnded = errors.New("loop: ended")

// A Core is the object that a loop owns. Times count from the start of the loop.
type Core interface {
	// Tick does the work that is due.
	Tick(now time.Duration)
	// Next returns the time when work is due again.
	Next() (at time.Duration, ok bool)
}

// A Loop is the way to the goroutine that owns a core. Any other goroutine may call its methods;
// before Run they wait for Run.
type Loop struct {
	start time.Time
	calls chan call
	woken chan struct{}
	ended chan struct{}
}

// call is something to be done. done, when not nil, is closed after its consequences have been
// flushed.
type call struct {
	do   func()
	done chan struct{}
}

// New makes a loop whose clock began at start.
func New(start time.Time) *Loop {
	return &Loop{start: start, calls: make(chan call, maxCalls), woken: make(chan struct{}, 1),
		ended: make(chan struct{})}
}

// maxCalls bounds the calls that share a flush.
const maxCalls = 256

// Run makes the calling goroutine the owner until ctx ends, which is no error, or flush fails.
// flush does what follows from calls and from the time. Run must be called once.
func (l *Loop) Run(ctx context.Context, core Core, flush func(context.Context) error) error {
	defer close(l.ended)
	wake := time.NewTimer(0)
	defer wake.Stop()
	var finished []chan struct{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-wake.C:
			core.Tick(time.Since(l.start))
		case <-l.woken:
			core.Tick(time.Since(l.start))
		case k := <-l.calls:
			core.Tick(time.Since(l.start))
			finished = l.take(k, finished[:0])
		}
		if err := flush(ctx); err != nil {
			return err
		}
		for _, done := range finished {
			close(done)
		}
		finished = finished[:0]
		if at, ok := core.Next(); ok {
			wake.Reset(max(0, at-time.Since(l.start)))
		}
	}
}

// take does a call and others that wait.
func (l *Loop) take(k call, done []chan struct{}) []chan struct{} {
	for n := 0; ; n++ {
		k.do()
		if k.done != nil {
			done = append(done, k.done)
		}
		if n == maxCalls {
			return done
		}
		select {
		case k = <-l.calls:
		default:
			return done
		}
	}
}

// Do runs f with the core, and returns after the flush of its consequences. The error is ctx's, or
// ErrEnded.
func (l *Loop) Do(ctx context.Context, f func()) error {
	k := call{do: f, done: make(chan struct{})}
	select {
	case l.calls <- k:
	case <-ctx.Done():
		return ctx.Err()
	case <-l.ended:
		return ErrEnded
	}
	select {
	case <-k.done:
		return nil
	case <-l.ended:
	}
	select {
	case <-k.done: // before the loop ended
		return nil
	default:
		return ErrEnded
	}
}

// Post has something done, unless stop is closed or the loop ends before, and does not wait for it.
func (l *Loop) Post(stop <-chan struct{}, f func()) {
	select {
	case l.calls <- call{do: f}:
	case <-stop:
	case <-l.ended:
	}
}

// Wake has the time passed to the core and flush called, and never waits.
func (l *Loop) Wake() {
	select {
	case l.woken <- struct{}{}:
	default: // it is about to be
	}
}

// Ended is closed when Run returns.
func (l *Loop) Ended() <-chan struct{} { return l.ended }
