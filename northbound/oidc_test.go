package northbound

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/access/oidc"
	"github.com/weft-sdn/weft/api"
)

// startProvider runs an OpenID Connect provider of another project. Its users ann, bob and eve have
// the password "verysecure".
func startProvider(t *testing.T) (issuer string) {
	t.Helper()
	users := make(map[string]storage.User)
	for _, name := range []string{"ann", "bob", "eve"} {
		users[name] = storage.User{ID: name, Username: name, Password: "verysecure",
			Email: name + "@example.com", EmailVerified: name != "eve"}
	}
	text, err := json.Marshal(users)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "users.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := storage.StoreFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nil)
	issuer = "http://" + server.Listener.Addr().String()
	server.Config.Handler = exampleop.SetupServer(issuer,
		storage.NewStorageWithClients(store, map[string]*storage.Client{
			"weft-web":    storage.WebClient("weft-web", "web-secret", "http://localhost/v1/oidc/callback"),
			"weft-device": storage.DeviceClient("weft-device", "device-secret"),
		}), slog.New(slog.DiscardHandler), false)
	server.Start()
	t.Cleanup(server.Close)
	return issuer
}

// newOIDCServer returns a server whose people sign in by a provider.
func newOIDCServer(t *testing.T, issuer, client, secret string) *Server {
	t.Helper()
	s, _, _ := newTestServer(t, func(c *Config) {
		c.Now = time.Now
		var err error
		if c.Access, err = access.InMemory(t.Context(),
			access.Config{OIDC: true, Now: c.Now}); err != nil {
			t.Fatal(err)
		}
		c.OIDC = oidc.New(oidc.Config{
			Issuer: issuer, ClientID: client, ClientSecret: secret,
			RedirectURL: "http://localhost/v1/oidc/callback", Scopes: []string{"profile", "email"},
			Name: "email",
			Roles: []oidc.Rule{
				{Claim: "email", Value: "ann@example.com",
					Grant: api.Grant{Role: api.RoleTenant, Tenant: "acme"}},
				{Claim: "preferred_username", Value: "eve", Grant: api.Grant{Role: api.RoleAdmin}},
			},
		})
		t.Cleanup(c.OIDC.Close)
	})
	return s
}

// cookiesOf returns an answer's cookies in the form of a request header.
func cookiesOf(w *httptest.ResponseRecorder) string {
	var out []string
	for _, c := range w.Result().Cookies() {
		if c.MaxAge >= 0 {
			out = append(out, c.Name+"="+c.Value)
		}
	}
	return strings.Join(out, "; ")
}

// authorize signs a user in at the provider, as a browser does, and returns where it is sent back
// to.
func authorize(t *testing.T, location, issuer, user string) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer browser.CloseIdleConnections()
	go1 := func(w *http.Response, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Body.Close()
		next := w.Header.Get("Location")
		if next == "" {
			t.Fatalf("%s of %s: no Location", w.Status, w.Request.URL)
		}
		if strings.HasPrefix(next, "/") {
			next = issuer + next
		}
		return next
	}
	page, err := url.Parse(go1(browser.Get(location)))
	if err != nil {
		t.Fatal(err)
	}
	next := go1(browser.PostForm(issuer+"/login/username",
		url.Values{"id": {page.Query().Get("authRequestID")}, "username": {user},
			"password": {"verysecure"}}))
	return go1(browser.Get(next))
}

// TestOIDCInABrowser: the authorization code flow with PKCE, and what breaks it.
func TestOIDCInABrowser(t *testing.T) {
	issuer := startProvider(t)
	s := newOIDCServer(t, issuer, "weft-web", "web-secret")
	begin := func() (location, cookie string) {
		t.Helper()
		w := do(s, "GET", oidcLoginPath+"?return=/links", "")
		if w.Code != http.StatusFound {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		u, err := url.Parse(w.Header().Get("Location"))
		if err != nil || u.Query().Get("code_challenge_method") != "S256" ||
			u.Query().Get("nonce") == "" || len(u.Query().Get("state")) < 32 {
			t.Fatalf("%v %v", u, err)
		}
		set := w.Header().Get("Set-Cookie")
		if !strings.Contains(set, "HttpOnly") || !strings.Contains(set, "Secure") ||
			!strings.Contains(set, "SameSite=Lax") {
			t.Errorf("cookie %q", set)
		}
		return u.String(), cookiesOf(w)
	}
	callback := func(at, cookie string) *httptest.ResponseRecorder {
		t.Helper()
		u, err := url.Parse(at)
		if err != nil || u.Path != oidcCallbackPath {
			t.Fatal(at, err)
		}
		return do(s, "GET", u.RequestURI(), "", "Cookie", cookie)
	}
	location, cookie := begin()
	back := authorize(t, location, issuer, "ann")
	w := callback(back, cookie)
	if w.Code != http.StatusFound || w.Header().Get("Location") != "/links" {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	session := cookiesOf(w)
	var me api.Session
	if err := json.Unmarshal(do(s, "GET", sessionPath, "", "Cookie", session).Body.Bytes(),
		&me); err != nil {
		t.Fatal(err)
	}
	if me.Name != "ann@example.com" || me.Way != api.WayOIDC || me.Role != api.RoleTenant ||
		me.Tenant != "acme" {
		t.Errorf("%+v", me)
	}
	if w := do(s, "GET", "/v1/topology", "", "Cookie", session); w.Code != 403 {
		t.Errorf("a tenant sees the topology: %d", w.Code)
	}

	// A code counts once, for the browser that asked for it, and only with its state.
	if w := callback(back, cookie); w.Code != 401 {
		t.Errorf("the code again: %d %s", w.Code, w.Body)
	}
	location, cookie = begin()
	_, other := begin()
	back = authorize(t, location, issuer, "ann")
	for name, c := range map[string]string{"no attempt": "", "another attempt": other,
		"a forged attempt": strings.Replace(cookie, "=", "=A", 1)} {
		if w := callback(back, c); w.Code != 401 || len(w.Result().Cookies()) > 0 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	// No role for bob; eve's address is not verified, and is no name.
	for user, say := range map[string]string{"bob": "gives bob@example.com a role",
		"eve": "gives no claim email"} {
		location, cookie := begin()
		if w := callback(authorize(t, location, issuer, user), cookie); w.Code != 401 ||
			!strings.Contains(w.Body.String(), say) {
			t.Errorf("%s: %d %s, want %q", user, w.Code, w.Body, say)
		}
	}
	for _, elsewhere := range []string{"//evil.example", `/\evil.example`, "https://evil.example/",
		"/\t/evil.example"} {
		w := do(s, "GET", oidcLoginPath+"?return="+url.QueryEscape(elsewhere), "")
		text, _, _ := strings.Cut(strings.TrimPrefix(cookiesOf(w), oidcCookie+"="), ";")
		var attempt oidc.Attempt
		if err := s.cfg.Access.Signer.Open(t.Context(), attemptPurpose, text, &attempt); err != nil ||
			attempt.Return != "/" {
			t.Errorf("%q: the browser goes to %q, %v", elsewhere, attempt.Return, err)
		}
	}
	if w := do(s, "GET", oidcCallbackPath+"?error=access_denied", ""); w.Code != 401 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestOIDCOfADevice: the device flow, before and after it is confirmed.
func TestOIDCOfADevice(t *testing.T) {
	issuer := startProvider(t)
	s := newOIDCServer(t, issuer, "weft-device", "device-secret")
	w := do(s, "POST", oidcDevicePath, "")
	var d api.DeviceSignIn
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || w.Code != 200 || d.UserCode == "" ||
		d.Handle == "" || d.VerificationURI != issuer+"/device" {
		t.Fatalf("%d %s %v", w.Code, w.Body, err)
	}
	if strings.Contains(d.Handle, d.UserCode) {
		t.Error("the handle has the code of the person")
	}
	body := fmt.Sprintf(`{"device":%q,"bearer":true}`, d.Handle)
	problemIn(t, do(s, "POST", sessionPath, body), http.StatusConflict, codePending)
	problemIn(t, do(s, "POST", sessionPath, `{"device":"`+d.Handle+`0","bearer":true}`),
		http.StatusUnauthorized, codeUnauthorized)

	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	person := &http.Client{Jar: jar}
	defer person.CloseIdleConnections()
	for _, form := range []struct {
		path   string
		values url.Values
	}{
		{"/device/login", url.Values{"user_code": {d.UserCode}, "username": {"ann"},
			"password": {"verysecure"}}},
		{"/device/confirm", url.Values{"action": {"allowed"}}},
	} {
		w, err := person.PostForm(issuer+form.path, form.values)
		if err != nil || w.StatusCode != 200 {
			t.Fatal(form.path, err, w)
		}
		_ = w.Body.Close()
	}
	w = do(s, "POST", sessionPath, body)
	var me api.Session
	if err := json.Unmarshal(w.Body.Bytes(), &me); err != nil || w.Code != 200 || me.Token == "" ||
		w.Header().Get("Set-Cookie") != "" {
		t.Fatalf("%d %s %v", w.Code, w.Body, err)
	}
	if w := do(s, "GET", sessionPath, "", "Authorization",
		"Bearer "+me.Token); !strings.Contains(w.Body.String(), `"name":"ann@example.com"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := do(s, "DELETE", sessionPath, "", "Authorization", "Bearer "+me.Token); w.Code != 204 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := do(s, "GET", groupsPath, "", "Authorization", "Bearer "+me.Token); w.Code != 401 {
		t.Errorf("after the end: %d %s", w.Code, w.Body)
	}
}

// TestOIDCWithoutAProvider: it is down, or there is none.
func TestOIDCWithoutAProvider(t *testing.T) {
	s := newOIDCServer(t, "http://127.0.0.1:1", "weft-web", "")
	problemIn(t, do(s, "GET", oidcLoginPath, ""), 503, codeProvider)
	problemIn(t, do(s, "POST", oidcDevicePath, ""), 503, codeProvider)
	plain, _, _ := newTestServer(t)
	problemIn(t, do(plain, "GET", oidcLoginPath, ""), 501, codeNoSection)
	problemIn(t, do(plain, "POST", sessionPath, `{"device":"x"}`), 501, codeNoSection)
}
