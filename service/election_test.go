package service

import (
	"testing"

	"github.com/weft-sdn/weft/store"
)

// TestElection: ids grow with each start on a store, differ between stores, and a record that is no
// longer readable stops the start.
func TestElection(t *testing.T) {
	ctx, s := t.Context(), store.NewMemory()
	first, err := nextElection(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	second, err := nextElection(ctx, s)
	if err != nil || second.id().Compare(first.id()) <= 0 || second.Identity != first.Identity ||
		second.id().High != 1 {
		t.Errorf("%v after %v, %v", second, first, err)
	}
	if other, err := nextElection(ctx, store.NewMemory()); err != nil ||
		other.Identity == first.Identity {
		t.Errorf("%v on another store, %v on this one, %v", other, first, err)
	}
	for _, value := range []string{"{", `{"generation":7}`} {
		if _, err := s.Put(ctx, electionKey, []byte(value), store.Any); err != nil {
			t.Fatal(err)
		}
		if e, err := nextElection(ctx, s); err == nil {
			t.Errorf("%s gives %v", value, e)
		}
	}
}
