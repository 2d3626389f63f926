package connect

import (
	"net/netip"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/multicast/member"
	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/packet/cm"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Package multicast tests sessions with the trees of groups; here are sessions alone.

// group is the only group, with a constant tree.
type group struct {
	member.Tree
	spec  api.MulticastGroupSpec
	hosts member.Hosts
}

func (g *group) Renewed() []uint16                { return nil }
func (g *group) HostOf(string, netip.Addr) string { return "r" }
func (g *group) Group(uint16) (member.Group, bool) {
	return member.Group{Name: "g", Index: 5, Spec: &g.spec, Hosts: &g.hosts, Tree: g}, true
}
func (g *group) Now() (latest, installed *tree.Placement, settled bool) { return nil, nil, false }
func (g *group) Changed(bool)                                           {}

// newSession returns the session of a group, and the packets that switches are to send.
func newSession(t *testing.T) (s *session, net *sample.Net, out func() []reconcile.Task) {
	t.Helper()
	net = sample.Figure1()
	want, state, events, err := reconcile.New(reconcile.Config{Start: time.Unix(1e9, 0),
		Rank: plan.Rank, Owner: func(entry.Entity) reconcile.Owner { return 0 },
		Frozen:   func(string, reconcile.Owner) bool { return false },
		Keeps:    func(string, reconcile.Owner, entry.Entity) bool { return false },
		Object:   func(reconcile.Owner) string { return "" },
		Intended: func(reconcile.Owner) bool { return true }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for i := range net.Inventory.Switches {
		names[net.Inventory.Switches[i].Name] = true
	}
	events.SetSwitches(names, reconcile.Intervals{RetryMin: time.Hour, RetryMax: time.Hour})
	for name := range names {
		events.Connect(name, entry.Contents{})
	}
	g := &group{spec: api.MulticastGroupSpec{ProxyAddress: netip.MustParseAddr("2001:db8:ffff::1"),
		Connect: &api.GroupConnect{Port: 4242}}}
	f := New(&feature.Env{Start: time.Unix(1e9, 0), Want: want, Switches: state,
		Net: plan.NewNetwork(net.Topology.Build(), &net.Inventory)}, g)
	m, _ := g.Group(5)
	return f.begin(m), net, func() []reconcile.Task { return events.Tasks(0, 0) }
}

// TestLeft: the end of a connection removes the source, the receiver or the late receiver with this
// connection, and no other connection of the host. The tree changes for a source and for a
// receiver.
func TestLeft(t *testing.T) {
	a, other := sample.HostAddress(2), sample.HostAddress(4)
	for _, c := range []struct {
		id                    uint32
		of                    netip.Addr
		moved                 bool
		source                uint32
		receives, late, other bool
	}{
		{1, a, true, 0, true, true, true},
		{2, a, true, 1, false, true, true},
		{3, a, false, 1, true, false, true},
		{4, a, false, 1, true, true, true},
		{4, other, true, 1, true, true, false},
		{2, other, false, 1, true, true, true},
	} {
		s := &session{Group: member.Group{Hosts: &member.Hosts{Source: 1,
			Receivers: map[netip.Addr]member.Joined{a: {Conn: 2}, other: {Conn: 4}}}},
			late: map[netip.Addr]*lateJoin{a: {conn: 3}}}
		moved := s.left(&rdmacm.Conn{LocalID: c.id, Peer: c.of})
		_, receives := s.Receivers[a]
		_, others := s.Receivers[other]
		if moved != c.moved || s.Source != c.source || receives != c.receives || others != c.other ||
			(s.late[a] != nil) != c.late {
			t.Errorf("connection %d of %v: moved %v, source %d, receivers %v, late %v", c.id, c.of, moved,
				s.Source, s.Receivers, s.late)
		}
	}
	s := &session{Group: member.Group{Hosts: &member.Hosts{
		Receivers: map[netip.Addr]member.Joined{a: {Conn: 2}}}},
		late: map[netip.Addr]*lateJoin{a: {conn: 2}}} // it is in the tree, and not answered yet
	if !s.left(&rdmacm.Conn{LocalID: 2, Peer: a}) || len(s.late) != 0 || len(s.Receivers) != 0 {
		t.Errorf("late and in the tree: late %v, receivers %v", s.late, s.Receivers)
	}
}

// TestUnreachableHost: a message to a host that cannot be reached now is dropped: it is repeated.
func TestUnreachableHost(t *testing.T) {
	s, net, out := newSession(t)
	a := net.Address("r1")
	h := s.env.Net.Host(a)
	was, host := *h, *h.Host
	for what, fault := range map[string]func(){
		"a switch that is not in the inventory": func() { h.At = nil },
		"no port":                               func() { h.Ingress = nil },
		"no MAC":                                func() { h.MAC = [6]byte{} },
		"an address that no host has":           func() { a = s.Spec.ProxyAddress },
	} {
		s.send(rdmacm.Packet{To: a, MAD: cm.MAD{Message: cm.DREQ{}}})
		if n := len(out()); n != 1 {
			t.Errorf("%d messages to a host, want 1", n)
		}
		fault()
		s.send(rdmacm.Packet{To: a, MAD: cm.MAD{Message: cm.DREQ{}}})
		if n := len(out()); n != 0 {
			t.Errorf("%s: %d messages, want none", what, n)
		}
		*h, *h.Host, a = was, host, host.Address
	}
}

// TestFrames: messages to hosts come from the proxy address, at the port of the host, with a source
// port of the group and PSNs in order.
func TestFrames(t *testing.T) {
	s, net, out := newSession(t)
	h := s.env.Net.Host(net.Address("r1"))
	for i := range uint32(3) {
		if i == 2 {
			s.psn = packet.PSNMask
		}
		s.send(rdmacm.Packet{To: h.Address, MAD: cm.MAD{TID: 9, Message: cm.RTU{LocalID: 3}}})
		tasks := out()
		if len(tasks) != 1 || tasks[0].Switch != "n1" || len(tasks[0].Packets) != 1 {
			t.Fatalf("%+v", tasks)
		}
		out := tasks[0].Packets[0]
		f, _, err := cm.ParseFrame(out.Payload)
		psn := []uint32{0, 1, packet.PSNMask}[i]
		if err != nil || out.Op != entry.Send || uint32(out.Port) != h.Hop.Port || f.PSN != psn ||
			f.IPv6.Src != s.Spec.ProxyAddress || f.IPv6.Dst != h.Address || f.IPv6.HopLimit != 64 ||
			f.SrcPort != 0xC000|s.Index || f.SourceQPN != cm.GSI || f.PKey != packet.DefaultPKey ||
			f.Ethernet.Dst != packet.MAC(h.MAC) || f.Ethernet.Src != packet.MAC(h.At.MAC) ||
			f.MAD.TID != 9 || f.MAD.Message != (cm.RTU{LocalID: 3}) {
			t.Errorf("message %d: port %d, %+v, error %v", i, out.Port, f, err)
		}
	}
	if s.psn != 0 {
		t.Errorf("PSN %d after the last", s.psn)
	}
}

// TestNothingToAnswer: the controller answers neither an unknown nor an established connection.
func TestNothingToAnswer(t *testing.T) {
	s, net, out := newSession(t)
	s.cm.Load(s.now(), rdmacm.Conn{LocalID: 7, Peer: net.Address("r1"), State: rdmacm.Established})
	for _, id := range []uint32{7, 8} {
		s.accept(id)
		s.settle()
		if events, _ := s.env.Take(); len(events) != 0 || len(out()) != 0 {
			t.Errorf("connection %d has nothing to answer: events %v", id, events)
		}
	}
}

// TestTimeOfConnections: time 0 means none, so no connection begins at 0.
func TestTimeOfConnections(t *testing.T) {
	if f := New(&feature.Env{}, nil); f.now() <= 0 {
		t.Errorf("time %v at the start", f.now())
	}
}

// TestReconnects: applications must connect again when the agreed parameters change.
func TestReconnects(t *testing.T) {
	one := func() *api.MulticastGroupSpec {
		return &api.MulticastGroupSpec{ProxyAddress: netip.MustParseAddr("2001:db8::1"), DesignatedQPN: 7,
			InitialPSN: 9, Connect: &api.GroupConnect{Port: 4000, MTU: 1024, AtLeast: 1}}
	}
	for i, c := range []struct {
		change func(*api.MulticastGroupSpec)
		want   bool
	}{
		{func(*api.MulticastGroupSpec) {}, false},
		{func(s *api.MulticastGroupSpec) { s.Connect.AtLeast = 2 }, false},
		{func(s *api.MulticastGroupSpec) { s.Connect = nil }, true},
		{func(s *api.MulticastGroupSpec) { s.Connect.Port++ }, true},
		{func(s *api.MulticastGroupSpec) { s.Connect.MTU = 4096 }, true},
		{func(s *api.MulticastGroupSpec) { s.Connect.Source = api.SourceAny }, true},
		{func(s *api.MulticastGroupSpec) { s.ProxyAddress = s.ProxyAddress.Next() }, true},
		{func(s *api.MulticastGroupSpec) { s.DesignatedQPN++ }, true},
		{func(s *api.MulticastGroupSpec) { s.InitialPSN++ }, true},
	} {
		s := one()
		c.change(s)
		if got, back := reconnects(one(), s), reconnects(s, one()); got != c.want || back != c.want {
			t.Errorf("change %d: %v, and back %v; want %v", i, got, back, c.want)
		}
	}
}

// TestLateIsInTheTree: a late receiver is in a tree if the tree has the receiver's queue pair and
// start position.
func TestLateIsInTheTree(t *testing.T) {
	s, net, _ := newSession(t)
	a, other := net.Address("r3"), net.Address("r1")
	for id, qpn := range map[uint32]uint32{3: 60, 4: 70} {
		s.cm.Load(s.now(), rdmacm.Conn{LocalID: id, Peer: a, State: rdmacm.Established, PeerQPN: qpn})
	}
	has := &tree.Placement{Nodes: []tree.PlacedNode{{Branches: []tree.PlacedBranch{{
		Receiver: &tree.PlacedReceiver{Address: a, QPN: 60, StartPSN: 1000}}}}}}
	for what, c := range map[string]struct {
		tree   *tree.Placement
		joined member.Joined
		of     netip.Addr
		want   bool
	}{
		"as it is":                {has, member.Joined{Conn: 3, PSN: 1000}, a, true},
		"another begin":           {has, member.Joined{Conn: 3, PSN: 1001}, a, false},
		"no connection":           {has, member.Joined{Conn: 5, PSN: 1000}, a, false},
		"another's queue pair":    {has, member.Joined{Conn: 4, PSN: 1000}, a, false},
		"no tree that is in use":  {nil, member.Joined{Conn: 3, PSN: 1000}, a, false},
		"a tree without the host": {has, member.Joined{Conn: 3, PSN: 1000}, other, false},
	} {
		s.Receivers = map[netip.Addr]member.Joined{c.of: c.joined}
		if got := s.in(c.tree, c.of); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}
