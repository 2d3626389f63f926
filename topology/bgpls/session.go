package bgpls

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/osrg/gobgp/v4/api"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// A session is a peer and what keeps the session with it going: one goroutine,
// which connects, or waits for a connection, and relays it.
type session struct {
	peer   Peer
	cancel context.CancelFunc
	done   chan struct{} // closed when the goroutine has ended
	// incoming receives connections that the peer has opened, while the session has none.
	incoming chan net.Conn

	status topology.Peer // guarded by Speaker.mu
	// reported is the status last passed to Config.Changed. Only the session's goroutine uses it.
	reported topology.Peer
	// inners holds the addresses of the last neighbors, for log messages after the neighbors have
	// gone; guarded by Speaker.mu.
	inners [2]netip.Addr
}

const (
	retryMin  = 50 * time.Millisecond
	dialTime  = 10 * time.Second
	setupTime = 10 * time.Second
	farewell  = time.Second // for the last NOTIFICATION
	// maxNotifications bounds the kinds that are counted of a peer: it chooses the codes.
	maxNotifications = 64
	steadyAfter      = 5 * time.Second // a session that lasts as long starts the retries anew
)

// keep keeps a session going until the context ends.
func (s *Speaker) keep(ctx context.Context, p *session) {
	defer close(p.done)
	var pause time.Duration
	for ctx.Err() == nil {
		conn, err := p.connect(ctx, pause)
		began := time.Now()
		if err == nil {
			s.setState(p, topology.PeerOpening, "")
			err = s.converse(ctx, p, conn)
		}
		if ctx.Err() != nil {
			return
		}
		why := reason(err)
		s.countNotification(p, err)
		s.setState(p, topology.PeerConnecting, why)
		s.send(ctx, func(c *collector) { c.peerFailed(p.peer.key(), why) })
		if time.Since(began) > steadyAfter {
			pause = 0
		}
		pause = min(max(2*pause, retryMin), s.config.retryMax)
		var limit *cut
		if errors.As(err, &limit) && limit.code == codeCease {
			// It would say as much again. Connections that it makes are refused meanwhile.
			select {
			case <-time.After(s.config.CutPause):
			case <-ctx.Done():
			}
		}
	}
}

// connect returns a connection to the peer, made by either side; ours is made
// after about a pause: two speakers that connect to each other must not stay in
// step.
func (p *session) connect(ctx context.Context, pause time.Duration) (net.Conn, error) {
	var begin <-chan time.Time
	if !p.peer.Passive {
		t := time.NewTimer(pause/2 + rand.N(pause+1))
		defer t.Stop()
		begin = t.C
	}
	select {
	case conn := <-p.incoming:
		return conn, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-begin:
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	type result struct {
		conn net.Conn
		err  error
	}
	dialed := make(chan result, 1)
	go func() {
		conn, err := dial(ctx, &p.peer)
		dialed <- result{conn, err}
	}()
	select {
	case r := <-dialed:
		return r.conn, r.err
	case conn := <-p.incoming:
		cancel()
		if r := <-dialed; r.conn != nil {
			r.conn.Close()
		}
		return conn, nil
	}
}

func dial(ctx context.Context, p *Peer) (net.Conn, error) {
	d := net.Dialer{KeepAlive: -1}
	if p.LocalAddress.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(p.LocalAddress, 0))
	}
	if p.Password != "" {
		d.ControlContext = signed(p.Address, p.Password)
		d.SetMultipathTCP(false)
	}
	return d.DialContext(ctx, "tcp", p.key().String())
}

// converse runs a session on a connection, closes the connection, and returns why the session
// ended. The server gets a neighbor of its own for it, at an address that was not used before: one
// that has lost a session refuses connections for a while.
func (s *Speaker) converse(ctx context.Context, p *session, outer net.Conn) error {
	defer outer.Close()
	inner, active := s.newInner(p)
	defer s.forgetInner(inner)
	if err := s.server.AddPeer(ctx,
		&api.AddPeerRequest{Peer: neighborOf(&s.config, &p.peer, inner)}); err != nil {
		return fmt.Errorf("%w: %w", errSetup, err)
	}
	remove := sync.OnceFunc(func() {
		_ = s.server.DeletePeer(context.WithoutCancel(ctx),
			&api.DeletePeerRequest{Address: inner.String()})
	})
	defer remove()
	setup := time.NewTimer(setupTime)
	defer setup.Stop()
	select {
	case <-active:
	case <-setup.C:
		return errSetup
	case <-ctx.Done():
		return ctx.Err()
	}
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(inner, 0)), KeepAlive: -1}
	conn, err := d.DialContext(ctx, "tcp", s.inner.String())
	if err != nil {
		return fmt.Errorf("%w: %w", errSetup, err)
	}
	// The server reports good-bye to the peer when it loses the neighbor.
	stop := context.AfterFunc(ctx, func() {
		remove()
		end := time.Now().Add(farewell)
		_ = errors.Join(conn.SetDeadline(end), outer.SetDeadline(end))
	})
	defer stop()

	key := p.peer.key()
	up := false
	r := &relay{
		outer: outer, inner: conn, remove: remove, writeTime: s.config.HoldTime,
		established: func() {
			up = true
			s.setState(p, topology.PeerEstablished, "")
			s.send(ctx, func(c *collector) { c.peerUp(key, time.Now()) })
		},
	}
	r.deliver = func(u *wire.Update) {
		s.send(ctx, func(c *collector) {
			var why *cut
			if err := c.update(key, u); errors.As(err, &why) {
				r.cut(why)
			}
		})
	}
	err = r.run()
	if up {
		malformed := errors.Is(err, wire.ErrTruncated) || errors.Is(err, wire.ErrMalformed)
		s.send(ctx, func(c *collector) { c.peerDown(key, reason(err), malformed, time.Now()) })
	}
	return err
}

// countNotification counts the NOTIFICATION that ended a session, if one did.
func (s *Speaker) countNotification(p *session, err error) {
	var n *notification
	if !errors.As(err, &n) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := topology.PeerNotification{Code: n.code, Subcode: n.subcode, Sent: n.sent}
	i := slices.IndexFunc(p.status.Notifications, func(c topology.PeerNotification) bool {
		return c.Code == key.Code && c.Subcode == key.Subcode && c.Sent == key.Sent
	})
	// The list is shared with callers of Peers: it is replaced, not changed.
	list := slices.Clone(p.status.Notifications)
	switch {
	case i >= 0:
		list[i].Count++
	case len(list) < maxNotifications:
		key.Count = 1
		list = append(list, key)
	}
	p.status.Notifications = list
}

func (s *Speaker) setState(p *session, state topology.PeerState, why string) {
	s.mu.Lock()
	if (p.status.State == topology.PeerEstablished) != (state == topology.PeerEstablished) {
		p.status.Since = time.Now()
	}
	p.status.State = state
	if state != topology.PeerOpening {
		p.status.LastError = why
	}
	if state == topology.PeerEstablished {
		p.status.Sessions++
	} else {
		p.status.Synced = false
	}
	now := p.status
	s.mu.Unlock()
	if state == topology.PeerOpening || s.config.Changed == nil ||
		now.State == p.reported.State && now.Sessions == p.reported.Sessions &&
			now.LastError == p.reported.LastError {
		return
	}
	p.reported = now
	s.config.Changed(now)
}

// newInner returns an address for a neighbor that stands for a session, and what
// tells that the neighbor accepts a connection.
func (s *Speaker) newInner(p *session) (netip.Addr, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	network := innerNetwork.Addr().As4()
	for {
		s.lastInner++
		a := netip.AddrFrom4([4]byte{network[0], network[1], byte(s.lastInner >> 8), byte(s.lastInner)})
		if _, taken := s.names[a]; !taken {
			s.active[a] = make(chan struct{}, 1)
			delete(s.names, p.inners[0])
			p.inners = [2]netip.Addr{p.inners[1], a}
			s.names[a] = p.peer.key()
			return a, s.active[a]
		}
	}
}

func (s *Speaker) forgetInner(a netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.active, a)
}

// accept hands incoming connections to the sessions until the listener closes.
func (s *Speaker) accept(l net.Listener) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return fmt.Errorf("bgpls: accept: %w", err)
		}
		p := s.expecting(conn)
		if p == nil {
			conn.Close()
			continue
		}
		select {
		case p.incoming <- conn:
		default: // there is a connection already
			conn.Close()
		}
	}
}

// expecting returns the session for a connection's remote address: the session of a passive peer,
// or else of the only active peer with the address.
func (s *Speaker) expecting(conn net.Conn) *session {
	remote, ok1 := conn.RemoteAddr().(*net.TCPAddr)
	local, ok2 := conn.LocalAddr().(*net.TCPAddr)
	if !ok1 || !ok2 {
		return nil
	}
	a, here := remote.AddrPort().Addr().Unmap(), local.AddrPort().Addr().Unmap()
	s.mu.Lock()
	defer s.mu.Unlock()
	var active []*session
	for _, p := range s.sessions {
		switch {
		case p.peer.Address != a || p.peer.LocalAddress.IsValid() && p.peer.LocalAddress != here:
		case p.peer.Passive:
			return p
		default:
			active = append(active, p)
		}
	}
	if len(active) != 1 {
		return nil
	}
	return active[0]
}
