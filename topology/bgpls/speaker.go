package bgpls

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/server"

	"github.com/weft-sdn/weft/topology"
)

// A Speaker has BGP-LS sessions. Its methods may be called from several
// goroutines.
type Speaker struct {
	config   Config
	server   *server.BgpServer
	inner    netip.AddrPort // where the server listens
	listener *net.TCPListener

	publisher topology.Publisher
	events    chan func(*collector)
	ctx       context.Context // of the sessions
	cancel    context.CancelFunc
	done      chan struct{} // closed when everything has ended

	mu        sync.Mutex
	sessions  map[peerKey]*session
	active    map[netip.Addr]chan struct{} // by the address of a neighbor
	names     map[netip.Addr]peerKey       // of neighbors that are, or were a moment ago
	lastInner uint16
	stats     Stats
	err       error
	closed    bool

	// originating serializes Originate; said is guarded by it.
	originating sync.Mutex
	said        map[string]string // attribute by NLRI, as octets
}

const (
	// settle is how long changes may continue until a snapshot is published, and
	// settleMax how long at most.
	settle    = 5 * time.Millisecond
	settleMax = 100 * time.Millisecond
	// restShare is the pause after a snapshot, as a multiple of the snapshot's duration, and restMax
	// the longest pause: a peer that never stops must not make snapshots take all the time.
	restShare = 4
	restMax   = 5 * time.Second

	listenAttempts = 10
)

// Start starts a speaker, which runs until the context ends or Close is called.
func Start(ctx context.Context, c Config) (*Speaker, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.setDefaults()
	s := &Speaker{
		config:   c,
		events:   make(chan func(*collector), 1024),
		done:     make(chan struct{}),
		sessions: make(map[peerKey]*session),
		active:   make(map[netip.Addr]chan struct{}),
		said:     make(map[string]string),
		names:    make(map[netip.Addr]peerKey),
	}
	s.server = newServer(&c, s.neighbor)
	s.ctx, s.cancel = context.WithCancel(ctx)
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	if err := s.start(watching); err != nil {
		s.cancel()
		stopWatching()
		s.stopServer()
		return nil, err
	}
	var running sync.WaitGroup
	if s.config.Collect {
		running.Go(func() { s.collect(s.ctx) })
	}
	if s.listener != nil {
		running.Go(func() { s.fail(s.accept(s.listener)) })
	}
	go func() {
		defer close(s.done)
		<-s.ctx.Done()
		if s.listener != nil {
			s.listener.Close()
		}
		for _, p := range s.end() {
			<-p.done
		}
		running.Wait()
		stopWatching()
		s.stopServer()
	}()
	return s, nil
}

// start brings up the server and the listener.
func (s *Speaker) start(watching context.Context) error {
	go s.server.Serve()
	for attempt := 1; ; attempt++ {
		var err error
		if s.inner, err = freePort(netip.AddrFrom4([4]byte{127, 0, 0, 1})); err != nil {
			return err
		}
		if err = startServer(watching, s.server, globalOf(&s.config, s.inner)); err == nil {
			break
		}
		// A port that was free may be taken by now.
		if attempt == listenAttempts || !errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("bgpls: start: %w", err)
		}
	}
	active := func(a netip.Addr) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if c := s.active[a]; c != nil {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}
	if err := watchActive(watching, s.server, active); err != nil {
		return err
	}
	if !s.config.Listen.IsValid() {
		return nil
	}
	var config net.ListenConfig
	config.SetMultipathTCP(false) // has no MD5
	l, err := config.Listen(s.ctx, "tcp", s.config.Listen.String())
	if err != nil {
		return fmt.Errorf("bgpls: %w", err)
	}
	s.listener = l.(*net.TCPListener)
	return nil
}

// freePort returns a port that was free just now. GoBGP cannot choose a free port itself.
func freePort(a netip.Addr) (netip.AddrPort, error) {
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(a, 0)))
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("bgpls: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).AddrPort(), nil
}

func (s *Speaker) stopServer() {
	s.server.Stop()
	forgetServer(s.server)
}

// end makes AddPeer refuse from now on, and returns the present sessions.
func (s *Speaker) end() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var all []*session
	for _, p := range s.sessions {
		all = append(all, p)
	}
	return all
}

// Close ends the sessions, waits until everything has stopped, and returns Err.
func (s *Speaker) Close() error {
	s.cancel()
	<-s.done
	return s.Err()
}

// Done is closed when the speaker has stopped.
func (s *Speaker) Done() <-chan struct{} { return s.done }

// Err returns the error that stopped the speaker; nil for Close and a done context.
func (s *Speaker) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// fail stops the speaker, with an error if it was not stopping anyway.
func (s *Speaker) fail(err error) {
	s.mu.Lock()
	if s.ctx.Err() == nil {
		s.err = err
	}
	s.mu.Unlock()
	s.cancel()
}

// ListenAddr returns the address at which the speaker accepts connections; it is invalid for a
// speaker that does not listen.
func (s *Speaker) ListenAddr() netip.AddrPort {
	if s.listener == nil {
		return netip.AddrPort{}
	}
	return s.listener.Addr().(*net.TCPAddr).AddrPort()
}

// Topology returns the publisher of the snapshots of a collecting speaker.
func (s *Speaker) Topology() *topology.Publisher { return &s.publisher }

// Stats returns the counters of a collecting speaker, as of its last snapshot.
func (s *Speaker) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Peers returns the state of the sessions, by address and port.
func (s *Speaker) Peers() []topology.Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]topology.Peer, 0, len(s.sessions))
	for _, p := range s.sessions {
		all = append(all, p.status)
	}
	slices.SortFunc(all, func(a, b topology.Peer) int {
		return netip.AddrPortFrom(a.Address, a.Port).Compare(netip.AddrPortFrom(b.Address, b.Port))
	})
	return all
}

// AddPeer starts a session with a peer, and starts it again whenever it ends.
// It does not wait for it.
func (s *Speaker) AddPeer(ctx context.Context, p Peer) error {
	if err := p.Validate(); err != nil {
		return err
	}
	p.setDefaults()
	if err := s.sign(&p, p.Password); err != nil {
		return err
	}
	n := &session{peer: p, done: make(chan struct{}), incoming: make(chan net.Conn),
		status: topology.Peer{Address: p.Address, Port: p.Port, ASN: p.ASN,
			State: topology.PeerConnecting}}
	keep, cancel := context.WithCancel(s.ctx)
	n.cancel = cancel
	s.mu.Lock()
	switch {
	case s.closed:
		s.mu.Unlock()
		cancel()
		return ErrClosed
	case s.sessions[p.key()] != nil:
		s.mu.Unlock()
		cancel()
		return fmt.Errorf("%w: peer %s is there already", ErrConfig, topology.PeerName(p.key()))
	}
	s.sessions[p.key()] = n
	s.mu.Unlock()
	if err := s.do(ctx,
		func(c *collector) { c.rib.addPeer(p.key(), p.Scope, p.Limits, time.Now()) }); err != nil {
		cancel()
		close(n.done)
		s.mu.Lock()
		delete(s.sessions, p.key())
		s.mu.Unlock()
		return err
	}
	go s.keep(keep, n)
	return nil
}

// RemovePeer ends the session with a peer and withdraws objects that no other peer advertised. The
// port is the port in the peer's status: 0 for a passive peer. Removing an unknown peer does
// nothing.
func (s *Speaker) RemovePeer(ctx context.Context, a netip.Addr, port uint16) error {
	key := netip.AddrPortFrom(a.Unmap(), port)
	s.mu.Lock()
	n := s.sessions[key]
	s.mu.Unlock()
	if n == nil {
		return nil
	}
	n.cancel()
	select {
	case <-n.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	if s.sessions[key] == n {
		delete(s.sessions, key)
		for _, a := range n.inners {
			delete(s.names, a)
		}
	}
	s.mu.Unlock()
	return errors.Join(s.sign(&n.peer, ""), s.do(ctx, func(c *collector) { c.removePeer(key) }))
}

// neighbor returns the peer that a neighbor of the server stands for.
func (s *Speaker) neighbor(a netip.Addr) (peerKey, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.names[a]
	return k, ok
}

// sign sets the password of a peer on the listener; an empty one removes it.
func (s *Speaker) sign(p *Peer, password string) error {
	if s.listener == nil || p.Password == "" {
		return nil
	}
	raw, err := s.listener.SyscallConn()
	if err != nil {
		return fmt.Errorf("bgpls: %w", err)
	}
	a := p.Address
	if s.ListenAddr().Addr().Is6() {
		a = netip.AddrFrom16(a.As16())
	}
	return sign(raw, a, password)
}

// Originate makes the speaker advertise the objects of nodes, and nothing else: the speaker
// withdraws earlier objects that are missing from the new objects, and leaves unchanged objects
// alone. Without objects, or with a nil object only, the speaker advertises nothing. All peers
// receive the objects, including peers that connect later.
func (s *Speaker) Originate(objects ...*Objects) error {
	var wanted []advertisement
	for _, o := range objects {
		if o == nil {
			continue
		}
		of, err := o.advertisements()
		if err != nil {
			return err
		}
		wanted = append(wanted, of...)
	}
	s.originating.Lock()
	defer s.originating.Unlock()
	keep := make(map[string]bool, len(wanted))
	var add, remove []*apiutil.Path
	for _, a := range wanted {
		keep[string(a.nlri)] = true
		if old, ok := s.said[string(a.nlri)]; ok && old == string(a.attribute) {
			continue
		}
		p, err := pathOf(a)
		if err != nil {
			return err
		}
		add = append(add, p)
	}
	for nlri := range s.said {
		if !keep[nlri] {
			p, err := pathOf(advertisement{nlri: []byte(nlri)})
			if err != nil {
				return err
			}
			remove = append(remove, p)
		}
	}
	if len(add) > 0 {
		if _, err := s.server.AddPath(apiutil.AddPathRequest{Paths: add}); err != nil {
			return fmt.Errorf("bgpls: originate: %w", err)
		}
	}
	if len(remove) > 0 {
		if err := s.server.DeletePath(apiutil.DeletePathRequest{Paths: remove}); err != nil {
			return fmt.Errorf("bgpls: withdraw: %w", err)
		}
	}
	clear(s.said)
	for _, a := range wanted {
		s.said[string(a.nlri)] = string(a.attribute)
	}
	return nil
}

// send hands an event to the goroutine of collect, if there is one.
func (s *Speaker) send(ctx context.Context, event func(*collector)) {
	if !s.config.Collect {
		return
	}
	select {
	case s.events <- event:
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
}

// do runs f in collect's goroutine, if that goroutine runs, and waits for f.
func (s *Speaker) do(ctx context.Context, f func(*collector)) error {
	if !s.config.Collect {
		return nil
	}
	ran := make(chan struct{})
	s.send(ctx, func(c *collector) {
		f(c)
		close(ran)
	})
	select {
	case <-ran:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return ErrClosed
	}
}
