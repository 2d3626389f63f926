package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	ctx := t.Context()
	m := NewMemory()
	if _, err := m.Get(ctx, "a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Get of nothing: %v", err)
	}
	r1, err := m.Put(ctx, "a", []byte("1"), Absent)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Put(ctx, "a", []byte("2"), Absent); !errors.Is(err, ErrConflict) {
		t.Errorf("Put over a record that should be absent: %v", err)
	}
	if _, err := m.Put(ctx, "a", []byte("2"), r1+1); !errors.Is(err, ErrConflict) {
		t.Errorf("Put at a wrong revision: %v", err)
	}
	r2, err := m.Put(ctx, "a", []byte("2"), r1)
	if err != nil || r2 <= r1 {
		t.Errorf("Put at the right revision: %d after %d, %v", r2, r1, err)
	}
	if _, err := m.Put(ctx, "b/x", nil, Any); err != nil {
		t.Error(err)
	}
	if _, err := m.Put(ctx, "b/a", []byte("ba"), Any); err != nil {
		t.Error(err)
	}
	list, rev, err := m.List(ctx, "b/")
	if err != nil || rev != 4 || len(list) != 2 || list[0].Key != "b/a" || list[1].Key != "b/x" {
		t.Errorf("List: %v at %d, %v", list, rev, err)
	}
	// What was read belongs to the reader.
	list[0].Value[0] = 'X'
	if r, _ := m.Get(ctx, "b/a"); string(r.Value) != "ba" {
		t.Errorf("a reader changed the record: %q", r.Value)
	}
	if _, err := m.Delete(ctx, "a", r1); !errors.Is(err, ErrConflict) {
		t.Errorf("Delete at a wrong revision: %v", err)
	}
	if _, err := m.Delete(ctx, "a", r2); err != nil {
		t.Error(err)
	}
	if rev, err := m.Delete(ctx, "a", Any); err != nil || rev != 5 {
		t.Errorf("Delete of nothing: revision %d, %v", rev, err)
	}
	if err := Apply(ctx, m, []Op{{Key: "c", Value: []byte("c")}, {Key: "b/x"}}); err != nil {
		t.Error(err)
	}
	if list, _, _ := m.List(ctx, ""); len(list) != 2 || list[0].Key != "b/a" || list[1].Key != "c" {
		t.Errorf("after Apply: %v", list)
	}
}

func TestWatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := NewMemory()
	_, _ = m.Put(ctx, "g/1", []byte("a"), Any)
	events, err := m.Watch(ctx, "g/", 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = m.Put(ctx, "other", []byte("x"), Any)
	_, _ = m.Put(ctx, "g/1", []byte("b"), Any)
	_, _ = m.Delete(ctx, "g/1", Any)
	var got []string
	for range 3 {
		e := <-events
		got = append(got, fmt.Sprintf("%d %s %s %v", e.Record.Revision, e.Record.Key, e.Record.Value, e.Deleted))
	}
	want := []string{"1 g/1 a false", "3 g/1 b false", "4 g/1  true"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	cancel()
	for range events {
		t.Error("event after the end")
	}
}

func TestWatchTooOld(t *testing.T) {
	m := NewMemory()
	for i := range history + 1 {
		_, _ = m.Put(t.Context(), "k", fmt.Append(nil, i), Any)
	}
	if _, err := m.Watch(t.Context(), "", 0); !errors.Is(err, ErrCompacted) {
		t.Errorf("Watch of what is forgotten: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	events, err := m.Watch(ctx, "", history)
	if err != nil {
		t.Fatal(err)
	}
	if e := <-events; string(e.Record.Value) != fmt.Sprint(history) {
		t.Errorf("first event %q", e.Record.Value)
	}
	cancel()
	for range events {
		t.Error("event after the end")
	}
}
