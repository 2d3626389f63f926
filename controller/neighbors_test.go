package controller_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/entry"
)

// street is a network whose hosts are found: n1 has the learning ports 11 and 12, n3 the port 11 of
// the same prefix as n1's 12, and h1 of the configuration is at n1's port 101, without a MAC.
type street struct {
	*bed
	h1    netip.Addr
	flood bool // messages come at once
}

var (
	alone  = netip.MustParsePrefix("2001:db8:0:7::/64")
	shared = netip.MustParsePrefix("2001:db8:0:8::/64")
	guest  = packet.MAC{2, 0, 0, 0, 0xbb, 2}
	other  = packet.MAC{2, 0, 0, 0, 0xbb, 3}
	slaac  = netip.MustParseAddr("2001:db8:0:7:0:ff:fe00:bb02")
)

func newStreet(t *testing.T) *street { return newStreetWith(t) }

// newStreetWith has more subnets at n1.
func newStreetWith(t *testing.T, more ...inventory.Subnet) *street {
	return newStreetOf(t, sample.Figure1(), more...)
}

func newStreetOf(t *testing.T, net *sample.Net, more ...inventory.Subnet) *street {
	inv := &net.Inventory
	inv.Neighbors.Protocol, inv.Neighbors.MTU = inventory.NeighborsND, 4476
	n1, n3 := inv.Switch("n1"), inv.Switch("n3")
	n1.Subnets = []inventory.Subnet{{Port: 11, Prefix: alone, Learn: true},
		{Port: 12, Prefix: shared, Learn: true}}
	n1.Subnets = append(n1.Subnets, more...)
	n3.Subnets = []inventory.Subnet{{Port: 11, Prefix: shared, Learn: true}}
	h1 := inv.Hosts[slices.IndexFunc(inv.Hosts, func(h inventory.Host) bool {
		return h.Switch == "n1"
	})]
	inv.Host(h1.Address).MAC = inventory.MAC{}
	w := newBed(t, net, 1)
	w.cables = &cables{to: make(map[plug]plug), sent: make(map[plug][][]byte), bgp: net.Topology}
	w.cables.merge(w)
	w.connectAll()
	w.run(time.Second)
	return &street{bed: w, h1: h1.Address}
}

// says has a host at a port say something.
func (s *street) says(at plug, mac packet.MAC, src, dst netip.Addr, m packet.ND) {
	frame := packet.NDFrame{Ethernet: packet.Ethernet{Src: mac, Dst: packet.MulticastMAC(dst)},
		IP: packet.IPv6{Src: src, Dst: dst}, ND: m}.Append(nil)
	s.core.PacketIn(at.sw, entry.PacketIn{Reason: entry.Neighbor, IngressPort: uint16(at.port),
		Payload: frame})
	if !s.flood {
		s.run(20 * time.Millisecond)
	}
}

// detects has a host ask for duplicates of an address.
func (s *street) detects(at plug, mac packet.MAC, a netip.Addr) {
	s.says(at, mac, netip.IPv6Unspecified(), packet.SolicitedNode(a),
		packet.ND{Type: packet.ICMPv6NeighborSolicitation, Target: a})
}

func (s *street) advertises(at plug, mac packet.MAC, a netip.Addr) {
	s.says(at, mac, a, packet.AllNodes, packet.ND{Type: packet.ICMPv6NeighborAdvertisement, Target: a,
		Override: true, TargetMAC: mac})
}

// sent returns the last message that left by a port, and forgets all before.
func (s *street) sent(at plug, typ uint8) (last packet.NDFrame, n int) {
	for _, b := range s.cables.sent[at] {
		f, err := packet.ParseNDFrame(b)
		if err != nil {
			s.t.Fatalf("%v: %v", at, err)
		}
		if f.ND.Type == typ {
			last = f
			n++
		}
	}
	delete(s.cables.sent, at)
	return last, n
}

// admitted returns the ports of a switch that an address may send from.
func (s *street) admitted(sw string, a netip.Addr) (ports []string) {
	for _, e := range s.devices[sw].Entities {
		if t, ok := e.(entry.Table); ok && t.Name == p4.TableSourceGuard {
			m, _ := t.Field("src_addr")
			if x, ok := m.Value.Addr6(); ok && m.Bits == 128 && x == a {
				p, _ := t.Field("port")
				ports = append(ports, fmt.Sprint(p.Value))
			}
		}
	}
	slices.Sort(ports)
	return ports
}

func (s *street) wantAdmitted(what, sw string, a netip.Addr, ports ...uint32) {
	s.t.Helper()
	var want []string
	for _, p := range ports {
		want = append(want, fmt.Sprint(entry.Uint(uint64(p))))
	}
	if got := s.admitted(sw, a); !slices.Equal(got, want) {
		s.t.Errorf("%s: %v may send from %v of %s, want %v", what, a, got, sw, want)
	}
}

// TestARPLearning: the controller finds an IPv4 host by the ARP requests of the host, within the
// prefix of the port. The source guard admits the host, the switches route to the host, and the
// switch holds the entry for ARP answers.
func TestARPLearning(t *testing.T) {
	prefix := netip.MustParsePrefix("10.8.0.0/24")
	s := newStreetWith(t, inventory.Subnet{Port: 11, Prefix: prefix, Learn: true})
	at := plug{"n1", 11}
	gateway, a := netip.MustParseAddr("10.8.0.1"), netip.MustParseAddr("10.8.0.9")
	asks := func(from, target netip.Addr) {
		frame := packet.ARPFrame{Ethernet: packet.Ethernet{Src: guest, Dst: packet.BroadcastMAC},
			ARP: packet.ARP{Operation: packet.ARPRequest, SenderMAC: guest, Sender: from,
				Target: target}}.Append(nil)
		s.core.PacketIn(at.sw, entry.PacketIn{Reason: entry.Neighbor, IngressPort: uint16(at.port),
			Payload: frame})
		s.run(time.Second)
	}
	mapped := func(a netip.Addr) netip.Addr { return netip.AddrFrom16(a.As16()) }
	asks(a, gateway)
	s.wantAdmitted("an address of the prefix", "n1", mapped(a), 11)
	asks(netip.MustParseAddr("10.9.0.9"), gateway)
	s.wantAdmitted("of another prefix", "n1", mapped(netip.MustParseAddr("10.9.0.9")))
	asks(gateway, gateway)
	s.wantAdmitted("the gateway's", "n1", mapped(gateway))
	var target, route bool
	for _, e := range s.devices["n1"].Entities {
		x, ok := e.(entry.Table)
		if !ok {
			continue
		}
		if m, ok := x.Field("target"); ok && x.Name == p4.TableNdTarget {
			target = target || m.Value == entry.Addr(gateway)
		}
		if m, ok := x.Field("dst_addr"); ok && x.Name == p4.TableIpv6Route {
			route = route || m.Value == entry.Addr(a) && m.Bits == 128
		}
	}
	if !target || !route {
		t.Errorf("the gateway answers: %v, a route leads to the host: %v", target, route)
	}
}

// TestAdvertisement: what a host needs is in the advertisements, which come when the switch
// connects, when asked for, and periodically.
func TestAdvertisement(t *testing.T) {
	s := newStreet(t)
	at := plug{"n1", 11}
	mac := packet.MAC(s.net.Inventory.Switch("n1").MAC)
	ra, n := s.sent(at, packet.ICMPv6RouterAdvertisement)
	want := packet.ND{Type: packet.ICMPv6RouterAdvertisement, Checksum: ra.ND.Checksum, HopLimit: 64,
		Lifetime: 1800, SourceMAC: mac, MTU: 4300, Prefixes: []packet.NDPrefix{{Prefix: alone,
			Autonomous: true, Valid: 86400, Preferred: 14400}}}
	if n != 1 || fmt.Sprint(ra.ND) != fmt.Sprint(want) || ra.IP.Src != packet.LinkLocal(mac) ||
		ra.IP.Dst != packet.AllNodes || ra.Ethernet.Src != mac {
		t.Errorf("%d advertisements: %+v\nwant %+v", n, ra, want)
	}
	s.says(at, guest, packet.LinkLocal(guest), packet.AllRouters,
		packet.ND{Type: packet.ICMPv6RouterSolicitation, SourceMAC: guest})
	if _, n := s.sent(at, packet.ICMPv6RouterAdvertisement); n != 1 {
		t.Errorf("%d advertisements for a solicitation", n)
	}
	s.run(s.net.Inventory.Neighbors.Interval.D())
	if _, n := s.sent(at, packet.ICMPv6RouterAdvertisement); n != 1 {
		t.Errorf("%d advertisements in an interval", n)
	}
	// Nothing leaves towards other switches.
	for from := range s.cables.sent {
		if sw := s.net.Inventory.Switch(from.sw); !slices.ContainsFunc(sw.Subnets,
			func(x inventory.Subnet) bool { return x.Port == from.port }) && from.port < 100 {
			t.Errorf("sent out of %v", from)
		}
	}
}

// TestFound: an address that a host makes of the prefix is admitted at its port, and nowhere else,
// and has routes. A restart writes nothing.
func TestFound(t *testing.T) {
	s := newStreet(t)
	at := plug{"n1", 11}
	s.wantAdmitted("before", "n1", slaac)
	s.detects(at, guest, slaac)
	s.run(time.Second)
	s.wantAdmitted("found", "n1", slaac, 11)
	if s.core.Inventory().Host(slaac) == nil {
		t.Error("the inventory lacks it")
	}
	if got := s.eventsOf(api.EventHostBound); !slices.Equal(got,
		[]string{"host-2001-db8-0-7-0-ff-fe00-bb02"}) {
		t.Errorf("events of %v", got)
	}
	writes := 0
	for _, d := range s.devices {
		d.Writes = 0
	}
	s.reboot(false)
	s.connectAll()
	s.run(time.Second)
	for _, d := range s.devices {
		writes += d.Writes
	}
	if writes != 0 {
		t.Errorf("a restart wrote %d times", writes)
	}
	s.wantAdmitted("restarted", "n1", slaac, 11)
	if len(s.eventsOf(api.EventHostGone)) != 0 {
		t.Error("a restart lost it")
	}
}

// TestExpected: a host of the configuration without a MAC is asked for until it answers.
func TestExpected(t *testing.T) {
	s := newStreet(t)
	h := s.net.Inventory.Host(s.h1)
	at := plug{"n1", h.Port}
	s.run(10 * time.Second)
	ask, n := s.sent(at, packet.ICMPv6NeighborSolicitation)
	if n < 3 || n > 6 || ask.ND.Target != s.h1 || ask.IP.Dst != packet.SolicitedNode(s.h1) {
		t.Errorf("%d questions in 11 s: %+v", n, ask)
	}
	s.wantAdmitted("silent", "n1", s.h1)
	s.put("g", s.net.Spec(1, s.net.Inventory.Hosts[len(s.net.Inventory.Hosts)-1].Name, h.Name))
	s.run(time.Second)
	s.wantAdmitted("silent, in a group", "n1", s.h1)
	s.advertises(at, guest, s.h1)
	s.run(time.Second)
	s.wantAdmitted("found", "n1", s.h1, h.Port)
	spec := s.group("g").Spec
	s.delivers(&spec)
	s.sent(at, 0)
	s.run(time.Minute)
	if _, n := s.sent(at, packet.ICMPv6NeighborSolicitation); n != 0 {
		t.Errorf("asked for %d times more", n)
	}
	// At another port it is somebody else.
	s.detects(plug{"n1", 11}, other, s.h1)
	if na, n := s.sent(plug{"n1", 11}, packet.ICMPv6NeighborAdvertisement); n != 1 ||
		na.ND.Target != s.h1 || na.ND.Solicited || !na.ND.Override || na.IP.Dst != packet.AllNodes {
		t.Errorf("%d defenses: %+v", n, na)
	}
	s.run(time.Second)
	s.wantAdmitted("claimed elsewhere", "n1", s.h1, h.Port)
}

// TestOneAddressOverPlanes: a host of several planes has one address at a port in each plane, and
// the controller finds the host with the MAC of that port (OCP MRC 1.0 section 11.5). Neither port
// moves the binding of the other port, and a restart writes nothing.
func TestOneAddressOverPlanes(t *testing.T) {
	net := sample.Figure1()
	inv := &net.Inventory
	i := slices.IndexFunc(inv.Hosts, func(h inventory.Host) bool { return h.Switch == "n1" })
	inv.Hosts[i].Planes = []inventory.Attachment{{Switch: "n3", Port: 31}}
	a := inv.Hosts[i].Address
	first, second := plug{"n1", inv.Hosts[i].Port}, plug{"n3", 31}
	s := newStreetOf(t, net)
	neighbors := func(sw string) (macs []string) {
		for _, e := range s.devices[sw].Entities {
			x, ok := e.(entry.Table)
			if !ok || x.Name != p4.TableNeighbor {
				continue
			}
			for _, mac := range []packet.MAC{guest, other} {
				if x.Action.Arg("dst_addr") == entry.MAC(mac) {
					macs = append(macs, mac.String())
				}
			}
		}
		return macs
	}
	s.run(5 * time.Second)
	for _, at := range []plug{first, second} {
		if ask, n := s.sent(at, packet.ICMPv6NeighborSolicitation); n < 2 || ask.ND.Target != a {
			t.Errorf("%v was asked %d times: %+v", at, n, ask.ND)
		}
	}
	s.advertises(second, other, a)
	s.run(time.Second)
	s.wantAdmitted("without a first port", "n1", a)
	s.wantAdmitted("without a first port", "n3", a, second.port)
	s.advertises(first, guest, a)
	s.run(time.Second)
	found := func(what string) {
		t.Helper()
		s.wantAdmitted(what, "n1", a, first.port)
		s.wantAdmitted(what, "n3", a, second.port)
		if x, y := neighbors("n1"), neighbors("n3"); !slices.Equal(x, []string{guest.String()}) ||
			!slices.Equal(y, []string{other.String()}) {
			t.Errorf("%s: neighbors %v and %v", what, x, y)
		}
	}
	found("both found")
	s.run(2 * time.Minute)
	s.sent(first, 0)
	s.sent(second, 0)
	s.advertises(second, other, a)
	s.run(time.Second)
	found("said again")
	for _, at := range []plug{first, second} {
		if _, n := s.sent(at, packet.ICMPv6NeighborSolicitation); n != 0 {
			t.Errorf("%v is asked whether the host moved", at)
		}
	}
	for _, d := range s.devices {
		d.Writes = 0
	}
	s.reboot(false)
	s.connectAll()
	s.run(time.Second)
	for name, d := range s.devices {
		if d.Writes != 0 {
			t.Errorf("a restart wrote %d times to %s", d.Writes, name)
		}
	}
	found("restarted")
	// A claim at a port outside the host comes from another host.
	s.detects(plug{"n3", 11}, packet.MAC{2, 0, 0, 0, 0xbb, 9}, a)
	s.run(time.Second)
	found("claimed elsewhere")
	// The host loses a port that does not answer.
	s.run(6 * time.Minute)
	s.wantAdmitted("silent", "n3", a)
}

// TestMoves: when a host moves to another port, the controller first asks for the host at the old
// port, unless the old port is down.
func TestMoves(t *testing.T) {
	a := netip.MustParseAddr("2001:db8:0:8::5")
	old, fresh := plug{"n1", 12}, plug{"n3", 11}
	for _, c := range []struct {
		what    string
		down    bool
		answers bool
		moves   bool
	}{
		{"the old port is silent", false, false, true},
		{"the old port answers", false, true, false},
		{"the old port is down", true, false, true},
	} {
		s := newStreet(t)
		s.detects(old, guest, a)
		if _, n := s.sent(fresh, packet.ICMPv6NeighborSolicitation); n != 1 {
			t.Errorf("%s: the port of the same prefix was asked %d times", c.what, n)
		}
		s.run(time.Second)
		s.wantAdmitted(c.what+": bound", "n1", a, 12)
		if c.down {
			s.core.SetPorts("n1", controller.PortStates{Up: map[uint32]bool{12: false}})
		}
		s.sent(old, 0)
		s.detects(fresh, other, a)
		if _, n := s.sent(old, packet.ICMPv6NeighborSolicitation); (n == 1) == c.down {
			t.Errorf("%s: the old port was asked %d times", c.what, n)
		}
		if c.answers {
			s.advertises(old, guest, a)
			if _, n := s.sent(fresh, packet.ICMPv6NeighborAdvertisement); n != 1 {
				t.Errorf("%s: %d defenses", c.what, n)
			}
		}
		s.run(time.Second)
		if c.moves {
			s.wantAdmitted(c.what, "n1", a)
			s.wantAdmitted(c.what, "n3", a, 11)
		} else {
			s.wantAdmitted(c.what, "n1", a, 12)
			s.wantAdmitted(c.what, "n3", a)
		}
	}
}

// TestHostileHost: a host that claims foreign addresses binds nothing, and disturbs no other host.
func TestHostileHost(t *testing.T) {
	s := newStreet(t)
	at := plug{"n1", 11}
	victim := netip.MustParseAddr("2001:db8:0:8::5")
	s.detects(plug{"n1", 12}, guest, victim)
	s.run(time.Second)
	n1 := s.net.Inventory.Switch("n1")
	snap := s.core.Topology()
	locator, loopback := netip.Addr{}, netip.Addr{}
	for _, node := range snap.Nodes {
		if node.Name == "n3" {
			locator, loopback = node.Locators[0].Prefix.Addr().Next(), node.Loopback
		}
	}
	configured := s.net.Inventory.Hosts[len(s.net.Inventory.Hosts)-1].Address
	held := make(map[string]int)
	for name, d := range s.devices {
		held[name] = len(d.Entities)
	}
	for what, a := range map[string]netip.Addr{
		"the gateway": alone.Addr().Next(), "a SID": locator, "a loopback": loopback,
		"another's": victim, "a configured host's": configured,
		"another prefix": netip.MustParseAddr("2001:db8:ffff::1"),
	} {
		s.detects(at, other, a)
		s.advertises(at, other, a)
		s.run(time.Second)
		for sw := range s.devices {
			for _, p := range s.admitted(sw, a) {
				if sw == "n1" && p == fmt.Sprint(entry.Uint(11)) {
					t.Errorf("%s: %v is admitted", what, a)
				}
			}
		}
	}
	s.wantAdmitted("the victim", "n1", victim, 12)
	for name, d := range s.devices {
		if len(d.Entities) != held[name] {
			t.Errorf("%s holds %d entities, and held %d", name, len(d.Entities), held[name])
		}
	}
	// Another MAC than its own, and messages that have come far.
	s.says(at, other, slaac, packet.AllNodes, packet.ND{Type: packet.ICMPv6NeighborAdvertisement,
		Target: slaac, TargetMAC: packet.MAC(n1.MAC)})
	s.run(time.Second)
	s.wantAdmitted("a forged MAC", "n1", slaac)
	s.flood = true
	for n := range 10_000 {
		b := slaac.As16()
		b[13], b[14], b[15] = byte(n>>8), byte(n), 1
		s.detects(at, other, netip.AddrFrom16(b))
	}
	s.run(time.Second)
	bound := 0
	for _, h := range s.core.Inventory().Hosts {
		if h.Switch == "n1" && h.Port == 11 {
			bound++
		}
	}
	if bound != 8 {
		t.Errorf("%d addresses at a port", bound)
	}
	s.wantAdmitted("the victim", "n1", victim, 12)
	if n := len(s.eventsOf(api.EventHostRefused)); n < 5 || n > 20 {
		t.Errorf("%d events of refusals", n)
	}
}
