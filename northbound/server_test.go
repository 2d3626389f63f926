package northbound

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
)

func do(s *Server, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if at := nullIn(w.Body.Bytes()); at != "" {
		panic(fmt.Sprintf("%s %s: %s is null, which the document excludes: %s", method, target, at,
			w.Body))
	}
	return w
}

// nullIn returns the name of a null member in a JSON answer, or "". Gaps of histories may be null.
func nullIn(body []byte) string {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return ""
	}
	return nullAt(v, "")
}

func nullAt(v any, name string) string {
	switch v := v.(type) {
	case nil:
		return cmp.Or(name, "the answer")
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if at := nullAt(v[k], k); at != "" && k != "values" {
				return at
			}
		}
	case []any:
		for _, x := range v {
			if at := nullAt(x, name); at != "" {
				return at
			}
		}
	}
	return ""
}

func problemIn(t *testing.T, w *httptest.ResponseRecorder, status int, code string) api.Problem {
	t.Helper()
	var p api.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%d %q: %v", w.Code, w.Body, err)
	}
	if w.Code != status || p.Status != status || p.Code != code ||
		w.Header().Get("Content-Type") != api.ProblemType {
		t.Errorf("got %d %s %+v, want %d %s", w.Code, w.Header().Get("Content-Type"), p, status, code)
	}
	return p
}

// groupBody is a group whose proxy address ends in n.
func groupBody(name string, n int) string {
	return fmt.Sprintf(`{"name":%q,"spec":{"proxyAddress":"2001:db8:99::%x","designatedQpn":4096,`+
		`"source":{"address":"2001:db8:5::1","qpn":33},"receivers":[{"address":"2001:db8:1::1",`+
		`"qpn":17}]}}`, name, n)
}

func TestBodyIsBounded(t *testing.T) {
	s, f, _ := newTestServer(t, func(c *Config) { c.MaxBodyBytes = 300 })
	for method, target := range map[string]string{"POST": groupsPath, "PUT": groupsPath + "/g1",
		"PATCH": groupsPath + "/g1"} {
		if method == "PATCH" {
			f.Groups.Items["g1"] = api.MulticastGroup{Name: "g1", Version: 1}
		}
		p := problemIn(t, do(s, method, target, strings.Repeat(" ", 300)+groupBody("g1", 1)), 413,
			"body_too_large")
		if p.Limit == nil || *p.Limit != 300 {
			t.Errorf("%s: limit %v", method, p.Limit)
		}
	}
	if len(f.Groups.Items) != 1 || f.Version != 0 {
		t.Error("something was changed")
	}
}

func TestPagesHaveEverythingOnce(t *testing.T) {
	s, f, _ := newTestServer(t)
	add := func(name string) {
		f.Groups.Items[name] = api.MulticastGroup{Name: name, Version: 1,
			Spec: api.MulticastGroupSpec{Receivers: []api.GroupReceiver{}}}
	}
	for i := range 25 {
		add(fmt.Sprintf("g%d", i))
	}
	var seen []string
	for next := ""; ; {
		var list api.List[api.MulticastGroup]
		w := do(s, "GET", groupsPath+"?limit=7&continue="+next, "")
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		for _, g := range list.Items {
			seen = append(seen, g.Name)
		}
		// The last one seen goes away, and one that was passed comes.
		delete(f.Groups.Items, seen[len(seen)-1])
		add("a" + fmt.Sprint(len(seen)))
		if next = list.Continue; next == "" {
			break
		}
	}
	if len(seen) != 25 {
		t.Errorf("saw %v", seen)
	}
	for i, name := range seen {
		if name != fmt.Sprintf("g%d", i) {
			t.Fatalf("saw %v", seen)
		}
	}
}

// TestPatchesMeet: an overtaken patch starts over from the present resource.
func TestPatchesMeet(t *testing.T) {
	s, f, _ := newTestServer(t)
	if w := do(s, "POST", groupsPath, groupBody("g1", 1)); w.Code != 201 {
		t.Fatal(w.Body)
	}
	overtake := func(n int) func() {
		var once sync.Mutex
		return func() {
			once.Lock()
			defer once.Unlock()
			if n == 0 {
				return
			}
			n--
			f.Mu.Lock()
			defer f.Mu.Unlock()
			g := f.Groups.Items["g1"]
			f.Version++
			g.Version, g.Spec.InitialPSN = f.Version, g.Spec.InitialPSN+1
			f.Groups.Items["g1"] = g
		}
	}
	f.Groups.Before = overtake(3)
	w := do(s, "PATCH", groupsPath+"/g1", `{"spec":{"cnpWindow":"2ms"}}`)
	var g api.MulticastGroup
	if err := json.Unmarshal(w.Body.Bytes(), &g); err != nil || w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if g.Spec.InitialPSN != 3 || g.Spec.CNPWindow.D() != 2*time.Millisecond {
		t.Errorf("one of the changes was lost: %+v", g.Spec)
	}
	f.Groups.Before = overtake(1)
	problemIn(t, do(s, "PATCH", groupsPath+"/g1", `{"spec":{"cnpWindow":"3ms"}}`, "If-Match",
		w.Header().Get("ETag")), 412, "version_mismatch")
	f.Groups.Before = overtake(1000)
	problemIn(t, do(s, "PATCH", groupsPath+"/g1", `{"spec":{"cnpWindow":"3ms"}}`), 409, "conflict")
}

func TestFaultsInside(t *testing.T) {
	var log bytes.Buffer
	s, f, _ := newTestServer(t, func(c *Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		c.RequestTimeout = 20 * time.Millisecond
	})
	f.Fail = errors.New("the store is on fire")
	f.Groups.Fail = f.Fail
	p := problemIn(t, do(s, "GET", groupsPath, "", requestIDHeader, "abc"), 500, "internal")
	if strings.Contains(p.Detail, "fire") || p.Instance != "urn:weft:request:abc" {
		t.Errorf("the client was told: %+v", p)
	}
	if !strings.Contains(log.String(), "the store is on fire") ||
		!strings.Contains(log.String(), "request=abc") {
		t.Errorf("the log was not: %s", log.String())
	}
	f.Fail, f.Groups.Fail, f.panics = nil, nil, true
	problemIn(t, do(s, "GET", groupsPath+"/g1", ""), 500, "internal")
	if !strings.Contains(log.String(), "the fake's doing") {
		t.Errorf("the panic is not in the log: %s", log.String())
	}
	f.panics, f.wait = false, make(chan struct{})
	f.Groups.Items["g1"] = api.MulticastGroup{Name: "g1", Version: 1}
	problemIn(t, do(s, "GET", groupsPath+"/g1/state", ""), 504, "timeout")
}

// TestNotConfiguredIsNoFault has the log take an answer of 501 for information: the dashboard asks
// for what a controller may not have.
func TestNotConfiguredIsNoFault(t *testing.T) {
	var log bytes.Buffer
	s, _, _ := newTestServer(t, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	problemIn(t, do(s, "GET", oidcLoginPath, ""), 501, codeNoSection)
	if text := log.String(); !strings.Contains(text, "level=INFO") ||
		strings.Contains(text, "level=ERROR") {
		t.Errorf("the log has: %s", text)
	}
}

func TestRequestIDs(t *testing.T) {
	s, _, _ := newTestServer(t)
	if id := do(s, "GET", "/healthz", "", requestIDHeader,
		"mine-1").Header().Get(requestIDHeader); id != "mine-1" {
		t.Errorf("a fit id became %q", id)
	}
	a := do(s, "GET", "/healthz", "", requestIDHeader, "not fit\n").Header().Get(requestIDHeader)
	b := do(s, "GET", "/healthz", "").Header().Get(requestIDHeader)
	if len(a) != 16 || len(b) != 16 || a == b {
		t.Errorf("ids %q and %q", a, b)
	}
}

func TestTokens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("# people\nsecret-one # ann\n\n  secret-two\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	s, _, _ := newTestServer(t, func(c *Config) { c.TokenFile = file })
	for authorization, want := range map[string]int{
		"": 401, "Bearer": 401, "Bearer ": 401, "Bearer wrong": 401, "Basic secret-one": 401,
		"secret-one": 401, "Bearer # people": 401,
		"Bearer secret-one": 200, "bearer secret-two": 200,
	} {
		w := do(s, "GET", "/v1/topology", "", "Authorization", authorization)
		if w.Code != want {
			t.Errorf("%q: %d, want %d", authorization, w.Code, want)
		}
		if want == 401 {
			problemIn(t, w, 401, "unauthorized")
			if w.Header().Get("WWW-Authenticate") == "" {
				t.Errorf("%q: no WWW-Authenticate", authorization)
			}
		}
	}
	for _, target := range []string{"/healthz", "/readyz"} {
		if w := do(s, "GET", target, ""); w.Code != 200 {
			t.Errorf("%s wants a token: %d", target, w.Code)
		}
	}
	for _, target := range []string{"/metrics", "/openapi.json", "/nothing", eventsPath} {
		if w := do(s, "GET", target, ""); w.Code != 401 {
			t.Errorf("%s wants no token: %d", target, w.Code)
		}
	}
	doc, err := s.OpenAPI()
	if err != nil || !bytes.Contains(doc, []byte(`"bearer"`)) {
		t.Errorf("the document is silent about tokens: %v", err)
	}
}

func TestConfigValidate(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("# nobody\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for field, spoil := range map[string]func(*Config){
		"MaxBodyBytes":   func(c *Config) { c.MaxBodyBytes = 0 },
		"RequestTimeout": func(c *Config) { c.RequestTimeout = -1 },
		"Heartbeat":      func(c *Config) { c.Heartbeat = 0 },
		"Log":            func(c *Config) { c.Log = nil },
		"no token":       func(c *Config) { c.TokenFile = empty },
		"file of tokens": func(c *Config) { c.TokenFile = empty + "x" },
		"tls.key":        func(c *Config) { c.TLS.CertFile = empty },
		"tls.cert":       func(c *Config) { c.TLS = TLSConfig{CertFile: empty, KeyFile: empty} },
	} {
		c := DefaultConfig()
		spoil(&c)
		if _, err := New(c, newFakeController(), NewEvents(1, epochStart)); !errors.Is(err, ErrConfig) ||
			!strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestReadiness(t *testing.T) {
	s, f, _ := newTestServer(t)
	b := f.Snapshot.Builder()
	empty, _, _ := newTestServer(t)
	empty.controller.(*fakeController).Snapshot = topologyEmpty()
	problem := func(s *Server, part string) {
		t.Helper()
		w := do(s, "GET", "/readyz", "")
		if w.Code != 503 || !strings.Contains(w.Body.String(), part) {
			t.Errorf("%d %s, want %q", w.Code, w.Body, part)
		}
	}
	problem(empty, "nothing was learned yet")
	stale := staleness("peer 127.0.0.1 is waited for")
	stale.Incomplete = true
	b.SetStale(stale)
	f.Snapshot = b.Build()
	problem(s, "peer 127.0.0.1 is waited for")
}

func TestMetrics(t *testing.T) {
	s, f, events := newTestServer(t)
	do(s, "POST", groupsPath, groupBody("g1", 1))
	do(s, "GET", groupsPath+"/nosuch", "")
	do(s, "BREW", groupsPath, "")
	f.Down["n1"] = true
	events.Publish(api.Event{Type: api.EventTopologyChanged})
	body := do(s, "GET", "/metrics", "").Body.String()
	for _, want := range []string{
		`weft_http_requests_total{code="201",method="POST",route="/v1/multicast-groups"} 1`,
		`weft_http_requests_total{code="404",method="GET",route="/v1/multicast-groups/:name"} 1`,
		`weft_http_requests_total{code="405",method="other",route="none"} 1`,
		`weft_http_request_duration_seconds_count{method="POST",route="/v1/multicast-groups"} 1`,
		`weft_switch_connected{switch="n1"} 0`, `weft_switch_connected{switch="n6"} 1`,
		`weft_switch_updates_pending{switch="n1"} 3`,
		`weft_ready 0`, `weft_multicast_groups 1`,
		`weft_multicast_groups_condition{condition="Accepted"} 1`,
		`weft_multicast_groups_condition{condition="Programmed"} 0`,
		`weft_topology_nodes 2`, `weft_topology_links 2`, `weft_topology_stale 0`, `weft_events_total 1`,
		`go_goroutines`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(body, `switch="n9"`) {
		t.Error("a switch that is not programmed is counted")
	}
	f.Fail = errors.New("the store is on fire")
	f.Groups.Fail = f.Fail
	if w := do(s, "GET", "/metrics", ""); !strings.Contains(w.Body.String(), "weft_topology_nodes 2") {
		t.Errorf("one fault hides all metrics: %d", w.Code)
	}
}

// serve starts the server on a loopback port.
func serve(t *testing.T, s *Server) (base string, stop func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	stopped := sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = stopped() })
	return "http://" + l.Addr().String(), stopped
}

// watcher reads an event stream.
type watcher struct {
	t    *testing.T
	body io.ReadCloser
	in   *bufio.Scanner
}

func watch(t *testing.T, base, query, lastID string) *watcher {
	t.Helper()
	return streamAt(t, base+eventsPath+query, lastID)
}

// streamAt opens a stream of server-sent events.
func streamAt(t *testing.T, url, lastID string) *watcher {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s %s", resp.Status, resp.Header.Get("Content-Type"))
	}
	return &watcher{t: t, body: resp.Body, in: bufio.NewScanner(resp.Body)}
}

// next returns the next event; comments are passed over.
func (w *watcher) next() (id, name string, e api.Event) {
	w.t.Helper()
	for w.in.Scan() {
		field, value, _ := strings.Cut(w.in.Text(), ": ")
		switch field {
		case "id":
			id = value
		case "event":
			name = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				w.t.Fatal(err)
			}
		case "":
			if name != "" {
				return id, name, e
			}
		}
	}
	w.t.Fatalf("the stream ended: %v", w.in.Err())
	return
}

func TestEventStream(t *testing.T) {
	s, _, events := newTestServer(t)
	base, stop := serve(t, s)
	publish := func(typ api.EventType, object string, seq uint64) {
		events.Publish(api.Event{Seq: seq, Type: typ, Object: object, Time: epochStart})
	}
	publish(api.EventGroupChanged, "before", 1)
	all := watch(t, base, "", "")
	groups := watch(t, base, "?type=group&type=switch.changed&object=g1", "")
	publish(api.EventGroupChanged, "g1", 2)
	publish(api.EventTopologyChanged, "", 3)
	publish(api.EventGroupDeleted, "g2", 4)
	publish(api.EventGroupDeleted, "g1", 5)
	ids := make([]string, 6)
	for seq := uint64(2); seq <= 5; seq++ {
		id, name, e := all.next()
		if e.Seq != seq || name != string(e.Type) {
			t.Fatalf("got %s %+v, want %d", name, e, seq)
		}
		ids[seq] = id
	}
	for _, seq := range []uint64{2, 5} {
		if _, _, e := groups.next(); e.Seq != seq || e.Object != "g1" {
			t.Errorf("got %+v, want %d", e, seq)
		}
	}
	// A client comes back and misses nothing, by header or by query.
	for _, w := range []*watcher{watch(t, base, "", ids[3]), watch(t, base, "?after="+ids[3], "")} {
		for seq := uint64(4); seq <= 5; seq++ {
			if _, name, e := w.next(); e.Seq != seq {
				t.Errorf("resumed with %s %+v, want %d", name, e, seq)
			}
		}
	}
	// The ring holds four: whoever was away for longer is told.
	publish(api.EventSwitchChanged, "n1", 6)
	publish(api.EventSwitchChanged, "n1", 7)
	late := watch(t, base, "", ids[2])
	gapID, name, _ := late.next()
	if name != "gap" {
		t.Errorf("got %s, want gap", name)
	}
	for seq := uint64(4); seq <= 7; seq++ {
		if _, _, e := late.next(); e.Seq != seq {
			t.Errorf("got %+v, want %d", e, seq)
		}
	}
	if _, _, e := watch(t, base, "", gapID).next(); e.Seq != 4 {
		t.Errorf("after the gap's own id comes %+v, want 4", e)
	}
	// A gap also answers ids of another process, of the future, and nonsense.
	for _, id := range []string{"zzz-1", strings.Replace(ids[2], "-1", "-99", 1), "nonsense"} {
		if _, name, _ := watch(t, base, "", id).next(); name != "gap" {
			t.Errorf("%s: got %s, want gap", id, name)
		}
	}
	// Streams end with the server, and do not hold it up.
	if err := stop(); err != nil {
		t.Error(err)
	}
	for all.in.Scan() {
	}
}

// TestEventStreamBegins: a stream begins with an id, so that a client whose stream broke off before
// its first event misses nothing.
func TestEventStreamBegins(t *testing.T) {
	s, _, events := newTestServer(t)
	base, _ := serve(t, s)
	begins := func() string {
		w := watch(t, base, "", "")
		for w.in.Scan() {
			if id, ok := strings.CutPrefix(w.in.Text(), "id: "); ok {
				return id
			}
		}
		t.Fatal("the stream ended")
		return ""
	}
	for seq := uint64(1); seq <= 6; seq++ { // the ring holds four
		id := begins()
		events.Publish(api.Event{Seq: seq, Type: api.EventTopologyChanged, Time: epochStart})
		if _, name, e := watch(t, base, "", id).next(); e.Seq != seq {
			t.Errorf("after %s comes %s %+v, want %d", id, name, e, seq)
		}
	}
}

func TestHeartbeat(t *testing.T) {
	s, _, _ := newTestServer(t, func(c *Config) { c.Heartbeat = time.Millisecond })
	base, _ := serve(t, s)
	w := watch(t, base, "", "")
	for comments := 0; comments < 3; {
		if !w.in.Scan() {
			t.Fatal("the stream ended")
		}
		if w.in.Text() == ":" {
			comments++
		}
	}
}

// TestShutdownWaits: a request under way finishes, up to a limit.
func TestShutdownWaits(t *testing.T) {
	for _, patient := range []bool{true, false} {
		s, f, _ := newTestServer(t, func(c *Config) {
			c.Grace = 20 * time.Second
			if !patient {
				c.Grace = 20 * time.Millisecond
			}
		})
		f.Groups.Items["g1"] = api.MulticastGroup{Name: "g1", Version: 1}
		f.wait, f.entered = make(chan struct{}), make(chan struct{}, 1)
		base, stop := serve(t, s)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		answered := make(chan error, 1)
		go func() {
			resp, err := client.Get(base + groupsPath + "/g1/state")
			if err == nil {
				err = resp.Body.Close()
			}
			answered <- err
		}()
		<-f.entered
		if !patient {
			if err := stop(); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("stopped with %v", err)
			}
			<-answered
			close(f.wait)
			continue
		}
		stopped := make(chan error, 1)
		go func() { stopped <- stop() }()
		<-s.closing
		close(f.wait)
		if err := <-answered; err != nil {
			t.Errorf("a request under way was cut off: %v", err)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
}

func TestServeOnAClosedListener(t *testing.T) {
	s, _, _ := newTestServer(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := s.Serve(t.Context(), l); err == nil {
		t.Error("no error")
	}
}

// TestNothingCanBeKept: changes are refused with the reason and change nothing; reads, dry runs and
// deletions go on.
func TestNothingCanBeKept(t *testing.T) {
	var full error
	s, f, _ := newTestServer(t, func(c *Config) { c.Writable = func() error { return full } })
	if w := do(s, "PUT", groupsPath+"/g1", groupBody("g1", 1)); w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	full = errors.New("data directory /x: its disk is full: 3 MiB free, want at least 64")
	for _, c := range [][3]string{
		{"PUT", groupsPath + "/g2", groupBody("g2", 2)}, {"POST", groupsPath, groupBody("g2", 2)},
		{"PATCH", groupsPath + "/g1", `{"spec":{"cnpLimit":7}}`}, {"POST", groupsPath + "/g1:reset", ""},
	} {
		if p := problemIn(t, do(s, c[0], c[1], c[2], "Content-Type", "application/json"), 503,
			"store_unavailable"); !strings.Contains(p.Detail, "3 MiB free") {
			t.Errorf("%s %s: %+v", c[0], c[1], p)
		}
	}
	if len(f.Groups.Items) != 1 || f.Groups.Items["g1"].Spec.CNPLimit == 7 {
		t.Errorf("%+v", f.Groups.Items)
	}
	for _, c := range [][3]string{{"PUT", groupsPath + "/g2?dryRun=true", groupBody("g2", 2)},
		{"GET", groupsPath, ""}, {"DELETE", groupsPath + "/g1", ""}} {
		if w := do(s, c[0], c[1], c[2]); w.Code >= 300 {
			t.Errorf("%s %s: %d %s", c[0], c[1], w.Code, w.Body)
		}
	}
}

// TestBackup: the server sends a backup unchanged, cuts a failed backup short, and refuses a backup
// without a store.
func TestBackup(t *testing.T) {
	s, _, _ := newTestServer(t, func(*Config) {})
	problemIn(t, do(s, "GET", "/v1/backup", ""), 501, "not_configured")
	var fails error
	s, _, _ = newTestServer(t, func(c *Config) {
		c.Backup = func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, "snapshot")
			return errors.Join(err, fails)
		}
	})
	base, _ := serve(t, s)
	get := func() (string, error) {
		r, err := http.Get(base + "/v1/backup")
		if err != nil {
			return "", err
		}
		defer r.Body.Close()
		if r.Header.Get("Content-Type") != "application/octet-stream" {
			t.Errorf("%s", r.Header)
		}
		b, err := io.ReadAll(r.Body)
		return string(b), err
	}
	if got, err := get(); got != "snapshot" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	fails = errors.New("the disk is gone")
	if got, err := get(); err == nil {
		t.Errorf("%q is taken for a whole backup", got)
	}
}
