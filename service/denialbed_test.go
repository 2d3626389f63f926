package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/runner"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/host/agent/agenttest"
	"github.com/weft-sdn/weft/service/cluster"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/store/storetest"
	"github.com/weft-sdn/weft/topology"
)

// The fabric of the seeds, of which every controller is told at once when a link fails or returns.
const (
	denialPlanes = 2
	denialLeaves = 3 // of a plane, with as many hosts as follow
	denialSpines = 2
	denialHosts  = 2
	denialPeers  = 3 // controllers
	denialTTL    = 2 * time.Second
	// denialBound limits how long a host may use an EV over a link after the host's controller has
	// learned about the link's failure. Nothing takes time here but what waits.
	denialBound = 20 * time.Millisecond
)

// denialBed is a fabric whose hosts are spread over several controllers, in virtual time. Its
// methods are for the goroutine of the test.
type denialBed struct {
	t          *testing.T
	rng        *rand.Rand
	inventory  inventory.Inventory
	server     *storetest.Server
	whole      *topology.Snapshot
	assignment *ev.Assignment // of the whole fabric
	down       map[int]time.Time
	cables     [][2]topology.Link
	peers      []*denialPeer
	hosts      []*denialHost
	did        []string
	decided    int // looks at a host with a failed link while a controller decided, and while none did
	undecided  int

	// mu guards the fields below, and the marked fields of peers and hosts.
	mu   sync.Mutex
	snap *topology.Snapshot
	pick *rand.Rand // of the controllers that hosts connect to
}

// denialPeer is one of the controllers: what member wires, without switches, API and sockets.
type denialPeer struct {
	b       *denialBed
	name    string
	client  *storetest.Client
	epoch   uint64 // of its attendant
	hosting *hosting
	others  *bufconn.Listener // where other controllers connect
	streams *bufconn.Listener // where hosts connect; nil: the controller is dead; guarded by b.mu
	runner  *runner.Runner    // nil: it does not decide; guarded by b.mu
	serves  *hosts.Server     // of runner
	stop    func()
}

// denialHost is a host, which connects to a controller at random.
type denialHost struct {
	only     *denialPeer // or always to this one; nil: at random; guarded by b.mu
	b        *denialBed
	name     string
	endpoint *agenttest.Endpoint
	agent    *agent.Agent
	at       *denialPeer // the last it connected to; guarded by b.mu
	conn     net.Conn    // guarded by b.mu
	stop     func()
}

func newDenialBed(t *testing.T, seed uint64) *denialBed {
	b := &denialBed{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), pick: rand.New(rand.NewPCG(seed, 2)),
		server: storetest.NewServer(),
		down:   make(map[int]time.Time), inventory: inventory.Default(),
	}
	b.build()
	for i := range denialPeers {
		p := &denialPeer{b: b, name: fmt.Sprintf("c%d", i+1), client: b.server.Client()}
		b.peers = append(b.peers, p)
		p.start()
	}
	for i := range b.inventory.Hosts {
		h := &denialHost{b: b, name: b.inventory.Hosts[i].Name}
		b.hosts = append(b.hosts, h)
		h.start()
	}
	return b
}

func (b *denialBed) build() {
	builder, inv := topology.NewBuilder(), &b.inventory
	m := &inv.MRC
	m.Mode, m.Counts, m.LinkCounts = "stev", 0, 0
	m.Probes.Rate = 0 // hosts answer all probes: they say nothing of links
	m.Restore.Hold, m.Restore.MaxHold = api.Duration(500*time.Millisecond), api.Duration(2*time.Second)
	m.Restore.FirstRound = api.Duration(time.Second)
	ports := make(map[string]uint32)
	node := func(name string) {
		builder.SetNode(topology.Node{ID: topology.NodeID(name), Name: name})
		inv.Switches = append(inv.Switches, inventory.Switch{Name: name})
	}
	for p := range denialPlanes {
		for s := range denialSpines {
			node(fmt.Sprintf("spine%d-%d", p, s))
		}
		for l := range denialLeaves {
			leaf := fmt.Sprintf("leaf%d-%d", p, l)
			node(leaf)
			for s := range denialSpines {
				spine := fmt.Sprintf("spine%d-%d", p, s)
				ports[leaf]++
				ports[spine]++
				up := topology.Link{Local: topology.NodeID(leaf), Remote: topology.NodeID(spine),
					LocalID: ports[leaf], RemoteID: ports[spine], IGPMetric: 10}
				down := topology.Link{Local: up.Remote, Remote: up.Local, LocalID: up.RemoteID,
					RemoteID: up.LocalID, IGPMetric: 10}
				builder.SetLink(up)
				builder.SetLink(down)
				b.cables = append(b.cables, [2]topology.Link{up, down})
			}
		}
	}
	for l := range denialLeaves {
		for n := range denialHosts {
			h := inventory.Host{
				Name:    fmt.Sprintf("h%d-%d", l, n),
				Address: netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 14: byte(l + 1), 15: byte(n + 1)}),
				Switch:  fmt.Sprintf("leaf0-%d", l), Port: uint32(100 + n),
			}
			for p := 1; p < denialPlanes; p++ {
				h.Planes = append(h.Planes, inventory.Attachment{Switch: fmt.Sprintf("leaf%d-%d", p, l),
					Port: uint32(100 + n)})
			}
			inv.Hosts = append(inv.Hosts, h)
		}
	}
	b.whole = builder.Build()
	b.snap = b.whole
	var leaves []topology.NodeID
	for p := range denialPlanes {
		for l := range denialLeaves {
			leaves = append(leaves, topology.NodeID(fmt.Sprintf("leaf%d-%d", p, l)))
		}
	}
	clos, err := b.whole.Graph().Clos(topology.ClosRequest{Leaves: leaves, Planes: m.PlaneRule()})
	if err == nil {
		b.assignment, err = ev.Assign(clos, m.Format(), ev.Numbers{})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// start starts a controller, or starts it again after its death.
func (p *denialPeer) start() {
	b := p.b
	time.Sleep(time.Millisecond) // the epoch of no other one
	ctx, cancel := context.WithCancel(b.t.Context())
	o := &Options{Inventory: b.inventory, Log: slog.New(slog.DiscardHandler)}
	s := newSessions(o, nil, p.client, func(ctx context.Context, address string) (net.Conn, error) {
		for _, other := range b.peers {
			if other.name == address {
				return other.others.DialContext(ctx)
			}
		}
		return nil, fmt.Errorf("there is no controller at %s", address)
	})
	p.epoch = uint64(time.Now().UnixNano())
	var err error
	if p.hosting, err = newHosting(o, s); err != nil {
		b.t.Fatal(err)
	}
	hosts.Register(s.relay, func() *hosts.Server {
		b.mu.Lock()
		defer b.mu.Unlock()
		return p.serves
	})
	node := cluster.New(cluster.Config{
		Self: cluster.Member{Name: p.name, Peers: p.name}, Store: p.client, TTL: denialTTL, Lead: p.lead,
		Changed: func(_, now cluster.View) { p.hosting.upstream.follow(now) },
	})
	s.node = node
	var running sync.WaitGroup
	streams := bufconn.Listen(1 << 16)
	p.others = bufconn.Listen(1 << 16)
	b.mu.Lock()
	p.streams = streams
	snap := b.snap
	b.mu.Unlock()
	running.Go(func() { _ = s.relay.Serve(p.others) }) // ends with Close
	running.Go(func() {
		if err := p.hosting.attendant.Run(ctx, streams); err != nil {
			b.t.Errorf("%s: %v", p.name, err)
		}
	})
	if err := p.hosting.attendant.SetTopology(ctx, snap); err != nil {
		b.t.Fatal(err)
	}
	running.Go(func() {
		node.Run(ctx)
		s.close()
	})
	p.stop = func() {
		b.mu.Lock()
		p.streams = nil
		b.mu.Unlock()
		cancel()
		running.Wait()
		p.hosting.upstream.close()
	}
}

// lead decides until the mandate ends.
func (p *denialPeer) lead(ctx context.Context, m *cluster.Mandate) error {
	b := p.b
	epoch := uint64(time.Now().UnixNano()) + 1 // that of an attendant is another one
	runner, err := runner.NewRunner(ctx, runner.Options{Inventory: &b.inventory, Epoch: epoch,
		Store: m.Store})
	if err != nil {
		return err
	}
	cfg := HostsConfig(&b.inventory.MRC)
	cfg.Epoch = epoch
	server, err := hosts.New(cfg, runner)
	if err != nil {
		return err
	}
	b.mu.Lock()
	p.runner, p.serves = runner, server
	snap := b.snap
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		p.runner, p.serves = nil, nil
		b.mu.Unlock()
	}()
	var running sync.WaitGroup
	running.Go(func() { server.Run(ctx) })
	running.Go(func() { _ = runner.SetTopology(ctx, snap) }) // it fails with ctx
	err = runner.Run(ctx, server)
	running.Wait()
	return err
}

// start starts a host that holds nothing.
func (h *denialHost) start() {
	h.endpoint = &agenttest.Endpoint{Device: ev.Unlimited()}
	cfg := agent.DefaultConfig()
	cfg.Controller, cfg.Name = "controller:1", h.name
	cfg.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context,
		_ string) (net.Conn, error) {
		return h.dial(ctx)
	})}
	var err error
	if h.agent, err = agent.New(cfg, h.endpoint); err != nil {
		h.b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(h.b.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = h.agent.Run(ctx)
	}()
	h.stop = func() {
		cancel()
		<-done
	}
}

func (h *denialHost) dial(ctx context.Context) (net.Conn, error) {
	b := h.b
	b.mu.Lock()
	p := b.peers[b.pick.IntN(len(b.peers))]
	if h.only != nil {
		p = h.only
	}
	l := p.streams
	b.mu.Unlock()
	if l == nil {
		return nil, errors.New("there is no such controller")
	}
	c, err := l.DialContext(ctx)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	h.at, h.conn = p, c
	return c, nil
}

// setLink has a link fail or return, which every controller learns.
func (b *denialBed) setLink(i int, up bool) {
	b.mu.Lock()
	builder := b.snap.Builder()
	for _, l := range b.cables[i] {
		if up {
			builder.SetLink(l)
			continue
		}
		for _, is := range b.snap.Links {
			if is.Local == l.Local && is.LocalID == l.LocalID {
				builder.RemoveLink(is.ID)
			}
		}
	}
	b.snap = builder.Build()
	if up {
		delete(b.down, i)
	} else {
		b.down[i] = time.Now()
	}
	snap := b.snap
	var runners []*runner.Runner
	for _, p := range b.peers {
		if p.runner != nil {
			runners = append(runners, p.runner)
		}
	}
	b.mu.Unlock()
	for _, p := range b.peers {
		_ = p.hosting.attendant.SetTopology(b.t.Context(), snap) // always nil
	}
	for _, r := range runners {
		_ = r.SetTopology(b.t.Context(), snap) // it has just stopped
	}
}

// crossesDown reports whether an EV of a host's port crosses a link that has been down for at least
// the given time.
func (b *denialBed) crossesDown(from, to *inventory.Host, p *hostapi.Profile, v hostapi.EV,
	since time.Duration) bool {
	wire, err := p.Expand(v)
	if err != nil {
		b.t.Fatal(err)
	}
	route, err := b.assignment.Decode(denialLeaf(from, v.Port), denialLeaf(to, v.Port), wire.Value)
	if err != nil {
		b.t.Fatalf("profile %s: EV %v: %v", p.Name, v, err)
	}
	for _, hop := range route.Hops {
		l := hop.Links[0]
		for i, at := range b.down {
			for _, d := range b.cables[i] {
				if d.Local == l.Local && d.LocalID == l.LocalID && time.Since(at) >= since {
					return true
				}
			}
		}
	}
	return false
}

// denialLeaf is where a port of a host is attached.
func denialLeaf(h *inventory.Host, port uint8) topology.NodeID {
	if port == 1 {
		return topology.NodeID(h.Switch)
	}
	return topology.NodeID(h.Planes[port-2].Switch)
}

// look checks the hosts that their controllers have served: each such host must deny EVs over links
// that have been down for longer than the bound. exact: all hosts have been served, and deny
// nothing else.
func (b *denialBed) look(exact bool) {
	b.t.Helper()
	synctest.Wait()
	b.mu.Lock()
	decided := slices.ContainsFunc(b.peers, func(p *denialPeer) bool { return p.runner != nil })
	b.mu.Unlock()
	for i, h := range b.hosts {
		st, state := h.agent.Status(), h.endpoint.State()
		b.mu.Lock()
		at := h.at
		served := st.Connected && at != nil && at.streams != nil && st.Version.Epoch == at.epoch
		b.mu.Unlock()
		if exact && !served {
			b.t.Fatalf("%s: connected %v (%v), holds version %v, which controller %s, epoch %x, has not "+
				"sent", h.name, st.Connected, st.Err, st.Version, at.name, at.epoch)
		}
		if !served || state == nil {
			continue
		}
		if exact && len(state.Profiles) != denialLeaves {
			b.t.Fatalf("%s has %d profiles, want one for each of %d racks", h.name, len(state.Profiles),
				denialLeaves)
		}
		for _, p := range state.Profiles {
			b.profile(&b.inventory.Hosts[i], p, decided, exact)
		}
	}
}

func (b *denialBed) profile(from *inventory.Host, p *hostapi.Profile, decided, exact bool) {
	b.t.Helper()
	var to *inventory.Host
	for i := range b.inventory.Hosts {
		if p.Destinations[0].Contains(b.inventory.Hosts[i].Address) {
			to = &b.inventory.Hosts[i]
		}
	}
	all := p.EVs
	if p.Mode == hostapi.ModeGenerated {
		all = p.Generate(hostapi.Ports(1, 2))
	}
	if !slices.ContainsFunc(all, func(v hostapi.EV) bool {
		return !p.IsDenied(v) && !b.crossesDown(from, to, p, v, 0)
	}) {
		return // the last EVs are not denied
	}
	for _, v := range all {
		if b.crossesDown(from, to, p, v, denialBound) {
			if !p.IsDenied(v) {
				b.t.Fatalf("%s: EV %v of profile %s crosses a failed link and is used; a controller "+
					"decides: %v", from.Name, v, p.Name, decided)
			}
			if decided {
				b.decided++
			} else {
				b.undecided++
			}
		} else if exact && p.IsDenied(v) {
			b.t.Fatalf("%s: EV %v of profile %s is denied, and its links are up", from.Name, v, p.Name)
		}
	}
}

// step does something at random.
func (b *denialBed) step() string {
	peer, host := b.peers[b.rng.IntN(len(b.peers))], b.hosts[b.rng.IntN(len(b.hosts))]
	switch b.rng.IntN(10) {
	case 0, 1, 2:
		i := b.rng.IntN(len(b.cables))
		if _, down := b.down[i]; down || len(b.down) > 2 {
			return b.mendLinks()
		}
		b.setLink(i, false)
		return fmt.Sprintf("%s - %s fails", b.cables[i][0].Local, b.cables[i][0].Remote)
	case 3:
		return b.mendLinks()
	case 4: // the decider, if there is one
		b.mu.Lock()
		for _, p := range b.peers {
			if p.runner != nil {
				peer = p
			}
		}
		b.mu.Unlock()
		if b.kill(peer) {
			return peer.name + " dies"
		}
		return b.revive()
	case 5:
		return b.revive()
	case 6:
		peer.client.Cut()
		return peer.name + " loses the store"
	case 7:
		if b.rng.IntN(2) == 0 {
			for _, p := range b.peers {
				p.client.Cut()
			}
			return "the quorum is lost"
		}
		for _, p := range b.peers {
			p.client.Mend()
		}
		return "the store is back"
	case 8:
		host.stop()
		host.start()
		return host.name + " starts again"
	default:
		b.mu.Lock()
		c := host.conn
		b.mu.Unlock()
		if c != nil {
			_ = c.Close()
		}
		return host.name + " loses its connection"
	}
}

func (b *denialBed) mendLinks() string {
	for i := range b.cables {
		if _, down := b.down[i]; down {
			b.setLink(i, true)
		}
	}
	return "all links are up"
}

// kill ends a controller without a word to the store, unless it is the last one.
func (b *denialBed) kill(p *denialPeer) bool {
	alive := 0
	for _, o := range b.peers {
		if o.streams != nil {
			alive++
		}
	}
	if alive < 2 || p.streams == nil {
		return false
	}
	p.client.Cut()
	p.stop()
	p.client.Mend()
	return true
}

func (b *denialBed) revive() string {
	for _, p := range b.peers {
		if p.streams == nil {
			p.start()
		}
	}
	return "all controllers run"
}

// pass lets time pass, and looks all the while.
func (b *denialBed) pass(d time.Duration) {
	b.t.Helper()
	time.Sleep(denialBound)
	for end := time.Now().Add(d); ; time.Sleep(d/4 + 1) {
		b.look(false)
		if !time.Now().Before(end) {
			return
		}
	}
}

// end ends everything in the bubble.
func (b *denialBed) end() {
	for _, h := range b.hosts {
		h.stop()
	}
	for _, p := range b.peers {
		p.client.Mend()
		if p.streams != nil {
			p.stop()
		}
	}
}
