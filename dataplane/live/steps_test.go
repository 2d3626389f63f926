package live_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/internal/bubble"
)

// TestSteps: waiting frames and other calls pass between two steps of a call. Once the call has
// begun, the end of its context changes nothing.
func TestSteps(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		in, out := newTestPort(), newTestPort()
		r := start(t, live.Config{Ports: map[uint32]live.Port{1: in, 2: out}})
		program(t, r, forwardTo2)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		const steps = 10
		order, hold, resume := "", make(chan struct{}), make(chan struct{})
		results := make(chan error, 3)
		run := func(f func() error) {
			go func() { results <- f() }()
			synctest.Wait() // until it waits for its turn
		}
		run(func() error { return r.Do(t.Context(), func(time.Duration) { <-hold }) })
		step, passed := 0, 0
		run(func() error {
			return r.Steps(ctx, func(time.Duration) bool {
				for len(out.sent) > 0 {
					<-out.sent
					passed++
				}
				if passed != step {
					t.Errorf("before step %d %d frames have passed", step, passed)
				}
				step++
				order += "a"
				in.receive(frame)
				cancel() // too late
				return step == steps
			})
		})
		run(func() error {
			return r.Steps(t.Context(), func(time.Duration) bool {
				if order += "b"; len(order) == 2 {
					<-resume // the other call waits for its second step, and has lost its context
				}
				return len(order) == 2*steps
			})
		})
		close(hold)
		synctest.Wait()
		close(resume)
		for range 3 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if want := strings.Repeat("ab", steps); order != want {
			t.Errorf("the order of steps is %s, want %s", order, want)
		}
		if err := r.Steps(ctx, func(time.Duration) bool { t.Error("ran"); return true }); !errors.Is(err,
			context.Canceled) {
			t.Errorf("with a context that has ended: %v", err)
		}
	})
}

// TestStepsEndWithTheSwitch: a call that is not done fails when the switch is closed.
func TestStepsEndWithTheSwitch(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := start(t, live.Config{})
		begun := make(chan struct{})
		done := make(chan error)
		steps := 0
		go func() {
			done <- r.Steps(t.Context(), func(time.Duration) bool {
				if steps++; steps == 2 {
					close(begun)
				}
				return false
			})
		}()
		<-begun
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, live.ErrClosed) {
			t.Errorf("%v", err)
		}
	})
}
