package service

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/soheilhy/cmux"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/service/cluster"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/store"
)

// sessions holds a controller's sessions with the switches that it owns, where several controllers
// share the store. The controller serves these sessions to the decider. The decider uses the same
// type to reach the sessions of all owners.
type sessions struct {
	o        *Options
	pipeline *southbound.Pipeline
	store    store.Store
	node     *cluster.Node
	relay    *southbound.Relay
	// dial connects to the listener of another controller.
	dial func(ctx context.Context, address string) (net.Conn, error)
	// planes returns the planes of the MRC fabric that switches are in; nil: they are not known yet.
	planes func() map[string]int

	// mu guards the fields below it.
	mu       sync.Mutex
	identity uint32                      // of election ids; 0: not known yet
	peers    map[string]*southbound.Peer // by address; "" is this controller
	leads    map[string]*lead            // of the decider, by switch
}

// lead is a decider's connection to the owner of a switch.
type lead struct {
	owner cluster.Owner
	end   context.CancelFunc
}

// relayBackoff is the longest pause after a relay has failed: it waits for the switch itself.
const relayBackoff = 500 * time.Millisecond

func newSessions(o *Options, p *southbound.Pipeline, s store.Store, dial func(ctx context.Context,
	address string) (net.Conn, error)) *sessions {
	return &sessions{
		o: o, pipeline: p, store: s, relay: southbound.NewRelay(), dial: dial,
		peers: make(map[string]*southbound.Peer), leads: make(map[string]*lead),
	}
}

func (s *sessions) close() {
	s.relay.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for address, p := range s.peers {
		_ = p.Close() // nothing uses it any more
		delete(s.peers, address)
	}
}

// switches returns the switches that the controllers share.
func (s *sessions) switches() (out []cluster.Switch) {
	planes := s.planes()
	for i := range s.o.Inventory.Switches {
		sw := &s.o.Inventory.Switches[i]
		if !sw.ProgramsP4() {
			continue // the decider has sessions of its own with switches that have no election
		}
		shared := cluster.Switch{Name: sw.Name, Plane: planes[sw.Name]}
		if planes == nil && s.o.Inventory.MRC.On() {
			shared.Plane = cluster.UnknownPlane
		}
		out = append(out, shared)
	}
	return out
}

// generation returns the generation of the next owners.
func (s *sessions) generation(ctx context.Context, guarded store.Store) (uint32, error) {
	e, err := nextElection(ctx, guarded)
	return e.Generation, err
}

// election returns the id of the owners of a generation.
func (s *sessions) election(ctx context.Context, generation uint32) (southbound.ElectionID, error) {
	s.mu.Lock()
	identity := s.identity
	s.mu.Unlock()
	if identity == 0 {
		r, err := s.store.Get(ctx, electionKey)
		if err != nil {
			return southbound.ElectionID{}, err
		}
		var e electionRecord
		if err := json.Unmarshal(r.Value, &e); err != nil {
			return southbound.ElectionID{}, fmt.Errorf("record %s: %w", electionKey, err)
		}
		identity = e.Identity
		s.mu.Lock()
		s.identity = identity
		s.mu.Unlock()
	}
	return southbound.NewElectionID(generation, identity), nil
}

// hold begins the session of a switch that this controller owns.
func (s *sessions) hold(ctx context.Context, name string, o cluster.Owner, t *cluster.Tenure,
	held func(bool)) (end func(), err error) {
	sw := s.o.Inventory.Switch(name)
	if sw == nil {
		return nil, errors.New("it is not in the configuration of this controller")
	}
	election, claim := s.o.Election, southbound.ClaimFixed
	if election == (southbound.ElectionID{}) {
		if election, err = s.election(ctx, o.Generation); err != nil {
			return nil, err
		}
		claim = southbound.ClaimVacant
	}
	if s.o.TakeOver {
		claim = southbound.ClaimAnyway
	}
	cfg := controller.SessionConfig(sw, election)
	cfg.Claim, cfg.Held, cfg.Holds = claim, o.Held, held
	// The decider installs its P4 program: owners of another release would replace it by theirs.
	cfg.NoPortState = true // the decider subscribes through the relay
	h, err := southbound.Host(ctx, cfg, uint64(o.Term), t.Bound)
	if err != nil {
		return nil, err
	}
	remove := s.relay.Add(name, h)
	return func() {
		remove()
		_ = h.Close() // always nil
	}, nil
}

// southbound returns the decider's seam to the switches, in a term.
func (s *sessions) southbound(term int64) controller.Southbound {
	seam := controller.NewP4Runtime(s.pipeline, southbound.ElectionID{Low: uint64(term)})
	seam.Samples, seam.Turns = s.o.API.Telemetry.Take, s.o.turns
	seam.Configure = func(sw inventory.Switch, cfg *southbound.Config) {
		cfg.TLS, cfg.GNMI = southbound.TLSConfig{}, "" // they are the owner's
		cfg.Backoff.Max = relayBackoff
		cfg.Dial = func() (southbound.Conn, error) { return s.connect(sw.Name, term) }
	}
	return controller.NewSystems(seam)
}

// connect returns a connection to the owner of a switch. The connection ends when the owner
// changes.
func (s *sessions) connect(sw string, term int64) (southbound.Conn, error) {
	v, _ := s.node.View()
	o, ok := v.Owners[sw]
	if !ok {
		return nil, errors.New("no controller owns it yet")
	}
	m, ok := v.Member(o.Name)
	if !ok || m.Instance != o.Instance {
		return nil, fmt.Errorf("its owner, controller %s, is gone", o.Name)
	}
	ctx, end := context.WithCancel(context.Background()) // lead.end ends it
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.leads[sw]; old != nil {
		old.end()
	}
	s.leads[sw] = &lead{owner: o, end: end}
	address := m.Peers
	if m.Instance == v.Instance {
		address = ""
	}
	p := s.peers[address]
	if p == nil {
		var err error
		if p, err = southbound.NewPeer(func(ctx context.Context) (net.Conn, error) {
			if address == "" {
				return s.relay.Dial(ctx)
			}
			return s.dial(ctx, address)
		}); err != nil {
			end()
			return nil, err
		}
		s.peers[address] = p
	}
	return p.Dial(ctx, sw, uint64(term)), nil
}

// follow ends the connections to former owners.
func (s *sessions) follow(v cluster.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sw, w := range s.leads {
		if o := v.Owners[sw]; o.Instance != w.owner.Instance || o.Generation != w.owner.Generation {
			w.end()
			delete(s.leads, sw)
		}
	}
	used := map[string]bool{"": true}
	for _, m := range v.Members {
		used[m.Peers] = true
	}
	for address, p := range s.peers {
		if !used[address] {
			_ = p.Close() // the controller there is gone
			delete(s.peers, address)
		}
	}
}

// prefaceTimeout bounds the wait for the first octets of a connection.
const prefaceTimeout = 5 * time.Second

// split separates a listener's HTTP/2 connections, which carry gRPC, from its other connections.
// run accepts connections until l is closed.
func split(l net.Listener) (grpc, others net.Listener, run func() error) {
	mux := cmux.New(l)
	mux.SetReadTimeout(prefaceTimeout)
	grpc, others = mux.Match(cmux.HTTP2()), mux.Match(cmux.Any())
	return grpc, others, mux.Serve
}

// tlsListener is l, with TLS where the controllers have certificates.
func tlsListener(l net.Listener, c *inventory.Cluster) (net.Listener, error) {
	if c.TLS == nil {
		return l, nil
	}
	conf, err := c.TLS.Server(certs.KindController).Config(tls.VersionTLS13)
	if err != nil {
		return nil, err
	}
	return tls.NewListener(l, conf), nil
}
