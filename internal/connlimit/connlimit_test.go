package connlimit

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-sdn/weft/internal/bubble"
)

// pipes is a listener of connections within the process.
type pipes struct{ next chan net.Conn }

func (p *pipes) Accept() (net.Conn, error) {
	c, ok := <-p.next
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p *pipes) Close() error   { close(p.next); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// from is a connection with an address.
type from struct {
	net.Conn
	addr net.Addr
}

func (f *from) RemoteAddr() net.Addr { return f.addr }

// bed is a listener with clients.
type bed struct {
	t    *testing.T
	l    *Listener
	p    *pipes
	mu   sync.Mutex
	why  []Reason
	ends []net.Conn // of the clients
}

func newBed(t *testing.T, limits Limits) *bed {
	w := &bed{t: t, p: &pipes{next: make(chan net.Conn, 1)}}
	w.l = New(w.p, limits, func(r Reason) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.why = append(w.why, r)
	})
	t.Cleanup(func() {
		for _, c := range w.ends {
			_ = c.Close()
		}
	})
	return w
}

// dial connects from an address; the connection is nil when it was refused.
func (w *bed) dial(addr string) *Conn {
	w.t.Helper()
	near, far := net.Pipe()
	w.ends = append(w.ends, near)
	if !slices.Contains([]string{"", "unix"}, addr) {
		far = &from{far, net.TCPAddrFromAddrPort(mustAddr(addr))}
	}
	return w.l.admit(far)
}

func open(c *Conn) bool {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	return !c.gone
}

func (w *bed) check(all, strangers int, why ...Reason) {
	w.t.Helper()
	a, s := w.l.Open()
	w.mu.Lock()
	defer w.mu.Unlock()
	if a != all || s != strangers || !slices.Equal(w.why, why) {
		w.t.Errorf("%d connections, %d of strangers, closed %v; want %d, %d, %v", a, s, w.why, all,
			strangers, why)
	}
}

// TestStrangersMakeRoom: the stranger that has been quiet for longest goes, and nobody who is
// known.
func TestStrangersMakeRoom(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, Limits{Connections: 100, Strangers: 3, PerClient: 100})
		known := w.dial("192.0.2.1:1")
		known.Trust()
		a, b, c := w.dial("192.0.2.1:2"), w.dial("192.0.2.2:3"), w.dial("192.0.2.3:4")
		time.Sleep(time.Second)
		go func() { _, _ = a.Read(make([]byte, 1)) }()
		_, _ = w.ends[1].Write([]byte("x")) // a's client
		synctest.Wait()
		w.check(4, 3)
		d := w.dial("192.0.2.4:5")
		w.check(4, 3, Strangers)
		if open(b) || !open(a) || !open(c) || !open(known) || d == nil {
			t.Errorf("a %v b %v c %v known %v, want b closed", open(a), open(b), open(c), open(known))
		}
		if _, err := b.Read(make([]byte, 1)); err == nil {
			t.Error("the connection that made room still reads")
		}
		// A client that shows who it is leaves room for strangers, once.
		c.Trust()
		c.Trust()
		w.dial("192.0.2.5:6")
		w.check(5, 3, Strangers)
		_ = c.Close()
		_ = c.Close()
		w.check(4, 3, Strangers)
	})
}

// TestHeld: no bound closes a stranger's connection with a change under way: an idle stranger makes
// room, and without an idle stranger the new connection is refused.
func TestHeld(t *testing.T) {
	for why, limits := range map[Reason]Limits{
		Strangers: {Connections: 9, Strangers: 2, PerClient: 9},
		PerClient: {Connections: 9, Strangers: 9, PerClient: 2},
		Full:      {Connections: 2, Strangers: 9, PerClient: 9},
	} {
		w := newBed(t, limits)
		a, b := w.dial("192.0.2.1:1"), w.dial("192.0.2.1:2")
		release, again := a.Hold(), a.Hold()
		c := w.dial("192.0.2.1:3")
		if !open(a) || open(b) || c == nil {
			t.Errorf("%s: the one that was idle did not make room", why)
		}
		defer c.Hold()()
		release()
		if w.dial("192.0.2.1:4") != nil || !open(a) || !open(c) {
			t.Errorf("%s: changes are under way on all, and one made room", why)
		}
		again()
		if w.dial("192.0.2.1:5") == nil || open(a) {
			t.Errorf("%s: the one whose changes are over did not make room", why)
		}
		w.check(2, 2, why, why, why)
	}
	(*Conn)(nil).Hold()() // of no listener: no effect
}

// TestFull: when all are known, who comes is refused.
func TestFull(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, Limits{Connections: 3, Strangers: 3, PerClient: 3})
		a, b := w.dial("192.0.2.1:1"), w.dial("192.0.2.1:2")
		a.Trust()
		b.Trust()
		stranger := w.dial("192.0.2.2:3")
		if w.dial("192.0.2.3:4") == nil || open(stranger) {
			t.Error("the stranger did not make room")
		}
		w.check(3, 1, Full)
		third := w.dial("192.0.2.1:5")
		third.Trust()
		if w.dial("192.0.2.9:6") != nil {
			t.Error("a connection too many was accepted")
		}
		w.check(3, 0, Full, Full, Full)
		if len(w.l.clients) != 1 {
			t.Errorf("%d clients are remembered, want 1", len(w.l.clients))
		}
		for _, c := range []*Conn{a, b, third} {
			_ = c.Close()
		}
		if len(w.l.clients) != 0 {
			t.Errorf("clients %v are remembered", w.l.clients)
		}
	})
}

// TestPerClient: an address, and a /64, gets a fixed share, and disturbs no other client.
func TestPerClient(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, Limits{Connections: 100, Strangers: 100, PerClient: 2})
		other := w.dial("192.0.2.1:1")
		for i := range 10 {
			w.dial(fmt.Sprintf("[2001:db8::%d]:7", i+1))
		}
		w.check(3, 3, slices.Repeat([]Reason{PerClient}, 8)...)
		if !open(other) {
			t.Error("another client's connection was closed")
		}
		w.dial("[2001:db8:0:1::1]:7")
		w.check(4, 4, slices.Repeat([]Reason{PerClient}, 8)...)
		// Connections of a known client stay open, also for that client's new connections.
		a, b := w.dial("198.51.100.1:1"), w.dial("198.51.100.1:2")
		a.Trust()
		b.Trust()
		if w.dial("198.51.100.1:3") != nil {
			t.Error("a third connection was accepted")
		}
	})
}

// TestUsed: the least recently used connection makes room, among the connections of the client and
// then among all. A use within 100 ms of the last one that counted does not count: a busy
// connection costs no more than that.
func TestUsed(t *testing.T) {
	for why, limits := range map[Reason]Limits{
		Strangers: {Connections: 9, Strangers: 2, PerClient: 9},
		PerClient: {Connections: 9, Strangers: 9, PerClient: 2},
	} {
		for again, moved := range map[time.Duration]bool{
			resolution - 1: false, resolution: true, resolution + 1: true,
		} {
			bubble.Test(t, func(t *testing.T) {
				w := newBed(t, limits)
				a, b := w.dial("192.0.2.1:1"), w.dial("192.0.2.1:2")
				a.use()
				b.use()
				time.Sleep(again)
				a.use()
				w.dial("192.0.2.1:3")
				if open(a) != moved || open(b) == moved {
					t.Errorf("%s: the first was used again after %v: it is open %v, the second %v", why, again,
						open(a), open(b))
				}
			})
		}
	}
}

// TestGone: a connection that has made room counts for no client, whatever its server does later.
func TestGone(t *testing.T) {
	w := newBed(t, Limits{Connections: 1, Strangers: 1, PerClient: 1})
	a := w.dial("192.0.2.1:1")
	if w.dial("192.0.2.1:2") == nil || open(a) {
		t.Fatal("the first connection made no room")
	}
	w.check(1, 1, PerClient)
	a.Trust()
	_ = a.Close()
	w.check(1, 1, PerClient)
	b := w.dial("192.0.2.2:3")
	w.check(1, 1, PerClient, Strangers)
	a.Trust() // while its client has no other connection
	a.use()
	w.check(1, 1, PerClient, Strangers)
	_ = b.Close()
	w.check(0, 0, PerClient, Strangers)
}

// TestClients: an IPv4 address is a client, also where IPv6 carries it, and so is an IPv6 /64,
// whatever the zone. Connections without an address count as one client.
func TestClients(t *testing.T) {
	of := func(addr string) netip.Prefix { return clientOf(textAddr(addr)) }
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.2:1", "192.0.2.2:2", true},
		{"192.0.2.2:1", "192.0.2.3:1", false},
		{"192.0.2.2:1", "[::ffff:192.0.2.2]:1", true},
		{"[2001:db8::1]:1", "[2001:db8::ffff:ffff:ffff:ffff]:1", true},
		{"[2001:db8::1]:1", "[2001:db8:0:1::1]:1", false},
		{"[fe80::1%eth0]:1", "[fe80::2%eth1]:1", true},
	} {
		if same := of(c.a) == of(c.b); same != c.same {
			t.Errorf("%s and %s are of one client: %v", c.a, c.b, same)
		}
	}
	if clientOf(nil) != clientOf(&net.UnixAddr{Name: "x"}) {
		t.Error("connections without an address are of two clients")
	}
}

func TestAcceptAndOf(t *testing.T) {
	w := newBed(t, Limits{Connections: 2, Strangers: 2, PerClient: 2})
	near, far := net.Pipe()
	w.ends = append(w.ends, near)
	w.p.next <- far
	c, err := w.l.Accept()
	if err != nil || Of(c) == nil ||
		Of(tls.Server(c, &tls.Config{MinVersion: tls.VersionTLS13})) != Of(c) || Of(near) != nil {
		t.Errorf("accepted %v, %v", c, err)
	}
	Of(near).Trust() // of no listener: no effect
	_ = w.l.Close()
	if _, err := w.l.Accept(); err == nil {
		t.Error("a closed listener accepts")
	}
}

// textAddr is an address with a text of its own.
type textAddr string

func (textAddr) Network() string  { return "tcp" }
func (a textAddr) String() string { return string(a) }

func mustAddr(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }
