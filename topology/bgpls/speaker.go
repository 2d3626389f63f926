package bgpls

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/osrg/gobgp/v4/pkg/server"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// A Speaker has BGP-LS sessions. Its methods may be called from several
// goroutines.
type Speaker struct {
	config Config
	server *server.BgpServer
	listen netip.AddrPort

	publisher topology.Publisher
	events    chan func(*collector)
	cancel    context.CancelFunc
	done      chan struct{} // closed when everything has ended

	mu     sync.Mutex
	peers  map[netip.Addr]*session
	stats  Stats
	err    error
	closed bool

	// originating serializes Originate; said is guarded by it.
	originating sync.Mutex
	said        map[string]string // attribute by NLRI, as octets
}

// A session is what is known of a peer.
type session struct {
	peer   Peer
	status PeerStatus
	reset  time.Time // when it was last reset by us
}

const (
	// settle is how long changes may go on until a snapshot is published, and
	// settleMax how long at most.
	settle    = 5 * time.Millisecond
	settleMax = 100 * time.Millisecond
	// resetPause is the least time between two resets of a session by us.
	resetPause = 10 * time.Second

	listenAttempts = 10
)

// Start starts a speaker, which runs until the context ends or Close is called.
func Start(ctx context.Context, c Config) (*Speaker, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.setDefaults()
	s := &Speaker{
		config: c,
		server: newServer(&c),
		events: make(chan func(*collector), 1024),
		done:   make(chan struct{}),
		peers:  make(map[netip.Addr]*session),
		said:   make(map[string]string),
	}
	go s.server.Serve()
	ctx, s.cancel = context.WithCancel(ctx)
	if err := s.start(ctx); err != nil {
		s.cancel()
		s.server.Stop()
		return nil, err
	}
	return s, nil
}

// start brings up the server, the tap and the goroutines.
func (s *Speaker) start(ctx context.Context) error {
	if err := s.startServer(ctx); err != nil {
		return err
	}
	var running sync.WaitGroup
	var t *tap
	if s.config.Collect {
		var err error
		if t, err = newTap(ctx); err != nil {
			return err
		}
		request := &api.AddBmpRequest{Address: t.addr().Addr().String(), Port: uint32(t.addr().Port()),
			Policy: api.AddBmpRequest_MONITORING_POLICY_PRE}
		if err := s.server.AddBmp(ctx, request); err != nil {
			t.listener.Close()
			return fmt.Errorf("bgpls: BMP: %w", err)
		}
		running.Go(func() {
			err := t.run(ctx, func(m wire.BMPMessage) { s.send(ctx, func(c *collector) { c.monitor(m) }) })
			if ctx.Err() == nil {
				s.fail(errors.Join(errors.New("bgpls: BMP stream ended"), err))
			}
		})
		select {
		case <-t.initiated:
		case <-ctx.Done():
			running.Wait()
			return ctx.Err()
		}
	}
	if err := s.watch(ctx); err != nil {
		s.cancel()
		running.Wait()
		return err
	}
	running.Go(func() { s.run(ctx) })
	go func() {
		<-ctx.Done()
		s.stopServer(t)
		running.Wait()
		close(s.done)
	}()
	return nil
}

func (s *Speaker) startServer(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		if s.config.Listen.IsValid() {
			var err error
			if s.listen, err = freePort(s.config.Listen); err != nil {
				return err
			}
		}
		err := s.server.StartBgp(ctx, &api.StartBgpRequest{Global: globalOf(&s.config, s.listen)})
		if err == nil {
			break
		}
		// A port that was free may be taken by now.
		if s.config.Listen.Port() != 0 || attempt == listenAttempts || !errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("bgpls: start: %w", err)
		}
	}
	policy, assignment := ownOnly()
	if err := s.server.AddPolicy(ctx, policy); err != nil {
		return fmt.Errorf("bgpls: export policy: %w", err)
	}
	if err := s.server.SetPolicyAssignment(ctx, assignment); err != nil {
		return fmt.Errorf("bgpls: export policy: %w", err)
	}
	return nil
}

func (s *Speaker) stopServer(t *tap) {
	if t != nil {
		// The connection is gone already; this ends the server's side.
		_ = s.server.DeleteBmp(context.Background(), &api.DeleteBmpRequest{Address: t.addr().Addr().String(), Port: uint32(t.addr().Port())})
	}
	s.server.Stop()
}

// Close ends the sessions and waits until everything has stopped.
func (s *Speaker) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	<-s.done
	return s.Err()
}

// Done is closed when the speaker has stopped; Err says why, if not by Close.
func (s *Speaker) Done() <-chan struct{} { return s.done }

// Err returns what stopped the speaker, nil while it runs or after Close.
func (s *Speaker) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *Speaker) fail(err error) {
	s.mu.Lock()
	if s.err == nil && !s.closed {
		s.err = err
	}
	s.mu.Unlock()
	s.cancel()
}

// ListenAddr returns where connections are accepted; it is invalid for a
// speaker that does not listen.
func (s *Speaker) ListenAddr() netip.AddrPort { return s.listen }

// Topology returns the publisher of the snapshots of a collecting speaker.
func (s *Speaker) Topology() *topology.Publisher { return &s.publisher }

// Stats returns the counters of a collecting speaker.
func (s *Speaker) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Peers returns the state of the sessions, by address.
func (s *Speaker) Peers() []PeerStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []PeerStatus
	for _, p := range s.peers {
		all = append(all, p.status)
	}
	slices.SortFunc(all, func(a, b PeerStatus) int { return a.Address.Compare(b.Address) })
	return all
}

// AddPeer starts a session with a peer, and keeps starting it.
func (s *Speaker) AddPeer(ctx context.Context, p Peer) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if p.Port == 0 {
		p.Port = defaultPort
	}
	p.Address = p.Address.Unmap()
	s.mu.Lock()
	if s.peers[p.Address] != nil {
		s.mu.Unlock()
		return fmt.Errorf("%w: peer %s is there already", ErrConfig, p.Address)
	}
	s.peers[p.Address] = &session{peer: p, status: PeerStatus{Address: p.Address, ASN: p.ASN, State: "idle"}}
	s.mu.Unlock()
	if err := s.do(ctx, func(c *collector) { c.rib.addPeer(p.Address, time.Now()) }); err != nil {
		return err
	}
	if err := s.server.AddPeer(ctx, &api.AddPeerRequest{Peer: peerOf(&s.config, &p)}); err != nil {
		return errors.Join(fmt.Errorf("bgpls: peer %s: %w", p.Address, err), s.forget(ctx, p.Address))
	}
	return nil
}

// RemovePeer ends the session with a peer and withdraws what only it said.
// Removing a peer that is not there does nothing.
func (s *Speaker) RemovePeer(ctx context.Context, a netip.Addr) error {
	a = a.Unmap()
	s.mu.Lock()
	known := s.peers[a] != nil
	s.mu.Unlock()
	if !known {
		return nil
	}
	err := s.server.DeletePeer(ctx, &api.DeletePeerRequest{Address: a.String()})
	return errors.Join(err, s.forget(ctx, a))
}

func (s *Speaker) forget(ctx context.Context, a netip.Addr) error {
	s.mu.Lock()
	delete(s.peers, a)
	s.mu.Unlock()
	return s.do(ctx, func(c *collector) { c.rib.removePeer(a) })
}

// Originate makes the speaker advertise objects, and nothing else: what it
// advertised before and is not among them is withdrawn, what is the same is
// left alone. Nil withdraws everything. All peers are told, also those that
// come later.
func (s *Speaker) Originate(objects *Objects) error {
	var wanted []advertisement
	if objects != nil {
		var err error
		if wanted, err = objects.advertisements(); err != nil {
			return err
		}
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

// send hands an event to the goroutine of run.
func (s *Speaker) send(ctx context.Context, event func(*collector)) {
	select {
	case s.events <- event:
	case <-ctx.Done():
	}
}

// do runs f in the goroutine of run and waits for it.
func (s *Speaker) do(ctx context.Context, f func(*collector)) error {
	ran := make(chan struct{})
	event := func(c *collector) {
		f(c)
		close(ran)
	}
	select {
	case s.events <- event:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return ErrClosed
	}
	select {
	case <-ran:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return ErrClosed
	}
}

// watch follows the sessions' states and End-of-RIB markers, which the BMP
// stream does not have. The callbacks are called one after the other.
func (s *Speaker) watch(ctx context.Context) error {
	counted := make(map[netip.Addr]*progress)
	of := func(a netip.Addr) *progress {
		a = a.Unmap()
		if counted[a] == nil {
			counted[a] = new(progress)
		}
		return counted[a]
	}
	options := []server.WatchOption{server.WatchPeer()}
	callbacks := server.WatchEventMessageCallbacks{
		OnPeerUpdate: func(e *apiutil.WatchEventMessage_PeerEvent, _ time.Time) {
			if e.Type == apiutil.PEER_EVENT_END_OF_INIT {
				return
			}
			a, state := e.Peer.State.NeighborAddress.Unmap(), e.Peer.State.SessionState
			if isEstablished(state) {
				of(a).sessions++
			}
			s.send(ctx, func(*collector) { s.stateChanged(ctx, a, state) })
		},
	}
	if s.config.Collect {
		options = append(options, server.WatchUpdate(false, "", ""), server.WatchEor(false))
		callbacks.OnPathUpdate = func(paths []*apiutil.Path, _ time.Time) {
			if len(paths) > 0 {
				of(paths[0].PeerAddress).updates++
			}
		}
		callbacks.OnPathEor = func(p *apiutil.Path, _ time.Time) {
			if p.Family != bgp.RF_LS {
				return
			}
			a, at := p.PeerAddress.Unmap(), *of(p.PeerAddress)
			s.send(ctx, func(c *collector) { c.endOfRIB(a, at) })
		}
	}
	if err := s.server.WatchEvent(ctx, callbacks, options...); err != nil {
		return fmt.Errorf("bgpls: watch: %w", err)
	}
	return nil
}

// stateChanged takes note of a session's state. After a loss GoBGP would
// refuse connections for five seconds; deleting and adding the peer again does
// without.
func (s *Speaker) stateChanged(ctx context.Context, a netip.Addr, state bgp.FSMState) {
	now := time.Now()
	s.mu.Lock()
	p := s.peers[a]
	reset := false
	if p != nil {
		was := p.status.State == stateName(bgp.BGP_FSM_ESTABLISHED)
		p.status.State = stateName(state)
		if was != isEstablished(state) {
			p.status.Since = now
			reset = was && now.Sub(p.reset) > resetPause
		}
		if reset {
			p.reset = now
		}
	}
	s.mu.Unlock()
	if !reset {
		return
	}
	// Whoever removes the peer at the same time wins.
	if s.server.DeletePeer(ctx, &api.DeletePeerRequest{Address: a.String()}) == nil {
		_ = s.server.AddPeer(ctx, &api.AddPeerRequest{Peer: peerOf(&s.config, &p.peer)})
	}
}
