package fabric

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/topology"
)

// TestSame: two hosts differ if any property of their attachment, reachability or name differs.
func TestSame(t *testing.T) {
	one := func() Host {
		return Host{Name: "h", Address: netip.MustParseAddr("2001:db8::1"), Rack: "r",
			Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")},
			At:       ev.Attachment{leaf1, leaf2}, LeafPorts: []uint32{7, 8}}
	}
	a, b := one(), one()
	if !a.Same(&b) {
		t.Error("a host is not the same as itself")
	}
	for i, change := range []func(*Host){
		func(h *Host) { h.Address = netip.MustParseAddr("2001:db8::2") },
		func(h *Host) { h.Rack = "s" },
		func(h *Host) { h.Prefixes = nil },
		func(h *Host) { h.At[1] = "leaf3" },
		func(h *Host) { h.LeafPorts[1] = 9 },
	} {
		b := one()
		if change(&b); a.Same(&b) {
			t.Errorf("change %d: %+v is the same", i, b)
		}
	}
}

// TestRackName has racks called by letters, digits, dots, hyphens and underscores, each once.
func TestRackName(t *testing.T) {
	b := topology.NewBuilder()
	b.SetNode(topology.Node{ID: leaf1, Name: "T0 a/b"})
	nodes := b.Build()
	s := &hostSet{}
	for _, c := range []struct {
		rack string
		at   ev.Attachment
		want string
	}{
		{"azAZ09._-", nil, "azAZ09._-"},
		{"`{@[/:", nil, "______"}, // what is beside each range
		{"", ev.Attachment{"", leaf1}, "T0_a_b"},
		{"", ev.Attachment{"", leaf2}, "leaf2"},
		{"", nil, "leaf"},
		{"named", ev.Attachment{leaf1}, "named"},
		{strings.Repeat("r", 101), nil, strings.Repeat("r", 100)},
	} {
		h := &Attached{Host: Host{Rack: c.rack, At: c.at}}
		if got := s.rackName(h, nodes); got != c.want {
			t.Errorf("rack %q at %v: %q, want %q", c.rack, c.at, got, c.want)
		}
	}
	s.racks = make(map[string]*Rack)
	for i, want := range []string{"r", "r.2", "r.3", "r.4"} {
		got := s.rackName(&Attached{Host: Host{Rack: "r"}}, nodes)
		if got != want {
			t.Errorf("rack %d of a name is called %q, want %q", i, got, want)
		}
		s.racks[want] = &Rack{name: want}
	}
}

// TestHostsOf has hosts in the order of their names, those without a known leaf left out.
func TestHostsOf(t *testing.T) {
	inv := &inventory.Inventory{Hosts: []inventory.Host{{Name: "b", Switch: "S", Port: 3},
		{Name: "c", Switch: "gone", Port: 1}, {Name: "a", Switch: "S", Port: 4,
			Planes: []inventory.Attachment{{Switch: "gone", Port: 5}}}}}
	got := HostsOf(inv, map[string]*topology.Node{"S": {ID: leaf1}})
	if len(got) != 2 || got[0].Name != "a" || got[1].Name != "b" {
		t.Fatalf("%+v", got)
	}
	if !slices.Equal(got[0].At, ev.Attachment{leaf1, ""}) ||
		!slices.Equal(got[0].LeafPorts, []uint32{4, 5}) || got[1].Rack != "S" {
		t.Errorf("%+v", got)
	}

	// IPv4 is of MRC in mode ecmp alone.
	inv.Hosts = []inventory.Host{{Name: "a", Switch: "S", Address: netip.MustParseAddr("2001:db8::1"),
		Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
		{Name: "b", Switch: "S", Address: netip.MustParseAddr("192.0.2.1")}}
	for mode, want := range map[string]int{"stev": 0, "usid-f3216": 0, "": 0, "ecmp": 1} {
		inv.MRC.Mode = mode
		got := HostsOf(inv, map[string]*topology.Node{"S": {ID: leaf1}})
		if len(got) != 1+want || len(got[0].Prefixes) != want {
			t.Errorf("mode %q: %+v", mode, got)
		}
	}
}

// TestFewerPorts has of each peer the ports that both lists leave.
func TestFewerPorts(t *testing.T) {
	of := func(n byte, ports hostapi.PortMask) hostapi.PeerPorts {
		return hostapi.PeerPorts{Peer: netip.AddrFrom4([4]byte{10, 0, 0, n}), Ports: ports}
	}
	a := []hostapi.PeerPorts{of(1, 2), of(2, 6), of(4, 2)}
	b := []hostapi.PeerPorts{of(2, 4), of(3, 2), of(4, 4)}
	want := []hostapi.PeerPorts{of(1, 2), of(2, 4), of(3, 2), of(4, 0)}
	if got := fewerPorts(a, b); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := fewerPorts(b, a); !slices.Equal(got, want) {
		t.Errorf("the other way round: %v, want %v", got, want)
	}
	for n := range a { // where one list ends before the other
		for _, lists := range [][2][]hostapi.PeerPorts{{a[:n], b}, {a, b[:n]}} {
			peers := make(map[netip.Addr]bool)
			for _, p := range slices.Concat(lists[0], lists[1]) {
				peers[p.Peer] = true
			}
			if got := fewerPorts(lists[0], lists[1]); len(got) != len(peers) {
				t.Errorf("%v: %v, want %d peers", lists, got, len(peers))
			}
		}
	}
}

// TestHasNode: after a change of any node property used in EVs, the fabric does not have the node.
func TestHasNode(t *testing.T) {
	node := func() topology.Node {
		return topology.Node{ID: leaf1, Name: "n", Loopback: netip.MustParseAddr("2001:db8::1")}
	}
	b := topology.NewBuilder()
	b.SetNode(node())
	f := &Fabric{snap: b.Build()}
	for i, c := range []struct {
		change func(*topology.Node)
		want   bool
	}{
		{func(*topology.Node) {}, true},
		{func(n *topology.Node) { n.Name = "other" }, true},
		{func(n *topology.Node) { n.ID = leaf2 }, false},
		{func(n *topology.Node) { n.Loopback = netip.MustParseAddr("2001:db8::2") }, false},
		{func(n *topology.Node) { n.Pseudonode = true }, false},
		{func(n *topology.Node) { n.Locators = make([]topology.Locator, 1) }, false},
		{func(n *topology.Node) { n.SIDs = make([]topology.SID, 1) }, false},
	} {
		n := node()
		if c.change(&n); f.hasNode(&n) != c.want {
			t.Errorf("change %d: the fabric has the node: %v", i, !c.want)
		}
	}
}

// TestPathSetOfPorts: PathSet returns paths only for ports that both attachments have.
func TestPathSetOfPorts(t *testing.T) {
	cfg := defaults()
	f, err := newFabric(smallNetwork().Build(), []topology.NodeID{leaf1, leaf2}, &cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	from, to := ev.Attachment{leaf1, leaf1, "", leaf1}, ev.Attachment{leaf2, leaf2, leaf2}
	for port, want := range []bool{false, true, true, false, false, false} {
		_, there := f.PathSet(from, to, uint8(port))
		if _, back := f.PathSet(to, from, uint8(port)); there != want || back != want {
			t.Errorf("port %d has paths: %v, %v, want %v", port, there, back, want)
		}
	}
	net := topology.NewBuilder()
	for _, id := range []topology.NodeID{leaf1, leaf2, spine1} {
		net.SetNode(topology.Node{ID: id})
	}
	net.SetLink(topology.Link{Local: leaf1, Remote: spine1, LocalID: 1, RemoteID: 1})
	net.SetLink(topology.Link{Local: spine1, Remote: leaf1, LocalID: 1, RemoteID: 1})
	if f, err = newFabric(net.Build(), []topology.NodeID{leaf1, leaf2}, &cfg, nil); err != nil {
		t.Fatal(err)
	}
	if _, ok := f.PathSet(from, to, 1); ok {
		t.Error("there are paths to a leaf that nothing is connected to")
	}
}

// TestLeafOfPort: a rack has a leaf behind the ports of its hosts, from 1 on.
func TestLeafOfPort(t *testing.T) {
	r := &Rack{at: ev.Attachment{leaf1, "", leaf2}}
	for port, want := range []topology.NodeID{"", leaf1, "", leaf2, "", ""} {
		if got := r.Leaf(uint8(port)); got != want {
			t.Errorf("port %d is at %q, want %q", port, got, want)
		}
	}
}

// TestHostIsItsOwn: what a host was put with may be changed afterwards.
func TestHostIsItsOwn(t *testing.T) {
	s, _ := hostPair(t, &drains{}, twoPlanes())
	h := Host{Name: "h3", Address: netip.MustParseAddr("2001:db8::3"),
		At: ev.Attachment{planeNode("leaf", 1, 1)}, LeafPorts: []uint32{7},
		Prefixes: []netip.Prefix{netip.MustParsePrefix("2001:db8:3::/48")}}
	at, err := s.PutHost(h)
	if err != nil {
		t.Fatal(err)
	}
	h.At[0], h.LeafPorts[0], h.Prefixes[0] = "other", 8, netip.Prefix{}
	if at.At[0] == "other" || at.LeafPorts[0] == 8 || !at.Prefixes[0].IsValid() {
		t.Errorf("%+v is what was changed since", at.Host)
	}
}

// TestPortThatComesBackIsHeld: a port that comes back is held, longer each time, even if the State
// looked at further ports of its host while the port was down.
func TestPortThatComesBackIsHeld(t *testing.T) {
	cfg := defaults().Restore
	var ps hostPorts
	ps.attach(ev.Attachment{"a", "b"})
	down := make(map[int]bool)
	now := time.Second
	look := func(change func()) (usable hostapi.PortMask, waits bool) {
		change()
		_, usable, waits = ps.look(now, &cfg, func(i int) bool { return down[i] })
		return usable, waits
	}
	for _, hold := range []time.Duration{1, 2, 4} {
		hold *= cfg.Hold.D()
		for range 2 { // once more while it is down
			if usable, waits := look(func() { down[1] = true }); usable != hostapi.Ports(2) || waits {
				t.Errorf("down: usable %#x, waits %v", usable, waits)
			}
		}
		now += time.Minute / 4
		if ps.release(now) {
			t.Error("a port that is down waits for a time")
		}
		usable, waits := look(func() { down[1] = false })
		if again := now + hold; usable != hostapi.Ports(2) || !waits || ps.list[1].until != again {
			t.Errorf("back: usable %#x, waits %v, until %v; want %v", usable, waits, ps.list[1].until, again)
		}
		if _, waits := look(func() {}); waits {
			t.Error("nothing has changed, and the host is to be waited for again")
		}
		now += hold - 1
		if !ps.release(now) {
			t.Error("the hold is over too early")
		}
		now++
		if ps.release(now) {
			t.Error("the hold is not over")
		}
		if usable, _ := look(func() {}); usable != hostapi.Ports(1, 2) {
			t.Errorf("usable %#x after the hold", usable)
		}
	}
}

// TestHeldHosts: the State looks at a host until its last port is restored, or until the host is
// gone.
func TestHeldHosts(t *testing.T) {
	s, _ := hostPair(t, &drains{}, twoPlanes())
	set := s.hosts
	for plane := 1; plane <= 2; plane++ {
		leaf := planeNode("leaf", plane, 1)
		s.Tick(time.Second + time.Duration(plane)*300*time.Millisecond)
		s.SetPorts(leaf, map[uint32]bool{100: false})
		s.SetPorts(leaf, map[uint32]bool{100: true})
	}
	for _, c := range []struct {
		at   time.Duration
		held int
		want hostapi.PortMask
	}{{2299 * time.Millisecond, 1, 0}, {2300 * time.Millisecond, 1, hostapi.Ports(1)},
		{2599 * time.Millisecond, 1, hostapi.Ports(1)},
		{2600 * time.Millisecond, 0, hostapi.Ports(1, 2)}} {
		s.Tick(c.at)
		if len(set.held) != c.held || s.Host("h1").Usable() != c.want {
			t.Errorf("%v: %v are held, usable %#x; want %d, %#x", c.at, set.held, s.Host("h1").Usable(),
				c.held, c.want)
		}
	}
	leaf := planeNode("leaf", 1, 1)
	s.SetPorts(leaf, map[uint32]bool{100: false})
	s.SetPorts(leaf, map[uint32]bool{100: true})
	if err := s.RemoveHost("h1"); err != nil {
		t.Fatal(err)
	}
	if s.Tick(2700 * time.Millisecond); len(set.held) != 0 {
		t.Errorf("%v are held and gone", set.held)
	}
}

// TestDrainedPorts: a port remains drained while a drain covers it, even if its host is put again.
// A drain of an unknown port has no effect.
func TestDrainedPorts(t *testing.T) {
	d := &drains{port: 2}
	s, _ := hostPair(t, d, twoPlanes())
	h := s.Host("h1")
	if h.Usable() != hostapi.Ports(1) || h.Denied() != hostapi.Ports(2) ||
		s.Host("h2").Usable() != hostapi.Ports(1, 2) {
		t.Errorf("port 2 is drained, and usable are %#x, of the other host %#x", h.Usable(),
			s.Host("h2").Usable())
	}
	d.port = 0
	for _, n := range []uint8{3, 2} {
		if s.PortDrained("h1", n); (h.Usable() == hostapi.Ports(1, 2)) != (n == 2) {
			t.Errorf("port %d is not drained any more, and usable are %#x", n, h.Usable())
		}
	}
	s.PortDrained("nobody", 1)
}
