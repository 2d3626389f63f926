package northbound

import (
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/weft-sdn/weft/internal/connlimit"
)

// Limits bound what clients may take of the server at a time. A principal is a token, a client
// certificate, or, for clients without either, an address.
type Limits struct {
	// Connections bounds all connections, Strangers the connections without a request that had a valid
	// token or client certificate, PerClient the connections of one IPv4 address or IPv6 /64.
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
