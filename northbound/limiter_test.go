package northbound

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/bubble"
)

// pipes is a listener whose connections are pipes: time is virtual on them.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
func (p *pipes) dial() net.Conn {
	near, far := net.Pipe()
	p.conns <- far
	return near
}

// servePipes runs a server on pipes until the test's end.
func servePipes(t *testing.T, s *Server) *pipes {
	t.Helper()
	p := newPipes()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, p) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return p
}

// open returns the number of connections, once the server serves.
func (g *limiter) open() int {
	n, _ := g.listener.Open()
	return n
}

// TestSlowClientsAreCut: a client that does not send, and one that does not read, lose their
// connections; an event stream outlives both limits.
func TestSlowClientsAreCut(t *testing.T) {
	for name, test := range map[string]struct {
		send string
		read bool
		cut  time.Duration // at the latest; 0: never
	}{
		"silent":           {"", true, 5 * time.Second},
		"headers that end": {"GET /v1/topology HTTP/1.1\r\nHost: a\r\nX: ", true, 5 * time.Second},
		"body that ends": {"POST /v1/multicast-groups HTTP/1.1\r\nHost: a\r\nContent-Type: " +
			"application/json\r\nContent-Length: 9\r\n\r\n{", true, 5 * time.Second},
		"reads nothing":      {"GET /v1/topology HTTP/1.1\r\nHost: a\r\n\r\n", false, 40 * time.Second},
		"stream, reads none": {"GET /v1/events HTTP/1.1\r\nHost: a\r\n\r\n", false, 10 * time.Second},
		"stream":             {"GET /v1/events HTTP/1.1\r\nHost: a\r\n\r\n", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s, _, _ := newTestServer(t, func(c *Config) { c.Now = time.Now })
				conn := servePipes(t, s).dial()
				defer conn.Close()
				go func() { _, _ = io.WriteString(conn, test.send) }()
				if test.read {
					go func() { _, _ = io.Copy(io.Discard, conn) }()
				}
				open := func() int { synctest.Wait(); return s.limiter.open() }
				if open() != 1 {
					t.Fatal("there is no connection")
				}
				time.Sleep(test.cut - time.Millisecond)
				if test.cut == 0 {
					time.Sleep(10 * time.Minute)
				}
				if open() != 1 {
					t.Errorf("it was cut before %v", test.cut)
				}
				if test.cut == 0 {
					return
				}
				time.Sleep(time.Second)
				if n := open(); n != 0 {
					t.Errorf("it is still there after %v", test.cut)
				}
			})
		})
	}
}

// TestLongRequestsGoOn: a request with a body may take longer than the body's transfer, and later
// requests on the connection have a live context.
func TestLongRequestsGoOn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, f, _ := newTestServer(t, func(c *Config) { c.Now = time.Now })
		f.Groups.Before = func() { time.Sleep(2 * bodyTime) }
		conn := servePipes(t, s).dial()
		defer conn.Close()
		in := bufio.NewReader(conn)
		for n := range 2 {
			body := groupBody(fmt.Sprint("g", n), n+1)
			go func() {
				_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: "+
					"application/json\r\nContent-Length: %d\r\n\r\n%s", groupsPath, len(body), body)
			}()
			w, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, _ := io.ReadAll(w.Body)
			if w.StatusCode != http.StatusCreated {
				t.Errorf("request %d: %s %s", n, w.Status, answer)
			}
		}
	})
}

// TestStrangersOfTheAPI: clients that pipeline requests, never read and show no token take a share
// of the connections; one with a token works beside them, and a health check is answered.
func TestStrangersOfTheAPI(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, _ := newTestServer(t, func(c *Config) {
		c.TokenFile, c.Limits.Strangers, c.Limits.PerClient = file, 16, 64
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	defer func() { cancel(); <-ended }()
	get := func(c *http.Client, path, token string) (int, error) {
		r, err := http.NewRequest(http.MethodGet, "http://"+l.Addr().String()+path, nil)
		if err != nil {
			return 0, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		w, err := c.Do(r)
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(io.Discard, w.Body)
		return w.StatusCode, errors.Join(err, w.Body.Close())
	}
	dials := 0
	good := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network,
		address string) (net.Conn, error) {
		dials++
		return new(net.Dialer).DialContext(ctx, network, address)
	}}}
	defer good.CloseIdleConnections()
	if code, err := get(good, "/v1/topology", "secret"); code != 200 || err != nil {
		t.Fatal(code, err)
	}
	kept, most := 0, 0
	for range 200 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetWriteDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.WriteString(c, strings.Repeat("GET /v1/topology HTTP/1.1\r\nHost: a\r\n\r\n",
			100)); err == nil {
			kept++
		}
		most = max(most, s.limiter.open())
	}
	if most > 17 || kept == 0 {
		t.Errorf("%d connections at most, want 16 of strangers and one", most)
	}
	for range 20 {
		// The first request of the good client's was on a connection that is known since.
		if code, err := get(good, "/v1/topology", "secret"); code != 200 || err != nil {
			t.Fatal(code, err)
		}
		health := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		if code, err := get(health, "/healthz", ""); code != 200 || err != nil {
			t.Fatal(code, err)
		}
	}
	if dials != 1 {
		t.Errorf("the client with a token connected %d times", dials)
	}
	if w := do(s, "GET", "/metrics", "", "Authorization",
		"Bearer secret"); !strings.Contains(w.Body.String(),
		`weft_http_rejected_total{limit="strangers"}`) {
		t.Error("it is not counted")
	}
}

// TestShares: a principal has a limit of concurrent requests, of streams and of requests a second;
// another principal has limits of its own.
func TestShares(t *testing.T) {
	now := epochStart
	s, f, _ := newTestServer(t, func(c *Config) {
		c.Limits.Requests, c.Limits.Streams, c.Limits.Rate = 2, 1, 5
		c.Now = func() time.Time { return now }
	})
	f.Groups.Items["g1"] = api.MulticastGroup{Name: "g1", Version: 1}
	f.wait, f.entered = make(chan struct{}), make(chan struct{}, 2)
	answered := make(chan int, 2)
	ask := func(from, path string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.RemoteAddr = from + ":1000"
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		return w
	}
	for range 2 {
		go func() { answered <- ask("192.0.2.1", groupsPath+"/g1/state").Code }()
		<-f.entered
	}
	w := ask("192.0.2.1", "/v1/topology")
	if p := problemIn(t, w, 429, "too_many_requests"); !strings.Contains(p.Detail,
		"2 requests under way") || w.Header().Get("Retry-After") == "" {
		t.Errorf("%+v %v", p, w.Header())
	}
	if w := ask("192.0.2.2", "/v1/topology"); w.Code != 200 {
		t.Errorf("another address: %d", w.Code)
	}
	if w := ask("192.0.2.1", "/healthz"); w.Code != 200 {
		t.Errorf("health check: %d", w.Code)
	}
	close(f.wait)
	<-answered
	<-answered
	now = now.Add(10 * time.Second)
	for n := 0; ; n++ {
		if w := ask("192.0.2.1", "/v1/topology"); w.Code == 429 {
			if p := problemIn(t, w, 429, "too_many_requests"); n != 11 ||
				!strings.Contains(p.Detail, "5 requests a second") {
				t.Errorf("after %d: %+v", n, p)
			}
			break
		}
	}
	now = now.Add(time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	streaming := make(chan int, 1)
	first := newFirstWrite()
	go func() {
		r := httptest.NewRequest(http.MethodGet, eventsPath, nil).WithContext(ctx)
		s.Handler().ServeHTTP(first, r)
		streaming <- first.Code
	}()
	<-first.written
	if p := problemIn(t, ask("192.0.2.1", eventsPath), 429,
		"too_many_requests"); !strings.Contains(p.Detail, "1 streams") {
		t.Errorf("%+v", p)
	}
	cancel()
	if code := <-streaming; code != 200 {
		t.Errorf("the first stream: %d", code)
	}
	if len(s.limiter.usage) != 2 {
		t.Errorf("%d principals, want 2", len(s.limiter.usage))
	}
}

// firstWrite is a recorder that says when something was written.
type firstWrite struct {
	*httptest.ResponseRecorder
	written chan struct{}
}

func newFirstWrite() *firstWrite {
	return &firstWrite{httptest.NewRecorder(), make(chan struct{}, 1)}
}

func (f *firstWrite) Flush() {
	select {
	case f.written <- struct{}{}:
	default:
	}
}

// TestPrincipalsAreForgotten: addresses that ask once do not fill the memory.
func TestPrincipalsAreForgotten(t *testing.T) {
	g := newLimiter(DefaultLimits(), NewRequests().rejected)
	now := epochStart
	for i := range 3 * maxPrincipals {
		leave, limit := g.enter(fmt.Sprint(i), false, now)
		if limit != "" {
			t.Fatal(limit)
		}
		leave()
		now = now.Add(time.Millisecond)
	}
	if len(g.usage) > maxPrincipals+1 {
		t.Errorf("%d principals are remembered", len(g.usage))
	}
}

// TestOrigins: a page of somebody else cannot have a browser change anything, nor read by a name
// of its own.
func TestOrigins(t *testing.T) {
	s, _, _ := newTestServer(t, func(c *Config) { c.Hosts = []string{"weft.example.net"} })
	ask := func(method, host string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/v1/multicast-groups/g1:reset", nil)
		if method == http.MethodGet {
			r = httptest.NewRequest(method, "/v1/topology", nil)
		}
		r.Host = host
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		return w
	}
	for host, want := range map[string]int{
		"127.0.0.1:8080": 200, "[::1]:8080": 200, "192.0.2.1": 200, "localhost:8080": 200,
		"controller":            200,
		"weft.example.net:8080": 200, "WEFT.example.net.": 200, "evil.example.com": 421,
		"127.0.0.1.evil.example.com:8080": 421,
	} {
		w := ask(http.MethodGet, host)
		if w.Code != want {
			t.Errorf("host %s: %d, want %d", host, w.Code, want)
		}
		if want == 421 {
			problemIn(t, w, 421, "misdirected")
		}
	}
	problemIn(t, ask(http.MethodPost, "localhost:8080", "Origin", "http://evil.example.com"), 403,
		"forbidden_origin")
	problemIn(t, ask(http.MethodPost, "localhost:8080", "Sec-Fetch-Site", "cross-site"), 403,
		"forbidden_origin")
	problemIn(t, ask(http.MethodPost, "localhost:8080", "Origin", "null"), 403, "forbidden_origin")
	for _, kind := range []string{"text/plain", "Text/Plain; charset=utf-8",
		"application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		problemIn(t, ask(http.MethodPost, "localhost:8080", "Content-Type", kind), 415,
			"unsupported_media_type")
	}
	for _, headers := range [][]string{nil, {"Content-Type", "application/json"},
		{"Origin", "http://localhost:8080"}, {"Sec-Fetch-Site", "same-origin"}} {
		problemIn(t, ask(http.MethodPost, "localhost:8080", headers...), 404, "not_found") // of the group
	}
	// Over TLS the certificate proves the name.
	r := httptest.NewRequest(http.MethodGet, "/v1/topology", nil)
	r.Host, r.TLS = "proved.example.com", &tls.ConnectionState{ServerName: "proved.example.com"}
	w := httptest.NewRecorder()
	if s.Handler().ServeHTTP(w, r); w.Code != 200 {
		t.Errorf("a name of the certificate: %d", w.Code)
	}
}

// TestAnswersAreShort: whatever a body has, the answer about it is bounded.
func TestAnswersAreShort(t *testing.T) {
	s, _, _ := newTestServer(t)
	var receivers bytes.Buffer
	for i := range 40000 {
		fmt.Fprintf(&receivers, `{"%d":1},`, i)
	}
	if p := newProblem(string(api.CodeInvalid),
		strings.Repeat("ä", 1<<19)); len(p.Detail) > maxDetail+3 {
		t.Errorf("a detail of %d octets", len(p.Detail))
	}
	for name, body := range map[string]string{
		"many faults": `{"name":"g1","spec":{"receivers":[` + strings.TrimSuffix(receivers.String(),
			",") + `]}}`,
		"long name":  `{"` + strings.Repeat("x", 1<<19) + `":1}`,
		"long value": `{"name":"` + strings.Repeat("x", 1<<19) + `","spec":{}}`,
	} {
		w := do(s, http.MethodPost, groupsPath, body)
		var p api.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status < 400 || len(p.Errors) == 0 {
			t.Errorf("%s: %v: %.200s", name, err, w.Body)
		}
		if n := w.Body.Len(); n > 40<<10 {
			t.Errorf("%s: a body of %d octets gets an answer of %d", name, len(body), n)
		}
	}
}

// TestTokenFileIsPrivate: a file that others can read or change is refused, with its mode.
func TestTokenFileIsPrivate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: true, 0o644: false,
		0o604: false, 0o602: false} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		c := DefaultConfig()
		c.TokenFile = file
		if err := c.Validate(); (err == nil) != ok || err != nil && !strings.Contains(err.Error(),
			fmt.Sprintf("%#o", mode)) {
			t.Errorf("%#o: %v", mode, err)
		}
	}
}

// TestEventsAreWrittenOnce: Publish makes the text of an event, and all readers share the text.
func TestEventsAreWrittenOnce(t *testing.T) {
	e := NewEvents(4, epochStart)
	e.Publish(api.Event{Type: api.EventGroupChanged, Object: "g1", Message: "m"})
	read := func() {
		evs, _, _ := e.after(cursor{}, epochStart)
		if len(evs) != 1 || !strings.Contains(evs[0].text, `"object":"g1"`) {
			t.Fatalf("%+v", evs)
		}
	}
	if n := testing.AllocsPerRun(100, read); n > 1 { // the slice of events
		t.Errorf("reading an event takes %v allocations", n)
	}
	scan := bufio.NewScanner(strings.NewReader(withText("a-1", api.Event{Type: api.EventGap}).text))
	if !scan.Scan() || scan.Text() != "id: a-1" {
		t.Errorf("%q", scan.Text())
	}
}
