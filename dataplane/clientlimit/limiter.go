package clientlimit

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"

	"github.com/weft-sdn/weft/internal/connlimit"
)

// Config is the limits of a Limiter. A limit of 0 is its default.
type Config struct {
	// Connections is how many connections the server accepts at once. Default: DefaultConnections.
	Connections int
	// Strangers is how many of the connections untrusted clients may hold. Default: DefaultStrangers,
	// or half of Connections if that is less.
	Strangers int
	// PerClient is how many connections one IPv4 address or IPv6 /64 may hold. Default:
	// DefaultPerClient.
	PerClient int
	// Calls is how many calls and streams a connection may have; further calls wait at the client. A
	// server of many devices, with a stream for each device, wants more. Default: MaxCalls.
	Calls int
	// Unfinished is how many octets of unfinished messages the server holds for all clients. Beyond
	// that, the server closes the connection with the most unfinished octets. Default:
	// DefaultUnfinished.
	Unfinished int
	// Stall is how long a client may leave a waiting answer unread. Default: DefaultStall.
	Stall time.Duration
	// Log takes a line for clients that are turned away, at most one a reason and second. Nil: none.
	Log *slog.Logger
}

// Defaults of Config.
const (
	DefaultConnections = 256
	DefaultStrangers   = 128
	DefaultPerClient   = 64
	DefaultUnfinished  = 128 << 20
	DefaultStall       = 30 * time.Second
)

// Limiter watches the connections of one server. It is a stats.Handler, which the server must be
// given.
type Limiter struct {
	cfg        Config
	unfinished atomic.Int64 // octets, of all connections
	refused    [numReasons]atomic.Uint64
	sometimes  [numReasons]rate.Sometimes // guards the log

	mu  sync.Mutex
	all map[*Client]struct{} // guarded by mu
}

var _ stats.Handler = (*Limiter)(nil)

// New returns a Limiter without connections.
func New(cfg Config) *Limiter {
	if cfg.Connections <= 0 {
		cfg.Connections = DefaultConnections
	}
	if cfg.Strangers <= 0 {
		cfg.Strangers = min(DefaultStrangers, max(1, cfg.Connections/2))
	}
	if cfg.PerClient <= 0 {
		cfg.PerClient = DefaultPerClient
	}
	if cfg.Calls <= 0 {
		cfg.Calls = MaxCalls
	}
	if cfg.Unfinished <= 0 {
		cfg.Unfinished = DefaultUnfinished
	}
	if cfg.Stall <= 0 {
		cfg.Stall = DefaultStall
	}
	g := &Limiter{cfg: cfg, all: make(map[*Client]struct{})}
	for i := range g.sometimes {
		g.sometimes[i].Interval = time.Second
	}
	return g
}

// Calls returns how many calls and streams a connection may have.
func (g *Limiter) Calls() int { return g.cfg.Calls }

// Stats counts what a Limiter has seen.
type Stats struct {
	Connections int                // open
	Unfinished  int64              // octets of messages that are not complete
	Refused     [numReasons]uint64 // clients turned away, by Reason
}

// Stats returns the counts so far.
func (g *Limiter) Stats() Stats {
	g.mu.Lock()
	s := Stats{Connections: len(g.all), Unfinished: g.unfinished.Load()}
	g.mu.Unlock()
	for i := range s.Refused {
		s.Refused[i] = g.refused[i].Load()
	}
	return s
}

// Refuse counts a client that was turned away, and logs it; host is empty where it is not known.
func (g *Limiter) Refuse(why Reason, host string) {
	n := g.refused[why].Add(1)
	if g.cfg.Log != nil {
		g.sometimes[why].Do(func() {
			g.cfg.Log.Warn("client turned away", "reason", why.String(), "host", host, "count", n)
		})
	}
}

// Listener returns a listener that closes connections beyond the limits: the untrusted connection
// idle for the longest time or, without any, the new connection. Call Listener once for each
// listener: each counts its connections apart.
func (g *Limiter) Listener(l net.Listener) net.Listener {
	return &listener{g.Bound(l), g}
}

// Bound returns a listener that closes connections beyond the limits, as Listener does, for another
// protocol than gRPC: what a client has begun to send is not counted. [connlimit.Of] finds its
// connections.
func (g *Limiter) Bound(l net.Listener) net.Listener {
	limits := connlimit.Limits{Connections: g.cfg.Connections, Strangers: g.cfg.Strangers,
		PerClient: g.cfg.PerClient}
	return connlimit.New(l, limits, func(why connlimit.Reason) { g.Refuse(reasonOf[why], "") })
}

type listener struct {
	net.Listener
	g *Limiter
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	x := newClient(l.g, hostOf(c.RemoteAddr()))
	x.conn = c
	l.g.mu.Lock()
	defer l.g.mu.Unlock()
	l.g.all[x] = struct{}{}
	return &conn{Conn: c, client: x}, nil
}

func (g *Limiter) leave(x *Client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget(x)
}

// forget ends the account of a client. The caller holds g.mu.
func (g *Limiter) forget(x *Client) {
	if _, ok := g.all[x]; ok {
		delete(g.all, x)
		x.end()
	}
}

// relieve closes the connection with the most octets of incomplete messages, unless another call
// has made room meanwhile. Clients that fill the server together must not cost one connection each:
// the last one closed would belong to a client that behaves.
func (g *Limiter) relieve() {
	g.mu.Lock()
	if g.unfinished.Load() <= int64(g.cfg.Unfinished) {
		g.mu.Unlock()
		return
	}
	var worst *Client
	var most int64
	for x := range g.all {
		if n := x.octets(); n > most {
			worst, most = x, n
		}
	}
	if worst != nil {
		g.forget(worst)
	}
	g.mu.Unlock()
	if worst == nil {
		return
	}
	g.Refuse(Unfinished, worst.host)
	_ = worst.conn.Close() // its reader learns of it
}

func hostOf(a net.Addr) string {
	if host, _, err := net.SplitHostPort(a.String()); err == nil {
		return host
	}
	return a.String()
}

// conn counts what a client sends.
type conn struct {
	net.Conn
	client *Client
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.client.received(n)
	return n, err
}

func (c *conn) Close() error {
	c.client.limiter.leave(c.client)
	return c.Conn.Close()
}

// RemoteAddr returns an address that leads TagConn to the client.
func (c *conn) RemoteAddr() net.Addr { return address{c.Conn.RemoteAddr(), c.client} }

type address struct {
	net.Addr
	client *Client
}

type clientKey struct{}

// TagConn implements stats.Handler.
func (g *Limiter) TagConn(ctx context.Context, info *stats.ConnTagInfo) context.Context {
	if a, ok := info.RemoteAddr.(address); ok {
		return context.WithValue(ctx, clientKey{}, a.client)
	}
	return ctx
}

// HandleConn implements stats.Handler.
func (g *Limiter) HandleConn(context.Context, stats.ConnStats) {}

// rpc is a call. One that ends by itself holds its connection while the server carries it out; a
// stream for which the client decides when it ends does not.
type rpc struct {
	stream  bool
	release func() // nil: it holds no connection
}

type rpcKey struct{}

// TagRPC implements stats.Handler.
func (g *Limiter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, rpcKey{}, new(rpc))
}

// HandleRPC implements stats.Handler.
func (g *Limiter) HandleRPC(ctx context.Context, s stats.RPCStats) {
	x, ok := ctx.Value(clientKey{}).(*Client)
	if !ok {
		return
	}
	call, ok := ctx.Value(rpcKey{}).(*rpc)
	if !ok {
		call = new(rpc)
	}
	switch s := s.(type) {
	case *stats.Begin:
		call.stream = s.IsClientStream
		if p, ok := peer.FromContext(ctx); ok {
			if info, ok := p.AuthInfo.(credentials.TLSInfo); ok && len(info.State.VerifiedChains) > 0 {
				x.Trust()
			}
		}
		x.calls(1)
	case *stats.InPayload:
		x.settle(int64(s.WireLength) + overhead)
		if !call.stream && call.release == nil {
			call.release = connlimit.Of(x.conn).Hold()
		}
	case *stats.End:
		if call.release != nil {
			call.release()
		}
		x.calls(-1)
	}
}
