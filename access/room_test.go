package access

import (
	"context"
	"errors"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/store"
)

// fullStore is a store whose disk is full.
type fullStore struct{ store.Store }

func (s fullStore) Apply(ctx context.Context, ops []store.Op) error {
	if !store.MayUseReserve(ctx) {
		return store.ErrNoRoom
	}
	return s.Store.Apply(ctx, ops)
}

// TestSignInWithoutRoom: on a full disk users sign in, for they may make room, and nobody is added:
// that is refused, and not of an unknown outcome.
func TestSignInWithoutRoom(t *testing.T) {
	w := newGuessBed(t)
	w.keeper.store = fullStore{w.keeper.store}
	w.mustSignIn("ann", "192.0.2.1")
	_, err := w.keeper.AddUser(w.ctx(),
		&api.UserRequest{Name: "eve", Grant: api.Grant{Role: api.RoleAdmin}, Password: goodPassword})
	if !errors.Is(err, ErrStore) || !errors.Is(err, store.ErrNoRoom) || errors.Is(err, ErrUnknown) {
		t.Errorf("a user is added: %v", err)
	}
	w.mustSignIn("bob", "192.0.2.1")
}
