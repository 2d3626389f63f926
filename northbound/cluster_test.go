package northbound

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

// fakeCluster is two controllers.
type fakeCluster struct {
	decider *url.URL
	err     error
	asked   int
	more    []api.ReadinessCheck
}

func (*fakeCluster) Controllers(context.Context) []api.Controller {
	return []api.Controller{{Name: "c1", Role: api.RoleDecider, Release: "test", Started: epochStart},
		{Name: "c2", Role: api.RoleMember, Self: true, Release: "test", Started: epochStart}}
}

func (f *fakeCluster) Readiness() []api.ReadinessCheck {
	return append([]api.ReadinessCheck{{Name: "decider", OK: f.err == nil}}, f.more...)
}
func (*fakeCluster) Disk() *api.ControllerDisk {
	return &api.ControllerDisk{State: "low", Slow: true, Free: 50 << 20, Total: 1 << 30,
		Refuse: 64 << 20, Stop: 16 << 20, Sync: api.Duration(700 * time.Millisecond)}
}
func (f *fakeCluster) Decider() (*url.URL, error) {
	f.asked++
	return f.decider, f.err
}
func (*fakeCluster) State() (ClusterState, bool) {
	return ClusterState{Controllers: 2, Expected: 3, Term: 17, Lease: 2 * time.Second, Deciders: 3,
		Owners: 5, Owned: 8, Ready: 7}, true
}

// newTestMember returns a member's server, and the member's knowledge of the cluster.
func newTestMember(t *testing.T, decider string, change ...func(*Config)) (*Server, *fakeCluster) {
	t.Helper()
	f := &fakeCluster{}
	var err error
	if f.decider, err = url.Parse(decider); err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.Cluster, cfg.Version, cfg.Name, cfg.Hosts = f, "test", "c2", []string{"*"}
	for _, c := range change {
		c(&cfg)
	}
	s, err := NewMember(cfg, http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	return s, f
}

// TestMemberForwards: a member passes on preconditions, answers, problems and the event stream of
// the decider unchanged.
func TestMemberForwards(t *testing.T) {
	decider, f, events := newTestServer(t, func(c *Config) { c.RequestTimeout = time.Second })
	base, _ := serve(t, decider)
	member, _ := newTestMember(t, base)
	memberBase, _ := serve(t, member)

	w := do(member, "POST", groupsPath, groupBody("g1", 1))
	if w.Code != http.StatusCreated || w.Header().Get("ETag") == "" ||
		f.Groups.Items["g1"].Version == 0 {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if got := w.Header().Values(requestIDHeader); len(got) != 1 {
		t.Errorf("request ids %q, want one", got)
	}
	tag := w.Header().Get("ETag")
	if w := do(member, "DELETE", groupsPath+"/g1", "", "If-Match",
		`"77"`); w.Code != http.StatusPreconditionFailed {
		t.Errorf("another version: %d %s", w.Code, w.Body)
	}
	problemIn(t, do(member, "GET", groupsPath+"/none", ""), http.StatusNotFound, "not_found")
	stream := watch(t, memberBase, "?type=group", "")
	events.Publish(api.Event{Seq: 7, Type: api.EventGroupChanged, Object: "g1", Time: epochStart})
	if _, name, e := stream.next(); name != "group.changed" || e.Seq != 7 {
		t.Errorf("%s %+v", name, e)
	}
	if w := do(member, "DELETE", groupsPath+"/g1", "", "If-Match",
		tag); w.Code != http.StatusNoContent {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	// The time bounds of requests do not apply to streams.
	time.Sleep(1500 * time.Millisecond)
	events.Publish(api.Event{Seq: 9, Type: api.EventGroupChanged, Object: "g1", Time: epochStart})
	if _, name, e := stream.next(); name != "group.changed" || e.Seq != 9 {
		t.Errorf("%s %+v", name, e)
	}
	// A former member ends the streams that it forwarded.
	member.stop()
	for stream.in.Scan() {
	}
}

// TestMemberAnswers: a member answers by itself what is about itself, with and without a decider.
func TestMemberAnswers(t *testing.T) {
	member, f := newTestMember(t, "http://127.0.0.1:1")
	p := problemIn(t, do(member, "PUT", groupsPath+"/g1", groupBody("g1", 1)),
		http.StatusServiceUnavailable, "no_decider")
	if strings.Contains(p.Detail, "change") {
		t.Errorf("a change that was not sent: %q", p.Detail)
	}
	if p := problemIn(t, do(member, "GET", groupsPath, ""), http.StatusServiceUnavailable,
		"no_decider"); strings.Contains(p.Detail, "change") {
		t.Errorf("a reading: %q", p.Detail)
	}
	for code, err := range map[string]error{"no_decider": ErrNoDecider,
		"store_unavailable": ErrStoreUnavailable} {
		f.err = fmt.Errorf("%w: for the test", err)
		if p := problemIn(t, do(member, "GET", groupsPath, ""), http.StatusServiceUnavailable,
			code); p.Detail != f.err.Error() {
			t.Errorf("%s: %q", code, p.Detail)
		}
	}
	if w := do(member, "GET", "/healthz", ""); w.Code != 200 ||
		w.Body.String() != `{"status":"ok","version":"test"}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := do(member, "GET", "/readyz", ""); w.Code != 503 ||
		!strings.Contains(w.Body.String(), `"decider"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	f.err = nil
	if w := do(member, "GET", "/readyz", ""); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	f.more = []api.ReadinessCheck{{Name: "share", Advisory: true, Message: "uneven"}}
	if w := do(member, "GET", "/readyz", ""); w.Code != 200 ||
		!strings.Contains(w.Body.String(), `"uneven"`) {
		t.Errorf("with a check that is advisory: %d %s", w.Code, w.Body)
	}
	if w := do(member, "GET", "/v1/controllers", ""); w.Code != 200 ||
		strings.Count(w.Body.String(), `"name"`) != 2 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := do(member, "GET", "/v1/controllers/c2", ""); w.Code != 200 ||
		!strings.Contains(w.Body.String(), `"self":true`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	problemIn(t, do(member, "GET", "/v1/controllers/c9", ""), http.StatusNotFound, "not_found")
	problemIn(t, do(member, "POST", "/v1/controllers", "{}"), http.StatusMethodNotAllowed,
		"method_not_allowed")
	metrics := do(member, "GET", "/metrics", "").Body.String()
	for _, want := range []string{"weft_cluster_decides 0", "weft_cluster_controllers 2",
		"weft_cluster_controllers_expected 3", "weft_cluster_term 17", "weft_cluster_lease_seconds 2",
		"weft_cluster_decider_changes_total 3", "weft_cluster_owner_changes_total 5",
		"weft_cluster_switches_owned 8", "weft_cluster_switches_ready 7",
		`weft_disk_free_bytes{controller="c2"} 5.24288e+07`,
		`weft_disk_size_bytes{controller="c2"} 1.073741824e+09`,
		`weft_disk_mark_bytes{controller="c2",mark="refuse"} 6.7108864e+07`,
		`weft_disk_mark_bytes{controller="c2",mark="stop"} 1.6777216e+07`,
		`weft_disk_sync_seconds{controller="c2"} 0.7`, `weft_disk_slow{controller="c2"} 1`,
		`weft_disk_state{controller="c2",state="low"} 1`, `weft_disk_state{controller="c2",state="ok"} 0`,
		`weft_http_requests_total{code="503",method="GET",route="forwarded"}`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestForwardedRequest: the decider gets the client's request, with the principal, signed by the
// member, in place of the credentials. The member returns the decider's answer, with its
// Retry-After.
func TestForwardedRequest(t *testing.T) {
	var got *http.Request
	decider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(context.WithoutCancel(r.Context()))
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer decider.Close()
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	member, _ := newTestMember(t, decider.URL, func(c *Config) { c.TokenFile = file })
	const target = groupsPath + "/g1?dryRun=true"
	for _, secure := range []bool{false, true} {
		r := httptest.NewRequest("PUT", target, strings.NewReader(groupBody("g1", 1)))
		if r.TLS = nil; secure {
			r.TLS = &tls.ConnectionState{}
		}
		r.RemoteAddr = "192.0.2.77:5000"
		for name, value := range map[string]string{
			"Authorization": "Bearer secret", "Cookie": "weft-session=s; " + oidcCookie + "=o; other=1",
			"Content-Type": "application/json", "If-Match": `"7"`,
			projectHeader: "acme", access.ForwardHeader: "forged", requestIDHeader: "id-1",
		} {
			r.Header.Set(name, value)
		}
		id := "id-1"
		if secure { // the member gives one to a request that has none
			r.Header.Del(requestIDHeader)
		}
		w := httptest.NewRecorder()
		member.Handler().ServeHTTP(w, r)
		if secure {
			id = w.Header().Get(requestIDHeader)
		}
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "7" ||
			w.Header().Get(requestIDHeader) != id || id == "" {
			t.Errorf("the answer: %d %v", w.Code, w.Header())
		}
		if got == nil {
			t.Fatalf("nothing was forwarded: %s", w.Body)
		}
		for name, want := range map[string]string{
			"Authorization": "", "Cookie": oidcCookie + "=o", "If-Match": `"7"`, projectHeader: "acme",
			requestIDHeader: id, "X-Forwarded-For": "192.0.2.77",
		} {
			if value := got.Header.Get(name); value != want {
				t.Errorf("%s of the forwarded request is %q, want %q", name, value, want)
			}
		}
		f, err := member.cfg.Access.Signer.Verify(t.Context(), got.Header.Get(access.ForwardHeader),
			"PUT", target, time.Now())
		if err != nil || len(got.Header.Values(access.ForwardHeader)) != 1 {
			t.Errorf("%q: %v", got.Header.Values(access.ForwardHeader), err)
		}
		if f.Principal.Name == access.Anybody.Name || f.Principal.Name == "" ||
			f.Remote != "192.0.2.77:5000" || f.TLS != secure {
			t.Errorf("it is made by %+v", f)
		}
	}
}

// TestMemberLosesTheDecider: a change whose answer is lost has an unknown outcome; a read has
// failed.
func TestMemberLosesTheDecider(t *testing.T) {
	for name, lose := range map[string]func(http.ResponseWriter){
		"the connection ends": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"the connection is reset": func(w http.ResponseWriter) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				err = errors.Join(c.(*net.TCPConn).SetLinger(0), c.Close())
			}
			if err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { loses(t, lose) })
	}
}

func loses(t *testing.T, lose func(http.ResponseWriter)) {
	decider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		lose(w)
	}))
	defer decider.Close()
	member, _ := newTestMember(t, decider.URL)
	for _, method := range []string{"PUT", "DELETE", "PATCH"} {
		p := problemIn(t, do(member, method, groupsPath+"/g1", groupBody("g1", 1)),
			http.StatusGatewayTimeout, "outcome_unknown")
		if !strings.Contains(p.Detail, "may have been kept") || !strings.Contains(p.Detail, "GET") {
			t.Errorf("%s: %q", method, p.Detail)
		}
	}
	w := do(member, "GET", groupsPath, "")
	if problemIn(t, w, http.StatusServiceUnavailable,
		"no_decider"); w.Header().Get("Retry-After") != "1" {
		t.Errorf("Retry-After: %q", w.Header().Get("Retry-After"))
	}
}

// TestFront: each request goes to the server in force.
func TestFront(t *testing.T) {
	front := NewFront(DefaultConfig())
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "localhost"
		front.ServeHTTP(w, r)
		return w
	}
	if w := get("/healthz"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("nothing is served yet: %d", w.Code)
	}
	first, _, _ := newTestServer(t)
	front.Set(first)
	if w := get("/v1/switches"); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	member, f := newTestMember(t, "http://127.0.0.1:1")
	f.err = ErrNoDecider
	front.Set(member)
	// A request goes from controller to controller once.
	asked := f.asked
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", groupsPath, nil)
	signed, err := member.cfg.Access.Signer.Sign(t.Context(),
		access.Forwarded{Principal: access.Anybody, Method: "GET", Target: groupsPath,
			Issued: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(access.ForwardHeader, signed)
	front.Peers().ServeHTTP(w, r)
	if p := problemIn(t, w, http.StatusServiceUnavailable, "no_decider"); f.asked != asked ||
		!strings.Contains(p.Detail, "forwarded") {
		t.Errorf("%q", p.Detail)
	}
	// Of a controller whose clock is off: that is no fault of the client's.
	signed, err = member.cfg.Access.Signer.Sign(t.Context(),
		access.Forwarded{Principal: access.Anybody, Method: "GET", Target: groupsPath,
			Issued: time.Now().Add(-time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(access.ForwardHeader, signed)
	w = httptest.NewRecorder()
	front.Peers().ServeHTTP(w, r)
	if p := problemIn(t, w, http.StatusServiceUnavailable, "no_decider"); !strings.Contains(p.Detail,
		"the clocks of the controllers differ") || !strings.Contains(p.Detail, "behind") {
		t.Errorf("%q", p.Detail)
	}
	if w := get("/v1/switches"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	select {
	case <-first.closing:
	default:
		t.Error("streams of the first server go on")
	}
}
