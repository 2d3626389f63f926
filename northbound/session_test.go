package northbound

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

// newClockedServer returns a server whose clock a test moves, with an administrator ann.
func newClockedServer(t *testing.T) (s *Server, now *time.Time) {
	t.Helper()
	at := epochStart
	s, _, _ = newTestServer(t, func(c *Config) {
		c.Now = func() time.Time { return at }
		var err error
		if c.Access, err = access.InMemory(t.Context(), access.Config{Now: c.Now}); err != nil {
			t.Fatal(err)
		}
		if c.Access.Keeper, err = access.NewKeeper(t.Context(), c.Access.Authenticator, c.Access.Store(),
			access.Cost{Passes: 1, Memory: 8, Lanes: 1}, nil); err != nil {
			t.Fatal(err)
		}
	})
	_, err := s.cfg.Access.Keeper.AddUser(audited(t.Context()),
		&api.UserRequest{Name: "ann", Grant: api.Grant{Role: api.RoleAdmin}, Password: annsPassword})
	if err != nil {
		t.Fatal(err)
	}
	return s, &at
}

const annsPassword = "correct horse battery"

// signInAs begins a session and returns its headers.
func signInAs(t *testing.T, s *Server, body string) (headers []string, me api.Session) {
	t.Helper()
	w := do(s, "POST", sessionPath, body)
	if err := json.Unmarshal(w.Body.Bytes(), &me); err != nil || w.Code != 200 {
		t.Fatalf("%d %s %v", w.Code, w.Body, err)
	}
	if me.Token != "" {
		return []string{"Authorization", "Bearer " + me.Token}, me
	}
	return []string{"Cookie", cookiesOf(w), access.CSRFHeader, me.CSRF}, me
}

const annSignsIn = `{"user":"ann","password":"` + annsPassword + `"}`

// TestSessionCookie: its attributes, and that changes need the CSRF token.
func TestSessionCookie(t *testing.T) {
	s, _ := newClockedServer(t)
	w := do(s, "POST", sessionPath, annSignsIn)
	set := w.Header().Get("Set-Cookie")
	for _, want := range []string{"weft-session=", "; HttpOnly", "; Secure", "; SameSite=Strict",
		"; Path=/"} {
		if !strings.Contains(set, want) {
			t.Errorf("%q lacks %q", set, want)
		}
	}
	headers, me := signInAs(t, s, annSignsIn)
	cookie := headers[:2:2]
	if me.Role != api.RoleAdmin || me.CSRF == "" || !me.Expires.Equal(epochStart.Add(12*time.Hour)) ||
		strings.Contains(set, me.CSRF) {
		t.Errorf("%+v", me)
	}
	if w := do(s, "GET", groupsPath, "", cookie...); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for name, csrf := range map[string]string{"none": "", "wrong": strings.Repeat("0", 32)} {
		problemIn(t, do(s, "POST", groupsPath, groupBody("g1", 1),
			append(cookie, access.CSRFHeader, csrf)...), 403, codeCSRF)
		problemIn(t, do(s, "DELETE", sessionPath, "", append(cookie, access.CSRFHeader, csrf)...), 403,
			codeCSRF)
		_ = name
	}
	if w := do(s, "POST", groupsPath, groupBody("g1", 1), headers...); w.Code != 201 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := do(s, "DELETE", sessionPath, "", headers...); w.Code != 204 ||
		!strings.Contains(w.Header().Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	problemIn(t, do(s, "GET", groupsPath, "", cookie...), 401, codeUnauthorized)
	// A stale cookie does not keep its browser from signing in.
	if w := do(s, "POST", sessionPath, annSignsIn, cookie...); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := do(s, "GET", sessionPath, "", cookie...); w.Code != 200 ||
		!strings.Contains(w.Body.String(), `"role":""`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// openSessions lists the sessions visible to a client, by the names of their owners.
func openSessions(t *testing.T, s *Server, headers []string) map[string][]api.OpenSession {
	t.Helper()
	w := do(s, "GET", sessionsPath, "", headers...)
	var list api.List[api.OpenSession]
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != 200 {
		t.Fatalf("%d %s %v", w.Code, w.Body, err)
	}
	out := make(map[string][]api.OpenSession)
	for _, o := range list.Items {
		out[o.Name] = append(out[o.Name], o)
	}
	return out
}

// TestOpenSessions: administrators see and end every session that has not ended, others their own.
func TestOpenSessions(t *testing.T) {
	s, now := newClockedServer(t)
	for _, name := range []string{"bob", "cid"} {
		if _, err := s.cfg.Access.Keeper.AddUser(audited(t.Context()), &api.UserRequest{Name: name,
			Grant: api.Grant{Role: api.RoleViewer}, Password: annsPassword}); err != nil {
			t.Fatal(err)
		}
	}
	as := func(name string) []string {
		headers, _ := signInAs(t, s, strings.Replace(annSignsIn, "ann", name, 1))
		*now = now.Add(time.Second)
		return headers
	}
	ann, bob, bobs, cid := as("ann"), as("bob"), as("bob"), as("cid")

	all := openSessions(t, s, ann)
	if len(all["ann"]) != 1 || len(all["bob"]) != 2 || len(all["cid"]) != 1 {
		t.Fatalf("an administrator sees %+v", all)
	}
	if a := all["ann"][0]; !a.Current || a.Role != api.RoleAdmin || a.Way != api.WayUser ||
		!a.Created.Equal(epochStart) || !a.Expires.Equal(epochStart.Add(12*time.Hour)) {
		t.Errorf("%+v", a)
	}
	if a, b := all["bob"][0], all["bob"][1]; a.Current || b.Current || !a.Created.Before(b.Created) {
		t.Errorf("%+v, %+v", a, b)
	}
	own := openSessions(t, s, bobs)
	if len(own) != 1 || len(own["bob"]) != 2 || own["bob"][0].Current || !own["bob"][1].Current {
		t.Errorf("bob sees %+v", own)
	}

	end := func(headers []string, id string) int {
		return do(s, "DELETE", sessionsPath+"/"+id, "", headers...).Code
	}
	if code := end(bob, all["cid"][0].ID); code != 404 {
		t.Errorf("bob ends the session of cid: %d", code)
	}
	if code := end(bob, "nosuch"); code != 404 {
		t.Errorf("no session: %d", code)
	}
	for name, c := range map[string]struct{ by, of []string }{
		"bob ends another of his": {bob, bobs}, "an administrator ends that of cid": {ann, cid},
	} {
		who := "bob"
		if &c.of[0] == &cid[0] {
			who = "cid"
		}
		open := openSessions(t, s, ann)[who]
		if code := end(c.by, open[len(open)-1].ID); code != 204 {
			t.Errorf("%s: %d", name, code)
		}
		problemIn(t, do(s, "GET", groupsPath, "", c.of[:2:2]...), 401, codeUnauthorized)
	}
	// A session by a token ends with it.
	token := tokenFor(t, s, "ci", api.Grant{Role: api.RoleViewer}, 0)
	signInAs(t, s, `{"token":"`+token.Secret+`"}`)
	if ci := openSessions(t, s, ann)["ci"]; len(ci) != 1 || ci[0].Way != api.WayToken {
		t.Errorf("by a token: %+v", ci)
	}
	if w := do(s, "DELETE", tokensPath+"/"+token.ID, "", ann...); w.Code != 204 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if ci := openSessions(t, s, ann)["ci"]; len(ci) != 0 {
		t.Errorf("the token is revoked, and there is %+v", ci)
	}
	// Expired sessions leave the list.
	*now = now.Add(32 * time.Minute)
	again := as("ann")
	if left := openSessions(t, s, again); len(left) != 1 || len(left["ann"]) != 1 {
		t.Errorf("half an hour later there are %+v", left)
	}
}

// TestSessionsEnd: without requests, after all, with a new password, and with the user.
func TestSessionsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		then func(s *Server, now *time.Time, headers []string)
		want int
	}{
		"in use": {func(s *Server, now *time.Time, headers []string) {
			for range 40 {
				*now = now.Add(15 * time.Minute)
				do(s, "GET", groupsPath, "", headers...)
			}
		}, 200},
		"idle": {func(_ *Server, now *time.Time, _ []string) { *now = now.Add(32 * time.Minute) }, 401},
		"not idle yet": {func(_ *Server, now *time.Time, _ []string) {
			*now = now.Add(29 * time.Minute)
		}, 200},
		"absolute": {func(s *Server, now *time.Time, headers []string) {
			for range 50 {
				*now = now.Add(15 * time.Minute)
				do(s, "GET", groupsPath, "", headers...)
			}
		}, 401},
		"new password": {func(s *Server, now *time.Time, headers []string) {
			*now = now.Add(time.Second)
			w := do(s, "PUT", usersPath+"/ann/password",
				`{"password":"staple correct horse","current":"`+annsPassword+`"}`, headers...)
			if w.Code != 204 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}, 401},
		"wrong present password": {func(s *Server, now *time.Time, headers []string) {
			if w := do(s, "PUT", usersPath+"/ann/password",
				`{"password":"staple correct horse","current":"wrong"}`, headers...); w.Code != 422 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}, 200},
		"removed": {func(s *Server, _ *time.Time, headers []string) {
			tokenFor(t, s, "other", api.Grant{Role: api.RoleAdmin}, 0)
			if w := do(s, "DELETE", usersPath+"/ann", "", headers...); w.Code != 204 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}, 401},
		"the last administrator stays": {func(s *Server, _ *time.Time, headers []string) {
			problemIn(t, do(s, "DELETE", usersPath+"/ann", "", headers...), 409, "conflict")
		}, 200},
	} {
		for _, form := range []string{annSignsIn, annSignsIn[:len(annSignsIn)-1] + `,"bearer":true}`} {
			s, now := newClockedServer(t)
			headers, _ := signInAs(t, s, form)
			c.then(s, now, headers)
			if w := do(s, "GET", groupsPath, "", headers...); w.Code != c.want {
				t.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, c.want)
			}
		}
	}
}

// TestTokensEnd: a token that has expired, or was revoked, counts no more, nor do its sessions; one
// that is changed anywhere never did.
func TestTokensEnd(t *testing.T) {
	s, now := newClockedServer(t)
	admin, _ := signInAs(t, s, annSignsIn)
	brief := tokenFor(t, s, "brief", api.Grant{Role: api.RoleViewer}, time.Hour)
	long := tokenFor(t, s, "long", api.Grant{Role: api.RoleViewer}, 0)
	_, me := signInAs(t, s, `{"token":"`+long.Secret+`"}`)
	if me.Way != api.WayToken || me.Name != "long" {
		t.Errorf("%+v", me)
	}
	get := func(secret string) int {
		return do(s, "GET", groupsPath, "", "Authorization", "Bearer "+secret).Code
	}
	for i := range long.Secret {
		wrong := []byte(long.Secret)
		wrong[i] ^= 1
		if code := get(string(wrong)); code != 401 {
			t.Errorf("a token with octet %d changed: %d", i, code)
		}
	}
	if get(brief.Secret) != 200 || get(long.Secret) != 200 {
		t.Error("good tokens do not count")
	}
	if w := do(s, "GET", tokensPath, "", admin...); strings.Contains(w.Body.String(),
		long.Secret[40:]) || !strings.Contains(w.Body.String(), `"lastUsed"`) {
		t.Errorf("%s", w.Body)
	}
	*now = now.Add(time.Hour)
	if w := do(s, "GET", groupsPath, "", "Authorization", "Bearer "+brief.Secret); w.Code != 401 ||
		!strings.Contains(w.Body.String(), "expired") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	admin, _ = signInAs(t, s, annSignsIn)
	session, _ := signInAs(t, s, `{"token":"`+long.Secret+`"}`)
	if w := do(s, "DELETE", tokensPath+"/"+long.ID, "", admin...); w.Code != 204 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if get(long.Secret) != 401 || do(s, "GET", groupsPath, "", session...).Code != 401 {
		t.Error("a revoked token counts")
	}
}

// TestGuessing: attempts to sign in are bounded for a client, and for a user.
func TestGuessing(t *testing.T) {
	s, now := newClockedServer(t)
	wrong := `{"user":"ann","password":"wrong horse battery"}`
	for range tries {
		problemIn(t, do(s, "POST", sessionPath, wrong), 401, codeUnauthorized)
	}
	problemIn(t, do(s, "POST", sessionPath, annSignsIn), http.StatusTooManyRequests, codeTooMany)
	*now = now.Add(6 * time.Second)
	if w := do(s, "POST", sessionPath, annSignsIn); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	// The answer for an unknown user is equal.
	s, _ = newClockedServer(t)
	a, b := do(s, "POST", sessionPath, wrong),
		do(s, "POST", sessionPath, strings.Replace(wrong, "ann", "nobody", 1))
	var pa, pb api.Problem
	_, _ = json.Unmarshal(a.Body.Bytes(), &pa), json.Unmarshal(b.Body.Bytes(), &pb)
	if a.Code != 401 || b.Code != 401 || pa.Detail != pb.Detail {
		t.Errorf("%s and %s", a.Body, b.Body)
	}
}

// tries is how often a client may try to sign in at once.
const tries = 10

// TestFirstCredentials: an open API closes with its first user or token, which must be an
// administrator that does not expire.
func TestFirstCredentials(t *testing.T) {
	s, _, _ := newTestServer(t)
	if w := do(s, "GET", sessionPath, ""); !strings.Contains(w.Body.String(), `"way":"none"`) {
		t.Errorf("%s", w.Body)
	}
	for _, body := range []string{`{"name":"ci","role":"viewer"}`,
		`{"name":"ci","role":"admin","lifetime":"720h"}`} {
		problemIn(t, do(s, "POST", tokensPath, body), 409, "conflict")
	}
	for body, field := range map[string]string{
		`{"name":"ci","role":"tenant"}`:                "tenant",
		`{"name":"ci","role":"admin","tenant":"acme"}`: "tenant",
		`{"name":"a b","role":"admin"}`:                "name",
		`{"name":"ci","role":"root"}`:                  "role",
		`{"name":"ci","role":"admin","lifetime":"1s"}`: "lifetime",
	} {
		if p := problemIn(t, do(s, "POST", tokensPath, body), 422, "invalid"); p.Field != field {
			t.Errorf("%s: field %q, want %q", body, p.Field, field)
		}
	}
	w := do(s, "POST", tokensPath, `{"name":"ci","role":"admin"}`)
	var made api.Token
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	problemIn(t, do(s, "GET", groupsPath, ""), 401, codeUnauthorized)
	if w := do(s, "GET", groupsPath, "", "Authorization", "Bearer "+made.Secret); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
