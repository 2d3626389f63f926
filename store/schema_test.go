package store_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/weft-sdn/weft/store"
)

// TestSchema: an empty store gets the version of the program, the store of an older release keeps
// its version until a controller raises the version, and the program refuses and leaves alone the
// store of a newer release, and names the way back.
func TestSchema(t *testing.T) {
	ctx, s := t.Context(), store.NewMemory()
	is := func(want string) {
		t.Helper()
		if r, err := s.Get(ctx, "schema"); err != nil || string(r.Value) != want {
			t.Errorf("%s, %v; want %s", r.Value, err, want)
		}
	}
	check := func(release string) {
		t.Helper()
		if err := store.CheckSchema(ctx, s, release); err != nil {
			t.Error(err)
		}
	}
	raise := func(release string, want bool) {
		t.Helper()
		if raised, err := store.RaiseSchema(ctx, s, release); err != nil || raised != want {
			t.Errorf("raised: %t, %v; want %t", raised, err, want)
		}
	}
	raise("weft v1", false)
	if _, err := s.Get(ctx, "schema"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("%v: a store whose records nobody has looked at got a version", err)
	}
	check("weft v1")
	is(fmt.Sprintf(`{"version":%d,"release":"weft v1"}`, store.Schema))
	check("weft v2")
	raise("weft v2", false)
	is(fmt.Sprintf(`{"version":%d,"release":"weft v1"}`, store.Schema))

	const old = `{"version":2,"release":"weft v0"}`
	if _, err := s.Put(ctx, "schema", []byte(old), store.Any); err != nil {
		t.Fatal(err)
	}
	check("weft v2")
	is(old)
	if version, _, err := store.ReadSchema(ctx, s); version != 2 || err != nil {
		t.Errorf("version %d, %v", version, err)
	}
	raise("weft v2", true)
	is(fmt.Sprintf(`{"version":%d,"release":"weft v2"}`, store.Schema))

	newer := fmt.Sprintf(`{"version":%d,"release":"weft v9"}`, store.Schema+1)
	for value, want := range map[string]string{
		newer: fmt.Sprintf("a newer release wrote the records: they have schema %d, since weft v9; "+
			"this one reads up to %d. Run that release or a later one; or go back by restoring a backup "+
			"of before the upgrade into an empty data directory (weft restore)",
			store.Schema+1, store.Schema),
		"{": "record schema: unexpected end of JSON input"} {
		if _, err := s.Put(ctx, "schema", []byte(value), store.Any); err != nil {
			t.Fatal(err)
		}
		_, raised := store.RaiseSchema(ctx, s, "weft v1")
		_, _, listed := store.Versioned(s).List(ctx, "")
		for how, err := range map[string]error{"check": store.CheckSchema(ctx, s, "weft v1"),
			"raise": raised, "list": listed} {
			if err == nil || err.Error() != want || errors.Is(err, store.ErrSchema) != (value != "{") {
				t.Errorf("%s: %v, want %q", how, err, want)
			}
		}
		is(value)
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
