package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Times of a Writer.
const (
	// attemptTime bounds one attempt to write.
	attemptTime = 5 * time.Second
	// The pause between attempts doubles from retryMin to retryMax.
	retryMin, retryMax = 100 * time.Millisecond, 2 * time.Second
	// closeTime bounds the last attempt, when the writer is told to end.
	closeTime = time.Second
)

// A Writer writes what its owner has decided, in order, and holds nobody up: neither a store that
// hangs nor one that fails. A failed write is tried again until the store takes it. Its methods may
// be called from any goroutine.
type Writer struct {
	store   Store
	changed func() // called when Kept or Err has changed
	wake    chan struct{}

	// mu guards the fields below it.
	mu      sync.Mutex
	waiting []Op
	added   uint64 // calls of Add
	kept    uint64 // the last of them that the store has
	err     error  // why the last attempt failed; nil when it did not
	step    chan struct{}
}

// NewWriter returns a writer that calls changed, from the goroutine of Run, when more has been kept,
// and when the store begins to fail or recovers.
func NewWriter(s Store, changed func()) *Writer {
	return &Writer{store: s, changed: changed, wake: make(chan struct{}, 1), step: make(chan struct{})}
}

// Add has writes made after all that were added before. It returns their number, for Wait.
func (w *Writer) Add(ops []Op) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = append(w.waiting, ops...)
	w.added++
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return w.added
}

// Added returns the number of the last Add.
func (w *Writer) Added() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.added
}

// Kept returns the number of the last Add whose writes the store has, with all before.
func (w *Writer) Kept() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kept
}

// Err returns why the store does not take writes, or nil. Nothing is known of a store before the
// first write.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Wait waits until the store has the writes of an Add. An error says that an attempt failed, or
// that ctx ended; the writer goes on trying.
func (w *Writer) Wait(ctx context.Context, n uint64) error {
	for {
		w.mu.Lock()
		kept, err, step := w.kept, w.err, w.step
		w.mu.Unlock()
		switch {
		case kept >= n:
			return nil
		case err != nil:
			return fmt.Errorf("%w; it is kept when the store takes writes again", err)
		}
		select {
		case <-step:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Run writes until ended is closed, after which nobody calls Add, and tries once more what is left
// then. ctx cuts attempts short. The error is one of the store's that cannot go away: [ErrFenced].
func (w *Writer) Run(ctx context.Context, ended <-chan struct{}) error {
	pause := retryMin
	retry := time.NewTimer(0)
	defer retry.Stop()
	if !retry.Stop() {
		<-retry.C
	}
	for {
		select {
		case <-w.wake:
			if w.Err() != nil {
				continue // the timer runs
			}
		case <-retry.C:
		case <-ended:
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
			defer cancel()
			if err := w.attempt(last); errors.Is(err, ErrFenced) {
				return err
			}
			return nil // whoever waits has been told
		}
		try, cancel := context.WithTimeout(ctx, attemptTime)
		err := w.attempt(try)
		cancel()
		switch {
		case errors.Is(err, ErrFenced):
			return err
		case err != nil:
			retry.Reset(pause)
			pause = min(2*pause, retryMax)
		default:
			pause = retryMin
		}
	}
}

// attempt writes all that waits.
func (w *Writer) attempt(ctx context.Context) error {
	w.mu.Lock()
	ops, upTo := slices.Clone(w.waiting), w.added
	w.mu.Unlock()
	err := w.store.Apply(ctx, ops)
	w.mu.Lock()
	if err == nil {
		w.waiting, w.kept = slices.Clone(w.waiting[len(ops):]), upTo
		if len(w.waiting) > 0 {
			select {
			case w.wake <- struct{}{}:
			default:
			}
		}
	} else {
		w.waiting = compact(w.waiting)
	}
	w.err = err
	close(w.step)
	w.step = make(chan struct{})
	w.mu.Unlock()
	w.changed()
	return err
}

// compact leaves the last write of each key, so that what waits does not grow while a store fails.
func compact(ops []Op) []Op {
	last := make(map[string]int, len(ops))
	for i, op := range ops {
		last[op.Key] = i
	}
	out := make([]Op, 0, len(last))
	for i, op := range ops {
		if last[op.Key] == i {
			out = append(out, op)
		}
	}
	return out
}
