package northbound

import (
	"context"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/weft-sdn/weft/internal/connlimit"
)

// Limits bound what clients may take of the server at a time. A principal is a token, a client
// certificate, or, for clients without either, an address.
type Limits struct {
	// Connections bounds all connections, Strangers those on which no request had a valid token or
	// client certificate, PerClient those of one IPv4 address or IPv6 /64.
	Connections, Strangers, PerClient int
	// Requests of a principal under way, and event streams of a principal.
	Requests, Streams int
	// Rate is the number of requests a second of a principal, who may make the requests of two seconds
	// at once.
	Rate float64
}

// DefaultLimits returns the defaults.
func DefaultLimits() Limits {
	return Limits{Connections: 2048, Strangers: 256, PerClient: 512, Requests: 128, Streams: 64,
		Rate: 2000}
}

func (l Limits) validate() error {
	for _, f := range []struct {
		name string
		ok   bool
	}{
		{"Connections", l.Connections > 0}, {"Strangers", l.Strangers > 0},
		{"PerClient", l.PerClient > 0},
		{"Requests", l.Requests > 0}, {"Streams", l.Streams > 0}, {"Rate", l.Rate > 0},
	} {
		if !f.ok {
			return fmt.Errorf("%w: Limits.%s is not positive", ErrConfig, f.name)
		}
	}
	return nil
}

// The limits in metrics, besides the reasons of package gate.
const (
	limitRequests = "requests"
	limitStreams  = "streams"
	limitRate     = "rate"
	limitProject  = "project"
)

// limiter holds clients to the limits.
type limiter struct {
	limits   Limits
	rejected *prometheus.CounterVec
	listener *connlimit.Listener // once the server serves

	// mu guards the fields below it.
	mu    sync.Mutex
	usage map[string]*usage // by principal
	// projects have the requests a second of all their members, by name.
	projects map[string]*rate.Limiter
}

// usage is what a principal takes now.
type usage struct {
	requests, streams int
	rate              *rate.Limiter
}

func newLimiter(limits Limits, rejected *prometheus.CounterVec) *limiter {
	return &limiter{limits: limits, rejected: rejected, usage: make(map[string]*usage),
		projects: make(map[string]*rate.Limiter)}
}

// listen returns a listener that accepts what l does within the limits.
func (g *limiter) listen(l net.Listener) net.Listener {
	limits := connlimit.Limits{Connections: g.limits.Connections, Strangers: g.limits.Strangers,
		PerClient: g.limits.PerClient}
	g.listener = connlimit.New(l, limits,
		func(r connlimit.Reason) { g.rejected.WithLabelValues(string(r)).Inc() })
	return g.listener
}

// enter counts a request of a principal. limit says what it exceeds; without one, leave must be
// called when the request is done.
func (g *limiter) enter(principal string, stream bool, now time.Time) (leave func(), limit string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	u := g.usage[principal]
	if u == nil {
		g.forget(now)
		u = &usage{rate: rate.NewLimiter(rate.Limit(g.limits.Rate), int(2*g.limits.Rate)+1)}
		g.usage[principal] = u
	}
	n, most, limit := &u.requests, g.limits.Requests, limitRequests
	if stream {
		n, most, limit = &u.streams, g.limits.Streams, limitStreams
	}
	switch {
	case !u.rate.AllowN(now, 1):
		limit = limitRate
	case *n < most:
		*n++
		return func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			*n--
		}, ""
	}
	g.rejected.WithLabelValues(limit).Inc()
	return nil, limit
}

// project counts a request by a project member. The project may make limit requests a second, with
// a burst of limit requests. project reports whether the project may make this request.
func (g *limiter) project(name string, limit int, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.projects[name]
	if l == nil {
		if len(g.projects) >= maxPrincipals {
			clear(g.projects) // most of them were deleted
		}
		l = rate.NewLimiter(rate.Limit(limit), limit)
		g.projects[name] = l
	}
	if l.Burst() != limit {
		l.SetLimitAt(now, rate.Limit(limit))
		l.SetBurstAt(now, limit)
	}
	if l.AllowN(now, 1) {
		return true
	}
	g.rejected.WithLabelValues(limitProject).Inc()
	return false
}

// maxPrincipals is how many principals without a request under way are remembered.
const maxPrincipals = 4096

// forget drops principals that take nothing, when there are many. g.mu is held.
func (g *limiter) forget(now time.Time) {
	if len(g.usage) < maxPrincipals {
		return
	}
	for name, u := range g.usage {
		if u.requests+u.streams == 0 && u.rate.TokensAt(now) >= g.limits.Rate {
			delete(g.usage, name)
		}
	}
}

// isHealth reports whether a request is a health check, which everybody may make.
func isHealth(r *http.Request) bool { return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" }

// bound applies the limits of a request's principal. Health checks are exempt. Forwarded requests
// are exempt too, because the forwarding controller has applied the limits.
func (s *Server) bound(c *exchange) {
	if isHealth(c.Request) || isForwarded(c.Request) {
		c.Next()
		return
	}
	principal := c.principal
	if principal == "" {
		principal = "address " + clientAddress(c.Request)
	}
	leave, limit := s.limiter.enter(principal, endless(c.Request.URL.Path), s.cfg.Now())
	if limit != "" {
		c.Header("Retry-After", "1")
		s.refuse(c, newProblem(codeTooMany, map[string]string{
			limitRequests: fmt.Sprintf("this client has %d requests under way: want fewer at a time",
				s.cfg.Limits.Requests),
			limitStreams: fmt.Sprintf("this client follows events or ports on %d streams: want fewer",
				s.cfg.Limits.Streams),
			limitRate: fmt.Sprintf("this client makes more than %g requests a second",
				s.cfg.Limits.Rate),
		}[limit]))
		return
	}
	defer leave()
	c.Next()
}

// sameOrigin refuses requests that a foreign page made a browser send: changes from another origin,
// and requests for a name other than the server's, pointed at the server by an attacker (DNS
// rebinding).
func (s *Server) sameOrigin(c *exchange) {
	if isForwarded(c.Request) { // the controller that forwarded it has checked
		c.Next()
		return
	}
	if host := c.Request.Host; !isHealth(c.Request) && !s.isOwnName(host, c.Request) {
		s.refuse(c, newProblem(codeHost, fmt.Sprintf("host is %q: want an address, a name without a "+
			"dot, or one of api.hosts", clip(host, maxValueText))))
		return
	}
	if err := new(http.CrossOriginProtection).Check(c.Request); err != nil {
		s.refuse(c, newProblem(codeForbidden,
			fmt.Sprintf("origin is %q: want that of the server, or none",
				clip(c.Request.Header.Get("Origin"), maxValueText))))
		return
	}
	if isFormType(c.Request) {
		s.refuse(c, newProblem(codeMediaType, "the body has to be JSON"))
		return
	}
	c.Next()
}

// isFormType reports whether a change has a content type that a page may send to every origin
// without preflight (Fetch Standard, CORS-safelisted request-header). No API client uses such a
// type, and operations without a body would not check the type.
func isFormType(r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return false
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return kind == "text/plain" || kind == "application/x-www-form-urlencoded" ||
		kind == "multipart/form-data"
}

// isOwnName reports whether a Host field may be the server's. Nobody else can own an address or a
// name without a dot, nor a name that the certificate proves.
func (s *Server) isOwnName(host string, r *http.Request) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil ||
		!strings.Contains(host, ".") {
		return true
	}
	if r.TLS != nil && r.TLS.ServerName != "" && strings.EqualFold(r.TLS.ServerName, host) {
		return true // the client has checked the certificate for it
	}
	return slices.ContainsFunc(s.cfg.Hosts,
		func(h string) bool { return h == "*" || strings.EqualFold(h, host) })
}

// clientAddress is the address of a request's client, without its port.
func clientAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

type connKey struct{}

// withConn keeps a connection in the context of its requests.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// hold keeps the connection of a request that changes something open until release is called.
func hold(r *http.Request) (release func()) {
	if c, ok := r.Context().Value(connKey{}).(net.Conn); ok && !isRead(r) {
		return connlimit.Of(c).Hold()
	}
	return func() {}
}

// trust marks the client of a request's connection as authenticated.
func trust(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		connlimit.Of(c).Trust()
	}
}
