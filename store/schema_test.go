package store_test

import (
	"errors"
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
	if err != nil || string(r.Value) != `{"version":1,"release":"weft v2"}` || r.Revision != 2 {
		t.Errorf("%s at revision %d, %v", r.Value, r.Revision, err)
	}
	for value, want := range map[string]string{`{"version":2,"release":"weft v9"}`: "weft v9, schema 2", "{": "record schema"} {
		if _, err := s.Put(ctx, "schema", []byte(value), store.Any); err != nil {
			t.Fatal(err)
		}
		err := store.CheckSchema(ctx, s, "weft v1")
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, store.ErrSchema) != (value != "{") {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
		if r, _ := s.Get(ctx, "schema"); string(r.Value) != value {
			t.Errorf("%s is overwritten with %s", value, r.Value)
		}
	}
}
