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
	// attemptTime bounds one write.
	attemptTime = 5 * time.Second
	// closeTime bounds the last write, when the writer is told to end.
	closeTime = time.Second
)

// A Writer writes its owner's decisions in order, and blocks nobody, even if the store hangs or
// fails. The Writer writes nothing twice, because a write with an unknown outcome could take effect
// after a later write. A failed write is therefore the last: the owner has decided more than the
// store may have, and must be rebuilt from the store's records. The methods may be called from any
// goroutine.
type Writer struct {
	store   Store
	changed func() // called when Kept or Err has changed
	wake    chan struct{}
	failed  chan struct{} // closed when Err is no longer nil

	// mu guards the fields below it.
	mu      sync.Mutex
	waiting []Op
	added   uint64 // calls of Add
	kept    uint64 // the last of them that the store has
	tried   uint64 // the last of them that a write was begun for
	err     error  // why a write failed; nil when none did
	step    chan struct{}
}

// NewWriter returns a writer that calls changed, from the goroutine of Run, when more has been
// kept, and when a write has failed.
func NewWriter(s Store, changed func()) *Writer {
	return &Writer{store: s, changed: changed, wake: make(chan struct{}, 1),
		failed: make(chan struct{}), step: make(chan struct{})}
}

// Add has writes made after all that were added before. It returns their number, for Wait. After a
// failure nothing is written any more.
func (w *Writer) Add(ops []Op) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.added++
	if w.err != nil {
		return w.added
	}
	w.waiting = append(w.waiting, ops...)
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

// Err returns why a write failed, or nil. Whether the store has it may be unknown.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Failed is closed when a write has failed.
func (w *Writer) Failed() <-chan struct{} { return w.failed }

// Wait waits until the store has the writes of an Add. The error comes from the failed write, with
// [ErrUnwritten] if that write contained nothing of the Add, or from ctx.
func (w *Writer) Wait(ctx context.Context, n uint64) error {
	for {
		w.mu.Lock()
		kept, tried, err, step := w.kept, w.tried, w.err, w.step
		w.mu.Unlock()
		switch {
		case kept >= n:
			return nil
		case err != nil && n > tried:
			return fmt.Errorf("%w: %w", ErrUnwritten, err)
		case err != nil:
			return err
		}
		select {
		case <-step:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Run writes until ended is closed, and then writes the remaining records once more. Nobody calls
// Add after ended is closed. When ctx ends, a write in progress gets a moment to finish. Run
// returns only a permanent error of the store: [ErrFenced].
func (w *Writer) Run(ctx context.Context, ended <-chan struct{}) error {
	for {
		select {
		case <-w.wake:
		case <-ended:
			if w.Err() != nil {
				return nil // whoever waits has been told
			}
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
			defer cancel()
			if err := w.write(last); errors.Is(err, ErrFenced) {
				return err
			}
			return nil
		}
		try, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
		stop := context.AfterFunc(ctx, func() { time.AfterFunc(closeTime, cancel) })
		err := w.write(try)
		stop()
		cancel()
		switch {
		case errors.Is(err, ErrFenced):
			return err
		case err != nil:
			<-ended
			return nil
		}
	}
}

// write writes all that waits.
func (w *Writer) write(ctx context.Context) error {
	w.mu.Lock()
	ops, upTo := slices.Clone(w.waiting), w.added
	w.tried = upTo
	w.mu.Unlock()
	err := w.store.Apply(ctx, ops)
	w.mu.Lock()
	if err == nil {
		w.waiting, w.kept = slices.Clone(w.waiting[len(ops):]), upTo
	} else {
		w.waiting, w.err = nil, fmt.Errorf("a write to the store: %w", err)
		close(w.failed)
	}
	if len(w.waiting) > 0 {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	close(w.step)
	w.step = make(chan struct{})
	w.mu.Unlock()
	w.changed()
	return err
}
