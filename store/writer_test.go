package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/storetest"
)

// writing runs a writer on a faulty store, and returns the number of its calls of changed.
func writing(t *testing.T) (*store.Writer, *storetest.Faulty, *atomic.Int32, func() error) {
	s, changes := new(storetest.Faulty), new(atomic.Int32)
	w := store.NewWriter(s, func() { changes.Add(1) })
	ctx, cancel := context.WithCancel(t.Context())
	ended, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- w.Run(ctx, ended) }()
	return w, s, changes, func() error {
		cancel()
		close(ended)
		return <-done
	}
}

func op(key, value string) []store.Op { return []store.Op{{Key: key, Value: []byte(value)}} }

// TestWriter: writes are kept in order; one that fails is tried again and lost by no failure; the
// last of a key counts; whoever waits is told of the failure at once.
func TestWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, changes, stop := writing(t)
		if err := w.Wait(t.Context(), w.Add(op("a", "1"))); err != nil || w.Err() != nil {
			t.Fatal(err)
		}
		full := errors.New("disk full")
		s.Fail(full)
		for i := range 100 {
			n := w.Add(op("a", fmt.Sprint(i)))
			if err := w.Wait(t.Context(), n); !errors.Is(err, full) || w.Kept() != 1 {
				t.Fatalf("%v, kept %d", err, w.Kept())
			}
		}
		tries := s.Tries()
		time.Sleep(time.Minute)
		if more := s.Tries() - tries; more < 20 || more > 60 {
			t.Errorf("%d tries in a minute", more)
		}
		s.Fail(nil)
		last := w.Add(op("b", "x"))
		time.Sleep(10 * time.Second)
		if err := w.Wait(t.Context(), last); err != nil || w.Err() != nil || w.Kept() != last {
			t.Errorf("after recovery: %v, %v, kept %d of %d", err, w.Err(), w.Kept(), last)
		}
		if r, err := s.Get(t.Context(), "a"); err != nil || string(r.Value) != "99" || r.Revision != 2 {
			t.Errorf("%q at revision %d, %v: want the last of 100 writes alone", r.Value, r.Revision, err)
		}
		if changes.Load() < 3 {
			t.Errorf("%d changes reported", changes.Load())
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestWriterHangs: a store that hangs fails after a while, and a write that waits when the writer
// ends is tried once more.
func TestWriterHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, _, stop := writing(t)
		s.Hang()
		began := time.Now()
		if err := w.Wait(t.Context(), w.Add(op("a", "1"))); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 5*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		s.Fail(nil)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if r, err := s.Get(t.Context(), "a"); err != nil || string(r.Value) != "1" {
			t.Errorf("%q, %v", r.Value, err)
		}
	})
}

// TestWriterFenced: a writer whose store is another process's by now ends.
func TestWriterFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(storetest.Faulty)
		s.Fail(fmt.Errorf("%w: key", store.ErrFenced))
		w := store.NewWriter(s, func() {})
		w.Add(op("a", "1"))
		if err := w.Run(t.Context(), make(chan struct{})); !errors.Is(err, store.ErrFenced) {
			t.Error(err)
		}
	})
}
