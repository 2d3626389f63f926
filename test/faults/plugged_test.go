package faults

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/neighbor"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// street is Figure 1 with hosts that know nothing of it: S1 and R4 are in the configuration without
// a MAC; R1, R2 and R3 have static addresses from one prefix, at two ports on N1 and one on N2, and
// appear in no configuration.
type street struct {
	*testing.T
	world   *lab.World
	control *lab.Control
	hosts   map[string]*linux
	events  []api.Event
	updates int // that controllers have written
}

var common = netip.MustParsePrefix("2001:db8:7::/64")

func newStreet(t *testing.T) *street {
	t.Helper()
	network := lab.Figure1()
	for i := range network.Hosts {
		if h := &network.Hosts[i]; slices.Contains([]string{"R1", "R2", "R3"}, h.Name) {
			h.Address = netip.MustParseAddr("2001:db8:7::1" + h.Name[1:])
		}
	}
	s := &street{T: t, hosts: make(map[string]*linux)}
	var err error
	if s.world, err = lab.NewWorld(network, lab.Options{Seed: 1}); err != nil {
		t.Fatal(err)
	}
	if s.control, err = lab.NewControl(s.world, lab.DefaultLatencies()); err != nil {
		t.Fatal(err)
	}
	s.control.Events = func(e api.Event) { s.events = append(s.events, e) }
	s.control.Log = func(format string, args ...any) {
		if strings.Contains(format, "updates") {
			s.updates += args[2].(int)
		}
	}
	s.control.Configure = func(inv *inventory.Inventory) {
		inv.Neighbors.Protocol, inv.Neighbors.MTU = inventory.NeighborsND, 9000
		inv.Hosts = slices.DeleteFunc(inv.Hosts, func(h inventory.Host) bool {
			if !common.Contains(h.Address) {
				return false
			}
			sw := inv.Switch(h.Switch)
			sw.Subnets = append(sw.Subnets, inventory.Subnet{Port: h.Port, Prefix: common, Learn: true})
			return true
		})
		for i := range inv.Hosts {
			inv.Hosts[i].MAC = inventory.MAC{}
		}
	}
	for i, h := range network.Hosts {
		x, err := newLinux(s.world, h.Name, uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		if common.Contains(x.address) {
			x.onLink = common
		}
		s.hosts[h.Name] = x
	}
	if err := s.control.Start(); err != nil {
		t.Fatal(err)
	}
	s.run(time.Second)
	return s
}

func (s *street) run(d time.Duration) {
	s.world.Run(s.world.Now()+d, nil)
	if err := s.control.Err(); err != nil {
		s.Fatal(err)
	}
}

// counted returns the switches' count of an event of neighbor discovery.
func (s *street) counted(event p4.NdEvent) (n uint64) {
	for _, x := range s.world.Network.Switches {
		sw, err := s.world.Switch(x.Name)
		if err != nil {
			s.Fatal(err)
		}
		n += sw.Counted(p4.CounterNdEvents, int64(event))
	}
	return n
}

// TestAlone: hosts that were found reach each other without any controller, for two minutes, in
// which they ask for their neighbors again and again and forget what they knew. The controller that
// comes then has nothing to write.
func TestAlone(t *testing.T) {
	const alone = 2 * time.Minute
	s := newStreet(t)
	all := []string{"S1", "R1", "R2", "R3", "R4"}
	for _, name := range all {
		s.hosts[name].up()
	}
	s.run(2 * time.Second)
	if err := s.control.Err(); err != nil {
		t.Fatal(err)
	}
	s.control.Stop()
	begin := s.world.Now()
	answered := make(map[p4.NdEvent]uint64)
	for _, e := range []p4.NdEvent{p4.NdEventGateway, p4.NdEventNeighbor} {
		answered[e] = s.counted(e)
	}
	for _, from := range all {
		for _, to := range all {
			if from != to {
				s.hosts[from].ping(s.hosts[to].address, begin+alone)
			}
		}
	}
	for at := 20 * time.Second; at < alone; at += 35 * time.Second {
		s.world.At(begin+at, func() {
			for _, h := range s.hosts {
				h.forget()
			}
		})
	}
	s.run(alone + 2*pingLimit)
	for _, name := range all {
		h := s.hosts[name]
		want := len(all) - 1
		if n := h.late(); n != 0 || h.lost != 0 || h.sent != uint32(want)*uint32(alone/pingEvery) {
			t.Errorf("%s: of %d pings %d have no reply, and %d packets had no neighbor", name, h.sent, n,
				h.lost)
		}
		if h.asked < 4 {
			t.Errorf("%s has asked %d times for its neighbors", name, h.asked)
		}
	}
	for e, before := range answered {
		if n := s.counted(e) - before; n < 10 {
			t.Errorf("switches have answered %d times, of event %v", n, e)
		}
	}

	s.updates, s.events = 0, nil
	if err := s.control.Start(); err != nil {
		t.Fatal(err)
	}
	s.run(10 * time.Second)
	var text []string
	for _, e := range s.events {
		text = append(text, e.String())
	}
	if s.updates != 0 {
		t.Errorf("the next controller writes %d updates: %s", s.updates, strings.Join(text, "\n"))
	}
}

// TestHostileNeighbor: R2, a host with its own address, claims addresses of other hosts, the
// gateway's address, a SID and 10,000 more, by every method, and sends from these addresses. The
// switch binds and forwards nothing and counts everything. Other hosts lose no ping meanwhile.
func TestHostileNeighbor(t *testing.T) {
	const port, gap = 3, 150 * time.Millisecond // below the rate of a port
	s := newStreet(t)
	others := []string{"S1", "R1", "R3", "R4"}
	for _, name := range append(others, "R2") {
		s.hosts[name].up()
	}
	s.run(2 * time.Second)
	n1, err := s.world.Switch("N1")
	if err != nil {
		t.Fatal(err)
	}
	n3, err := s.world.Advertise("N3")
	if err != nil {
		t.Fatal(err)
	}
	gateway, hostile := common.Addr().Next(), s.hosts["R2"]
	claims := []struct {
		address netip.Addr
		reason  string
	}{
		{gateway, "it is an address of the switch"},
		{packet.LinkLocal(n1.Switch.MAC), "it is an address of the switch"},
		{n3.Node.SIDs[0].Address, "it is in a prefix of SIDs"},
		{s.world.Network.Switches[3].Loopback, "the fabric uses it"},
		{s.hosts["S1"].address, "the configuration has it elsewhere"},
		{s.hosts["R4"].address, "the configuration has it elsewhere"},
		{s.hosts["R1"].address, "the host that has it answered"},
		{s.hosts["R3"].address, "the host that has it answered"},
		{netip.MustParseAddr("2001:db8:99::1"), "it is in no prefix of the port"},
	}
	hosts := func() string { return fmt.Sprint(s.control.Core().Inventory().Hosts) }
	before, first := hosts(), len(s.events)
	reported, defended := s.counted(p4.NdEventReported), s.counted(p4.NdEventDefended)
	for _, from := range others {
		for _, to := range others {
			if from != to {
				s.hosts[from].ping(s.hosts[to].address, s.world.Now()+20*time.Second)
			}
		}
	}

	said := uint64(0)
	for _, c := range claims {
		at := []packet.ND{
			{Type: packet.ICMPv6NeighborSolicitation, Target: c.address}, // it wants it
			{Type: packet.ICMPv6NeighborAdvertisement, Target: c.address, Override: true,
				TargetMAC: hostile.mac}, // it has it
			{Type: packet.ICMPv6NeighborSolicitation, Target: gateway, SourceMAC: hostile.mac},
		}
		for i, m := range at {
			src, dst := netip.IPv6Unspecified(), packet.SolicitedNode(m.Target)
			if i > 0 {
				src = c.address
			}
			if i == 1 {
				dst = packet.AllNodes
			}
			if i == 2 && src.IsLinkLocalUnicast() {
				continue // the switch answers any link-local address, to the MAC that asks
			}
			said++
			hostile.say(src, dst, packet.MAC{}, m)
			s.run(gap)
		}
		// The switch itself defends its addresses without a controller.
		if c.address == gateway || c.address.IsLinkLocalUnicast() {
			said--
			defended++
			last := hostile.heard[len(hostile.heard)-1]
			if last.ND.Target != c.address || !last.ND.Override || last.ND.Solicited ||
				last.IP.Dst != packet.AllNodes || last.ND.TargetMAC != n1.Switch.MAC {
				t.Errorf("%v is defended by %+v", c.address, last)
			}
		}
	}
	s.run(2 * time.Second)
	if got := s.counted(p4.NdEventDefended); got != defended {
		t.Errorf("%d claims of the gateway's addresses are answered, want %d", got, defended)
	}
	if got := s.counted(p4.NdEventReported) - reported; got < said || got > said+8 {
		t.Errorf("%d messages were handed over, want the %d claims and what hosts answer to questions",
			got, said)
	}
	var events []string
	for _, e := range s.events[first:] {
		events = append(events, fmt.Sprintf("%s %s", e.Type, e.Message))
	}
	reasons := make(map[string]bool)
	for _, c := range claims {
		want := fmt.Sprintf("%v at N1/%d is not bound: %s", hostile.mac, port, c.reason)
		reasons[c.reason] = true
		if !slices.Contains(events, string(api.EventHostRefused)+" "+want) {
			t.Errorf("no event %q in %q", want, events)
		}
	}
	if len(events) != len(reasons) {
		t.Errorf("%d events for %d reasons: %q", len(events), len(reasons), events)
	}

	// Data from others' addresses stays outside, each packet counted.
	outside := n1.Drops()[p4.DropReasonSourceGuard]
	own := hostile.address
	for _, c := range claims {
		hostile.address = c.address
		hostile.echo(packet.ICMPv6EchoRequest, 1, s.hosts["R4"].address)
		s.run(gap)
	}
	hostile.address = own
	if got := n1.Drops()[p4.DropReasonSourceGuard] - outside; got != uint64(len(claims)) {
		t.Errorf("%d packets from others' addresses were dropped, want %d", got, len(claims))
	}

	// 10,000 addresses, one a millisecond.
	const many = 10_000
	reported, rate := s.counted(p4.NdEventReported), n1.Drops()[p4.DropReasonNdRate]
	for n := range many {
		a := common.Addr().As16()
		a[12], a[14], a[15] = 1, byte(n>>8), byte(n)
		target := netip.AddrFrom16(a)
		hostile.say(netip.IPv6Unspecified(), packet.SolicitedNode(target), packet.MAC{},
			packet.ND{Type: packet.ICMPv6NeighborSolicitation, Target: target})
		s.run(time.Millisecond)
	}
	s.run(2 * time.Second)
	reported, rate = s.counted(p4.NdEventReported)-reported, n1.Drops()[p4.DropReasonNdRate]-rate
	if got := reported + rate; got < many || got > many+20 || reported > 10*20+24+20 {
		t.Errorf("of %d claims %d were handed over and %d dropped", many, reported, rate)
	}
	bound := 0
	for _, h := range s.control.Core().Inventory().Hosts {
		if h.Switch == "N1" && h.Port == port {
			bound++
		} else if !strings.Contains(before, fmt.Sprint(h)) {
			t.Errorf("%v was not there before: %s", h, before)
		}
	}
	if bound != neighbor.BindingsMax {
		t.Errorf("the port has %d addresses, want %d", bound, neighbor.BindingsMax)
	}
	s.run(10 * time.Second)
	for _, name := range others {
		if h := s.hosts[name]; h.late() != 0 || h.lost != 0 || h.sent != 3*80 {
			t.Errorf("%s: of %d pings %d have no reply, and %d packets had no neighbor", name, h.sent,
				h.late(), h.lost)
		}
	}
}
