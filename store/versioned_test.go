package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/storetest"
)

func TestVersionedContract(t *testing.T) {
	storetest.Contract(t, func(*testing.T) store.Store { return store.Versioned(store.NewMemory()) })
}

// TestVersions: a record carries its version; a record without a version is read unchanged; a
// record with a newer version is refused, and the error names the record.
func TestVersions(t *testing.T) {
	ctx, inner := t.Context(), store.NewMemory()
	s := store.Versioned(inner)
	old, err := inner.Put(ctx, "groups/old", []byte(`{"a":1}`), store.Absent)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(ctx, "groups/new", []byte(`{"a":2}`), store.Absent); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(ctx, []store.Op{{Key: "groups/third", Value: []byte("2\n3")}}); err != nil {
		t.Fatal(err)
	}
	// 0 is no version.
	if _, err := inner.Put(ctx, "groups/zero", []byte("0\n4"), store.Absent); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"groups/old": `{"a":1}`, "groups/new": `{"a":2}`, "groups/third": "2\n3",
		"groups/zero": "0\n4"}
	list, _, err := s.List(ctx, "")
	if err != nil || len(list) != len(want) {
		t.Fatalf("%v, %v", list, err)
	}
	for _, r := range list {
		if string(r.Value) != want[r.Key] {
			t.Errorf("%s: %q, want %q", r.Key, r.Value, want[r.Key])
		}
		if got, err := s.Get(ctx, r.Key); err != nil || string(got.Value) != want[r.Key] ||
			got.Revision != r.Revision {
			t.Errorf("%s: %q at %d, %v", r.Key, got.Value, got.Revision, err)
		}
	}
	if r, err := inner.Get(ctx, "groups/new"); err != nil || string(r.Value) != "1\n{\"a\":2}" {
		t.Errorf("%q, %v: it carries no version", r.Value, err)
	}
	events, err := s.Watch(ctx, "groups/", old)
	if err != nil {
		t.Fatal(err)
	}
	if e := <-events; string(e.Record.Value) != want["groups/new"] {
		t.Errorf("event %q", e.Record.Value)
	}
	if _, err := inner.Put(ctx, "groups/newer", []byte("9\n{}"), store.Absent); err != nil {
		t.Fatal(err)
	}
	for e := range events { // it ends
		if e.Record.Key == "groups/newer" {
			t.Errorf("event %+v", e)
		}
	}
	for what, read := range map[string]func() error{
		"Get":  func() error { _, err := s.Get(ctx, "groups/newer"); return err },
		"List": func() error { _, _, err := s.List(ctx, ""); return err },
	} {
		if err := read(); !errors.Is(err, store.ErrSchema) ||
			!strings.Contains(err.Error(), "record groups/newer has version 9; this one reads up to 1") {
			t.Errorf("%s: %v", what, err)
		}
	}
	// Every release can read the schema record.
	if err := store.CheckSchema(ctx, inner, "weft 1"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(deleted(s, t), store.CheckSchema(ctx, inner, "weft 2")); err != nil {
		t.Error(err)
	}
	if list, _, err := s.List(ctx, "schema"); err != nil || len(list) != 1 ||
		!strings.HasPrefix(string(list[0].Value), "{") {
		t.Errorf("%v, %v", list, err)
	}
}

// TestVersionedWatchEnds: a watch that ends at a record of a newer version, or with its watcher,
// leaves nothing behind in the store.
func TestVersionedWatchEnds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) { // it fails when something goes on
		inner := store.NewMemory()
		s := store.Versioned(inner)
		events, err := s.Watch(context.Background(), "", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"9\n{}", "1\n{}", "1\n{}"} {
			if _, err := inner.Put(t.Context(), "g", []byte(text), store.Any); err != nil {
				t.Fatal(err)
			}
		}
		if e, ok := <-events; ok {
			t.Errorf("event %+v of a newer record, or after it", e)
		}
		ctx, cancel := context.WithCancel(context.Background())
		if _, err = s.Watch(ctx, "", 1); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // it waits for its watcher to take an event
		cancel()
	})
}

func deleted(s store.Store, t *testing.T) error {
	_, err := s.Delete(t.Context(), "groups/newer", store.Any)
	return err
}

func TestVersionedIsShared(t *testing.T) {
	if _, ok := store.Versioned(store.NewMemory()).(store.Shared); ok {
		t.Error("a store of one process is shared")
	}
	storetest.SharedContract(t, func(*testing.T) store.Shared {
		return store.Versioned(storetest.NewServer().Client()).(store.Shared)
	})
}
