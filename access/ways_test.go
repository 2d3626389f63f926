package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/store"
)

// TestWays: a sign-in page offers the configured ways, and the ways of users and tokens, because
// users and tokens may appear at any time. The page needs no way while the API asks for no
// credentials.
func TestWays(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		want []api.Way
	}{
		"nothing": {Config{}, []api.Way{api.WayNone, api.WayToken, api.WayUser}},
		"a file": {Config{Tokens: make([][sha256.Size]byte, 1)},
			[]api.Way{api.WayFile, api.WayToken, api.WayUser}},
		"certificates": {Config{Certificates: make([]CertificateRule, 1)},
			[]api.Way{api.WayToken, api.WayUser, api.WayCertificate}},
		"verified certificates": {Config{Verified: true}, []api.Way{api.WayToken, api.WayUser}},
		"OpenID Connect": {Config{OIDC: true},
			[]api.Way{api.WayToken, api.WayUser, api.WayOIDC}},
	} {
		if got := NewAuthenticator(c.cfg, &Directory{loaded: true}).Ways(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestSessionsThatCount: a session lasts while its principal may still sign in the same way, has
// the principal's present rights, and ends at its time limits.
func TestSessionsThatCount(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	digest := sha256.Sum256([]byte("a token of the file"))
	reader, admin := api.Grant{Role: api.RoleViewer}, api.Grant{Role: api.RoleAdmin}
	all := Config{Tokens: [][sha256.Size]byte{digest}, OIDC: true}
	users := map[string]user{"ann": {User: api.User{Grant: reader, Changed: now}}}
	tokens := map[string]token{"good": {Token: api.Token{Grant: reader}},
		"over": {Token: api.Token{Grant: reader, Expires: now}},
		"ends": {Token: api.Token{Grant: reader, Expires: now.Add(1)}}}
	for _, c := range []struct {
		name string
		cfg  Config
		p    Principal
		age  time.Duration
		want bool
		then api.Grant
	}{
		{"a user", all, Principal{Way: api.WayUser, Name: "ann"}, 0, true, reader},
		{"a user of before", all, Principal{Way: api.WayUser, Name: "ann"}, 1, false, reader},
		{"a user that was removed", all, Principal{Way: api.WayUser, Name: "bob"}, 0, false, reader},
		{"a token", all, Principal{Way: api.WayToken, ID: "good"}, 0, true, reader},
		{"a token that ends", all, Principal{Way: api.WayToken, ID: "ends"}, 0, true, reader},
		{"a token that has ended", all, Principal{Way: api.WayToken, ID: "over"}, 0, false, reader},
		{"a token that was removed", all, Principal{Way: api.WayToken, ID: "none"}, 0, false, reader},
		{"a token of the file", all, Principal{Way: api.WayFile, Name: fileName(digest)}, 0, true, admin},
		{"one that was in the file", Config{}, Principal{Way: api.WayFile, Name: fileName(digest)}, 0,
			false, admin},
		{"OpenID Connect", all, Principal{Way: api.WayOIDC, Name: "eve"}, 0, true, admin},
		{"OpenID Connect, configured no more", Config{}, Principal{Way: api.WayOIDC, Name: "eve"}, 0,
			false, admin},
		{"a certificate", Config{}, Principal{Way: api.WayCertificate, Name: "eve"}, 0, true, admin},
		{"a certificate, too long ago", Config{}, Principal{Way: api.WayCertificate, Name: "eve"},
			10 * 365 * 24 * time.Hour, false, admin},
	} {
		c.cfg.Now = func() time.Time { return now }
		c.p.Grant = admin
		s := session{Principal: c.p, Created: now.Add(-c.age), LastUsed: now.Add(-c.age)}
		got, ok := NewAuthenticator(c.cfg, &Directory{}).counts(&s,
			func(name string) (u user, ok bool) { u, ok = users[name]; return u, ok },
			func(id string) (k token, ok bool) { k, ok = tokens[id]; return k, ok })
		if ok != c.want || ok && !reflect.DeepEqual(got.Grant, c.then) {
			t.Errorf("%s: %v, %+v; want %v, %+v", c.name, ok, got.Grant, c.want, c.then)
		}
	}
}

// TestRoomForSessions: a new session beyond a principal's limit replaces the principal's oldest
// session, which also makes room among all sessions. Without room among all sessions, no other
// principal begins a session. The directory removes ended sessions first.
func TestRoomForSessions(t *testing.T) {
	ann := Principal{Name: "ann", Way: api.WayUser}
	for _, c := range []struct {
		name             string
		anns, bobs, over int // sessions; over are those that have ended
		removed          []string
		refused          bool
	}{
		{"room", 49, 0, 0, nil, false},
		{"the last of all", 0, maxSessions - 1, 0, nil, false},
		{"one too many of all", 0, maxSessions, 0, nil, true},
		{"one too many of all, with some of her own", 49, maxSessions - 49, 0, nil, true},
		{"one too many of her own", 50, 0, 0, []string{"ann0"}, false},
		{"two too many of her own", 51, 0, 0, []string{"ann0", "ann1"}, false},
		{"one too many of both", 50, maxSessions - 50, 0, []string{"ann0"}, false},
		{"one has ended", 0, maxSessions - 1, 1, []string{"over0"}, false},
	} {
		w := newGuessBed(t)
		sessions := w.keeper.authenticator.dir.sessions
		add := func(what string, n int, p Principal, from time.Time) {
			for i := range n {
				at := from.Add(time.Duration(i))
				sessions[fmt.Sprint(what, i)] = session{Principal: p, Created: at, LastUsed: at}
			}
		}
		add("ann", c.anns, ann, w.now)
		add("bob", c.bobs, Principal{Name: "bob", Way: api.WayUser}, w.now)
		add("over", c.over, ann, w.now.Add(-10*365*24*time.Hour))
		ops, err := w.keeper.room(sessions, ann, w.now)
		var e *api.Error
		if refused := errors.As(err, &e) && e.Code == api.CodeLimit; refused != c.refused ||
			err != nil && !refused {
			t.Errorf("%s: %v, want it refused: %v", c.name, err, c.refused)
		}
		var removed []string
		for _, op := range ops {
			if len(op.Value) == 0 {
				removed = append(removed, op.Key[len(sessionPrefix):])
			}
		}
		if !slices.Equal(removed, c.removed) {
			t.Errorf("%s: removed %v, want %v", c.name, removed, c.removed)
		}
	}
}

// TestDefaultTimes: a session lasts for half an hour without a request and 12 hours at most, as the
// documentation says; its last use is known to the minute.
func TestDefaultTimes(t *testing.T) {
	if got := DefaultTimes(); got.Idle != 30*time.Minute || got.Absolute != 12*time.Hour {
		t.Errorf("%+v", got)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		begun, used time.Duration // before now
		role        time.Duration // until the end of the principal's role; 0: it has none
		want        bool
	}{
		{0, 0, 0, false}, {12*time.Hour - 1, 0, 0, false}, {12 * time.Hour, 0, 0, true},
		{2 * time.Hour, 31 * time.Minute, 0, false}, {2 * time.Hour, 31*time.Minute + 1, 0, true},
		{time.Minute, time.Hour, 0, false}, // the use was noted before it began
		{0, 0, 1, false}, {time.Hour, 0, -1, true}, {11 * time.Hour, 0, 2 * time.Hour, false},
		{12 * time.Hour, 0, 2 * time.Hour, true},
	} {
		s := session{Created: now.Add(-c.begun), LastUsed: now.Add(-c.used)}
		if c.role != 0 {
			s.Principal.Expires = now.Add(c.role)
		}
		if got := s.ended(DefaultTimes(), now); got != c.want {
			t.Errorf("begun %v and used %v ago, with a role for %v: ended %v, want %v", c.begun, c.used,
				c.role, got, c.want)
		}
	}
}

// countedPuts is a store that counts its puts.
type countedPuts struct {
	store.Store
	n int
}

func (s *countedPuts) Put(ctx context.Context, key string, value []byte, after int64) (int64,
	error) {
	s.n++
	return s.Store.Put(ctx, key, value, after)
}

// TestUsesAreNotedOnceAMinute: regardless of the last use in a record, which a controller may have
// read long ago.
func TestUsesAreNotedOnceAMinute(t *testing.T) {
	w := newGuessBed(t)
	dir := w.keeper.authenticator.dir
	counted := &countedPuts{Store: dir.store}
	dir.store = counted
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, c := range []struct {
		was, now time.Duration
		puts     int
	}{{0, time.Minute - 1, 0}, {0, time.Minute, 1}, {0, 2*time.Minute - 1, 1}, {0, 2 * time.Minute, 2},
		{2 * time.Minute, 2*time.Minute + 1, 2}, {2 * time.Minute, 3 * time.Minute, 3}} {
		dir.used(t.Context(), userPrefix+"ann", start.Add(c.was), start.Add(c.now))
		if counted.n != c.puts {
			t.Errorf("use %d: %d writes, want %d", i, counted.n, c.puts)
		}
	}
}

// overtaken is a store where another write follows each Put before the Put returns.
type overtaken struct {
	store.Store
	then func()
}

func (s overtaken) Put(ctx context.Context, key string, v []byte, after int64) (int64, error) {
	revision, err := s.Store.Put(ctx, key, v, after)
	s.then()
	return revision, err
}

// TestUseThatIsOvertaken: what was read of a user after the use was noted is not replaced by what
// the note wrote.
func TestUseThatIsOvertaken(t *testing.T) {
	w := newGuessBed(t)
	dir := w.keeper.authenticator.dir
	under := dir.store
	dir.store = overtaken{under, func() {
		if _, err := under.Put(t.Context(), userPrefix+"ann", []byte(`{"role":"viewer"}`),
			store.Any); err != nil {
			t.Fatal(err)
		}
		dir.store = under
		if err := dir.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}}
	dir.used(t.Context(), userPrefix+"ann", w.now, w.now.Add(time.Hour))
	if got := dir.users["ann"].Role; got != api.RoleViewer {
		t.Errorf("ann is %q, want what was written last", got)
	}
}

// TestNobodyMayAnything: a request without a principal may what is open, whatever role it claims;
// and its own principal and administrators see a session.
func TestNobodyMayAnything(t *testing.T) {
	nobody := Principal{Grant: api.Grant{Role: api.RoleAdmin}}
	if !nobody.May(Open) || nobody.May(Administer) || nobody.May(TenantRead) {
		t.Error("without a way to have signed in a role counts")
	}
	w := newGuessBed(t)
	ann := Principal{Name: "ann", Way: api.WayUser, Grant: api.Grant{Role: api.RoleAdmin}}
	bob := Principal{Name: "bob", Way: api.WayCertificate, Grant: api.Grant{Role: api.RoleViewer}}
	eve := Principal{Name: "eve", Way: api.WayCertificate, Grant: api.Grant{Role: api.RoleViewer}}
	for id, s := range map[string]session{"a": {Principal: ann, Created: w.now},
		"b": {Principal: bob, Created: w.now}, "e": {Principal: eve, Created: w.now},
		"over": {Principal: ann, Created: w.now.Add(-365 * 24 * time.Hour)}} {
		w.keeper.authenticator.dir.sessions[id] = s
	}
	for by, want := range map[*Principal][]string{&ann: {"a", "b", "e"}, &bob: {"b"}, &eve: {"e"},
		{}: nil} {
		var got []string
		for _, s := range w.keeper.Sessions(by) {
			got = append(got, s.ID)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%q sees %v, want %v", by.Name, got, want)
		}
	}
}

// TestAsksTheStore: a directory finds a recent write of another controller by asking the store,
// provided that the directory has read the store before and has not seen the removal of the record.
func TestAsksTheStore(t *testing.T) {
	s := store.NewMemory()
	d := NewDirectory(s)
	put := func(id string) {
		t.Helper()
		if _, err := s.Put(t.Context(), tokenPrefix+id, []byte(`{"name":"robot"}`),
			store.Absent); err != nil {
			t.Fatal(err)
		}
	}
	has := func(id string, want bool) {
		t.Helper()
		if k, ok := d.token(t.Context(), id); ok != want || ok && k.Name != "robot" {
			t.Errorf("token %s: %+v, %v; want %v", id, k, ok, want)
		}
	}
	put("a")
	has("a", false) // nothing was read yet
	if err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	has("a", true)
	put("b")
	put("c")
	has("b", true)
	has("c", true)
	has("d", false)
	d.mu.Lock()
	delete(d.tokens, "c") // as a newer change would
	d.seen += 2
	d.mu.Unlock()
	has("c", false)
}

// TestFollowsTheStore: a directory applies changes one after another, as the store reports them.
func TestFollowsTheStore(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := store.NewMemory()
		d := NewDirectory(s)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			d.Run(ctx)
		}()
		synctest.Wait()
		for _, id := range []string{"a", "b", "c"} {
			if _, err := s.Put(t.Context(), tokenPrefix+id, []byte(`{"name":"robot"}`),
				store.Absent); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if _, tokens, _ := d.snapshot(); len(tokens) != 3 {
			t.Errorf("%d tokens are known, want 3", len(tokens))
		}
		cancel()
		<-done
	})
}
