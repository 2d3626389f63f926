package northbound

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

var (
	// ErrNoDecider reports that no controller decides now.
	ErrNoDecider = errors.New("no controller decides now")
	// ErrStoreUnavailable reports that this controller cannot reach the store and therefore does not
	// know the decider.
	ErrStoreUnavailable = errors.New("the store does not answer")
)

// Cluster gives the API access to the controllers that share a store. Many goroutines call the
// methods.
type Cluster interface {
	// Controllers returns the controllers, in the order of their names.
	Controllers(ctx context.Context) []api.Controller
	// Readiness returns what a controller waits for before the cluster keeps changes. Deciders and
	// other controllers answer alike.
	Readiness() []api.ReadinessCheck
	// Disk returns the disk of this controller's data directory; nil: there is none.
	Disk() *api.ControllerDisk
	// Decider returns the URL, without a path, for requests to the decider. The error wraps
	// ErrStoreUnavailable, or says why no controller decides or why the decider cannot be reached.
	Decider() (*url.URL, error)
	// State returns this controller's part in the cluster; false for a single controller.
	State() (ClusterState, bool)
}

// ClusterState describes a controller's part in a cluster.
type ClusterState struct {
	Decides     bool
	Controllers int
	// Expected is the planned number of controllers, as far as this controller knows.
	Expected int
	// Term is the decider's term; 0 without a decider.
	Term int64
	// Lease is the time left until the controller stops, unless the store confirms its lease before.
	Lease time.Duration
	// Deciders and Owners count the changes of decider and of switch owners seen by the controller.
	Deciders, Owners uint64
	// Owned counts the switches that the controller owns. Ready counts the sessions to owned switches
	// that take writes.
	Owned, Ready int
}

// NewMember makes the server of a controller that does not decide. It answers /healthz, /readyz,
// /metrics, /v1/controllers, /v1/certificates and the dashboard itself, and forwards every other
// request to the decider over transport.
func NewMember(cfg Config, transport http.RoundTripper) (*Server, error) {
	s, err := newServer(cfg)
	if err != nil {
		return nil, err
	}
	f := &forwarder{server: s}
	f.proxy = &httputil.ReverseProxy{
		Transport: transport, Rewrite: f.rewrite, ModifyResponse: f.answered, ErrorHandler: f.failed,
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelDebug),
	}
	s.engine.missing = f.forward
	s.registerControllers()
	s.registerReplace()
	s.registerCertificates()
	s.registerMemberHealth()
	s.registerDashboard()
	s.registerMetrics()
	return s, nil
}

// forwarder hands requests on to the decider.
type forwarder struct {
	server *Server
	proxy  *httputil.ReverseProxy
}

// target is the decider's address in the context of a request.
type target struct{}

// routeForwarded is the route of forwarded requests in the log and in metrics.
const routeForwarded = "forwarded"

func (f *forwarder) forward(c *exchange) {
	c.route = routeForwarded
	if isForwarded(c.Request) {
		c.refuse(newProblem(codeNoDecider, "the request was forwarded to a controller that "+
			"does not decide"))
		return
	}
	decider, err := f.server.cfg.Cluster.Decider()
	if err != nil {
		code := codeNoDecider
		if errors.Is(err, ErrStoreUnavailable) {
			code = codeStore
		}
		c.refuse(newProblem(code, err.Error()))
		return
	}
	ctx, cancel := context.WithCancel(context.WithValue(c.Request.Context(), target{}, decider))
	defer cancel()
	go func() { // an answer of a decider that is one no more must not be waited for
		select {
		case <-f.server.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	c.Request = c.Request.WithContext(ctx)
	if endless(c.Request.URL.Path) {
		f.proxy.ServeHTTP(newStreamWriter(c.Writer, f.server.cfg.WriteTimeout), c.Request)
		return
	}
	f.proxy.ServeHTTP(c.Writer, c.Request)
}

// streamWriter writes an answer without an end to a client that reads.
type streamWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func newStreamWriter(w http.ResponseWriter, timeout time.Duration) *streamWriter {
	s := &streamWriter{w, http.NewResponseController(w), timeout}
	_ = s.control.SetReadDeadline(time.Time{}) // that of the request, which is over
	return s
}

// Write implements [http.ResponseWriter].
func (s *streamWriter) Write(b []byte) (int, error) {
	_ = s.control.SetWriteDeadline(time.Now().Add(s.timeout))
	return s.ResponseWriter.Write(b)
}

// Unwrap is for [http.ResponseController].
func (s *streamWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (f *forwarder) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(r.In.Context().Value(target{}).(*url.URL))
	r.SetXForwarded()
	r.Out.Header.Set(requestIDHeader, exchangeOf(r.In.Context()).id)
	// The decider takes this controller's word for who makes the request, and gets no credentials.
	r.Out.Header.Del("Authorization")
	r.Out.Header.Del("Cookie")
	if c, err := r.In.Cookie(oidcCookie); err == nil { // no credentials, and the decider has no other
		r.Out.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
	r.Out.Header.Del(access.ForwardHeader)
	signed, err := f.server.cfg.Access.Signer.Sign(r.In.Context(), access.Forwarded{
		Principal: *access.Of(r.In.Context()), Remote: r.In.RemoteAddr, TLS: r.In.TLS != nil,
		Method: r.Out.Method, Target: r.Out.URL.RequestURI(), Issued: f.server.cfg.Now(),
	})
	if err == nil { // otherwise the decider refuses it
		r.Out.Header.Set(access.ForwardHeader, signed)
	}
}

func (f *forwarder) answered(r *http.Response) error {
	for _, name := range append(browserHeaders, requestIDHeader) { // the answer has them already
		r.Header.Del(name)
	}
	return nil
}

func (f *forwarder) failed(_ http.ResponseWriter, r *http.Request, err error) {
	c := exchangeOf(r.Context())
	c.cause = err
	code, detail := codeNoDecider, "the controller that decides does not answer"
	var dial *net.OpError
	unsent := errors.As(err, &dial) && dial.Op == "dial"
	if !isRead(r) && !unsent {
		code = string(api.CodeUnknown)
		detail += ": the change may have been kept, or not. GET what it was to change"
	}
	c.refuse(newProblem(code, detail))
}

// registerMemberHealth registers the checks of a controller that does not decide.
func (s *Server) registerMemberHealth() {
	s.engine.Handle(http.MethodGet, "/healthz", func(c *exchange) {
		c.JSON(http.StatusOK, api.Health{Status: "ok", Version: s.cfg.Version})
	})
	s.engine.Handle(http.MethodGet, "/readyz", func(c *exchange) {
		view := api.Readiness{Ready: true, Checks: s.cfg.Cluster.Readiness()}
		status := http.StatusOK
		for _, check := range view.Checks {
			if !check.OK && !check.Advisory {
				view.Ready, status = false, http.StatusServiceUnavailable
			}
		}
		c.JSON(status, view)
	})
}

// registerControllers registers the operations about controllers, which any controller answers.
func (s *Server) registerControllers() {
	const path = "/v1/controllers"
	register(s, huma.Operation{
		OperationID: "list-controllers", Method: http.MethodGet, Security: asks(access.Read), Path: path,
		Tags:    []string{"controller"},
		Summary: "List the controllers",
		Description: "The controllers that share the store, in the order of their names, as the one " +
			"that is asked sees them, and those that are missing, with the reason and the last contact. A " +
			"controller alone lists itself.",
	}, func(ctx context.Context, _ *struct{}) (*api.List[api.Controller], error) {
		return &api.List[api.Controller]{Items: s.controllers(ctx)}, nil
	})
	register(s, huma.Operation{
		OperationID: "get-controller", Method: http.MethodGet, Security: asks(access.Read),
		Path: path + "/{name}", Tags: []string{"controller"},
		Summary: "Get a controller", Errors: []int{404},
	}, func(ctx context.Context, in *NameParam) (*api.Controller, error) {
		for _, c := range s.controllers(ctx) {
			if c.Name == in.Name {
				return &c, nil
			}
		}
		return nil, newProblem(string(api.CodeNotFound), fmt.Sprintf("there is no controller %q",
			in.Name))
	})
}

// registerReplace registers what only a controller with a member of the etcd can do, whether it
// decides or not.
func (s *Server) registerReplace() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "replace-controller", Method: http.MethodPost, Security: asks(access.Administer),
		Path: "/v1/controllers/{name}:replace", Tags: []string{"controller"},
		Summary: "Let a controller start again that lost its data",
		Description: "Of controllers that form an etcd, one whose data directory is lost does not " +
			"start: the others count on what it had acknowledged. " +
			"Afterwards it starts with an empty data directory and gets the data from the others, more " +
			"than half of which must be there.",
		Errors:        []int{404, http.StatusNotImplemented, http.StatusServiceUnavailable},
		DefaultStatus: http.StatusNoContent,
	}), func(ctx context.Context, in *NameParam) (*struct{}, error) {
		if s.cfg.Replace == nil {
			return nil, newProblem(codeNoSection, "the controllers form no etcd")
		}
		if err := s.auditFirst(ctx); err != nil {
			return nil, err
		}
		err := s.cfg.Replace(ctx, in.Name)
		if errors.Is(err, ErrStoreUnavailable) {
			return nil, newProblem(codeStore, err.Error())
		}
		return nil, problemOf(err)
	})
}

func (s *Server) controllers(ctx context.Context) []api.Controller {
	if s.cfg.Cluster == nil {
		return []api.Controller{}
	}
	return s.cfg.Cluster.Controllers(ctx)
}

var (
	clusterDecidesDesc = prometheus.NewDesc("weft_cluster_decides",
		"1 while this controller decides.", nil, nil)
	clusterControllersDesc = prometheus.NewDesc("weft_cluster_controllers",
		"Controllers that hold a lease in the store.", nil, nil)
	clusterExpectedDesc = prometheus.NewDesc("weft_cluster_controllers_expected",
		"Controllers that there are to be: those that form the store, and those that were there and "+
			"did not leave in order.", nil, nil)
	clusterTermDesc = prometheus.NewDesc("weft_cluster_term",
		"Term of the decider; 0 when there is none.", nil, nil)
	clusterLeaseDesc = prometheus.NewDesc("weft_cluster_lease_seconds",
		"Time left until this controller stops, unless the store confirms its lease before.", nil, nil)
	clusterDecidersDesc = prometheus.NewDesc("weft_cluster_decider_changes_total",
		"Changes of the decider, seen by this controller.", nil, nil)
	clusterOwnedDesc = prometheus.NewDesc("weft_cluster_switches_owned",
		"Switches that this controller owns.", nil, nil)
	clusterReadyDesc = prometheus.NewDesc("weft_cluster_switches_ready",
		"Switches that this controller owns and whose sessions take writes.", nil, nil)
	clusterOwnersDesc = prometheus.NewDesc("weft_cluster_owner_changes_total",
		"Changes of the owners of switches, seen by this controller.", nil, nil)
	clusterMetrics = []*prometheus.Desc{
		clusterDecidesDesc, clusterControllersDesc, clusterExpectedDesc, clusterTermDesc,
		clusterLeaseDesc, clusterDecidersDesc, clusterOwnedDesc, clusterReadyDesc, clusterOwnersDesc,
	}
)

// clusterCollector reads what the controller is among several for one scrape.
type clusterCollector struct{ ClusterState }

// Describe implements [prometheus.Collector].
func (clusterCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range clusterMetrics {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c clusterCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	gauge(clusterDecidesDesc, number(c.Decides))
	gauge(clusterControllersDesc, float64(c.Controllers))
	gauge(clusterExpectedDesc, float64(max(c.Expected, c.Controllers)))
	gauge(clusterTermDesc, float64(c.Term))
	gauge(clusterLeaseDesc, c.Lease.Seconds())
	gauge(clusterOwnedDesc, float64(c.Owned))
	gauge(clusterReadyDesc, float64(c.Ready))
	ch <- prometheus.MustNewConstMetric(clusterDecidersDesc, prometheus.CounterValue,
		float64(c.Deciders))
	ch <- prometheus.MustNewConstMetric(clusterOwnersDesc, prometheus.CounterValue, float64(c.Owners))
}
