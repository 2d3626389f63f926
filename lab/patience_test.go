package lab

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weft-sdn/weft/internal/bubble"
)

// TestPatience: a limit counts the time that the machine gives to the process.
func TestPatience(t *testing.T) {
	const limit = 100 * time.Second
	for _, c := range []struct {
		name      string
		ran, kept float64 // of each second
		want      time.Duration
	}{
		{"alone", 1.5, 0, limit},
		{"half", 0.5, 0.5, 2 * limit},
		{"a quarter, in many threads", 1, 3, 4 * limit},
		{"starved", 0.001, 5, 16 * limit},
		{"it waits for something", 0.001, 0.004, limit},
		{"nothing is known", 0, 0, limit},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				began := time.Now()
				ctx, cancel := patience(t.Context(), limit, func() (time.Duration, time.Duration) {
					d := float64(time.Since(began))
					return time.Duration(c.ran * d), time.Duration(c.kept * d)
				})
				defer cancel()
				child, stop := context.WithCancel(ctx)
				defer stop()
				<-child.Done()
				if !errors.Is(child.Err(), context.DeadlineExceeded) {
					t.Errorf("the end is %v", child.Err())
				}
				if took := time.Since(began); took < c.want || took > c.want+lookPatience {
					t.Errorf("it took %v, want %v", took, c.want)
				}
			})
		})
	}
}

// TestPatienceEnds: a context ends with its parent, and when it is cancelled.
func TestPatienceEnds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		parent, stop := context.WithCancel(t.Context())
		ctx, cancel := Patience(parent, time.Hour)
		if ctx.Err() != nil {
			t.Error(ctx.Err())
		}
		stop()
		<-ctx.Done()
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Error(ctx.Err())
		}
		cancel()
		ctx, cancel = Patience(t.Context(), time.Hour)
		cancel()
		cancel()
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Error(ctx.Err())
		}
	})
}

// TestProcessTimes: the processor time of this process is visible where the system reports
// processor times.
func TestProcessTimes(t *testing.T) {
	ran, _ := processTimes()
	if ran == 0 {
		t.Skip("the system has no /proc/self/task/*/schedstat")
	}
	x := uint64(1)
	for ; ; x = x*6364136223846793005 + 1 {
		if x%(1<<16) == 1 {
			if now, _ := processTimes(); now > ran {
				return
			}
		}
	}
}
