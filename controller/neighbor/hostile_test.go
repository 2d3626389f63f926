package neighbor

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// street is the feature with its own rules on the network of the draft, whose hosts are r1 and r2
// at n1, r4 and r5 at n3. Ports learn that have more in their prefixes than hosts: in each case one
// rule alone is in the way.
type street struct {
	*testing.T
	*Feature
	events reconcile.Events
	inv    *inventory.Inventory
	snap   *topology.Snapshot
}

var (
	own    = At{"n1", 11} // 2001:db8:0:7::/64
	common = At{"n1", 12} // 2001:db8:0:8::/64, with across
	across = At{"n3", 11}
	sids   = At{"n1", 13} // fc00::/16, with all locators
	nodes  = At{"n1", 14} // 2001:db8::/64, with the loopbacks
	groups = At{"n1", 15} // 2001:db8:ffff::/64, with the proxy addresses
	listed = At{"n1", 16} // 2001:db8:1::/64, with the hosts of the configuration
	barren = At{"n1", 17} // a port of a prefix that does not learn

	proxy   = netip.MustParseAddr("2001:db8:ffff::2")
	hostile = packet.MAC{2, 0, 0, 0, 0xbb, 0x66}
	decent  = packet.MAC{2, 0, 0, 0, 0xbb, 1}
)

func newStreet(t *testing.T, change func(*inventory.Inventory)) *street {
	t.Helper()
	net := sample.Figure1()
	inv := &net.Inventory
	inv.Neighbors.Protocol = inventory.NeighborsND
	subnet := func(at At, prefix string, learn bool) {
		sw := inv.Switch(at.Switch)
		sw.Subnets = append(sw.Subnets, inventory.Subnet{Port: at.Port,
			Prefix: netip.MustParsePrefix(prefix), Learn: learn})
	}
	subnet(own, "2001:db8:0:7::/64", true)
	subnet(common, "2001:db8:0:8::/64", true)
	subnet(across, "2001:db8:0:8::/64", true)
	subnet(sids, "fc00::/16", true)
	subnet(nodes, "2001:db8::/64", true)
	subnet(groups, "2001:db8:ffff::/64", true)
	subnet(listed, "2001:db8:1::/64", true)
	subnet(barren, "2001:db8:0:9::/64", false)
	if change != nil {
		change(inv)
	}
	s := &street{T: t, inv: inv, snap: net.Topology.Build()}
	start := time.Unix(1e9, 0)
	want, state, events, err := reconcile.New(reconcile.Config{Start: start}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.events = events
	s.Feature = New(&feature.Env{Start: start, Want: want, Switches: state,
		Net: plan.NewNetwork(s.snap, inv)})
	s.Reserved = func(a netip.Addr) bool { return a == proxy }
	names := make(map[string]bool)
	for i := range inv.Switches {
		names[inv.Switches[i].Name] = true
	}
	events.SetSwitches(names, reconcile.Intervals{})
	s.Start()
	s.renew()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		events.Connect(name, entry.Contents{})
		s.SwitchEvent(name, feature.SwitchEvent{Kind: feature.ReadBack})
	}
	s.pass(0)
	return s
}

// renew plans the network with what has been found.
func (s *street) renew() {
	s.env.Net = plan.NewNetwork(s.snap, s.Complete(s.inv))
	s.SetNetwork()
}

// pass lets time pass.
func (s *street) pass(d time.Duration) {
	for end := s.env.Now + d; ; {
		if s.Moved() {
			s.renew()
		}
		at, ok := s.Next()
		if !ok || at > end {
			s.env.Now = end
			return
		}
		s.env.Now = max(at, s.env.Now)
		s.Tick()
	}
}

// says has a host at a port claim an address.
func (s *street) says(at At, mac packet.MAC, a netip.Addr, how How) {
	f := packet.NDFrame{Ethernet: packet.Ethernet{Src: mac},
		IP: packet.IPv6{Src: a, Dst: packet.AllNodes},
		ND: packet.ND{Type: packet.ICMPv6NeighborAdvertisement, Target: a, TargetMAC: mac}}
	switch how {
	case Solicits:
		other := netip.MustParseAddr("2001:db8:0:7::1")
		f.IP.Dst = packet.SolicitedNode(other)
		f.ND = packet.ND{Type: packet.ICMPv6NeighborSolicitation, Target: other, SourceMAC: mac}
	case Detects:
		f.IP.Src, f.IP.Dst = netip.IPv6Unspecified(), packet.SolicitedNode(a)
		f.ND = packet.ND{Type: packet.ICMPv6NeighborSolicitation, Target: a}
	}
	f.Ethernet.Dst = packet.MulticastMAC(f.IP.Dst)
	s.arrives(at, f.Append(nil))
}

func (s *street) arrives(at At, frame []byte) {
	s.SwitchEvent(at.Switch, feature.SwitchEvent{Kind: feature.GotPacket, PacketIn: &entry.PacketIn{
		Reason: entry.Neighbor, IngressPort: uint16(at.Port), Payload: frame}})
}

// bind makes a host claim a free address, and waits until the table has bound the address.
func (s *street) bind(at At, mac packet.MAC, a netip.Addr) {
	s.Helper()
	s.says(at, mac, a, Detects)
	s.pass(2 * Wait)
	s.has("bound", a, at, mac)
}

// has compares the place of an address in the planned network.
func (s *street) has(what string, a netip.Addr, at At, mac packet.MAC) {
	s.Helper()
	h := s.env.Net.Host(a)
	if h == nil || h.Switch != at.Switch || h.Port != at.Port || packet.MAC(h.MAC) != mac {
		s.Errorf("%s: %v is %+v, want %v at %v", what, a, h, mac, at)
	}
}

// held is all that may not change by what a hostile host says: the hosts, without the times at
// which they were heard, and the records.
func (s *street) held() string {
	var hosts []inventory.Host
	for _, h := range s.Hosts() {
		hosts = append(hosts, h.Host)
	}
	return fmt.Sprint(hosts, s.env.Net.Inventory.Hosts, s.Records())
}

// refused returns how many claims were refused, by reason.
func (s *street) refused() map[Refusal]uint64 {
	c, _ := s.Counts()
	return c.Refused
}

func addr(text string) netip.Addr { return netip.MustParseAddr(text) }

// TestHostileHost: a host that claims what is not its own, in any way, binds nothing and moves
// no binding; each claim is counted under its reason, and each reason has an event.
func TestHostileHost(t *testing.T) {
	victim, expected := addr("2001:db8:0:8::5"), sample.HostAddress(2)
	for _, c := range []struct {
		what string
		at   At
		a    netip.Addr
		why  Refusal
	}{
		{"its gateway", own, addr("2001:db8:0:7::1"), RefusedGateway},
		{"another port's gateway", own, addr("2001:db8:0:8::1"), RefusedGateway},
		{"the gateway's link-local address", own, packet.LinkLocal(packet.MAC{2, 4: 0, 5: 1}),
			RefusedGateway},
		{"a SID", sids, addr("fc00:0:3:1::"), RefusedSID},
		{"a locator", sids, addr("fc00:0:3:77::1"), RefusedSID},
		{"the block of SIDs, outside any locator", sids, addr("fc00:0:7777::1"), RefusedSID},
		{"a loopback", nodes, addr("2001:db8::3"), RefusedFabric},
		{"a group", groups, proxy, RefusedFabric},
		{"a configured host of its switch", listed, sample.HostAddress(3), RefusedOwned},
		{"a configured host of another switch", listed, sample.HostAddress(5), RefusedOwned},
		{"a configured host without a MAC", listed, expected, RefusedOwned},
		{"the prefix of a configured host", listed, addr("2001:db8:1::abcd:5"), RefusedOwned},
		{"a learned host of its switch", common, addr("2001:db8:0:8::7"), RefusedInUse},
		{"a learned host of another switch", across, victim, RefusedInUse},
		{"another port's prefix", own, victim, RefusedForeign},
		{"no prefix at all", own, addr("2001:db8:7777::1"), RefusedForeign},
		{"a prefix of a port that does not learn", barren, addr("2001:db8:0:9::5"), RefusedNotGiven},
		{"IPv4 where there is none, by IPv6", own, addr("::ffff:10.0.0.1"), RefusedForeign},
	} {
		t.Run(c.what, func(t *testing.T) {
			s := newStreet(t, func(inv *inventory.Inventory) {
				inv.Host(expected).MAC = inventory.MAC{}
				inv.Host(sample.HostAddress(6)).Prefixes = []netip.Prefix{
					netip.MustParsePrefix("2001:db8:1::abcd:0/112")}
			})
			s.bind(common, decent, victim)
			s.bind(across, decent, addr("2001:db8:0:8::7"))
			s.bind(own, decent, addr("2001:db8:0:7::9"))
			s.env.Take()
			before, counts := s.held(), s.refused()
			for i, how := range []How{Solicits, Detects, Advertises} {
				s.says(c.at, hostile, c.a, how)
				if c.why == RefusedInUse { // who has it answers its switch
					owner, _ := s.table(0).Binding(c.a)
					s.says(owner.At, decent, c.a, Advertises)
				}
				s.pass(2 * Wait)
				counts[c.why]++
				if got := s.refused(); !reflect.DeepEqual(got, counts) {
					t.Errorf("claim %d: refused %v, want %v", i+1, got, counts)
				}
				if after := s.held(); after != before {
					t.Errorf("claim %d: before\n%s\nafter\n%s", i+1, before, after)
				}
			}
			events, _ := s.env.Take()
			if len(events) != 1 || events[0].Type != api.EventHostRefused {
				t.Errorf("events %v, want one of a refusal", events)
			}
			// They lose nothing by it later either.
			s.says(common, decent, victim, Advertises)
			s.pass(Lifetime - time.Second)
			s.has("the victim", victim, common, decent)
		})
	}
}

// TestHostileLimit: claims and moves bind at most BindingsMax addresses to a port. The table
// refuses and counts each further claim, and the bindings of other ports stay.
func TestHostileLimit(t *testing.T) {
	s := newStreet(t, nil)
	victim := addr("2001:db8:0:8::5")
	s.bind(common, decent, victim)
	address := func(n int) netip.Addr {
		return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 7: 8, 14: 1, 15: byte(n)})
	}
	for n := range BindingsMax {
		s.bind(across, hostile, address(n))
	}
	before := s.held()
	for n := range 100 {
		s.says(across, hostile, address(BindingsMax+n), How(n%3))
	}
	s.says(across, hostile, victim, Detects)
	s.pass(2 * Wait)
	if got := s.refused(); !reflect.DeepEqual(got, map[Refusal]uint64{RefusedLimit: 101}) {
		t.Errorf("refused %v", got)
	}
	if after := s.held(); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	if c, _ := s.Counts(); c.Bindings != BindingsMax+1 {
		t.Errorf("%d bindings", c.Bindings)
	}
	s.bind(common, decent, addr("2001:db8:0:8::6"))
	// The table does not give away an address whose port is down either. The table does not ask a port
	// that is down.
	s.SetPorts(common.Switch, map[uint32]bool{common.Port: false})
	s.says(across, hostile, victim, Detects)
	s.pass(2 * Wait)
	s.has("the victim", victim, common, decent)
	if got := s.refused()[RefusedLimit]; got != 102 {
		t.Errorf("%d refused", got)
	}
}

// TestGivenMAC: messages change nothing at the port of a host whose MAC is in the configuration.
func TestGivenMAC(t *testing.T) {
	s := newStreet(t, nil)
	a := sample.HostAddress(2)
	at := At{s.inv.Host(a).Switch, s.inv.Host(a).Port}
	s.env.Take()
	before := s.held()
	for _, how := range []How{Solicits, Detects, Advertises} {
		s.says(at, hostile, a, how)
		s.pass(2 * Wait)
	}
	if after := s.held(); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	if events, _ := s.env.Take(); len(events) != 0 {
		t.Errorf("events %v", events)
	}
}

// TestHostileFrames: messages with another MAC, from beyond the link, or through a port to another
// switch add to the counters, and bind nothing.
func TestHostileFrames(t *testing.T) {
	s := newStreet(t, nil)
	free := addr("2001:db8:0:7::9")
	before := s.held()
	frame := packet.NDFrame{Ethernet: packet.Ethernet{Src: hostile, Dst: packet.MulticastMAC(
		packet.AllNodes)}, IP: packet.IPv6{Src: free, Dst: packet.AllNodes},
		ND: packet.ND{Type: packet.ICMPv6NeighborAdvertisement, Target: free, TargetMAC: decent}}
	s.arrives(own, frame.Append(nil))
	frame.ND.TargetMAC = hostile
	good := frame.Append(nil)
	far := slices.Clone(good)
	far[packet.EthernetLen+7]-- // Hop Limit
	s.arrives(own, far)
	broken := slices.Clone(good)
	broken[len(broken)-1]++
	s.arrives(own, broken)
	s.arrives(At{"n1", 1}, good) // to n4
	s.pass(2 * Wait)
	c, _ := s.Counts()
	if c.Forged != 1 || c.Invalid != 3 || c.Heard != 0 {
		t.Errorf("%d forged, %d invalid, %d heard", c.Forged, c.Invalid, c.Heard)
	}
	if after := s.held(); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	s.arrives(own, good)
	s.pass(2 * Wait)
	s.has("as it should be", free, own, hostile)
}

// TestInventoryBeforeLearning: what the configuration says of an address counts more than what was
// learned, whichever was first: the port, and the MAC where it has one. Without it what is learned
// counts again.
func TestInventoryBeforeLearning(t *testing.T) {
	a := addr("2001:db8:0:8::5")
	given := packet.MAC{2, 0, 0, 0, 0xcc, 1}
	for _, c := range []struct {
		what string
		host inventory.Host // as the configuration has it later
		at   At
		mac  packet.MAC
	}{
		{"another port", inventory.Host{MAC: inventory.MAC(given), Switch: "n3", Port: 11}, across,
			given},
		{"another port, by a prefix", inventory.Host{Address: addr("2001:db8:0:8::4"),
			Prefixes: []netip.Prefix{netip.MustParsePrefix("2001:db8:0:8::4/126")},
			MAC:      inventory.MAC(given), Switch: "n3", Port: 11}, At{}, given},
		{"another MAC", inventory.Host{MAC: inventory.MAC(given), Switch: "n1", Port: 12}, common,
			given},
		{"no MAC", inventory.Host{Switch: "n1", Port: 12}, common, decent},
		{"another port and no MAC", inventory.Host{Switch: "n3", Port: 11}, across, packet.MAC{}},
	} {
		t.Run(c.what, func(t *testing.T) {
			s := newStreet(t, nil)
			s.bind(common, decent, a)
			without := s.inv
			with := *s.inv
			c.host.Name = "h"
			if !c.host.Address.IsValid() {
				c.host.Address = a
			}
			with.Hosts = append(slices.Clone(with.Hosts), c.host)
			configure := func(inv *inventory.Inventory) {
				s.inv = inv
				s.renew()
			}
			configure(&with)
			check := func(what string) {
				t.Helper()
				if c.at != (At{}) {
					s.has(what, a, c.at, c.mac)
				} else if h := s.env.Net.Host(a); h != nil {
					t.Errorf("%s: %v is %+v too", what, a, h)
				}
				n := 0
				for _, h := range s.env.Net.Inventory.Hosts {
					if h.Address == a {
						n++
					}
				}
				if n > 1 {
					t.Errorf("%s: the network has %d hosts with %v", what, n, a)
				}
			}
			check("at once")
			s.pass(2 * Wait)
			check("configured")
			if n := len(s.Records()); c.at != common && n != 0 {
				t.Errorf("%d records of what was learned", n)
			}
			if c.what != "no MAC" {
				s.says(common, decent, a, Advertises)
				s.pass(2 * Wait)
				check("claimed again")
			}
			configure(without)
			s.pass(2 * Wait)
			s.says(common, decent, a, Detects)
			s.pass(2 * Wait)
			s.has("no longer configured", a, common, decent)
		})
	}
}

// TestConfiguredLater: a learned host whose MAC the configuration has later is not gone: its
// binding ends without an event, the host stays as it was and is no longer asked for. A host that
// the configuration places elsewhere is gone, for that reason.
func TestConfiguredLater(t *testing.T) {
	a := addr("2001:db8:0:8::5")
	for _, c := range []struct {
		what  string
		host  inventory.Host
		found string
		event string
	}{
		{"its MAC", inventory.Host{MAC: inventory.MAC(decent), Switch: "n1", Port: 12},
			inventory.FoundConfigured, ""},
		{"another MAC", inventory.Host{MAC: inventory.MAC(hostile), Switch: "n1", Port: 12},
			inventory.FoundConfigured, ""},
		{"no MAC", inventory.Host{Switch: "n1", Port: 12}, inventory.FoundNeighbor, ""},
		{"another port", inventory.Host{MAC: inventory.MAC(decent), Switch: "n3", Port: 11},
			inventory.FoundConfigured, "host.gone h: 2001:db8:0:8::5 is not bound to n1/12 any more: " +
				"the configuration has it elsewhere"},
		{"as its second port", inventory.Host{Switch: "n3", Port: 11,
			Planes: []inventory.Attachment{{Switch: "n1", Port: 12}}}, "", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			s := newStreet(t, nil)
			s.bind(common, decent, a)
			s.env.Take()
			with := *s.inv
			c.host.Name, c.host.Address = "h", a
			with.Hosts = append(slices.Clone(with.Hosts), c.host)
			s.inv = &with
			s.renew()
			found := func() inventory.Found {
				return s.Hosts()[slices.IndexFunc(s.Hosts(),
					func(h inventory.Found) bool { return h.Address == a })]
			}
			if h := found(); h.Seen.IsZero() && c.event == "" {
				t.Errorf("it was never seen: %+v", h)
			}
			// It speaks where it is, for longer than a binding lives.
			at, mac := At{c.host.Switch, c.host.Port}, packet.MAC(c.host.MAC)
			if len(c.host.Planes) > 0 {
				at = At{c.host.Planes[0].Switch, c.host.Planes[0].Port}
			}
			if c.host.MAC.IsZero() {
				mac = decent
			}
			for end := s.env.Now + 2*Lifetime; s.env.Now < end; {
				s.says(at, mac, a, Advertises)
				s.pass(Lifetime / 4)
			}
			events, _ := s.env.Take()
			var text []string
			for _, e := range events {
				if e.Type != api.EventHostMoved && e.Type != api.EventHostBound {
					text = append(text, fmt.Sprintf("%s %s: %s", e.Type, e.Object, e.Message))
				}
			}
			if got := strings.Join(text, "\n"); got != c.event {
				t.Errorf("events %q, want %q", got, c.event)
			}
			want := 0 // what there is to learn of it
			if c.host.MAC.IsZero() {
				want = 1
			}
			if n, m := len(s.Records()), len(s.table(0).Bound())+len(s.table(1).Bound()); n != want ||
				m != want || len(c.host.Planes) > 0 && len(s.table(0).Bound()) > 0 {
				t.Errorf("%d records and %d bindings, want %d", n, m, want)
			}
			if h := found(); h.Name != "h" || h.By != c.found || h.Seen.IsZero() {
				t.Errorf("the host is %+v", h)
			}
		})
	}
}

// TestMulticastSource: a frame whose source is a group address claims nothing, whether it carries a
// neighbor discovery message or ARP.
func TestMulticastSource(t *testing.T) {
	s := newStreet(t, nil)
	before, group := s.held(), packet.MAC{3, 0, 0, 0, 0xbb, 1}
	for i, how := range []How{Solicits, Detects, Advertises} {
		s.says(own, group, addr("2001:db8:0:7::9"), how)
		if c, _ := s.Counts(); c.Forged != uint64(i+1) || c.Heard != 0 {
			t.Errorf("%v: %+v", how, c)
		}
	}
	s.pass(2 * Wait)
	if after := s.held(); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

// TestRouterSolicitations: the switch answers those of a port at most once in answerGap.
func TestRouterSolicitations(t *testing.T) {
	s := newStreet(t, nil)
	f := packet.NDFrame{Ethernet: packet.Ethernet{Src: decent,
		Dst: packet.MulticastMAC(packet.AllRouters)},
		IP: packet.IPv6{Src: addr("fe80::9"), Dst: packet.AllRouters},
		ND: packet.ND{Type: packet.ICMPv6RouterSolicitation, SourceMAC: decent}}
	s.pass(answerGap) // after what the switch sends by itself at its start
	before, _ := s.Counts()
	for i, after := range []time.Duration{0, answerGap - 1, 1} {
		s.env.Now += after
		s.arrives(own, f.Append(nil))
		if c, _ := s.Counts(); c.Advertised-before.Advertised != uint64([]int{1, 1, 2}[i]) {
			t.Errorf("solicitation %d: %d advertisements", i, c.Advertised-before.Advertised)
		}
	}
}
