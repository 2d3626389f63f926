package causes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/bubble"
)

// watching is a Watcher that reads its knowledge from the test and records the events that the
// Watcher reports.
type watching struct {
	*Watcher
	mu    sync.Mutex
	known Known
	err   error
	takes time.Duration
	n     int // looks
	said  []string

	changes chan struct{}
}

func watch(t *testing.T) *watching {
	w := &watching{changes: make(chan struct{}, 1)}
	w.Watcher = NewWatcher(func(context.Context) (*Known, error) {
		w.mu.Lock()
		w.n++
		takes, k, err := w.takes, w.known, w.err
		w.mu.Unlock()
		time.Sleep(takes)
		return &k, err
	}, time.Now)
	tell := func(e api.Event) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.said = append(w.said, fmt.Sprint(e.Type, " ", e.Object, " ", e.Message))
	}
	ctx, end := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx, w.changes, tell, func(context.Context, []api.Cause) {})
	}()
	t.Cleanup(func() { end(); <-done })
	return w
}

// changed has the watcher look again soon.
func (w *watching) changed() {
	select {
	case w.changes <- struct{}{}:
	default:
	}
}

// set changes what is known.
func (w *watching) set(k Known, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known, w.err = k, err
	w.changed()
}

// looks returns how often the watcher has looked.
func (w *watching) looks() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

// told returns what the watcher has told since the call before.
func (w *watching) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.said
	w.said = nil
	return out
}

// last makes each look last so long.
func (w *watching) last(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.takes = d
}

// TestWatcher: a cause that begins, becomes worse or better, or ends is told once, soon after the
// change; a look that fails changes nothing.
func TestWatcher(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := watch(t)
		share := func(advisory bool) Known {
			return Known{Checks: []api.ReadinessCheck{{Name: "share", Advisory: advisory}}}
		}
		after := func(want ...string) {
			t.Helper()
			time.Sleep(lookAfter)
			synctest.Wait()
			if told := w.told(); !slices.Equal(told, want) {
				t.Errorf("told %q, want %q", told, want)
			}
			time.Sleep(fresh)
		}
		after()
		const says = " share Switches are shared out unevenly. Traffic goes on. The controller with " +
			"the most switches programs them later than the others."
		w.set(share(true), nil)
		after("cause.began" + says)
		w.set(share(true), nil)
		after()
		w.set(share(false), nil)
		after("cause.changed" + says)
		w.set(Known{}, errors.New("it ends"))
		after()
		if all, _ := w.Last(); len(all) != 1 {
			t.Errorf("after a look that failed there are %d causes", len(all))
		}
		if _, err := w.Causes(t.Context()); err == nil {
			t.Error("a look that fails answers")
		}
		w.set(Known{}, nil)
		after("cause.ended share Over: Switches are shared out unevenly")
	})
}

// TestWatcherLooks: it looks now and then without a change, and not more often than looking allows;
// who asks twice in a short time gets one look.
func TestWatcherLooks(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := watch(t)
		looks := func(d time.Duration) int {
			synctest.Wait()
			before := w.looks()
			time.Sleep(d)
			synctest.Wait()
			return w.looks() - before
		}
		if n := looks(4*lookEvery + time.Second); n != 4 {
			t.Errorf("%d looks in four pauses without a change", n)
		}
		w.last(time.Second)
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					w.changed()
				}
			}
		}()
		n := looks(55 * time.Second)
		close(stop)
		if n < 4 || n > 6 {
			t.Errorf("%d looks of 1 s in 55 s of changes, want 5: a tenth of the time", n)
		}
		time.Sleep(time.Minute)
		w.last(0)
		before := w.looks()
		for range 3 {
			if _, err := w.Causes(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if w.looks() > before+1 {
			t.Errorf("three questions at once made %d looks", w.looks()-before)
		}
		time.Sleep(fresh)
		if _, err := w.Causes(t.Context()); err != nil || w.looks() == before {
			t.Errorf("%v, %d looks: an old answer was given", err, w.looks()-before)
		}
		ctx, end := context.WithCancel(t.Context())
		end()
		w.one <- struct{}{}
		if _, err := w.Causes(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		<-w.one
	})
}
