package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-sdn/weft/store"
)

// ErrMandate reports that a controller does not hold its lease surely enough to do something that
// only its holder may.
var ErrMandate = errors.New("the lease in the store is over, or about to be")

// Mandate is the right to decide, in one term.
type Mandate struct {
	// Term is the revision of the decider's record. Those of later deciders are higher.
	Term int64
	// Store refuses writes once the term is over, with [store.ErrFenced].
	Store store.Store
	*Tenure
}

// Tenure is the time for which a controller holds its lease.
type Tenure struct {
	lease  store.Lease
	margin time.Duration
}

// Until returns the time at which the holder must stop, unless the lease is renewed before.
func (t *Tenure) Until() time.Time { return t.lease.Until().Add(-t.margin) }

// Check returns ErrMandate when the holder must stop. It must be called before each thing that
// only the holder may do: a process may have been paused since the last.
func (t *Tenure) Check() error {
	select {
	case <-t.lease.Done():
		return fmt.Errorf("%w: it was lost", ErrMandate)
	default:
	}
	if late := time.Since(t.Until()); late >= 0 {
		return fmt.Errorf("%w: it was not renewed in time, %v ago", ErrMandate, late)
	}
	return nil
}

// Bound returns a context that ends when the holder must stop, by present knowledge.
func (t *Tenure) Bound(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if err := t.Check(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithDeadlineCause(ctx, t.Until(), ErrMandate)
	return ctx, cancel, nil
}

// watch calls over when the holder must stop, or stop is closed.
func (t *Tenure) watch(stop <-chan struct{}, over func(error)) {
	timer := time.NewTimer(time.Until(t.Until()))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-t.lease.Done():
		case <-stop:
			return
		}
		if err := t.Check(); err != nil {
			over(err)
			return
		}
		timer.Reset(time.Until(t.Until()))
	}
}
