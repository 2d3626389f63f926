package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/access/oidc"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/runner"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/plain"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/telemetry"
	"github.com/weft-sdn/weft/telemetry/otlp"
	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls"
	"github.com/weft-sdn/weft/topology/static"
	"github.com/weft-sdn/weft/web"
)

// Options configure a service.
type Options struct {
	Inventory inventory.Inventory
	// Store keeps resources and decisions; nil: in memory, for as long as the process lives.
	Store store.Store
	// Election is the P4Runtime election id, with which this controller takes part in the election of
	// every switch at once. Default: an id that grows with each start on the store; the controller
	// then leaves a switch to a primary controller of another installation.
	Election southbound.ElectionID
	// Pipeline is the P4 program of the switches. Default: that of this release.
	Pipeline *southbound.Pipeline
	// TakeOver takes switches from other controllers that are primary.
	TakeOver bool
	// API is how the API is served; its listener and TLS are the inventory's. The zero value is
	// northbound.DefaultConfig.
	API northbound.Config
	Log *slog.Logger
	// Configure, when not nil, may change how a switch is reached.
	Configure func(inventory.Switch, *southbound.Config)

	described *topology.Snapshot // of the configuration's file; nil: none
	exporter  *otlp.Exporter     // nil: metrics are not exported
	turns     *controller.Turns  // of switches that get another P4 program
}

// A Service is a running controller.
type Service struct {
	alone    *alone // nil: it is one of several
	speaker  *bgpls.Speaker
	front    *northbound.Front
	shadow   *store.Shadow
	listener net.Listener
	hosts    net.Listener
	journal  atomic.Pointer[journal] // nil: this controller does not decide
	leading  func() *planner         // returns nil while this controller does not decide
	cancel   context.CancelFunc
	done     chan struct{} // closed when everything has ended
	err      error         // why; set before done is closed
}

// Start starts a service, which runs until ctx ends, Close is called or it fails.
func Start(ctx context.Context, o Options) (*Service, error) {
	if err := o.Inventory.Validate(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Store == nil {
		o.Store = store.NewMemory()
	}
	if o.API.Now == nil {
		o.API = northbound.DefaultConfig()
	}
	tokens, err := o.API.Tokens()
	if err != nil {
		return nil, err
	}
	o.turns = controller.NewTurns()
	o.API.Name = o.name()
	o.API.Log = o.Log
	o.API.Writable = o.Store.Writable
	o.API.TLS = o.Inventory.API.TLS.Server(certs.KindClient)
	o.API.Access = access.New(o.gate(tokens), o.Store, o.API.Name, o.Log)
	if section := o.Inventory.API.Access.OIDC; section != nil {
		c, err := section.Config()
		if err != nil {
			return nil, fmt.Errorf("api.access.oidc.clientSecretFile: %w", err)
		}
		o.API.OIDC = oidc.New(c)
	}
	o.API.Dashboard = web.Handler()
	o.API.Hosts = o.Inventory.API.Hosts
	if file := o.Inventory.Topology.File; file != "" {
		t, err := static.Load(file)
		if err != nil {
			return nil, fmt.Errorf("topology.file: %w", err)
		}
		o.described = t.Snapshot()
	}
	o.API.Limits = apiLimits(o.API.Limits, o.Inventory.API.Limits)
	o.API.Requests = northbound.NewRequests()
	o.API.Telemetry = telemetry.New(telemetry.Config{Memory: o.Inventory.Telemetry.Memory})
	o.API.Certificates = o.Inventory.Certificates().List
	if section := o.Inventory.Telemetry.OTLP; section != nil {
		if o.exporter, err = otlp.New(o.otlp(section)); err != nil {
			return nil, fmt.Errorf("telemetry.otlp.%w", err)
		}
		o.API.Collectors = append(o.API.Collectors, o.exporter)
	}
	shadow, kept := newShadow(o.Store, o.Log)
	if o.API.Stale, err = northbound.NewStale(o.API, kept); err != nil {
		return nil, err
	}
	// Requests have contexts of their own: what clients ask takes nothing from the reserve.
	ctx, cancel := context.WithCancel(store.WithReserve(ctx))
	s := &Service{shadow: shadow, cancel: cancel, done: make(chan struct{})}
	if err := s.start(ctx, &o); err != nil {
		cancel()
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

// gate returns which credentials count.
func (o *Options) gate(tokens [][sha256.Size]byte) access.Config {
	a := &o.Inventory.API.Access
	return access.Config{
		Tokens: tokens, OIDC: a.OIDC != nil, Certificates: a.Certificates,
		Verified: o.API.TLS.ClientCAFile != "",
		Times:    access.Times{Idle: a.Sessions.Idle.D(), Absolute: a.Sessions.Absolute.D()},
		Now:      o.API.Now,
	}
}

func (s *Service) start(ctx context.Context, o *Options) error {
	pipeline, err := o.Pipeline, error(nil)
	if pipeline == nil {
		pipeline, err = southbound.NewPipeline(p4.P4Info(), p4.JSON())
	}
	if err != nil {
		return err
	}
	if s.listener, err = net.Listen("tcp", o.Inventory.API.Listen); err != nil {
		return fmt.Errorf("api.listen: %w", err)
	}
	if m := &o.Inventory.MRC; m.On() && m.Listen != "" {
		if s.hosts, err = net.Listen("tcp", m.Listen); err != nil {
			return fmt.Errorf("mrc.listen: %w", err)
		}
	}
	if err := o.API.Access.Read(ctx); err != nil { // it is read again until the store answers
		o.Log.Warn("users and tokens are not known yet", "reason", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		o.API.Access.Run(ctx)
		if o.API.OIDC != nil {
			o.API.OIDC.Close()
		}
		return nil
	})
	group.Go(func() error { s.shadow.Run(ctx); return nil })
	if o.Inventory.Cluster.On() {
		err = s.startMember(ctx, group, o, pipeline)
	} else {
		err = s.startAlone(ctx, group, o, pipeline)
	}
	if err != nil {
		s.cancel()
		return errors.Join(err, group.Wait())
	}
	group.Go(func() error { return s.front.Serve(ctx, s.listener) })
	group.Go(func() error {
		s.watchCertificates(ctx, o)
		return nil
	})
	if o.exporter != nil {
		group.Go(func() error {
			o.exporter.Run(ctx, prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
				return s.front.Gather(ctx)
			}))
			return nil
		})
	}
	group.Go(func() error {
		select {
		case <-s.speaker.Done():
			return s.speaker.Err()
		case <-ctx.Done():
			return nil
		}
	})
	go func() {
		s.err = errors.Join(group.Wait(), s.release())
		close(s.done)
	}()
	return nil
}

// startAlone starts the only controller of a store: it decides for as long as it runs.
func (s *Service) startAlone(ctx context.Context, group *errgroup.Group, o *Options,
	pipeline *southbound.Pipeline) error {
	failed := func(err error) { o.Log.Warn("waiting for the store", "reason", err) }
	var switches controller.Southbound
	err := store.Await(ctx, failed, func() (err error) {
		switches, err = o.switches(ctx, o.Store, pipeline)
		return err
	})
	if err != nil {
		return err
	}
	s.journal.Store(o.newJournal()) // BGP peers may come before the first term
	a := &alone{s: s, o: o, switches: switches, self: api.Controller{
		Name: o.name(), Role: api.RoleDecider, Self: true, Release: o.API.Version,
		Started: time.Now().UTC(), API: s.listener.Addr().String(),
	}}
	a.self.Since = a.self.Started
	s.leading = a.planner.Load
	if s.speaker, err = s.collector(ctx, o); err != nil {
		return err
	}
	if s.hosts != nil {
		a.self.Hosts = s.hosts.Addr().String()
	}
	o.API.Cluster = a
	s.alone, s.front = a, northbound.NewFront(o.API)
	var p *planner
	err = store.Await(ctx, failed, func() (err error) {
		p, err = a.begin(ctx)
		return err
	})
	if err != nil {
		return err
	}
	group.Go(func() error { return a.run(ctx, p, s.hosts) })
	group.Go(func() error { s.watchDisk(ctx, o); return nil })
	return nil
}

// Controller programs the switches, Multipath the MRC fabric, in a service on its own; Multipath is
// nil when the inventory has none. Others take their place after a write to the store has failed.
func (s *Service) Controller() *controller.Controller { return s.alone.planner.Load().controller }

// Multipath is described with Controller.
func (s *Service) Multipath() *runner.Runner { return s.alone.planner.Load().multipath }

// publish logs an event, and hands it to clients where this controller decides.
func (s *Service) publish(o *Options, e api.Event) {
	if j := s.journal.Load(); j != nil {
		j.publish(e)
		return
	}
	o.Log.Info(e.Message, "event", e.Type, "object", e.Object)
}

// switches returns the seam to the switches of a controller that decides on a store.
func (o *Options) switches(ctx context.Context, s store.Store,
	p *southbound.Pipeline) (controller.Southbound, error) {
	election, claim := o.Election, southbound.ClaimFixed
	if election == (southbound.ElectionID{}) {
		e, err := nextElection(ctx, s)
		if err != nil {
			return nil, err
		}
		election = e.id()
		claim = southbound.ClaimVacant
	}
	if o.TakeOver {
		claim = southbound.ClaimAnyway
	}
	seam := controller.NewP4Runtime(p, election)
	seam.Claim, seam.Samples, seam.Turns = claim, o.API.Telemetry.Take, o.turns
	seam.Configure = o.Configure
	return controller.NewSystems(seam), nil
}

// nobody is the BGP identifier for a controller without peers, and never sent (TEST-NET-1, RFC
// 5737).
var nobody = netip.AddrFrom4([4]byte{192, 0, 2, 0})

// collector starts the BGP-LS speaker.
func (s *Service) collector(ctx context.Context, o *Options) (*bgpls.Speaker, error) {
	inv := &o.Inventory
	c := bgpls.Config{
		ASN: cmp.Or(inv.BGP.ASN, static.DefaultASN), RouterID: cmp.Or(inv.BGP.RouterID, nobody),
		Collect: true, HoldTime: inv.BGP.HoldTime.D(), Logger: o.Log,
		StalePathTime: inv.BGP.StalePathTime.D(), LossTime: inv.BGP.LossTime.D(),
		Dead:    func() map[topology.NodeID]bool { return s.deadNodes(ctx) },
		Changed: func(p topology.Peer) { s.publish(o, peerEvent(p)) },
	}
	if inv.BGP.Listen != "" {
		listen, err := netip.ParseAddrPort(inv.BGP.Listen)
		if err != nil {
			return nil, fmt.Errorf("bgp.listen: %w", err)
		}
		c.Listen = listen
	}
	speaker, err := bgpls.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	for i := range inv.BGP.Peers {
		p, err := bgpPeer(&inv.BGP, &inv.BGP.Peers[i])
		if err == nil {
			err = speaker.AddPeer(ctx, p)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("bgp.peers[%d]: %w", i, err), speaker.Close())
		}
	}
	return speaker, nil
}

// askSwitches is how long the topology waits at most for the known state of the switches.
const askSwitches = 250 * time.Millisecond

// After deadAfter without a connection the controller takes a switch for dead: a controller that
// begins to decide has none for some seconds.
const deadAfter = 10 * time.Second

// deadNodes returns the nodes whose switches, to this controller's knowledge, have been
// disconnected for longer than deadAfter.
func (s *Service) deadNodes(ctx context.Context) map[topology.NodeID]bool {
	p := s.leading()
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askSwitches)
	defer cancel()
	switches, err := p.controller.Switches(ctx)
	if err != nil {
		return nil
	}
	return dead(switches, time.Now())
}

// dead returns the nodes of the switches that are dead at a time.
func dead(switches []api.SwitchStatus, now time.Time) map[topology.NodeID]bool {
	nodes := make(map[topology.NodeID]bool)
	for i := range switches {
		w := &switches[i]
		if w.Managed && !w.Connected && w.Node != "" && now.Sub(w.Since) >= deadAfter {
			nodes[topology.NodeID(w.Node)] = true
		}
	}
	return nodes
}

// peerEvent reports what became of the session with a peer.
func peerEvent(p topology.Peer) api.Event {
	e := api.Event{Time: time.Now(), Type: api.EventBGPPeerChanged, Object: p.Name(),
		EventFields: api.EventFields{State: api.StateDown, Reason: plain.Text(p.LastError),
			Numbers: &api.EventNumbers{ASN: new(p.ASN)}}}
	switch {
	case p.State == topology.PeerEstablished:
		e.State, e.Reason = api.StateUp, ""
		e.Message = fmt.Sprintf("BGP-LS session with %s (AS %d) established", p.Name(), p.ASN)
	case p.Sessions == 0:
		e.Message = fmt.Sprintf("no BGP-LS session with %s (AS %d): %s", p.Name(), p.ASN,
			plain.Text(p.LastError))
	default:
		e.Message = fmt.Sprintf("BGP-LS session with %s (AS %d) lost: %s", p.Name(), p.ASN,
			plain.Text(p.LastError))
	}
	return e
}

// numbered gives events of several sources numbers from 1 on, and publishes one
// at a time.
func numbered(publish func(api.Event)) func(api.Event) {
	var mu sync.Mutex
	var seq uint64
	return func(e api.Event) {
		mu.Lock()
		defer mu.Unlock()
		seq++
		e.Seq = seq
		publish(e)
	}
}

// HostsAddr is where hosts subscribe; nil when they do nowhere.
func (s *Service) HostsAddr() net.Addr {
	if s.hosts == nil {
		return nil
	}
	return s.hosts.Addr()
}

// Addr is where the API listens.
func (s *Service) Addr() net.Addr { return s.listener.Addr() }

// Done is closed when the service has ended.
func (s *Service) Done() <-chan struct{} { return s.done }

// Wait waits until the service has ended, and says why when it was not asked to.
func (s *Service) Wait() error {
	<-s.done
	return s.err
}

// Close stops the service and waits until everything in it has ended.
func (s *Service) Close() error {
	s.cancel()
	return s.Wait()
}

func (s *Service) release() error {
	s.cancel()
	for _, l := range []net.Listener{s.listener, s.hosts} {
		if l != nil {
			_ = l.Close() // whoever served it has closed it
		}
	}
	if s.speaker == nil {
		return nil
	}
	return s.speaker.Close()
}

// apiLimits returns the limits of the API: the inventory's values, or the defaults if the inventory
// has none.
func apiLimits(defaults northbound.Limits, l inventory.APILimits) northbound.Limits {
	return northbound.Limits{
		Connections: cmp.Or(l.Connections, defaults.Connections), Strangers: cmp.Or(l.Strangers,
			defaults.Strangers),
		PerClient: cmp.Or(l.PerClient, defaults.PerClient),
		Requests:  cmp.Or(l.Requests, defaults.Requests),
		Streams:   cmp.Or(l.Streams, defaults.Streams), Rate: cmp.Or(float64(l.Rate), defaults.Rate),
	}
}
