package access

import (
	"errors"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
)

// TestLastAdministrator: an administrator's token with an end does not count as a lasting
// administrator, and neither does a principal with another role: the last user with the role stays.
func TestLastAdministrator(t *testing.T) {
	w := newGuessBed(t)
	by := &Principal{Name: "ann", Way: api.WayUser, Grant: api.Grant{Role: api.RoleAdmin}}
	token := func(role api.Role, lifetime time.Duration) string {
		made, err := w.keeper.CreateToken(w.ctx(), by, &api.TokenRequest{Name: "robot",
			Grant: api.Grant{Role: role}, Lifetime: api.Duration(lifetime)})
		if err != nil {
			t.Fatal(err)
		}
		return made.ID
	}
	if err := w.keeper.RemoveUser(w.ctx(), "bob"); err != nil {
		t.Fatalf("another administrator is left: %v", err)
	}
	refused := func(what string) {
		t.Helper()
		var e *api.Error
		if err := w.keeper.RemoveUser(w.ctx(), "ann"); !errors.As(err, &e) || e.Code != api.CodeConflict {
			t.Errorf("%s: %v, want a conflict", what, err)
		}
	}
	refused("alone")
	token(api.RoleAdmin, time.Hour)
	refused("beside a token that ends")
	token(api.RoleOperator, 0)
	refused("beside an operator's token")
	forever := token(api.RoleAdmin, 0)
	if err := w.keeper.RemoveUser(w.ctx(), "ann"); err != nil {
		t.Errorf("beside an administrator's token without an end: %v", err)
	}
	var e *api.Error
	if err := w.keeper.DeleteToken(w.ctx(), forever); !errors.As(err, &e) ||
		e.Code != api.CodeConflict {
		t.Errorf("the token that is the last one: %v, want a conflict", err)
	}
}

// TestSessionsOfAnOldPassword: a password change ends all older sessions, but no session that
// starts with the new password.
func TestSessionsOfAnOldPassword(t *testing.T) {
	w := newGuessBed(t)
	begin := func(password string) string {
		t.Helper()
		_, session, err := w.keeper.SignIn(w.ctx(), "ann", password, home)
		if err != nil {
			t.Fatal(err)
		}
		return session
	}
	valid := func(what, session string, want bool) {
		t.Helper()
		if _, err := w.keeper.authenticator.session(t.Context(), session); (err == nil) != want {
			t.Errorf("%s: %v", what, err)
		}
	}
	first := begin(goodPassword) // at the instant at which the user was made
	valid("a session of the instant of the password", first, true)
	w.now = w.now.Add(time.Nanosecond)
	const other = "another horse battery"
	by := &Principal{Name: "bob", Way: api.WayUser, Grant: api.Grant{Role: api.RoleAdmin}}
	if err := w.keeper.SetPassword(w.ctx(), by, "ann",
		&api.PasswordRequest{Password: other}); err != nil {
		t.Fatal(err)
	}
	valid("a session of before", first, false)
	valid("a session of the instant of the change", begin(other), true)
}
