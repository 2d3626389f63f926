package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-sdn/weft/internal/bubble"
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

// TestWriter: writes are kept in order, those that wait together at once.
func TestWriter(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, s, changes, stop := writing(t)
		if err := w.Wait(t.Context(), w.Add(op("a", "1"))); err != nil || w.Err() != nil ||
			s.Tries() != 1 {
			t.Fatal(err)
		}
		s.Answer(func(_ context.Context, apply func() error) error {
			time.Sleep(time.Second)
			return apply()
		})
		for i := range 100 {
			w.Add(op("a", fmt.Sprint(i)))
		}
		if kept := w.Kept(); kept != 1 {
			t.Errorf("kept %d before the store has it", kept)
		}
		synctest.Wait() // the store has been given some of the 100
		last := w.Add(op("b", "1"))
		time.Sleep(time.Second)
		synctest.Wait()
		if kept := w.Kept(); kept < 2 || kept >= last {
			t.Errorf("kept %d: want the writes of the first request, and not %d, added later", kept, last)
		}
		if err := w.Wait(t.Context(), last); err != nil || w.Kept() != last || w.Added() != last {
			t.Errorf("%v, kept %d of %d", err, w.Kept(), last)
		}
		synctest.Wait()
		if r, err := s.Get(t.Context(), "a"); err != nil || string(r.Value) != "99" || s.Tries() > 4 ||
			changes.Load() < 2 {
			t.Errorf("%q, %v, after %d writes, %d changes reported", r.Value, err, s.Tries(), changes.Load())
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestWriterFails: a failed or hanging write is the last write: neither this write nor later writes
// are made again, even after the store has recovered, and all waiting callers get the error.
func TestWriterFails(t *testing.T) {
	full := errors.New("disk full")
	for name, c := range map[string]struct {
		fail func(*storetest.Faulty)
		want error
		took time.Duration
	}{
		"fails": {func(s *storetest.Faulty) { s.Fail(full) }, full, 0},
		"hangs": {(*storetest.Faulty).Hang, context.DeadlineExceeded, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w, s, _, stop := writing(t)
				if err := w.Wait(t.Context(), w.Add(op("a", "1"))); err != nil {
					t.Fatal(err)
				}
				c.fail(s)
				began := time.Now()
				n := w.Add(op("a", "2"))
				synctest.Wait()
				late := w.Add(op("c", "4")) // while the write is under way, where that takes time
				if err := w.Wait(t.Context(), n); !errors.Is(err, c.want) ||
					errors.Is(err, store.ErrUnwritten) || time.Since(began) != c.took {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
				if err := w.Wait(t.Context(), late); !errors.Is(err, c.want) ||
					!errors.Is(err, store.ErrUnwritten) {
					t.Errorf("what no write was begun for: %v", err)
				}
				<-w.Failed()
				s.Fail(nil)
				tries := s.Tries()
				time.Sleep(time.Minute)
				if err := w.Wait(t.Context(), w.Add(op("b", "3"))); !errors.Is(err, c.want) || w.Kept() != 1 {
					t.Errorf("after a failure: %v, kept %d", err, w.Kept())
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
				list, _, err := s.List(t.Context(), "")
				if err != nil || len(list) != 1 || string(list[0].Value) != "1" || s.Tries() != tries {
					t.Errorf("%v, %v, %d more writes", list, err, s.Tries()-tries)
				}
			})
		})
	}
}

// TestWriterEnds: when the writer ends, a waiting write is made, and a write under way gets a
// moment to finish; a longer write fails.
func TestWriterEnds(t *testing.T) {
	for took, kept := range map[time.Duration]bool{0: true, 900 * time.Millisecond: true,
		1100 * time.Millisecond: false} {
		bubble.Test(t, func(t *testing.T) {
			w, s, _, stop := writing(t)
			s.Answer(func(ctx context.Context, apply func() error) error {
				select {
				case <-time.After(took):
					return apply()
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			n := w.Add(op("a", "1"))
			synctest.Wait() // the write is under way
			if err := stop(); err != nil {
				t.Error(err)
			}
			if err := w.Wait(t.Context(), n); (err == nil) != kept || (w.Kept() == n) != kept {
				t.Errorf("a write that takes %v: %v", took, err)
			}
		})
	}
}

// TestWriterFenced: a writer ends when another process owns its store.
func TestWriterFenced(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := new(storetest.Faulty)
		s.Fail(fmt.Errorf("%w: key", store.ErrFenced))
		w := store.NewWriter(s, func() {})
		w.Add(op("a", "1"))
		if err := w.Run(t.Context(), make(chan struct{})); !errors.Is(err, store.ErrFenced) {
			t.Error(err)
		}
	})
}
