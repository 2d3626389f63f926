package lab

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A Clock runs a world against the real clock on a goroutine of its own. Meanwhile, all access to
// the world goes through Do.
//
// If the machine cannot run a world at the speed of the real clock, the Clock slows down the
// world's time: World.Slipped says by how much. So timers that wait for packets do not expire
// because the processor was elsewhere.
type Clock struct {
	world *World
	calls chan func()
	stop  chan struct{}
	done  chan struct{}
	once  sync.Once
}

// ErrStopped reports that the world's clock was stopped.
var ErrStopped = errors.New("lab: the world has stopped")

// StartClock starts the clock where the world's time stands.
func (w *World) StartClock() *Clock {
	c := &Clock{world: w, calls: make(chan func(), 64), stop: make(chan struct{}),
		done: make(chan struct{})}
	go c.run(time.Now().Add(-w.now))
	return c
}

// maxLate is how much later than due things may happen in a world.
const maxLate = 2 * time.Millisecond

// eventsPerCall bounds how long a call waits behind packets.
const eventsPerCall = 64

func (c *Clock) run(start time.Time) {
	defer close(c.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	w := c.world
	// slip slows the world down when its next event is so late.
	slip := func() {
		if late := time.Since(start) - w.events[0].at - maxLate; late > 0 {
			start = start.Add(late)
			w.slipped += late
		}
	}
	// reach moves the world's time on to now, but not past what is due: a call happens before that.
	reach := func() {
		now := time.Since(start)
		if len(w.events) > 0 {
			now = min(now, w.events[0].at)
		}
		w.now = max(w.now, now)
	}
	for {
		select {
		case <-c.stop:
			return
		case f := <-c.calls:
			reach()
			f()
			continue
		default:
		}
		if len(w.events) > 0 {
			slip()
		}
		now := time.Since(start)
		for range eventsPerCall {
			if len(w.events) == 0 || w.events[0].at > now {
				break
			}
			w.step() // at the time it was due
		}
		wait := time.Hour
		if len(w.events) > 0 {
			wait = w.events[0].at - time.Since(start)
		}
		if wait <= 0 {
			continue
		}
		timer.Reset(wait)
		select {
		case <-c.stop:
			return
		case f := <-c.calls:
			reach()
			f()
		case <-timer.C:
		}
	}
}

// Do runs f on the world's goroutine and returns when it has run. It fails, and does not run f,
// when ctx ends first or the clock has stopped.
func (c *Clock) Do(ctx context.Context, f func(now time.Duration)) error {
	ran := make(chan struct{})
	call := func() {
		defer close(ran)
		f(c.world.now)
	}
	select {
	case c.calls <- call:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.done:
		return ErrStopped
	}
	select {
	case <-ran:
		return nil
	case <-c.done:
		select {
		case <-ran:
			return nil
		default:
			return ErrStopped
		}
	}
}

// Stop ends the clock and waits for its goroutine.
func (c *Clock) Stop() {
	c.once.Do(func() { close(c.stop) })
	<-c.done
}

// executor runs a switch's P4Runtime calls on the world's goroutine.
type executor struct {
	clock *Clock
	node  *SwitchNode
}

// Do implements p4rt.Executor.
func (e executor) Do(ctx context.Context, f func(now time.Duration)) error {
	return e.clock.Do(ctx, func(now time.Duration) {
		f(now)
		e.node.Wake()
	})
}
