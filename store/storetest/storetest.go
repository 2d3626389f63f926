// Package storetest has the rules that every [store.Store] keeps, as a test.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/store"
)

// Contract tests that a store keeps the rules of [store.Store]. open returns an empty one.
func Contract(t *testing.T, open func(t *testing.T) store.Store) {
	t.Helper()
	t.Run("records", func(t *testing.T) { records(t, open(t)) })
	t.Run("conditions", func(t *testing.T) { conditions(t, open(t)) })
	t.Run("apply", func(t *testing.T) { apply(t, open(t)) })
	t.Run("watch", func(t *testing.T) { watch(t, open(t)) })
}

func records(t *testing.T, s store.Store) {
	ctx := t.Context()
	if _, err := s.Get(ctx, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get of nothing: %v", err)
	}
	if list, _, err := s.List(ctx, ""); err != nil || len(list) != 0 {
		t.Errorf("List of nothing: %v, %v", list, err)
	}
	var last int64
	for _, r := range []store.Record{{Key: "b/x"}, {Key: "b/a", Value: []byte("ba")},
		{Key: "c", Value: []byte("c")}} {
		revision, err := s.Put(ctx, r.Key, r.Value, store.Any)
		if err != nil || revision <= last {
			t.Fatalf("Put of %s: revision %d after %d, %v", r.Key, revision, last, err)
		}
		last = revision
	}
	list, revision, err := s.List(ctx, "b/")
	if err != nil || revision != last || len(list) != 2 || list[0].Key != "b/a" ||
		list[1].Key != "b/x" {
		t.Fatalf("List: %v at %d, %v", list, revision, err)
	}
	if list[1].Value == nil {
		t.Error("a record without content has a nil value, as one that was deleted")
	}
	list[0].Value[0] = 'X' // what was read belongs to the reader
	if r, err := s.Get(ctx, "b/a"); err != nil || string(r.Value) != "ba" || r.Revision != last-1 {
		t.Errorf("Get: %q at %d, %v", r.Value, r.Revision, err)
	}
	if err := s.Writable(); err != nil {
		t.Errorf("Writable: %v", err)
	}
}

func conditions(t *testing.T, s store.Store) {
	ctx := t.Context()
	first, err := s.Put(ctx, "a", []byte("1"), store.Absent)
	if err != nil {
		t.Fatal(err)
	}
	for _, expect := range []int64{store.Absent, first + 1} {
		if _, err := s.Put(ctx, "a", []byte("2"), expect); !errors.Is(err, store.ErrConflict) {
			t.Errorf("Put where revision %d is expected, not %d: %v", expect, first, err)
		}
		if _, err := s.Delete(ctx, "a", expect); !errors.Is(err, store.ErrConflict) {
			t.Errorf("Delete where revision %d is expected, not %d: %v", expect, first, err)
		}
	}
	second, err := s.Put(ctx, "a", []byte("2"), first)
	if err != nil || second <= first {
		t.Errorf("Put at the right revision: %d after %d, %v", second, first, err)
	}
	if _, err := s.Delete(ctx, "a", second); err != nil {
		t.Error(err)
	}
	if _, err := s.Put(ctx, "a", []byte("3"), second); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Put over a record that is gone: %v", err)
	}
	for _, expect := range []int64{store.Any, store.Absent} {
		if _, err := s.Delete(ctx, "a", expect); err != nil {
			t.Errorf("Delete of nothing: %v", err)
		}
	}
}

// many is more writes than some stores take at once.
const many = 10_000

func apply(t *testing.T, s store.Store) {
	ctx := t.Context()
	if err := s.Apply(ctx, nil); err != nil {
		t.Errorf("Apply of nothing: %v", err)
	}
	ops := []store.Op{
		{Key: "kept", Value: []byte("old")}, {Key: "gone", Value: []byte("x")},
		{Key: "kept", Value: []byte("new")},
		{Key: "gone"}, {Key: "missing"},
	}
	for i := range many {
		ops = append(ops, store.Op{Key: fmt.Sprintf("many/%05d", i), Value: []byte("x")})
	}
	large := make([]byte, 1<<20) // together more octets than some stores take at once
	for i := range 20 {
		ops = append(ops, store.Op{Key: fmt.Sprintf("many/large/%d", i), Value: large})
	}
	if err := s.Apply(ctx, ops); err != nil {
		t.Fatal(err)
	}
	list, _, err := s.List(ctx, "")
	if err != nil || len(list) != many+20+1 || list[0].Key != "kept" ||
		string(list[0].Value) != "new" {
		t.Errorf("%d records after Apply, %v", len(list), err)
	}
}

func watch(t *testing.T, s store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	before, err := s.Put(ctx, "g/0", nil, store.Any)
	if err != nil {
		t.Fatal(err)
	}
	now, err1 := s.Put(ctx, "g/1", []byte("a"), store.Any)
	events, err2 := s.Watch(ctx, "g/", before)
	later, err6 := s.Watch(ctx, "g/", now) // what nothing has happened after yet
	_, err3 := s.Put(ctx, "other", []byte("x"), store.Any)
	_, err4 := s.Put(ctx, "g/1", []byte("b"), store.Any)
	_, err5 := s.Delete(ctx, "g/1", store.Any)
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		t.Fatal(err)
	}
	var got []string
	revision := before
	for range 3 {
		e := <-events
		if e.Record.Revision <= revision {
			t.Errorf("revision %d after %d", e.Record.Revision, revision)
		}
		revision = e.Record.Revision
		got = append(got, fmt.Sprintf("%s %q %v", e.Record.Key, e.Record.Value, e.Deleted))
	}
	if want := []string{`g/1 "a" false`, `g/1 "b" false`, `g/1 "" true`}; !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	if e := <-later; e.Record.Key != "g/1" || string(e.Record.Value) != "b" || e.Deleted {
		t.Errorf("event %+v of a watch from then on, want the next change", e)
	}
	cancel()
	for range events {
		t.Error("event after the end")
	}
}
