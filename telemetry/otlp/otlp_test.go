package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/certs/certstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// received is an export as a collector got it.
type received struct {
	*collector.ExportMetricsServiceRequest
	token string
}

// value returns the value of a metric with one point, and the attributes of the resource.
func (r *received) value(t *testing.T, name string) (value float64, resource map[string]string) {
	t.Helper()
	resource = make(map[string]string)
	for _, rm := range r.GetResourceMetrics() {
		for _, a := range rm.GetResource().GetAttributes() {
			resource[a.GetKey()] = a.GetValue().GetStringValue()
		}
		for _, sm := range rm.GetScopeMetrics() {
			for _, m := range sm.GetMetrics() {
				if m.GetName() != name {
					continue
				}
				points := append(m.GetGauge().GetDataPoints(), m.GetSum().GetDataPoints()...)
				if len(points) == 1 {
					return points[0].GetAsDouble(), resource
				}
			}
		}
	}
	t.Fatalf("no metric %s with one point in %v", name, r)
	return 0, nil
}

// peer is a collector by gRPC and HTTP; while refusing it takes nothing.
type peer struct {
	collector.UnimplementedMetricsServiceServer
	got      chan received
	refusing chan bool // of one element
	refused  chan struct{}
}

func newPeer() *peer {
	p := &peer{got: make(chan received, 100), refusing: make(chan bool, 1),
		refused: make(chan struct{}, 1)}
	p.refusing <- false
	return p
}

func (p *peer) refuse(refuse bool) { <-p.refusing; p.refusing <- refuse }

func (p *peer) take(r received) error {
	refuse := <-p.refusing
	p.refusing <- refuse
	if refuse {
		select {
		case p.refused <- struct{}{}:
		default:
		}
		return errors.New("no")
	}
	p.got <- r
	return nil
}

func (p *peer) Export(ctx context.Context, r *collector.ExportMetricsServiceRequest) (
	*collector.ExportMetricsServiceResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	if err := p.take(received{r, strings.Join(md.Get("authorization"), ",")}); err != nil {
		return nil, status.Error(codes.PermissionDenied, err.Error())
	}
	return &collector.ExportMetricsServiceResponse{}, nil
}

func (p *peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(r.Body)
	}
	b, err := io.ReadAll(body)
	m := &collector.ExportMetricsServiceRequest{}
	if err == nil {
		err = proto.Unmarshal(b, m)
	}
	if err == nil && r.URL.Path == "/v1/metrics" {
		err = p.take(received{m, r.Header.Get("Authorization")})
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
	}
}

// start serves a peer by a protocol, and returns its address.
func (p *peer) start(t *testing.T, protocol string) string {
	t.Helper()
	if protocol == HTTP {
		s := httptest.NewServer(p)
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	collector.RegisterMetricsServiceServer(s, p)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return l.Addr().String()
}

// TestExport: a collector repeatedly receives the gatherer's current metrics, with the current
// headers of the file. If a collector refuses, the exporter counts the refusal, logs it once, and
// tries again.
func TestExport(t *testing.T) {
	for _, protocol := range []string{GRPC, HTTP} {
		t.Run(protocol, func(t *testing.T) {
			p := newPeer()
			file := filepath.Join(t.TempDir(), "headers")
			write := func(text string) {
				if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(file+".new", file); err != nil {
					t.Fatal(err)
				}
			}
			write("# a token\nAuthorization: Bearer one\n")
			var log bytes.Buffer
			e, err := New(Config{Endpoint: p.start(t, protocol), Protocol: protocol,
				Interval: 20 * time.Millisecond, bound: 30 * time.Second, HeadersFile: file, Name: "c1",
				Version: "v9", Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			registry := prometheus.NewRegistry()
			count := prometheus.NewCounter(prometheus.CounterOpts{Name: "weft_tries_total"})
			broken := prometheus.NewDesc("weft_broken", "", nil, nil)
			registry.MustRegister(count, e, collectorFunc(func(ch chan<- prometheus.Metric) {
				ch <- prometheus.NewInvalidMetric(broken, errors.New("broken"))
			}))
			count.Inc()
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); e.Run(ctx, registry) }()

			next := func(ok func(received) bool) received {
				t.Helper()
				late := time.After(30 * time.Second)
				for {
					select {
					case r := <-p.got:
						if ok(r) {
							return r
						}
					case <-late:
						t.Fatal("no such export")
					}
				}
			}
			r := next(func(received) bool { return true })
			value, resource := r.value(t, "weft_tries_total")
			if value != 1 || resource["service.name"] != "weft" || resource["service.instance.id"] != "c1" ||
				resource["service.version"] != "v9" || r.token != "Bearer one" {
				t.Errorf("tries %g, resource %v, token %q", value, resource, r.token)
			}
			count.Inc()
			next(func(r received) bool { v, _ := r.value(t, "weft_tries_total"); return v == 2 })
			write("authorization: Bearer two\n")
			next(func(r received) bool { return r.token == "Bearer two" })

			p.refuse(true)
			<-p.refused
			<-p.refused
			p.refuse(false)
			for len(p.got) > 0 {
				<-p.got
			}
			next(func(received) bool { return true })
			next(func(received) bool { return true }) // the result of the one before was seen
			cancel()
			<-ended
			if sent, failed := testutil.ToFloat64(e.exports.WithLabelValues(sent)),
				testutil.ToFloat64(e.exports.WithLabelValues(failed)); sent < 4 || failed < 2 {
				t.Errorf("%g exports sent, %g failed", sent, failed)
			}
			if text := log.String(); strings.Count(text, "metrics cannot be exported") != 1 ||
				strings.Count(text, "exported by OTLP again") != 1 || !strings.Contains(text, "broken") {
				t.Errorf("the log is\n%s", text)
			}
		})
	}
}

type collectorFunc func(chan<- prometheus.Metric)

func (collectorFunc) Describe(chan<- *prometheus.Desc)      {}
func (f collectorFunc) Collect(ch chan<- prometheus.Metric) { f(ch) }

// TestTLS: certificates of both sides are checked.
func TestTLS(t *testing.T) {
	authority, other := certstest.New(t), certstest.New(t)
	for _, a := range []*certstest.Authority{authority, other} {
		a.Issue(t, "collector", "collector", "localhost")
		a.Issue(t, "controller", "controller", "localhost")
	}
	credentials, err := certs.Server{CertFile: authority.File("collector.pem"),
		KeyFile: authority.File("collector.key"), ClientCAFile: authority.File("ca.pem")}.Credentials(
		tls.VersionTLS12)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, s := newPeer(), grpc.NewServer(grpc.Creds(credentials))
	collector.RegisterMetricsServiceServer(s, p)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for name, c := range map[string]struct {
		ca, client *certstest.Authority
		ok         bool
	}{"good": {authority, authority, true}, "another collector": {other, authority, false},
		"another controller": {authority, other, false}} {
		e, err := New(Config{Endpoint: "localhost:" + port, Protocol: GRPC, Interval: time.Minute,
			TLS: certs.Client{Enabled: true, CAFile: c.ca.File("ca.pem"),
				CertFile: c.client.File("controller.pem"), KeyFile: c.client.File("controller.key")}})
		if err != nil {
			t.Fatal(err)
		}
		e.export(t.Context(), bridge.NewMetricProducer(bridge.WithGatherer(prometheus.NewRegistry())))
		if ok := testutil.ToFloat64(e.exports.WithLabelValues(sent)) == 1; ok != c.ok {
			t.Errorf("%s: sent is %v", name, ok)
		}
		if err := e.exporter.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestHeaders: the error for an unusable file names the file and the line.
func TestHeaders(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"no colon": {"# one\n\nauthorization Bearer x\n", 0o600, "line 3: want NAME: VALUE"},
		"no name":  {": x\n", 0o600, "line 1: want NAME: VALUE"},
		"control":  {"a: x\x01\n", 0o600, "line 1: want NAME: VALUE"},
		"open":     {"a: x\n", 0o644, "has mode 0644: want one that others cannot use"},
	} {
		file := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := os.WriteFile(file, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := New(Config{Endpoint: "127.0.0.1:1", Protocol: GRPC, Interval: time.Second,
			HeadersFile: file}); !errors.Is(err, ErrHeaders) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(Config{Endpoint: "127.0.0.1:1", Protocol: HTTP, Interval: time.Second,
		HeadersFile: filepath.Join(dir, "none")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
