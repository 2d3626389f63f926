package mrc

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/prove"
	"github.com/weft-sdn/weft/internal/virtual"
	"github.com/weft-sdn/weft/topology"
)

// A bed is a fabric, its hosts, and a core, in virtual time. Hosts apply their states after a
// delay, and answer probes by the true state of the links.
type bed struct {
	virtual.Clock
	t      testing.TB
	rng    *rand.Rand
	core   *Core
	net    *topology.Builder
	ports  map[topology.NodeID]uint32
	hosts  map[string]*simHost
	black  map[topology.LinkID]float64 // share of packets that a link loses, that is up
	delay  func() time.Duration        // until a host has applied
	silent bool                        // hosts answer no probes
	denied func(host string) uint8     // the port that a host may not use, 0: none; nil: none at all
	made   map[string]fabric.Host

	sets   map[string][]time.Duration // when a host was told something
	probes []sentProbe
	// nic returns the share of packets lost on the link between a host and its leaf; nil: no loss.
	nic    func(host string, port uint8, receiving bool) float64
	hinted func(host string) bool // takes hints; nil: none does
	events []api.Event
}

type simHost struct {
	held *hostapi.State
	seq  uint64
	up   bool
}

type sentProbe struct {
	at   time.Duration
	host string
	*hostapi.Probe
}

const epoch = 7

// defaults is the configuration of a fabric of structured EVs.
func defaults() Config { return Config{MRC: inventory.DefaultMRC("stev")} }

func newBed(t testing.TB, seed uint64, change func(*Config)) *bed {
	cfg := defaults()
	cfg.Epoch = epoch
	cfg.Probes.Rate, cfg.Probes.HostRate = 60, 20 // what a test has the time for
	if change != nil {
		change(&cfg)
	}
	core, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &bed{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), core: core, net: topology.NewBuilder(),
		ports: map[topology.NodeID]uint32{},
		hosts: map[string]*simHost{}, made: map[string]fabric.Host{},
		black: map[topology.LinkID]float64{}, sets: map[string][]time.Duration{},
		delay: func() time.Duration { return time.Millisecond },
	}
}

func leafID(plane, leaf int) topology.NodeID {
	return topology.NodeID(fmt.Sprintf("leaf%d-%d", plane, leaf))
}
func spineID(plane, spine int) topology.NodeID {
	return topology.NodeID(fmt.Sprintf("spine%d-%d", plane, spine))
}

// connect joins two nodes and returns both directions.
func (w *bed) connect(a, b topology.NodeID) {
	w.ports[a]++
	w.ports[b]++
	pa, pb := w.ports[a], w.ports[b]
	w.net.SetLink(topology.Link{Local: a, Remote: b, LocalID: pa, RemoteID: pb, IGPMetric: 10})
	w.net.SetLink(topology.Link{Local: b, Remote: a, LocalID: pb, RemoteID: pa, IGPMetric: 10})
}

// clos builds planes of leaves and spines, and hosts with a port in each plane.
func (w *bed) clos(planes, leaves, spines, hosts int) *bed {
	for p := 1; p <= planes; p++ {
		for s := 1; s <= spines; s++ {
			w.net.SetNode(topology.Node{ID: spineID(p, s)})
		}
		for l := 1; l <= leaves; l++ {
			w.net.SetNode(topology.Node{ID: leafID(p, l)})
			for s := 1; s <= spines; s++ {
				w.connect(leafID(p, l), spineID(p, s))
			}
		}
	}
	for l := 1; l <= leaves; l++ {
		for h := 1; h <= hosts; h++ {
			w.host(planes, l, h)
		}
	}
	return w
}

// pods builds planes of three tiers: pods of two leaves and two aggregation
// switches, and two cores for each of these.
func (w *bed) pods(planes, pods, hosts int) *bed {
	for p := 1; p <= planes; p++ {
		for k := range 4 {
			w.net.SetNode(topology.Node{ID: topology.NodeID(fmt.Sprintf("core%d-%d", p, k+1))})
		}
		for pod := range pods {
			for a := range 2 {
				agg := topology.NodeID(fmt.Sprintf("agg%d-%d-%d", p, pod+1, a+1))
				w.net.SetNode(topology.Node{ID: agg})
				for l := range 2 {
					leaf := leafID(p, 2*pod+l+1)
					w.net.SetNode(topology.Node{ID: leaf})
					w.connect(leaf, agg)
				}
				for k := range 2 {
					w.connect(agg, topology.NodeID(fmt.Sprintf("core%d-%d", p, 2*a+k+1)))
				}
			}
		}
	}
	for l := 1; l <= 2*pods; l++ {
		for h := 1; h <= hosts; h++ {
			w.host(planes, l, h)
		}
	}
	return w
}

func hostName(leaf, h int) string { return fmt.Sprintf("h%d-%d", leaf, h) }

const hostPortBase = 1000

// host attaches a host to a leaf of each plane.
func (w *bed) host(planes, leaf, n int) {
	h := fabric.Host{
		Name: hostName(leaf, n), Address: netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8,
			8: byte(leaf >> 8), 9: byte(leaf), 15: byte(n)}),
	}
	for p := 1; p <= planes; p++ {
		h.At = append(h.At, leafID(p, leaf))
		h.LeafPorts = append(h.LeafPorts, uint32(hostPortBase+n))
	}
	w.made[h.Name] = h
	if err := w.core.PutHost(h); err != nil {
		w.t.Fatal(err)
	}
}

func (w *bed) capabilities() hostapi.Capabilities { return ev.Unlimited() }

// start puts the topology in sync and lets all hosts connect.
func (w *bed) start() *bed {
	w.core.Tick(w.Now())
	w.core.SetTopology(w.net.Build())
	w.core.InSync()
	for _, name := range slices.Sorted(maps.Keys(w.made)) {
		w.hello(name, hostapi.Version{})
	}
	w.pump()
	return w
}

func (w *bed) hello(name string, v hostapi.Version) {
	w.hosts[name] = &simHost{up: true}
	caps := w.capabilities()
	caps.QPHints = w.hinted != nil && w.hinted(name)
	if err := w.core.Hello(name, &hostapi.Hello{Name: name, Instance: 1, Capabilities: caps,
		Version: v}); err != nil {
		w.t.Fatal(err)
	}
}

// later has something happen to the core after a while.
func (w *bed) later(d time.Duration, do func()) {
	w.After(d, func() {
		w.core.Tick(w.Now())
		do()
	})
}

// pump does what the core wants.
func (w *bed) pump() {
	for r := w.core.Ready(); !r.Empty(); r = w.core.Ready() {
		for _, s := range r.Sets {
			w.sets[s.Host] = append(w.sets[s.Host], w.Now())
			w.later(w.delay(), func() { w.apply(s) })
		}
		for _, p := range r.Probes {
			w.probes = append(w.probes, sentProbe{w.Now(), p.Host, p.Request})
			if err := p.Request.Validate(); err != nil {
				w.t.Fatalf("probe: %v", err)
			}
			w.later(time.Millisecond, func() { w.answer(p) })
		}
		w.events = append(w.events, r.Events...)
	}
}

func (w *bed) apply(s Set) {
	h := w.hosts[s.Host]
	if h == nil || !h.up || s.Seq <= h.seq {
		return
	}
	h.held, h.seq = s.State, s.Seq
	if w.made[s.Host].Name != "" {
		if err := w.core.Applied(s.Host, s.Seq); err != nil {
			w.t.Fatal(err)
		}
	}
}

// answer makes a probe.
func (w *bed) answer(p Probe) {
	if h := w.hosts[p.Host]; h == nil || !h.up || w.silent || w.made[p.Host].Name == "" {
		return
	}
	if w.denied != nil && w.denied(p.Host) == p.Request.EV.Port {
		r := &hostapi.ProbeResult{ID: p.Request.ID, Err: "ev.port: denied"}
		if err := w.core.ProbeResult(p.Host, r); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	received := 0
	links, err := w.links(p.Host, p.Request.Destination, p.Request.EV)
	if err != nil {
		w.t.Fatalf("probe of %s to %v: %v", p.Host, p.Request.Destination, err)
	}
	for range p.Request.Count {
		if w.passes(links) && (w.nic == nil || w.rng.Float64() >= w.nic(p.Host, p.Request.EV.Port,
			false) && w.rng.Float64() >= w.nic(hostAt(w, p.Request.Destination), p.Request.EV.Port, true)) {
			received++
		}
	}
	r := &hostapi.ProbeResult{ID: p.Request.ID, Sent: p.Request.Count, Received: received, RTTMin: 1,
		RTTMean: 2, RTTMax: 3, Port: p.Request.EV.Port}
	if err := w.core.ProbeResult(p.Host, r); err != nil && !errors.Is(err, prove.ErrUnknownProbe) {
		w.t.Fatal(err)
	}
}

func (w *bed) hostLoss(host string, port uint8, receiving bool) float64 {
	if w.nic == nil {
		return 0
	}
	return w.nic(host, port, receiving)
}

// links finds the way of an EV as switches would.
func (w *bed) links(host string, to netip.Addr, wire hostapi.EV) ([]topology.LinkID, error) {
	src := w.made[host].At[wire.Port-1]
	for _, o := range w.made {
		if o.Address == to {
			route, err := w.core.Assignment().Decode(src, o.At[wire.Port-1], wire.Value)
			if err != nil {
				return nil, err
			}
			var ids []topology.LinkID
			for _, h := range route.Hops {
				ids = append(ids, h.Links[0].ID)
			}
			return ids, nil
		}
	}
	return nil, nil
}

func (w *bed) passes(links []topology.LinkID) bool {
	s := w.core.state.Advertised()
	for _, id := range links {
		l := s.Link(id)
		if l == nil || s.Node(l.Local) == nil || s.Node(l.Remote) == nil {
			return false
		}
		from, to := w.core.state.LinkPorts(l)
		if from == "down" || to == "down" || w.rng.Float64() < w.black[id] {
			return false
		}
	}
	return true
}

// run lets time pass.
func (w *bed) run(d time.Duration) {
	w.Run(w.Now()+d, w.advance, nil)
	w.advance(w.Now())
}

func (w *bed) advance(now time.Duration) (next time.Duration, pending bool) {
	w.core.Tick(now)
	w.pump()
	return w.core.Next()
}

// publish gives the core the present network.
func (w *bed) publish() {
	w.core.SetTopology(w.net.Build())
	w.pump()
}

// both are the directions of the links between two nodes.
func (w *bed) both(a, b topology.NodeID) (out []topology.Link) {
	for _, l := range w.net.Build().Links {
		if l.Local == a && l.Remote == b || l.Local == b && l.Remote == a {
			out = append(out, *l)
		}
	}
	return out
}

func (w *bed) remove(links []topology.Link) {
	for _, l := range links {
		w.net.RemoveLink(l.ID)
	}
	w.publish()
}

func (w *bed) restore(links []topology.Link) {
	for _, l := range links {
		w.net.SetLink(l)
	}
	w.publish()
}

// crossed returns the links that all choices of an EV's hops may take.
func crossed(route *ev.Route) [][]topology.LinkID {
	var out [][]topology.LinkID
	for _, h := range route.Hops {
		var ids []topology.LinkID
		for _, l := range h.Links {
			ids = append(ids, l.ID)
		}
		out = append(out, ids)
	}
	return out
}

// check compares the denials of all states with what a walk of every EV through the switches says:
// an EV must be denied exactly if it crosses a lost object. check returns the number of denied EVs.
func (w *bed) check(out func(topology.LinkID) bool, gone func(topology.NodeID) bool) (denied int) {
	w.t.Helper()
	seen := map[*hostapi.Profile]bool{}
	for _, h := range w.core.Hosts() {
		if h.State == nil {
			continue
		}
		for _, p := range h.State.Profiles {
			if seen[p] {
				continue
			}
			seen[p] = true
			dst := w.made[hostAt(w, p.Destinations[0].Addr())]
			n := 0
			for _, v := range allEVs(p, h.At, dst.At) {
				wire, err := p.Expand(v)
				if err != nil {
					w.t.Fatal(err)
				}
				from, to := h.At[v.Port-1], dst.At[v.Port-1]
				route, err := w.core.Assignment().Decode(from, to, wire.Value)
				if err != nil {
					w.t.Fatalf("%s: %v: %v", p.Name, v, err)
				}
				dead := gone(from) || gone(to)
				for _, hop := range crossed(route) {
					dead = dead || !slices.ContainsFunc(hop, func(id topology.LinkID) bool { return !out(id) })
				}
				if dead != p.IsDenied(v) {
					w.t.Fatalf("%v: %s of host %s: EV %v is denied: %v, want %v (%v)", w.Now(), p.Name, h.Name, v,
						p.IsDenied(v), dead, crossed(route))
				}
				if dead {
					n++
				}
			}
			if p.Mode == hostapi.ModeGenerated && n != len(p.Denied) {
				w.t.Fatalf("%s: %d denied, want %d", p.Name, len(p.Denied), n)
			}
			denied += n
		}
	}
	return denied
}

func hostAt(w *bed, a netip.Addr) string {
	for _, h := range w.made {
		if h.Address == a {
			return h.Name
		}
	}
	w.t.Fatalf("no host has %v", a)
	return ""
}

// allEVs returns the EVs of a profile; for a generated profile all possible EVs.
func allEVs(p *hostapi.Profile, src, dst ev.Attachment) []hostapi.EV {
	if p.Mode != hostapi.ModeGenerated {
		evs := slices.Clone(p.EVs)
		slices.SortFunc(evs, hostapi.EV.Compare)
		return slices.Compact(evs)
	}
	var ports hostapi.PortMask
	for i := range min(len(src), len(dst)) {
		if src[i] != "" && dst[i] != "" {
			ports |= hostapi.Ports(i + 1)
		}
	}
	q := *p
	q.Count = ports.Len()
	for _, f := range p.Fields {
		q.Count *= int(f.MaxVal-f.MinVal) + 1
	}
	evs := q.Generate(ports)
	slices.SortFunc(evs, hostapi.EV.Compare)
	return slices.Compact(evs)
}

func none(topology.NodeID) bool { return false }

func (w *bed) valid() {
	w.t.Helper()
	for _, h := range w.core.Hosts() {
		if h.State != nil {
			if _, err := hostapi.NewState(*h.State); err != nil {
				w.t.Fatalf("host %s: %v", h.Name, err)
			}
		}
	}
}
