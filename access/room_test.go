package access

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/store"
)

// fullStore is a store on a full disk, with the error for writes.
type fullStore struct {
	store.Store
	err error
}

func (s fullStore) Apply(ctx context.Context, ops []store.Op) error {
	if !store.MayUseReserve(ctx) {
		return s.err
	}
	return s.Store.Apply(ctx, ops)
}

// TestSignInWithoutRoom: on a full disk users sign in, for they may make room, and nobody is added:
// that is refused, and not of an unknown outcome.
func TestSignInWithoutRoom(t *testing.T) {
	w := newGuessBed(t)
	under := w.keeper.store
	add := func(err error) error {
		w.keeper.store = fullStore{under, err}
		_, err = w.keeper.AddUser(w.ctx(),
			&api.UserRequest{Name: "eve", Grant: api.Grant{Role: api.RoleAdmin}, Password: goodPassword})
		return err
	}
	err := add(fmt.Errorf("%w: %w", store.ErrUnavailable, store.ErrNoRoom))
	if !errors.Is(err, ErrUnknown) || errors.Is(err, ErrStore) {
		t.Errorf("a user is added, and the disk was full when the outcome was asked for: %v", err)
	}
	err = add(store.ErrNoRoom)
	w.mustSignIn("ann", "192.0.2.1")
	if !errors.Is(err, ErrStore) || !errors.Is(err, store.ErrNoRoom) || errors.Is(err, ErrUnknown) {
		t.Errorf("a user is added: %v", err)
	}
	w.mustSignIn("bob", "192.0.2.1")
}
