package controller

import (
	"context"
	"testing"
	"time"

	"github.com/weft-sdn/weft/internal/bubble"
)

// TestTurns: a switch gets its turn after the switch before has finished, disappeared, or used up
// its time.
func TestTurns(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		turns := NewTurns() // of a controller that never says that a switch is programmed
		first, err := turns.take(t.Context(), "N1")
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		go first(t.Context())
		second, err := turns.take(t.Context(), "N2")
		if err != nil {
			t.Fatal(err)
		}
		// The first switch has waited for its end, and the second for its entries.
		if took := time.Since(begun); took != 2*turnPatience {
			t.Errorf("the second had its turn after %v, want %v", took, 2*turnPatience)
		}
		ctx, gone := context.WithCancel(t.Context())
		if _, err := turns.take(ctxAfter(ctx, gone), "N3"); err == nil {
			t.Error("a switch whose session has ended got a turn")
		}
		second(ctx)
		begun = time.Now()
		if _, err := turns.take(t.Context(), "N4"); err != nil || time.Since(begun) != turnPatience {
			t.Errorf("%v after %v: the turn of a switch whose session has ended is not over", err,
				time.Since(begun))
		}
	})
}

// ctxAfter ends a context in a second.
func ctxAfter(ctx context.Context, end func()) context.Context {
	time.AfterFunc(time.Second, end)
	return ctx
}
