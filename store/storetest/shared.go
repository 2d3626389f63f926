package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weft-sdn/weft/store"
)

// TTL is the duration of the leases of [SharedContract].
const TTL = 2 * time.Second

// SharedContract tests that a store keeps the additional rules of [store.Shared] over
// [store.Store]. open returns an empty store.
func SharedContract(t *testing.T, open func(t *testing.T) store.Shared) {
	t.Helper()
	t.Run("guarded", func(t *testing.T) { guarded(t, open(t)) })
	t.Run("lease", func(t *testing.T) { lease(t, open(t)) })
	t.Run("renewal", func(t *testing.T) { renewal(t, open(t)) })
}

func guarded(t *testing.T, s store.Shared) {
	ctx := t.Context()
	term, err := s.Put(ctx, "decider", []byte("a"), store.Absent)
	if err != nil {
		t.Fatal(err)
	}
	g := s.Guarded("decider", term)
	if _, err := g.Put(ctx, "x", []byte("1"), store.Absent); err != nil {
		t.Errorf("Put within the term: %v", err)
	}
	if _, err := g.Put(ctx, "x", []byte("2"), store.Absent); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Put over a record within the term: %v", err)
	}
	if err := g.Apply(ctx, []store.Op{{Key: "y", Value: []byte("1")},
		{Key: "z", Value: []byte("1")}}); err != nil {
		t.Errorf("Apply within the term: %v", err)
	}
	fenced := func(when string) {
		t.Helper()
		if _, err := g.Put(ctx, "x", []byte("3"), store.Any); !errors.Is(err, store.ErrFenced) {
			t.Errorf("Put %s: %v", when, err)
		}
		if _, err := g.Put(ctx, "x", []byte("3"), 12345); !errors.Is(err, store.ErrFenced) {
			t.Errorf("Put at a wrong revision %s: %v", when, err)
		}
		if _, err := g.Delete(ctx, "x", store.Any); !errors.Is(err, store.ErrFenced) {
			t.Errorf("Delete %s: %v", when, err)
		}
		ops := make([]store.Op, many)
		for i := range ops {
			ops[i] = store.Op{Key: "z", Value: []byte("3")}
		}
		if err := g.Apply(ctx, append(ops, store.Op{Key: "y"})); !errors.Is(err, store.ErrFenced) {
			t.Errorf("Apply %s: %v", when, err)
		}
		for key, want := range map[string]string{"x": "1", "y": "1", "z": "1"} {
			if r, err := g.Get(ctx, key); err != nil || string(r.Value) != want {
				t.Errorf("%s: %s is %q, %v", when, key, r.Value, err)
			}
		}
	}
	if _, err := s.Put(ctx, "decider", []byte("b"), store.Any); err != nil {
		t.Fatal(err)
	}
	fenced("in another term")
	if _, err := s.Delete(ctx, "decider", store.Any); err != nil {
		t.Fatal(err)
	}
	fenced("without a decider")
	if _, err := s.Put(ctx, "x", []byte("4"), store.Any); err != nil {
		t.Errorf("Put without a guard: %v", err)
	}
}

func lease(t *testing.T, s store.Shared) {
	ctx := t.Context()
	l, err := s.Lease(ctx, TTL)
	if err != nil {
		t.Fatal(err)
	}
	revision, err := l.Put(ctx, "members/a", []byte("1"), store.Absent)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Put(ctx, "members/a", []byte("2"), store.Absent); !errors.Is(err,
		store.ErrConflict) {
		t.Errorf("Put over a record: %v", err)
	}
	if r, err := s.Get(ctx, "members/a"); err != nil || string(r.Value) != "1" ||
		r.Revision != revision {
		t.Errorf("%q at %d, %v; want revision %d", r.Value, r.Revision, err, revision)
	}
	if _, err := s.Put(ctx, "other", []byte("1"), store.Any); err != nil {
		t.Fatal(err)
	}
	events, err := s.Watch(ctx, "members/", revision)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
	if e := <-events; !e.Deleted || e.Record.Key != "members/a" {
		t.Errorf("event %+v", e)
	}
	<-l.Done()
	if _, err := l.Put(ctx, "members/b", []byte("1"), store.Any); err == nil {
		t.Error("Put under a lease that is over")
	}
	if _, err := s.Get(ctx, "other"); err != nil {
		t.Errorf("a record of no lease: %v", err)
	}
	if err := l.Close(ctx); err != nil {
		t.Errorf("Close again: %v", err)
	}
}

// renewal takes a little more than one TTL.
func renewal(t *testing.T, s store.Shared) {
	began := time.Now()
	opening, cancel := context.WithCancel(t.Context())
	l, err := s.Lease(opening, TTL)
	if err != nil {
		t.Fatal(err)
	}
	cancel() // the lease does not depend on it
	first := l.Until()
	if first.Before(began.Add(TTL)) {
		t.Errorf("it lasts until %v, %v after it was asked for", first, first.Sub(began))
	}
	if _, err := l.Put(t.Context(), "members/a", []byte("1"), store.Any); err != nil {
		t.Fatal(err)
	}
	select {
	case <-time.After(time.Until(first) + TTL/2):
	case <-l.Done():
		t.Error("the lease ended")
	}
	if !l.Until().After(time.Now()) {
		t.Errorf("it was not renewed: %v", l.Until())
	}
	if _, err := s.Get(t.Context(), "members/a"); err != nil {
		t.Error(err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
