package client

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/certs/certstest"
)

const patience = 10 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	c, err := New(Config{Server: s.URL + "/", Token: "secret", UserAgent: "test", Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		s.Close()
	})
	return c
}

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"no scheme", Config{Server: "127.0.0.1:8080"},
			`server "127.0.0.1:8080" cannot be used: want a URL`},
		{"other scheme", Config{Server: "ftp://x"}, "want a URL such as http://127.0.0.1:8080"},
		{"empty", Config{}, "want a URL"},
		{"query", Config{Server: "http://x?y=1"}, "want a URL"},
		{"no CA", Config{Server: "https://x", CA: "/nowhere"}, "CA cannot be used: open /nowhere"},
		{"no certificate in CA", Config{Server: "https://x", CA: "client_test.go"},
			"client_test.go has no certificate"},
		{"key alone", Config{Server: "https://x", Key: "k"}, "want certificate and key, or neither"},
		{"bad certificate", Config{Server: "https://x", Cert: "/nowhere", Key: "/nowhere"},
			"client certificate cannot be used"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := New(c.cfg); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want ErrConfig with %q", err, c.want)
			}
		})
	}
}

func TestRequest(t *testing.T) {
	c := open(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for name, want := range map[string]string{
			"Authorization": "Bearer secret", "User-Agent": "test", "Accept": "application/json",
			"If-Match": `"3"`, "Content-Type": "application/json",
		} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if r.URL.EscapedPath() != "/v1/a%2Fb" || string(body) != `{"x":1}` {
			t.Errorf("%s with %s", r.URL.EscapedPath(), body)
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"n": 18446744073709551615, "new": true}`)
	})
	a, err := c.Do(t.Context(), http.MethodPut, Path("v1", "a/b"), http.Header{"If-Match": {`"3"`}},
		map[string]int{"x": 1})
	if err != nil || a.Status != http.StatusCreated {
		t.Fatal(a, err)
	}
	var v struct{ N any }
	if err := a.Decode(&v); err != nil || v.N != json.Number("18446744073709551615") {
		t.Errorf("%v, %v", v, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		kind   string
		body   string
		want   string
	}{
		{"fields", 422, "application/problem+json",
			`{"status":422,"code":"limit_exceeded","detail":"d","errors":[{"field":"spec.a","value":"33",` +
				`"want":"32 or less","limit":32},{"field":"spec.b","value":"","want":"no such field"}]}`,
			"422 limit_exceeded: spec.a is 33: want 32 or less (limit 32); spec.b: want no such field"},
		{"detail", 404, "application/problem+json",
			`{"status":404,"code":"not_found","title":"Not found","detail":"there is no\n group \"g\""}`,
			`404 not_found: there is no group "g"`},
		{"title only", 409, "application/problem+json", `{"title":"Other"}`, "409 Other"},
		{"not a problem", 502, "text/html", "<h1>Bad gateway</h1>\n<p>long</p>",
			"502 Bad Gateway: <h1>Bad gateway</h1>"},
		{"nothing", 401, "", "", "401 Unauthorized"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := open(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			})
			_, err := client.Get(t.Context(), "/", nil)
			var p *api.Problem
			if !errors.As(err, &p) || p.Status != c.status || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

func TestNotThisAPI(t *testing.T) {
	c := open(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<h1>hello</h1>")
	})
	if _, err := c.Get(t.Context(), "/", nil); !errors.Is(err, ErrAnswer) ||
		!strings.Contains(err.Error(), "answered 200 OK with text/html, not JSON") {
		t.Errorf("error %v", err)
	}
	err := c.Events(t.Context(), "/", nil, Handlers{})
	if !errors.Is(err, ErrAnswer) || !strings.Contains(err.Error(), "not a stream of events") {
		t.Errorf("events: error %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	c, err := New(Config{Server: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), "/", nil); !errors.Is(err, ErrUnreachable) ||
		!strings.Contains(err.Error(), "connection refused") {
		t.Errorf("error %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(ended, "/", nil); !errors.Is(err, context.Canceled) ||
		errors.Is(err, ErrUnreachable) {
		t.Errorf("after the end: error %v", err)
	}
}

// TestCertificates: an error about a certificate that the clock of this machine refuses ends with
// what to do.
func TestCertificates(t *testing.T) {
	a := certstest.New(t)
	a.IssueExpired(t, "expired", "controller")
	a.IssueLater(t, "later", "controller")
	for name, want := range map[string]string{
		"expired": ": renew the certificate, or set the clock",
		"later":   ": look at the clocks of both machines",
	} {
		pair, err := tls.LoadX509KeyPair(a.File(name+".pem"), a.File(name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewUnstartedServer(nil)
		s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		c, err := New(Config{Server: s.URL, CA: a.File("ca.pem")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Get(t.Context(), "/", nil); !errors.Is(err, ErrUnreachable) ||
			!strings.HasPrefix(err.Error(), ErrUnreachable.Error()+" at "+s.URL+": its certificate ") ||
			!strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: error %v, want %q at its end", name, err, want)
		}
		s.Close()
	}
}

func TestTimeout(t *testing.T) {
	held := make(chan struct{})
	c := open(t, func(http.ResponseWriter, *http.Request) { <-held })
	defer close(held)
	c.cfg.Timeout = time.Millisecond
	if _, err := c.Get(t.Context(), "/", nil); !errors.Is(err, ErrUnreachable) ||
		!strings.Contains(err.Error(), "no answer within 1ms") {
		t.Errorf("error %v", err)
	}
}

// TestList reads all pages; only the pages after the first are asked for by size.
func TestList(t *testing.T) {
	var asked []string
	c := open(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		switch r.URL.Query().Get("continue") {
		case "":
			fmt.Fprint(w, `{"items":[1,2],"continue":"a"}`)
		case "a":
			fmt.Fprint(w, `{"items":[3],"continue":"b"}`)
		default:
			fmt.Fprint(w, `{"items":[]}`)
		}
	})
	items, err := c.List(t.Context(), "/l", url.Values{"x": {"y"}})
	if err != nil {
		t.Fatal(err)
	}
	n, err := DecodeItems[int](items)
	if err != nil || fmt.Sprint(n) != "[1 2 3]" {
		t.Errorf("%v, %v", n, err)
	}
	if got := strings.Join(asked, " "); got != "x=y continue=a&limit=1000&x=y "+
		"continue=b&limit=1000&x=y" {
		t.Errorf("asked %s", got)
	}
}

// TestStale: a stale answer states its age, a list the age of its oldest page, and other answers
// state no age.
func TestStale(t *testing.T) {
	c := open(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("consistency") != "stale" {
			fmt.Fprint(w, `{"items":[]}`)
			return
		}
		w.Header().Set("Weft-Consistency", "stale")
		if r.URL.Query().Get("continue") == "" {
			w.Header().Set("Age", "7")
			w.Header().Set("Weft-Store-Revision", "41")
			fmt.Fprint(w, `{"items":[1],"continue":"x"}`)
			return
		}
		w.Header().Set("Age", "2")
		w.Header().Set("Weft-Store-Revision", "43")
		fmt.Fprint(w, `{"items":[2]}`)
	})
	want := Stale{Age: 7 * time.Second, Revision: 41}
	if a, err := c.Get(t.Context(), "/v1/x", StaleQuery()); err != nil || a.Stale() == nil ||
		*a.Stale() != want {
		t.Errorf("%+v, %v", a, err)
	}
	if l, err := c.List(t.Context(), "/v1/x", StaleQuery()); err != nil || len(l.Items) != 2 ||
		l.Stale == nil || *l.Stale != want {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err := c.List(t.Context(), "/v1/x", nil); err != nil || l.Stale != nil {
		t.Errorf("%+v, %v", l, err)
	}
}
