// Package connlimit limits the connections of a server, so clients with many idle connections leave
// room for other clients.
//
// A connection is a stranger's until the server reports that its client has authenticated
// ([Conn.Trust]). At a limit, the stranger's connection that has been idle for the longest time
// makes room. A stranger never displaces the connection of an authenticated client, nor a
// connection on which the server is working ([Conn.Hold]): the new connection is then refused.
package connlimit

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Limits are the most connections at a time; each is positive.
type Limits struct {
	// Connections of all clients.
	Connections int
	// Strangers limits the connections of clients that have not yet authenticated.
	Strangers int
	// PerClient limits the connections from one IPv4 address or one IPv6 /64.
	PerClient int
}

// Reason is why a connection was closed.
type Reason string

// The reasons.
const (
	Full       Reason = "connections"
	Strangers  Reason = "strangers"
	PerClient  Reason = "per_client"
	resolution        = 100 * time.Millisecond // of the time of last use
)

// Listener accepts connections within limits.
type Listener struct {
	net.Listener
	limits Limits
	closed func(Reason)

	// mu guards the fields below it, and where each Conn is.
	mu      sync.Mutex
	known   map[*Conn]struct{}
	unknown list.List // of *Conn, the one used last at the end
	clients map[netip.Prefix]*client
}

// client is the connections of one address.
type client struct {
	total   int
	unknown list.List // of *Conn, the one used last at the end
}

// New returns a listener that accepts what l does within limits. closed, when not nil, is called
// with the reason for each connection that the listener closes; it must not call the listener.
func New(l net.Listener, limits Limits, closed func(Reason)) *Listener {
	if closed == nil {
		closed = func(Reason) {}
	}
	return &Listener{
		Listener: l, limits: limits, closed: closed,
		known: make(map[*Conn]struct{}), clients: make(map[netip.Prefix]*client),
	}
}

// Accept implements [net.Listener]. The connections are [*Conn].
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.admit(conn); c != nil {
			return c, nil
		}
	}
}

// admit makes room for a connection. Without room, admit closes the connection and returns nil.
func (l *Listener) admit(conn net.Conn) *Conn {
	c := &Conn{Conn: conn, listener: l, from: clientOf(conn.RemoteAddr())}
	l.mu.Lock()
	defer l.mu.Unlock()
	from := l.clients[c.from]
	if from == nil {
		from = &client{}
		l.clients[c.from] = from
	}
	var reason Reason
	var leaves *list.Element
	switch {
	case from.total >= l.limits.PerClient:
		reason, leaves = PerClient, idle(&from.unknown)
	case l.unknown.Len() >= l.limits.Strangers:
		reason, leaves = Strangers, idle(&l.unknown)
	case len(l.known)+l.unknown.Len() >= l.limits.Connections:
		reason, leaves = Full, idle(&l.unknown)
	}
	if reason != "" {
		l.closed(reason)
		if leaves == nil {
			_ = conn.Close()
			if from.total == 0 {
				delete(l.clients, c.from)
			}
			return nil
		}
		old := leaves.Value.(*Conn)
		l.remove(old)
		go old.Conn.Close() // which may wait for a TLS client
		// The room may have been the last connection of this client.
		l.clients[c.from] = from
	}
	from.total++
	c.place, c.placeOfClient = l.unknown.PushBack(c), from.unknown.PushBack(c)
	return c
}

// idle returns the place of the least recently used connection that nothing holds; nil: there is
// none. l.mu is held.
func idle(l *list.List) *list.Element {
	for e := l.Front(); e != nil; e = e.Next() {
		if e.Value.(*Conn).held == 0 {
			return e
		}
	}
	return nil
}

// remove forgets a connection. l.mu is held.
func (l *Listener) remove(c *Conn) {
	if c.gone {
		return
	}
	c.gone = true
	from := l.clients[c.from]
	if c.place == nil {
		delete(l.known, c)
	} else {
		l.unknown.Remove(c.place)
		from.unknown.Remove(c.placeOfClient)
	}
	if from.total--; from.total == 0 {
		delete(l.clients, c.from)
	}
}

// Open returns the number of connections, and how many of them are strangers'.
func (l *Listener) Open() (all, strangers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.known) + l.unknown.Len(), l.unknown.Len()
}

// Conn is a connection that a [Listener] accepted.
type Conn struct {
	net.Conn
	listener *Listener
	from     netip.Prefix

	// gate.mu guards the fields below it.
	gone                 bool
	held                 int
	place, placeOfClient *list.Element // nil when the client is known
	used                 time.Time
}

// Of returns the accepted connection below c, for example below a TLS connection; nil if no
// [Listener] accepted it.
func Of(c net.Conn) *Conn {
	for {
		switch below := c.(type) {
		case *Conn:
			return below
		case interface{ NetConn() net.Conn }:
			c = below.NetConn()
		default:
			return nil
		}
	}
}

// address is a client's address with its connection.
type address struct {
	net.Addr
	conn *Conn
}

// RemoteAddr implements [net.Conn].
func (c *Conn) RemoteAddr() net.Addr { return address{c.Conn.RemoteAddr(), c} }

// At finds a connection by its RemoteAddr, for gRPC servers, which show the address alone; nil: no
// [Listener] accepted the connection.
func At(a net.Addr) *Conn {
	from, _ := a.(address)
	return from.conn
}

// Trust marks the connection's client as authenticated.
func (c *Conn) Trust() {
	if c == nil {
		return
	}
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.gone || c.place == nil {
		return
	}
	l.unknown.Remove(c.place)
	l.clients[c.from].unknown.Remove(c.placeOfClient)
	c.place, c.placeOfClient = nil, nil
	l.known[c] = struct{}{}
}

// Hold has the connection make no room until release is called, because a change is under way on
// it.
func (c *Conn) Hold() (release func()) {
	if c == nil {
		return func() {}
	}
	hold := func(n int) {
		c.listener.mu.Lock()
		defer c.listener.mu.Unlock()
		c.held += n
	}
	hold(1)
	return func() { hold(-1) }
}

// Read implements [net.Conn].
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.use()
	}
	return n, err
}

// Write implements [net.Conn].
func (c *Conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if n > 0 {
		c.use()
	}
	return n, err
}

// use notes that octets have moved.
func (c *Conn) use() {
	now := time.Now()
	l := c.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.gone || c.place == nil || now.Sub(c.used) < resolution {
		return
	}
	c.used = now
	l.unknown.MoveToBack(c.place)
	l.clients[c.from].unknown.MoveToBack(c.placeOfClient)
}

// Close implements [net.Conn].
func (c *Conn) Close() error {
	c.listener.mu.Lock()
	c.listener.remove(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// clientOf returns the prefix that counts as one client, for an address.
func clientOf(a net.Addr) netip.Prefix {
	if a == nil {
		return netip.Prefix{}
	}
	ap, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{} // a unix socket: one client
	}
	ip := ap.Addr().Unmap()
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // the bits fit
	return p
}
