package store_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/store"
)

func TestSchema(t *testing.T) {
	ctx, s := t.Context(), store.NewMemory()
	for _, release := range []string{"weft v1", "weft v1", "weft v2"} {
		if err := store.CheckSchema(ctx, s, release); err != nil {
			t.Fatal(err)
		}
	}
	r, err := s.Get(ctx, "schema")
	if err != nil || string(r.Value) != `{"version":2,"release":"weft v2"}` || r.Revision != 2 {
		t.Errorf("%s at revision %d, %v", r.Value, r.Revision, err)
	}
	for value, want := range map[string]string{`{"version":3,"release":"weft v9"}`: "weft v9, schema 3",
		"{": "record schema"} {
		if _, err := s.Put(ctx, "schema", []byte(value), store.Any); err != nil {
			t.Fatal(err)
		}
		err := store.CheckSchema(ctx, s, "weft v1")
		if err == nil || !strings.Contains(err.Error(), want) ||
			errors.Is(err, store.ErrSchema) != (value != "{") {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
		if r, _ := s.Get(ctx, "schema"); string(r.Value) != value {
			t.Errorf("%s is overwritten with %s", value, r.Value)
		}
	}
}

// TestSchemaTogether: programs that begin on an empty store at the same time all may.
func TestSchemaTogether(t *testing.T) {
	s := store.NewMemory()
	begun := make(chan error)
	for range 20 {
		go func() { begun <- store.CheckSchema(t.Context(), raced{s}, "weft v1") }()
	}
	for range 20 {
		if err := <-begun; err != nil {
			t.Error(err)
		}
	}
}

// raced is a store on which others write between a reading and the write that follows.
type raced struct{ store.Store }

// Get implements [store.Store].
func (r raced) Get(ctx context.Context, key string) (store.Record, error) {
	record, err := r.Store.Get(ctx, key)
	runtime.Gosched()
	return record, err
}
