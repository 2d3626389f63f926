package fabric

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/topology"
)

// TestWhatMakesAFabricAnew: a new or changed node or link makes the fabric anew. A node or link
// that goes, comes back, or only changes its name or cost does not. Known changes and a full look
// at the topology give the same result.
func TestWhatMakesAFabricAnew(t *testing.T) {
	leaf, spine := planeNode("leaf", 1, 1), planeNode("spine", 1, 1)
	first := twoPlanes().Build().LinksFrom(leaf)[0]
	link := func(change func(*topology.Link)) func(*topology.Builder) {
		return func(net *topology.Builder) {
			l := *first
			change(&l)
			net.SetLink(l)
		}
	}
	node := func(id topology.NodeID, change func(*topology.Node)) func(*topology.Builder) {
		return func(net *topology.Builder) {
			n := topology.Node{ID: id}
			change(&n)
			net.SetNode(n)
		}
	}
	for _, c := range []struct {
		name   string
		change func(*topology.Builder)
		anew   bool
		denied int // links
	}{
		{"nothing", func(*topology.Builder) {}, false, 0},
		{"a link is gone", func(net *topology.Builder) {
			net.RemoveLink(first.ID)
		}, false, 2},
		{"a spine is gone", func(net *topology.Builder) { net.RemoveNode(spine) }, false, 4},
		{"a leaf is gone", func(net *topology.Builder) { net.RemoveNode(leaf) }, false, 4},
		{"a spine must not be crossed",
			node(spine, func(n *topology.Node) { n.Overload = true }), false, 4},
		{"a leaf must not be crossed",
			node(leaf, func(n *topology.Node) { n.Overload = true }), false, 0},
		{"a node shows another name", node(leaf, func(n *topology.Node) { n.Name = "n" }), false, 0},
		{"a link costs more", link(func(l *topology.Link) { l.IGPMetric = 99 }), false, 0},
		{"a link is at another port", link(func(l *topology.Link) { l.LocalPort = 9 }), true, 0},
		{"a link is at another port there", link(func(l *topology.Link) { l.RemotePort = 9 }), true, 0},
		{"a link is of another group", link(func(l *topology.Link) { l.AdminGroup = 1 }), true, 0},
		{"a node has another address",
			node(leaf, func(n *topology.Node) { n.Loopback = netip.MustParseAddr("2001:db8::9") }), true, 0},
		{"a node is new", node("spine9", func(*topology.Node) {}), true, 0},
		{"a link is new",
			link(func(l *topology.Link) { l.ID, l.LocalID, l.RemoteID = "", 9, 9 }), true, 0},
	} {
		for _, known := range []bool{true, false} {
			net := twoPlanes()
			s, _ := hostPair(t, &drains{}, net)
			before, renewed := s.Fabric(), 0
			s.outside.Renewed = func(was *Fabric) {
				if renewed++; was != before {
					t.Errorf("%s: the fabric before was another", c.name)
				}
			}
			if !known {
				s.looked = nil
			}
			c.change(net)
			snap := net.Build()
			s.current = snap
			if got := s.lookAtChanged(); got != (known && !c.anew) {
				t.Errorf("%s, known %v: what has changed alone was looked at: %v", c.name, known, got)
			}
			s.SetTopology(snap)
			if !s.Settle() || s.Advertised() != snap {
				t.Fatalf("%s: %v", c.name, s.Failure())
			}
			_, denied := s.Links().Count(func(*Link) bool { return true })
			if anew := s.Fabric() != before; anew != c.anew || (renewed == 1) != c.anew ||
				denied != c.denied {
				t.Errorf("%s, known %v: made anew %v, %d times, and %d links are denied; want %v, %d", c.name,
					known, anew, renewed, denied, c.anew, c.denied)
			}
			if s.looked != snap {
				t.Errorf("%s, known %v: the topology was not looked at", c.name, known)
			}
		}
	}
}

// TestTopologyBeforeSync: an incomplete topology changes nothing, and State makes no fabric before
// all peers are in sync.
func TestTopologyBeforeSync(t *testing.T) {
	cfg := defaults()
	synced := 0
	s := New(&cfg, Outside{Drains: &drains{}, Synced: func() { synced++ }})
	whole := smallNetwork().Build()
	s.SetTopology(whole)
	if s.Settle() || s.Fabric() != nil || s.Assignment() != nil || s.Synced() {
		t.Error("there is a fabric before the topology is in sync")
	}
	s.Tick(time.Hour) // with no fabric
	if s.Tick(time.Minute); s.Now() != time.Hour {
		t.Errorf("it is %v, want 1h: time does not go back", s.Now())
	}
	s.PlaneDrained()
	s.InSync()
	s.InSync()
	if !s.Settle() || s.Assignment() == nil || !s.Synced() || synced != 1 {
		t.Errorf("no fabric when in sync: %v, told %d times", s.Failure(), synced)
	}
	b := topology.NewBuilder()
	b.SetStale(&topology.Staleness{Reason: "no peer", Incomplete: true})
	if s.SetTopology(b.Build()); s.Advertised() != whole {
		t.Error("a topology that is incomplete counts")
	}
}

// TestFailedFabric: a failure to make the fabric gives one event, and Failure until it succeeds.
// The fabric before stays.
func TestFailedFabric(t *testing.T) {
	net := twoPlanes()
	s, _ := hostPair(t, &drains{}, net)
	before, events := s.Fabric(), 0
	s.event = func(e api.EventType, object, message string, _ ...api.EventFields) {
		if e != api.EventFabricChanged || object != "" || message != s.Failure().Error() {
			t.Errorf("event %v of %q: %q", e, object, message)
		}
		events++
	}
	l := *net.Build().LinksFrom(planeNode("leaf", 1, 1))[0]
	good := l
	l.LocalPort = 1 << 16 // no field has room for it
	for _, n := range []int{1, 1, 2} {
		if events < n {
			l.IGPMetric++ // another topology
			net.SetLink(l)
			s.SetTopology(net.Build())
		}
		if !s.Settle() || s.Failure() == nil || s.Fabric() != before || events != n {
			t.Errorf("%v, %d events, want %d; another fabric: %v", s.Failure(), events, n,
				s.Fabric() != before)
		}
	}
	net.SetLink(good)
	good.LocalID, good.RemoteID, good.ID = 9, 9, ""
	net.SetLink(good)
	s.SetTopology(net.Build())
	if !s.Settle() || s.Failure() != nil || s.Fabric() == before || events != 2 {
		t.Errorf("%v, %d events", s.Failure(), events)
	}
}

// TestLossesOfFailedFabric: if a new fabric cannot be made, State still denies lost elements of the
// fabric before, holds elements that come back, and leaves the rest in use.
func TestLossesOfFailedFabric(t *testing.T) {
	net := twoPlanes()
	s, _ := hostPair(t, &drains{}, net)
	var links []topology.Link
	for _, l := range net.Build().Links {
		links = append(links, *l)
	}
	for _, port := range []uint32{9, 0} { // 0 is no port, so the fabric cannot be made
		net.SetNode(topology.Node{ID: "spine1-0"}) // it comes between the others
		net.SetLink(topology.Link{Local: "leaf1-1", Remote: "spine1-0", LocalID: port, RemoteID: 9})
		net.SetLink(topology.Link{Local: "spine1-0", Remote: "leaf1-1", LocalID: 9, RemoteID: port})
	}
	for i := range links {
		l := links[i]
		net.RemoveLink(l.ID)
		s.SetTopology(net.Build())
		if !s.Settle() || s.Failure() == nil {
			t.Fatal("the fabric can be made anew")
		}
		for j := range int32(s.Links().Len()) {
			x := s.Links().At(j)
			gone := x.ID == l.ID || x.Local == l.Remote && x.LocalID == l.RemoteID
			if (x.Phase() == Down) != gone {
				t.Errorf("%s is gone, and %s is %v", l.ID, x.ID, x.Phase())
			}
		}
		net.SetLink(l)
		s.SetTopology(net.Build())
		s.Settle()
		if place, _ := s.Fabric().Place(l.ID); s.Links().At(place).Phase() != Held {
			t.Errorf("%s is back, and %v", l.ID, s.Links().At(place).Phase())
		}
	}
}

// TestNextTick: what time moves on is moved on at the next time to restore, or when a back-off is
// over; otherwise there is nothing to wait for.
func TestNextTick(t *testing.T) {
	leaf := planeNode("leaf", 1, 1)
	for _, c := range []struct {
		name string
		wait func(s *State, net *topology.Builder)
		want time.Duration
	}{
		{"nothing", func(*State, *topology.Builder) {}, time.Hour},
		{"a link that is held", func(s *State, _ *topology.Builder) {
			s.Tick(1200 * time.Millisecond)
			s.Links().Fail(0, "of the test")
		}, 2200 * time.Millisecond},
		{"a host's port that is held", func(s *State, _ *topology.Builder) {
			s.SetPorts(leaf, map[uint32]bool{100: false})
			s.SetPorts(leaf, map[uint32]bool{100: true})
		}, 1100 * time.Millisecond},
		{"a host's port that is down", func(s *State, _ *topology.Builder) {
			s.SetPorts(leaf, map[uint32]bool{100: false})
		}, time.Hour},
		{"a leaf that is held", func(s *State, _ *topology.Builder) {
			s.leaves.setPresent(leaf, false)
			s.leaves.setPresent(leaf, true)
		}, 1100 * time.Millisecond},
		{"a leaf that is gone", func(s *State, _ *topology.Builder) {
			s.leaves.setPresent(leaf, false)
		}, time.Hour},
	} {
		net := twoPlanes()
		s, _ := hostPair(t, &drains{}, net)
		s.Tick(time.Second)
		if c.wait(s, net); s.Next(time.Hour) != c.want {
			t.Errorf("%s: the next tick is at %v, want %v", c.name, s.Next(time.Hour), c.want)
		}
		if s.Next(time.Millisecond) != time.Millisecond {
			t.Errorf("%s: the next tick is at %v, which is after what else is due", c.name,
				s.Next(time.Millisecond))
		}
	}
}

// TestRestoredTogether: ports and leaves whose hold is over come back at the times to restore,
// every 100 ms, and not between them.
func TestRestoredTogether(t *testing.T) {
	leaf := planeNode("leaf", 1, 1)
	s, _ := hostPair(t, &drains{}, twoPlanes())
	s.Tick(1250 * time.Millisecond)
	s.SetPorts(leaf, map[uint32]bool{100: false})
	s.leaves.setPresent(leaf, false)
	s.SetPorts(leaf, map[uint32]bool{100: true})
	s.leaves.setPresent(leaf, true)
	held := func() (out [2]bool) {
		p, _ := s.Host("h1").Port(1)
		return [2]bool{p.Held, s.leaves.states[leaf].held()}
	}
	for _, c := range []struct {
		at   time.Duration
		want bool
	}{{1250 * time.Millisecond, true}, {2240 * time.Millisecond, true},
		{2260 * time.Millisecond, true},
		{2299 * time.Millisecond, true}, {2300 * time.Millisecond, false}} {
		if s.Tick(c.at); held() != [2]bool{c.want, c.want} {
			t.Errorf("%v: port and leaf are held: %v, want %v", c.at, held(), c.want)
		}
	}
	if want := 2400 * time.Millisecond; s.restoreAt != want {
		t.Errorf("the next time to restore is %v, want %v", s.restoreAt, want)
	}
}

// TestChangesTakenOnce: each change is taken once.
func TestChangesTakenOnce(t *testing.T) {
	leaf := planeNode("leaf", 1, 1)
	for name, change := range map[string]func(s *State, d *drains){
		"a link":            func(s *State, _ *drains) { s.Links().Deny(0, "of the test") },
		"a leaf":            func(s *State, _ *drains) { s.NodeDrained(leaf) },
		"planes":            func(s *State, _ *drains) { s.PlaneDrained() },
		"a port of a leaf":  func(s *State, _ *drains) { s.SetPorts(leaf, map[uint32]bool{100: false}) },
		"a port, drained":   func(s *State, d *drains) { d.port = 1; s.PortDrained("h1", 1) },
		"a host that is up": func(s *State, _ *drains) { _ = s.PortStatus("h1", hostapi.Ports(2)) },
		"a host that goes":  func(s *State, _ *drains) { _ = s.RemoveHost("h1") },
	} {
		d := &drains{}
		s, _ := hostPair(t, d, twoPlanes())
		if c := s.Take(); c.Any() {
			t.Fatalf("there are changes before %s: %+v", name, c)
		}
		change(s, d)
		if c := s.Take(); !c.Any() {
			t.Errorf("%s: no changes", name)
		}
		if c := s.Take(); c.Any() {
			t.Errorf("%s: the changes are taken again: %+v", name, c)
		}
	}
}

// TestHostsAndRacks: hosts with one attachment form one rack. A host that moves, changes its name
// or address, or goes leaves no trace of its former state. A host that lacks a port is in Peers
// while it is attached.
func TestHostsAndRacks(t *testing.T) {
	s, _ := hostPair(t, &drains{}, twoPlanes())
	leaf := planeNode("leaf", 1, 1)
	h := s.Host("h1").Host
	if c := s.Take(); c.Any() || len(s.Racks()) != 2 {
		t.Fatalf("%d racks, changes %+v", len(s.Racks()), c)
	}
	second := h
	second.Name, second.Address = "h0", netip.MustParseAddr("2001:db8::10")
	second.Prefixes = []netip.Prefix{netip.MustParsePrefix("2001:db8::/64"),
		netip.MustParsePrefix("2001:db8::/48"), netip.MustParsePrefix("2001:db8::1/128")}
	at, err := s.PutHost(second)
	if err != nil || at.Rack() != s.Host("h1").Rack() || s.HostCount() != 3 ||
		s.HostAt(second.Address) != at {
		t.Fatalf("%v; %d hosts", err, s.HostCount())
	}
	c := s.Take()
	want := []netip.Prefix{netip.MustParsePrefix("2001:db8::/48"),
		netip.MustParsePrefix("2001:db8::/64"), netip.MustParsePrefix("2001:db8::1/128"),
		netip.MustParsePrefix("2001:db8::10/128")}
	if r := at.Rack(); !c.Racks || c.Peers || !slices.Equal(c.Stale, []*Rack{r}) ||
		!slices.Equal(r.Destinations(), want) || r.Hosts()[0] != at {
		t.Errorf("changes %+v, destinations %v, first %s", c, r.Destinations(), r.Hosts()[0].Name)
	}

	// It moves, has another address and no prefixes.
	second.Address, second.Prefixes = netip.MustParseAddr("2001:db8::11"), nil
	second.At = ev.Attachment{"", planeNode("leaf", 2, 2)}
	again, err := s.PutHost(second)
	old := netip.MustParseAddr("2001:db8::10")
	if c = s.Take(); err != nil || again != at || s.HostAt(old) != nil ||
		s.HostCount() != 3 || len(c.Stale) != 2 || len(s.Racks()) != 3 || len(at.Rack().Hosts()) != 1 {
		t.Errorf("%v: changes %+v, %d hosts, %d racks", err, c, s.HostCount(), len(s.Racks()))
	}
	if _, ok := at.Port(1); ok || at.Rack().Leaf(2) != planeNode("leaf", 2, 2) {
		t.Error("it is attached where it was")
	}
	names := slices.Collect(func(yield func(string) bool) {
		for _, r := range s.Racks() {
			if !yield(r.Name()) {
				return
			}
		}
	})
	if !slices.IsSorted(names) || len(slices.Compact(names)) != 3 {
		t.Errorf("racks %v, want three names in order", names)
	}

	// h1 lacks a port, and goes.
	s.SetPorts(leaf, map[uint32]bool{100: false})
	c = s.Take()
	if !c.Peers || !maps.Equal(c.Hosts, map[string]bool{"h1": true}) ||
		!slices.Equal(s.Peers(), []hostapi.PeerPorts{{Peer: h.Address, Ports: hostapi.Ports(2)}}) {
		t.Errorf("changes %+v, peers %v", c, s.Peers())
	}
	if err := s.RemoveHost("h1"); err != nil {
		t.Fatal(err)
	}
	if c = s.Take(); !c.Peers || len(s.Peers()) != 0 || !c.Racks || len(s.Racks()) != 2 ||
		s.HostAt(h.Address) != nil || s.Host("h1") != nil || len(s.hosts.racksAt[leaf]) != 0 {
		t.Errorf("changes %+v, peers %v, %d racks", c, s.Peers(), len(s.Racks()))
	}
	s.SetPorts(leaf, map[uint32]bool{100: true}) // behind which no host is any more
	if err := s.RemoveHost("h1"); !errors.Is(err, ErrUnknownHost) {
		t.Errorf("a host that is gone: %v", err)
	}
}

// TestHostsThatCannotBe: a host with the address of another is refused, and changes nothing.
func TestHostsThatCannotBe(t *testing.T) {
	s, _ := hostPair(t, &drains{}, twoPlanes())
	h := s.Host("h1").Host
	for _, c := range []struct{ name, address string }{{"h3", "2001:db8::1"}, {"h1", "2001:db8::2"}} {
		h.Name, h.Address = c.name, netip.MustParseAddr(c.address)
		if _, err := s.PutHost(h); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s at the address of another: %v", c.name, err)
		}
	}
	if c := s.Take(); c.Any() || s.HostCount() != 2 || s.Host("h1").Address.String() != "2001:db8::1" {
		t.Errorf("changes %+v, %d hosts", c, s.HostCount())
	}
}

// TestHostAtANewLeaf: the fabric is made anew for a host at a switch that was no leaf, unless paths
// climb from it to others.
func TestHostAtANewLeaf(t *testing.T) {
	for _, c := range []struct {
		at   topology.NodeID
		anew bool
	}{{planeNode("leaf", 1, 2), false}, {planeNode("spine", 1, 1), true}, {"nowhere", false}} {
		s, _ := hostPair(t, &drains{}, twoPlanes())
		before := s.Fabric()
		if _, err := s.PutHost(Host{Name: "h3", Address: netip.MustParseAddr("2001:db8::3"),
			At: ev.Attachment{c.at}}); err != nil {
			t.Fatal(err)
		}
		if anew := s.remade; anew != c.anew {
			t.Errorf("%s: the fabric is to be made anew: %v, want %v", c.at, anew, c.anew)
		}
		if s.Settle(); s.remade || s.Failure() == nil && (s.Fabric() != before) != c.anew {
			t.Errorf("%s: %v, made anew %v", c.at, s.Failure(), s.Fabric() != before)
		}
	}
}

// TestPortStatus: a host's report counts for existing ports alone; there is no port 0.
func TestPortStatus(t *testing.T) {
	s, _ := hostPair(t, &drains{}, twoPlanes())
	h := s.Host("h1")
	if h.Reports() || h.Usable() != hostapi.Ports(1, 2) {
		t.Errorf("a host that has not said so has the ports %#x", h.Usable())
	}
	if err := s.PortStatus("nobody", 2); !errors.Is(err, ErrUnknownHost) {
		t.Errorf("an unknown host: %v", err)
	}
	for _, up := range []hostapi.PortMask{1, 3} {
		if err := s.PortStatus("h1", up); !errors.Is(err, ErrMalformed) || h.Reports() {
			t.Errorf("ports %#x are up: %v", up, err)
		}
	}
	if err := s.PortStatus("h1", hostapi.Ports(1, 7)); err != nil || !h.Reports() ||
		h.Usable() != hostapi.Ports(1) || h.Denied() != 0 {
		t.Errorf("%v: usable %#x, denied %#x", err, h.Usable(), h.Denied())
	}
	for n, want := range []api.HostPortStatus{{}, {Leaf: planeNode("leaf", 1, 1), LeafPort: 100,
		Usable: true}, {Leaf: planeNode("leaf", 2, 1), LeafPort: 100, HostDown: true, Held: true}, {}} {
		got, ok := h.Port(uint8(n))
		if ok != (n == 1 || n == 2) || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("port %d: %+v, %v; want %+v", n, got, ok, want)
		}
	}
}

// TestPortsOfLinks: LinkPorts gives the reported states of a link's ports, by the port numbers that
// the switches report or else advertise.
func TestPortsOfLinks(t *testing.T) {
	net := smallNetwork()
	for _, l := range net.Build().Links {
		m := *l
		m.LocalPort, m.RemotePort = 10+l.LocalID, 10+l.RemoteID
		net.SetLink(m)
	}
	cfg := defaults()
	s := New(&cfg, Outside{Drains: &drains{}})
	l := net.Build().LinksFrom(leaf1)[0]
	state := func(want ...string) {
		t.Helper()
		if from, to := s.LinkPorts(l); from != want[0] || to != want[1] {
			t.Errorf("%q, %q; want %q", from, to, want)
		}
	}
	state("", "")
	s.SetPorts(l.Local, map[uint32]bool{11: true, 21: false})
	s.SetPorts(l.Remote, map[uint32]bool{11: false})
	state("up", "down")
	s.SetPortNumbers(l.Local, map[uint32]uint32{l.LocalID: 21})
	state("down", "down")
	s.SetPortNumbers(l.Local, nil)
	s.SetPorts(l.Remote, nil)
	state("up", "")
	if s.SetPorts(l.Local, nil); s.ports.known() {
		t.Error("ports are known though no switch says anything of one")
	}
}
