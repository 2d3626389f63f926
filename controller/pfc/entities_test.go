package pfc

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/pfc/tunnel"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/packet"
)

// TestPFCEntities: what a node holds for PFC reaches its switch in the units of the program: rates
// in kbit/s, times in ns and us, priorities as class selectors.
func TestPFCEntities(t *testing.T) {
	net := sample.Figure1()
	n := plan.NewNetwork(net.Topology.Build(), &net.Inventory)
	sid, source := netip.MustParseAddr("fc00:0:9:1::"), netip.MustParseAddr("2001:db8::9")
	eight := make([]netip.Addr, 8)
	for i := range eight {
		eight[i] = sid
	}
	node := &tunnel.Node{
		Lists: []tunnel.List{{ID: 5, Source: source, SIDs: []netip.Addr{sid}},
			{ID: 6, Source: source, SIDs: eight}},
		Steers: []tunnel.Steer{{VRF: 3, Prefix: netip.MustParsePrefix("2001:db8:7::/48"), List: 5,
			SID: sid, Slice: 11, Priority: 4}},
		Queues: []tunnel.QueueState{{
			Queue: tunnel.Queue{Node: "n1", Port: 1, Priority: 4},
			Marks: tunnel.Marks{Buffer: 5000, XOFF: 4000, XON: 3000}, Quanta: 1000,
			Refresh: 12 * time.Microsecond, Rate: 9_000_000, MaxPause: 5 * time.Millisecond,
			Upstreams: []tunnel.Upstream{{List: 5, SID: sid, Slice: 11}, {Port: 2}},
		}},
		Accepts: []tunnel.Accept{
			{SID: sid, Source: source, Slice: 12, Priority: 3, Port: 6, ByNode: true},
			{SID: sid, Source: source, Slice: 13, Priority: 3, Port: 6},
			{SID: sid, Source: source, Slice: 13, Priority: 5, Port: 6},
		},
	}
	var got []string
	for _, e := range entities(n, n.Switch("n1"), node) {
		got = append(got, fmt.Sprint(e))
	}
	dscp := net.Inventory.PFC.DSCP
	for _, want := range []string{
		"sr_policy/policy=5 -> via_1(s1=fc00:0:9:1::, source=2001:db8::9)",
		"srv6_policy/dst_addr=2001:db8:7::/48/vrf=3 -> vpn_steer(class=4, dscp=32, policy=5, " +
			"priority=4, sid=fc00:0:9:1::, slice=11)",
		"pfc_queue/direction=0/port=1/priority=4 -> set_pfc_queue(buffer=5000, quanta=1000, rate=9000, " +
			"refresh=12000, upstreams=2, watchdog=5000, watchdog_action=1, xoff=4000, xon=3000)",
		fmt.Sprintf("pfc_upstream/direction=0/port=1/priority=4/upstream=0 -> pfc_to_tunnel(class=7, "+
			"dscp=%d, policy=5, priority=7, sid=fc00:0:9:1::, slice=11, src_mac=2199023255553)", dscp),
		"pfc_upstream/direction=0/port=1/priority=4/upstream=1 -> pfc_to_link(port=2, priority=7, " +
			"src_mac=2199023255553)",
		fmt.Sprintf("traffic_class/dscp=%d -> set_class(class=7, priority=7)", dscp),
		"pfc_tunnel/sid=fc00:0:9:1::/slice=12/src_addr=2001:db8::9 -> accept_pfc_port(classes=8, port=6)",
		"pfc_tunnel/sid=fc00:0:9:1::/slice=13/src_addr=2001:db8::9 -> accept_pfc(classes=40)",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("lacks %s\n%s", want, strings.Join(got, "\n"))
		}
	}
	for _, e := range got {
		if strings.HasPrefix(e, "sr_policy/policy=6") {
			t.Errorf("a list of eight SIDs, for which there is no action: %s", e)
		}
	}
}

// TestProbeHasItsClass: probes and what carries them have the codepoint of PFC frames.
func TestProbeHasItsClass(t *testing.T) {
	net := sample.Figure1()
	net.Inventory.PFC.DSCP = 46
	n := plan.NewNetwork(net.Topology.Build(), &net.Inventory)
	_, _, frame, ok := probeFrame(n, tunnel.Probe{From: net.Node("n1"), First: net.Node("n4"),
		Source: netip.MustParseAddr("2001:db8::1"),
		SIDs:   []netip.Addr{netip.MustParseAddr("fc00:0:4:1::")}}, 0)
	if !ok {
		t.Fatal("no probe")
	}
	outer, length, err := packet.ParseIPv6(frame[packet.EthernetLen:])
	if err != nil || outer.TrafficClass != 46<<2 {
		t.Errorf("outer %+v, %v", outer, err)
	}
	rest := frame[packet.EthernetLen+length:]
	_, length, err = packet.ParseSRH(rest)
	if err != nil {
		t.Fatal(err)
	}
	if inner, _, err := packet.ParseIPv6(rest[length:]); err != nil || inner.TrafficClass != 46<<2 {
		t.Errorf("inner %+v, %v", inner, err)
	}
}

// TestProbesBack: a probe is read as it was sent; nothing else that comes is taken for one.
func TestProbesBack(t *testing.T) {
	net := sample.Figure1()
	n := plan.NewNetwork(net.Topology.Build(), &net.Inventory)
	source := netip.MustParseAddr("2001:db8::1")
	_, _, out, ok := probeFrame(n, tunnel.Probe{From: net.Node("n1"), First: net.Node("n4"),
		Source: source, SIDs: []netip.Addr{netip.MustParseAddr("fc00:0:4:1::")}, Cookie: 7, Seq: 8}, 9)
	if !ok {
		t.Fatal("no probe")
	}
	const inner, udp = packet.EthernetLen, packet.EthernetLen + packet.IPv6Len
	back := func() []byte { // without the outer headers
		return append(packet.Ethernet{EtherType: packet.EtherTypeIPv6}.Append(nil),
			out[len(out)-packet.IPv6Len-packet.UDPLen-probeLen:]...)
	}
	if u, _, err := packet.ParseUDP(back()[udp:]); err != nil || u.SrcPort != 862 || u.DstPort != 862 {
		t.Errorf("%+v, %v; want UDP from port 862 to it", u, err)
	}
	want := probeBack{At: source, Cookie: 7, Seq: 8, Sent: 9}
	if p, ok := parseProbe(back()); !ok || p != want {
		t.Errorf("%+v, %v; want %+v", p, ok, want)
	}
	if p, ok := parseProbe(append(back(), 0)); !ok || p != want {
		t.Errorf("with padding %+v, %v; want %+v", p, ok, want)
	}
	for size := range back() {
		if p, ok := parseProbe(back()[:size:size]); ok {
			t.Errorf("%+v of the first %d octets", p, size)
		}
	}
	for what, at := range map[string]int{"EtherType": inner - 2, "version": inner,
		"payload length": inner + 5, "next header": inner + 6, "source": inner + 23,
		"destination": inner + 39, "destination port": udp + 3, "UDP length": udp + 5,
		"checksum": udp + 7, "cookie": udp + 11, "time": udp + 23} {
		b := back()
		b[at] ^= 1
		if what == "version" {
			b[at] ^= 0x21 // 4
		}
		if p, ok := parseProbe(b); ok {
			t.Errorf("%+v with another %s", p, what)
		}
	}
	elsewhere := back() // a right checksum, and to another address than it is from
	elsewhere[inner+39] ^= 1
	b := elsewhere[udp:]
	binary.BigEndian.PutUint16(b[6:], 0)
	binary.BigEndian.PutUint16(b[6:], packet.UDPChecksum(source,
		netip.AddrFrom16([16]byte(elsewhere[inner+24:])), b))
	if p, ok := parseProbe(elsewhere); ok {
		t.Errorf("%+v of a packet to another address", p)
	}
	if p, ok := parseProbe(out); ok {
		t.Errorf("%+v of one that has not come back", p)
	}
}

// TestServiceFamilies: the SID of a tenant takes the address families of the tenant's prefixes at
// the switch.
func TestServiceFamilies(t *testing.T) {
	net := sample.Figure1()
	n := plan.NewNetwork(net.Topology.Build(), &net.Inventory)
	sid := netip.MustParseAddr("fc00:0:9:1::")
	for want, x := range map[string]tunnel.Service{
		"end_dt6": {SID: sid, VRF: 3, IPv6: true}, "end_dt4": {SID: sid, VRF: 3, IPv4: true},
		"end_dt46": {SID: sid, VRF: 3, IPv6: true, IPv4: true},
	} {
		var got []string
		for _, e := range entities(n, n.Switch("n1"), &tunnel.Node{Services: []tunnel.Service{x}}) {
			got = append(got, fmt.Sprint(e))
		}
		for _, e := range []string{
			"local_sid/dst_addr=fc00:0:9:1::/128 -> " + want + "(vrf=3)",
			"service_sid/dst_addr=fc00:0:9:1:: -> " + strings.Replace(want, "end", "service", 1) +
				"(vrf=3)",
		} {
			if !slices.Contains(got, e) {
				t.Errorf("lacks %s\n%s", e, strings.Join(got, "\n"))
			}
		}
	}
}

// TestLearningLifetime: switches count the lifetime of learned entries in microseconds, at least 1.
func TestLearningLifetime(t *testing.T) {
	net := sample.Figure1()
	for learn, want := range map[time.Duration]string{0: "1", time.Nanosecond: "1",
		2 * time.Microsecond: "2", 3 * time.Second: "3000000"} {
		net.Inventory.PFC.Learn = api.Duration(learn)
		n := plan.NewNetwork(net.Topology.Build(), &net.Inventory)
		var got []string
		for _, e := range entities(n, n.Switch("n1"),
			&tunnel.Node{Learn: []netip.Addr{netip.MustParseAddr("fc00:0:9:1::")}}) {
			got = append(got, fmt.Sprint(e))
		}
		if want := "set_learning(lifetime=" + want + ")"; !slices.ContainsFunc(got,
			func(e string) bool { return strings.Contains(e, want) }) {
			t.Errorf("%v: lacks %s\n%s", learn, want, strings.Join(got, "\n"))
		}
	}
}
