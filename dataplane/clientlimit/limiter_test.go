package clientlimit

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/stats"

	"github.com/weft-sdn/weft/internal/bubble"
)

// stub is a connection from an address that yields octets without end.
type stub struct {
	net.Conn
	from   string
	closed bool
}

func (s *stub) RemoteAddr() net.Addr             { return named(s.from) }
func (s *stub) Read(b []byte) (n int, err error) { return len(b), nil }
func (s *stub) Close() error                     { s.closed = true; return nil }

type named string

func (named) Network() string  { return "tcp" }
func (n named) String() string { return string(n) }

// queue is a listener with connections that wait.
type queue struct {
	net.Listener
	waiting []*stub
}

func (q *queue) Accept() (net.Conn, error) {
	if len(q.waiting) == 0 {
		return nil, io.EOF
	}
	c := q.waiting[0]
	q.waiting = q.waiting[1:]
	return c, nil
}

// accept returns the connections from addresses that a Limiter lets in.
func accept(g *Limiter, from ...string) (in []net.Conn, all []*stub) {
	for _, a := range from {
		all = append(all, &stub{from: a})
	}
	l := g.Listener(&queue{waiting: append([]*stub(nil), all...)})
	for {
		c, err := l.Accept()
		if err != nil {
			return in, all
		}
		in = append(in, c)
	}
}

// TestConnections checks the limits for all connections and for one host's connections, and that an
// ended connection makes room.
func TestConnections(t *testing.T) {
	var log bytes.Buffer
	g := New(Config{Connections: 3, Strangers: 3, PerClient: 2,
		Log: slog.New(slog.NewTextHandler(&log, nil))})
	trust := func(c net.Conn) { ClientOf(tag(g, c)).Trust() }
	q := &queue{}
	l := g.Listener(q)
	dial := func(from string) (net.Conn, *stub) {
		c := &stub{from: from}
		q.waiting = append(q.waiting, c)
		in, err := l.Accept()
		if err != nil {
			return nil, c
		}
		return in, c
	}
	var in [3]net.Conn
	for i, from := range []string{"10.0.0.1:1", "10.0.0.1:2", "[2001:db8::1]:1"} {
		in[i], _ = dial(from)
		trust(in[i])
	}
	for _, from := range []string{"10.0.0.1:3", "10.0.0.2:1"} {
		if c, stub := dial(from); c != nil || !stub.closed {
			t.Errorf("%s has a connection", from)
		}
	}
	s := g.Stats()
	if s.Connections != 3 || s.Refused[PerClient] != 1 || s.Refused[Connections] != 1 {
		t.Errorf("%+v", s)
	}
	if !strings.Contains(log.String(), "reason=per_client") ||
		!strings.Contains(log.String(), "reason=connections") {
		t.Errorf("the log has %q", log.String())
	}
	for range 2 { // once more does no harm
		if err := in[0].Close(); err != nil || g.Stats().Connections != 2 {
			t.Fatal(err)
		}
	}
	if c, _ := dial("10.0.0.1:4"); c == nil {
		t.Error("a connection that ended left no room")
	}
}

func tag(g *Limiter, c net.Conn) context.Context {
	return g.TagConn(context.Background(), &stats.ConnTagInfo{RemoteAddr: c.RemoteAddr()})
}

func read(t *testing.T, c net.Conn, n int) {
	t.Helper()
	if _, err := c.Read(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
}

// TestUnfinished checks that the client with the most octets in messages that are not complete
// gives way, that complete messages do not count, and that the calls of a connection end with
// nothing held.
func TestUnfinished(t *testing.T) {
	g := New(Config{Unfinished: 100_000})
	in, all := accept(g, "10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1")
	good := tag(g, in[0])
	g.HandleRPC(good, &stats.Begin{})
	for range 100 { // a megabyte in requests that are complete
		read(t, in[0], 10_000)
		g.HandleRPC(good, &stats.InPayload{WireLength: 9_900})
	}
	read(t, in[0], 5_000)
	read(t, in[1], 60_000)
	read(t, in[2], 30_000)
	if n := g.Stats().Unfinished; n != 95_000 {
		t.Fatalf("%d octets are not complete", n)
	}
	read(t, in[0], 10_000) // the well-behaved one reaches the limit
	if all[0].closed || !all[1].closed || all[2].closed {
		t.Fatalf("closed: %t %t %t, want the second", all[0].closed, all[1].closed, all[2].closed)
	}
	g.relieve() // of another connection that reached the limit at the same time
	if all[0].closed || all[2].closed {
		t.Fatalf("closed: %t %t; there was room again", all[0].closed, all[2].closed)
	}
	read(t, in[1], 1_000_000) // what was under way counts no longer
	if s := g.Stats(); s.Unfinished != 45_000 || s.Refused[Unfinished] != 1 || s.Connections != 2 {
		t.Errorf("%+v", s)
	}
	g.HandleRPC(good, &stats.End{})
	if n := g.Stats().Unfinished; n != 30_000 {
		t.Errorf("%d octets after the calls of a connection have ended, want 30000", n)
	}
	if err := in[2].Close(); err != nil || g.Stats().Unfinished != 0 {
		t.Errorf("%v, %+v", err, g.Stats())
	}
}

// TestWorkIsNotCut: a stranger with a request under way keeps its connection when others come, and
// nobody else gets one in its place. Idle ones and those with nothing but a stream make room.
func TestWorkIsNotCut(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := New(Config{Strangers: 2, Connections: 8, PerClient: 8})
		q := &queue{}
		l := g.Listener(q)
		dial := func() (net.Conn, *stub) {
			s := &stub{from: "10.0.0.1:1"}
			q.waiting = append(q.waiting, s)
			c, _ := l.Accept()
			synctest.Wait() // what makes room is closed beside
			return c, s
		}
		call := func(c net.Conn, stream bool) (ctx context.Context) {
			ctx = g.TagRPC(tag(g, c), &stats.RPCTagInfo{})
			g.HandleRPC(ctx, &stats.Begin{IsClientStream: stream})
			g.HandleRPC(ctx, &stats.InPayload{})
			return ctx
		}
		a, first := dial()
		write := call(a, false)
		b, second := dial()
		call(b, true)
		c, third := dial()
		if first.closed || !second.closed || c == nil {
			t.Fatalf("the write's connection closed %t, the stream's %t", first.closed, second.closed)
		}
		read := call(c, false)
		if d, s := dial(); d != nil || !s.closed || first.closed || third.closed {
			t.Error("one of two connections with requests under way made room")
		}
		g.HandleRPC(write, &stats.End{})
		if d, _ := dial(); d == nil || !first.closed || third.closed {
			t.Error("the connection whose request has ended did not make room")
		}
		g.HandleRPC(read, &stats.End{})
	})
}

// TestStreams checks the limit of streams of one service on a connection.
func TestStreams(t *testing.T) {
	g := New(Config{})
	in, _ := accept(g, "10.0.0.1:1")
	x := ClientOf(tag(g, in[0]))
	var leave func()
	for range MaxStreams {
		var ok bool
		if leave, ok = x.Stream("a"); !ok {
			t.Fatal("refused")
		}
	}
	if _, ok := x.Stream("a"); ok || g.Stats().Refused[Streams] != 1 {
		t.Errorf("one more than %d is taken, or not counted: %+v", MaxStreams, g.Stats())
	}
	if _, ok := x.Stream("b"); !ok {
		t.Error("a stream of another service is refused")
	}
	leave()
	if _, ok := x.Stream("a"); !ok {
		t.Error("a stream that ended left no room")
	}
	if x := ClientOf(context.Background()); x.Stall() != DefaultStall {
		t.Errorf("a client without a connection: %v", x.Stall())
	}
}
