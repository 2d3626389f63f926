package southbound_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/southbound"
)

// TestGate: a later term waits for the requests of earlier ones, and no earlier one comes after it.
func TestGate(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := southbound.NewGate(3)
		if _, err := g.Enter(t.Context(), 2, 0); status.Code(err) != codes.PermissionDenied {
			t.Errorf("term 2: %v", err)
		}
		first, err := g.Enter(t.Context(), 3, 0)
		if err != nil {
			t.Fatal(err)
		}
		second, err := g.Enter(t.Context(), 3, 0)
		if err != nil {
			t.Fatalf("two of a term: %v", err)
		}
		entered := make(chan func(), 1)
		go func() {
			leave, err := g.Enter(t.Context(), 4, 0)
			if err != nil {
				t.Error(err)
			}
			entered <- leave
		}()
		synctest.Wait()
		if _, err := g.Enter(t.Context(), 3, 0); status.Code(err) != codes.PermissionDenied {
			t.Errorf("term 3 after term 4 has come: %v", err)
		}
		first()
		first() // again
		synctest.Wait()
		select {
		case <-entered:
			t.Error("term 4 entered while a request of term 3 is under way")
		default:
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.Enter(impatient, 4, 0); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("term 4 with a deadline: %v", err)
		}
		second()
		synctest.Wait()
		select {
		case leave := <-entered:
			defer leave()
		default:
			t.Error("term 4 does not enter after the requests of term 3")
		}
		if _, err := g.Enter(impatient, 4, 1); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("another connection, while a request of the one before is under way: %v", err)
		}
		if _, err := g.Enter(t.Context(), 4, 0); status.Code(err) != codes.Unavailable {
			t.Errorf("the connection before: %v", err)
		}
	})
}
