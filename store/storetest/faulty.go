package storetest

import (
	"context"
	"sync"

	"github.com/weft-sdn/weft/store"
)

// Faulty is a store in memory whose writes fail, or hang, as long as a test says.
type Faulty struct {
	store.Memory

	// mu guards the fields below it.
	mu    sync.Mutex
	fails error
	hangs bool
	tries int
}

// Fail has every write fail from now on; nil: they succeed again.
func (f *Faulty) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails, f.hangs = err, false
}

// Hang has every write take until its context ends.
func (f *Faulty) Hang() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails, f.hangs = nil, true
}

// Tries returns how many writes were attempted.
func (f *Faulty) Tries() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tries
}

// Apply implements store.Store.
func (f *Faulty) Apply(ctx context.Context, ops []store.Op) error {
	f.mu.Lock()
	fails, hangs := f.fails, f.hangs
	f.tries++
	f.mu.Unlock()
	switch {
	case hangs:
		<-ctx.Done()
		return ctx.Err()
	case fails != nil:
		return fails
	}
	return f.Memory.Apply(ctx, ops)
}
