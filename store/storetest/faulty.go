package storetest

import (
	"context"
	"sync"

	"github.com/weft-sdn/weft/store"
)

// Faulty is a store in memory whose writes by Apply fail, hang, or come late, as long as a test
// says.
type Faulty struct {
	store.Memory

	// mu guards the fields below it.
	mu     sync.Mutex
	answer func(ctx context.Context, apply func() error) error
	tries  int
}

// Fail has every write fail from now on; nil: they succeed again.
func (f *Faulty) Fail(err error) {
	if err == nil {
		f.Answer(nil)
		return
	}
	f.Answer(func(context.Context, func() error) error { return err })
}

// Hang has every write take until its context ends.
func (f *Faulty) Hang() {
	f.Answer(func(ctx context.Context, _ func() error) error {
		<-ctx.Done()
		return ctx.Err()
	})
}

// Answer sets a function that carries out every later write by apply, and returns the outcome: the
// function may call apply late, twice or never, and may return a wrong outcome. nil: plain writes.
func (f *Faulty) Answer(answer func(ctx context.Context, apply func() error) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
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
	answer := f.answer
	f.tries++
	f.mu.Unlock()
	if answer == nil {
		return f.Memory.Apply(ctx, ops)
	}
	return answer(ctx, func() error { return f.Memory.Apply(context.WithoutCancel(ctx), ops) })
}
