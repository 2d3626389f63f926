package loop_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/internal/loop"
)

// alarms is due at times, and notes when it was ticked.
type alarms struct{ due, ticked []time.Duration }

func (a *alarms) Tick(now time.Duration) {
	a.ticked = append(a.ticked, now)
	for len(a.due) > 0 && a.due[0] <= now {
		a.due = a.due[1:]
	}
}

func (a *alarms) Next() (time.Duration, bool) {
	if len(a.due) == 0 {
		return 0, false
	}
	return a.due[0], true
}

// TestLoop: the clock ticks when something is due and before a call, and a call returns after the
// flush that follows it.
func TestLoop(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		core := &alarms{due: []time.Duration{2 * time.Second, 5 * time.Second}}
		l := loop.New(time.Now())
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		var done int64 // the owner's
		var flushed atomic.Int64
		go func() {
			ran <- l.Run(ctx, core, func(context.Context) error {
				flushed.Store(done)
				return nil
			})
		}()
		time.Sleep(3 * time.Second)
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				var mine int64
				if err := l.Do(ctx, func() { done++; mine = done }); err != nil || flushed.Load() < mine {
					t.Errorf("%v; %d are flushed, want at least %d", err, flushed.Load(), mine)
				}
			})
		}
		wg.Wait()
		l.Post(nil, func() { done = -1 })
		time.Sleep(3 * time.Second)
		cancel()
		if err := <-ran; err != nil || flushed.Load() != -1 {
			t.Errorf("%v; %d flushed", err, flushed.Load())
		}
		if want := []time.Duration{0, 2 * time.Second, 3 * time.Second,
			5 * time.Second}; !slices.Equal(slices.Compact(core.ticked), want) {
			t.Errorf("ticked at %v, want %v", slices.Compact(core.ticked), want)
		}
		<-l.Ended()
		if err := l.Do(t.Context(), func() { t.Error("a call after the end") }); !errors.Is(err,
			loop.ErrEnded) {
			t.Errorf("after the end: %v", err)
		}
		l.Post(nil, func() { t.Error("a call after the end") })
	})
}

// TestFlushFails: the loop ends, and so do its callers.
func TestFlushFails(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, broken := loop.New(time.Now()), errors.New("broken")
		ran := make(chan error, 1)
		armed := false
		go func() {
			ran <- l.Run(t.Context(), &alarms{}, func(context.Context) error {
				if armed {
					return broken
				}
				return nil
			})
		}()
		if err := l.Do(t.Context(), func() { armed = true }); !errors.Is(err, loop.ErrEnded) {
			t.Errorf("a call whose flush fails: %v", err)
		}
		if err := <-ran; !errors.Is(err, broken) {
			t.Errorf("the loop ends with %v", err)
		}
	})
}

// TestWake: a call of Wake has the time passed and what follows flushed, and never waits, not even
// before Run.
func TestWake(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		core := &alarms{}
		l := loop.New(time.Now())
		for range 1000 {
			l.Wake()
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var flushed atomic.Int64
		go func() {
			_ = l.Run(ctx, core, func(context.Context) error { flushed.Add(1); return nil })
		}()
		synctest.Wait()
		before := flushed.Load()
		time.Sleep(time.Second)
		l.Wake()
		synctest.Wait()
		if n := flushed.Load(); n != before+1 || core.ticked[len(core.ticked)-1] != time.Second {
			t.Errorf("%d flushes after %d, ticked at %v", n, before, core.ticked)
		}
	})
}
