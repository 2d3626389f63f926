package fabric

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// TestSame has a host be another once anything of how it is attached, reached or called differs.
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
	} {
		h := &Attached{Host: Host{Rack: c.rack, At: c.at}}
		if got := s.rackName(h, nodes); got != c.want {
			t.Errorf("rack %q at %v: %q, want %q", c.rack, c.at, got, c.want)
		}
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
}

// TestHasNode has a fabric be another once anything of a node differs that its EVs are made of.
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

// TestPathSetOfPorts has paths from ports that both attachments have, and no others.
func TestPathSetOfPorts(t *testing.T) {
	cfg := defaults()
	f, err := newFabric(smallNetwork().Build(), []topology.NodeID{leaf1, leaf2}, &cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	from, to := ev.Attachment{leaf1, leaf1, "", leaf1}, ev.Attachment{leaf2, leaf2, leaf2}
	for port, want := range []bool{false, true, true, false, false, false} {
		if _, ok := f.PathSet(from, to, uint8(port)); ok != want {
			t.Errorf("port %d has paths: %v, want %v", port, ok, want)
		}
	}
}
