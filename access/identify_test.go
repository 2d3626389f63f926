package access

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/store"
)

// TestSecrets: a session and a token are taken by their own secrets alone, while they last.
func TestSecrets(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	d := NewDirectory(store.NewMemory())
	d.sessions, d.tokens = make(map[string]session), make(map[string]token)
	a := NewAuthenticator(Config{Now: func() time.Time { return now }}, d)
	id, ended, secret, another := newID(), newID(), newSecret(), newSecret()
	fields := func(id, secret string) string { return joined("", id, secret) }
	for at, began := range map[string]time.Time{id: now, ended: now.Add(-24 * time.Hour)} {
		d.sessions[at] = session{Digest: digest(secret), Created: began, LastUsed: began,
			Principal: Principal{Name: "eve", Way: api.WayCertificate}}
	}
	d.tokens[id] = token{Token: api.Token{Name: "t", ID: id}, Digest: digest(secret)}
	d.tokens[ended] = token{Token: api.Token{Name: "t", ID: ended, Expires: now},
		Digest: digest(secret)}
	if _, err := a.session(t.Context(), fields(id, secret)); !errors.Is(err, ErrStore) {
		t.Errorf("before the store was read: %v", err)
	}
	if _, err := a.Token(t.Context(), tokenMark+fields(id, secret)); !errors.Is(err, ErrStore) {
		t.Errorf("before the store was read: %v", err)
	}
	d.loaded = true
	for what, c := range map[string]struct {
		value string
		ok    bool
	}{
		"its secret":         {fields(id, secret), true},
		"another secret":     {fields(id, another), false},
		"the digest":         {fields(id, digest(secret)), false},
		"no secret":          {id, false},
		"a short secret":     {fields(id, secret[1:]), false},
		"a long secret":      {fields(id, secret+"0"), false},
		"another id":         {fields(newID(), secret), false},
		"a short id":         {fields(id[1:], secret), false},
		"one that has ended": {fields(ended, secret), false},
		"nothing":            {"", false},
	} {
		p, err := a.session(t.Context(), c.value)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrCredentials) {
			t.Errorf("session by %s: %v", what, err)
		}
		if c.ok && (p.Name != "eve" || p.SessionID != id || p.CSRF != csrfOf(secret) ||
			!p.Expires.Equal(now.Add(DefaultTimes().Absolute))) {
			t.Errorf("session by %s: %+v", what, p)
		}
		p, err = a.Token(t.Context(), sessionMark+c.value)
		if (err == nil) != c.ok || c.ok && (p.Name != "eve" || p.CSRF != "") {
			t.Errorf("session as a token by %s: %+v, %v", what, p, err)
		}
		p, err = a.Token(t.Context(), tokenMark+c.value)
		if (err == nil) != c.ok || c.ok && (p.Name != "t" || p.Way != api.WayToken || p.ID != id) {
			t.Errorf("token by %s: %+v, %v", what, p, err)
		}
		if _, err := a.Token(t.Context(), c.value); !errors.Is(err, ErrCredentials) {
			t.Errorf("without a mark, by %s: %v", what, err)
		}
	}
}

// TestFileTokens: a token in the file belongs to an administrator. Its name derives from four
// octets of its digest, so the name gives nothing away.
func TestFileTokens(t *testing.T) {
	given := sha256.Sum256([]byte("the token"))
	a := NewAuthenticator(Config{Tokens: [][sha256.Size]byte{{1}, given, {2}}}, NewDirectory(
		store.NewMemory()))
	want := fmt.Sprintf("token-file:%x", given[:4])
	p, err := a.Token(t.Context(), "the token")
	if err != nil || p.Name != want || p.Way != api.WayFile || p.Role != api.RoleAdmin {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := a.Token(t.Context(), "another token"); !errors.Is(err, ErrCredentials) {
		t.Errorf("another one: %v", err)
	}
}

// TestForged: a change by a session of a cookie needs the session's CSRF token. Reads need none,
// and neither does what no browser sends by itself.
func TestForged(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions,
		http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		changes := strings.HasPrefix(method, "P") || method == http.MethodDelete
		for _, csrf := range []string{"", "good"} {
			for _, header := range []string{"", "good", "bad"} {
				p := Principal{CSRF: csrf}
				r := httptest.NewRequest(method, "/v1/groups", nil)
				r.Header.Set(CSRFHeader, header)
				if want := changes && csrf != "" && header != csrf; p.Forged(r) != want {
					t.Errorf("%s, token %q, header %q: forged %v", method, csrf, header, !want)
				}
			}
		}
	}
}

// TestUserLimit: the last of 1,000 users is added, and no more.
func TestUserLimit(t *testing.T) {
	w := newGuessBed(t)
	dir := w.keeper.authenticator.dir
	const most = 1000
	add := func(name string, beside int) error {
		for i := 0; len(dir.users) < beside; i++ {
			dir.users[fmt.Sprint("user", i)] = user{}
		}
		_, err := w.keeper.AddUser(w.ctx(), &api.UserRequest{Name: name, Password: goodPassword,
			Grant: api.Grant{Role: api.RoleViewer}})
		return err
	}
	var refused *api.Error
	if err := add("ann", 2); !errors.As(err, &refused) || refused.Code != api.CodeExists {
		t.Errorf("a user that there is: %v", err)
	}
	if err := add("last", most-1); err != nil {
		t.Error(err)
	}
	if err := add("more", most); !errors.As(err, &refused) || refused.Code != api.CodeLimit {
		t.Errorf("one more than the last: %v", err)
	}
}
