//go:build linux

package figure1

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/test/bmv2"
)

// sample is a frame that arrives at a port.
type sample struct {
	what  string
	at    bmv2.Port
	frame []byte
	hosts int // frames that reach hosts for it; some, when it depends on what came before
}

const some = -1

// maker makes samples for a group.
type maker struct {
	network *lab.Network
	group   *lab.Group
	mode    api.GroupMode
	tree    *api.GroupTree
	epoch   uint32
	next    uint32 // PSN that the source would send next
}

const receivers = 5

func (m *maker) switchOf(name string) lab.Switch {
	i := slices.IndexFunc(m.network.Switches, func(s lab.Switch) bool { return s.Name == name })
	return m.network.Switches[i]
}

func (m *maker) hostOf(name string) lab.Host {
	i := slices.IndexFunc(m.network.Hosts, func(h lab.Host) bool { return h.Name == name })
	return m.network.Hosts[i]
}

// uplink is where frames of a host arrive.
func (m *maker) uplink(host string) bmv2.Port {
	sw, port := m.network.Uplink(host)
	return bmv2.Port{Switch: sw, Port: port}
}

// between is the port at which frames from one switch to another arrive.
func (m *maker) between(from, to string) bmv2.Port {
	for _, l := range m.network.Links {
		switch {
		case l.A == from && l.B == to:
			return bmv2.Port{Switch: to, Port: l.PortB}
		case l.B == from && l.A == to:
			return bmv2.Port{Switch: to, Port: l.PortA}
		}
	}
	panic("no link " + from + "-" + to)
}

// frame is a RoCEv2 packet from a host to the proxy address, before it is changed.
func (m *maker) frame(host string, bth packet.BTH, payload int) packet.RoCE {
	h := m.hostOf(host)
	sw, _ := m.network.Uplink(host)
	bth.PKey, bth.DestQPN, bth.MigReq = packet.DefaultPKey, m.group.Config.DesignatedQPN, true
	return packet.RoCE{
		Ethernet: packet.Ethernet{Dst: m.switchOf(sw).MAC, Src: h.MAC},
		IPv6: packet.IPv6{
			TrafficClass: packet.TrafficClass(26, packet.ECT0), FlowLabel: 0x54321, HopLimit: 64,
			Src: h.Address, Dst: m.group.Config.Proxy,
		},
		UDP: packet.UDP{SrcPort: 0xd001, DstPort: packet.RoCEPort}, BTH: bth,
		RETH:    packet.RETH{VA: 0x1000, RKey: 0x5eed, DMALength: uint32(payload)},
		Payload: pattern(payload),
	}
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// encapsulatedHosts is how many receivers a packet reaches that the source does encapsulate: none
// but in in-band mode.
func (m *maker) encapsulatedHosts() int { return receivers - m.plainHosts() }

// encapsulated puts a frame of the source into the tree.
func (m *maker) encapsulated(p packet.RoCE, edges []packet.EdgeReceivers) packet.RoCE {
	tlvs, err := packet.EndMTList(packet.TLVEndMTDefault, 2, edges)
	if err != nil {
		panic(err)
	}
	return m.routed(p, tlvs)
}

func (m *maker) routed(p packet.RoCE, tlvs []byte) packet.RoCE {
	srh, err := packet.NewSRH(packet.NextHeaderIPv6, []netip.Addr{m.tree.SID, m.group.Config.Proxy},
		packet.AppendPadding(tlvs))
	if err != nil {
		panic(err)
	}
	p.Encapsulated, p.Routed, p.SRH = true, true, srh
	p.Outer = packet.IPv6{TrafficClass: p.IPv6.TrafficClass, FlowLabel: p.IPv6.FlowLabel, HopLimit: 64,
		Src: p.IPv6.Src, Dst: m.tree.SID}
	return p
}

// edges are the receivers as the controller has placed them.
func (m *maker) edges() []packet.EdgeReceivers {
	var list []packet.EdgeReceivers
	for _, n := range m.tree.Nodes {
		e := packet.EdgeReceivers{Edge: n.Address}
		for _, b := range n.Branches {
			if b.Receiver.IsValid() {
				e.Receivers = append(e.Receivers, packet.Receiver{Addr: b.Receiver, QPN: b.QPN})
			}
		}
		if len(e.Receivers) > 0 {
			list = append(list, e)
		}
	}
	return list
}

// requests are what a source may send, soundly or not.
func (m *maker) requests() []sample {
	at := m.uplink("S1")
	var list []sample
	add := func(what string, p packet.RoCE, hosts int, octets ...func([]byte) []byte) {
		frame := p.Append(nil)
		for _, change := range octets {
			frame = change(frame)
		}
		list = append(list, sample{what, at, frame, hosts})
	}
	set := func(offset int, v ...byte) func([]byte) []byte {
		return func(b []byte) []byte {
			copy(b[offset:], v)
			return b
		}
	}
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }
	const (
		outer = packet.EthernetLen
		after = outer + packet.IPv6Len
		tlv   = after + packet.SRHFixedLen + 2*packet.SegmentLen
	)

	request := func(op packet.Opcode, octets int) packet.RoCE {
		return m.frame("S1", packet.BTH{Opcode: op, PSN: m.next, AckReq: true}, octets)
	}
	changed := func(p packet.RoCE, change func(*packet.RoCE)) packet.RoCE {
		change(&p)
		return p
	}
	var split []byte // a TLV a receiver
	for _, e := range m.edges() {
		for _, r := range e.Receivers {
			split = packet.AppendEndMT(split, packet.TLVEndMTDefault, e.Edge, []packet.Receiver{r})
		}
	}
	for op := packet.OpSendFirst; op <= packet.OpWriteOnlyImmediate; op++ {
		p := request(op, 64)
		add(fmt.Sprintf("plain %v", op), p, m.plainHosts())
		add(fmt.Sprintf("encapsulated %v", op), m.encapsulated(p, m.edges()), m.encapsulatedHosts())
		add(fmt.Sprintf("encapsulated %v, a TLV a receiver", op), m.routed(p, split),
			m.encapsulatedHosts())
		add(fmt.Sprintf("encapsulated %v without TLV", op), m.encapsulated(p, nil), m.encapsulatedHosts())
	}
	for _, octets := range []int{0, 1, 3, 4, 1023, 4096} {
		add(fmt.Sprintf("plain, %d octets", octets), request(packet.OpWriteOnly, octets), m.plainHosts())
		add(fmt.Sprintf("encapsulated, %d octets", octets),
			m.encapsulated(request(packet.OpWriteOnly, octets), m.edges()), m.encapsulatedHosts())
	}
	whole := m.encapsulated(request(packet.OpWriteOnly, 32), m.edges())
	plain := request(packet.OpWriteOnly, 32)
	add("one edge of three", m.encapsulated(plain, m.edges()[:1]), some)
	add("congestion", changed(whole, func(p *packet.RoCE) { p.Outer.TrafficClass |= packet.CE }),
		m.encapsulatedHosts())
	add("congestion inside", changed(whole, func(p *packet.RoCE) { p.IPv6.TrafficClass |= packet.CE }),
		m.encapsulatedHosts())
	add("not ECN-capable", changed(whole, func(p *packet.RoCE) { p.IPv6.TrafficClass &^= 3 }),
		m.encapsulatedHosts())
	add("UDP checksum", changed(whole, func(p *packet.RoCE) { p.Checksummed = true }),
		m.encapsulatedHosts())
	add("UDP checksum, plain", changed(plain, func(p *packet.RoCE) { p.Checksummed = true }),
		m.plainHosts())
	for hops := uint8(0); hops < 5; hops++ {
		add(fmt.Sprintf("outer Hop Limit %d", hops), changed(whole, func(p *packet.RoCE) {
			p.Outer.HopLimit = hops
		}), some)
		add(fmt.Sprintf("Hop Limit %d", hops), changed(plain, func(p *packet.RoCE) {
			p.IPv6.HopLimit = hops
		}), some)
	}

	for form, p := range []packet.RoCE{plain, whole} {
		form := [...]string{"", ", encapsulated"}[form]
		add("READ"+form, changed(p, func(p *packet.RoCE) { p.BTH.Opcode = packet.OpReadRequest }), 0)
		add("ATOMIC"+form, changed(p, func(p *packet.RoCE) { p.BTH.Opcode = packet.OpCompareSwap }), 0)
		add("UD"+form, changed(p, func(p *packet.RoCE) { p.BTH.Opcode = 0x64 }), 0)
		add("other queue pair"+form, changed(p, func(p *packet.RoCE) { p.BTH.DestQPN++ }), 0)
		add("other UDP port"+form, changed(p, func(p *packet.RoCE) { p.UDP.DstPort++ }), 0)
		add("other MAC address"+form, changed(p, func(p *packet.RoCE) { p.Ethernet.Dst[5]++ }), 0)
		add("another's address"+form, changed(p, func(p *packet.RoCE) {
			p.IPv6.Src = m.hostOf("R1").Address
		}), 0)
		add("bad ICRC"+form, p, 0, func(b []byte) []byte { b[len(b)-1] ^= 1; return b })
		add("bad payload"+form, p, 0, func(b []byte) []byte { b[len(b)-9] ^= 1; return b })
		add("IPv4"+form, p, 0, set(12, 8, 0))
		add("IPv6 with version 4"+form, p, 0, set(outer, 0x45))
		frame := p.Append(nil)
		for n := packet.EthernetLen; n < len(frame); n += 7 {
			add(fmt.Sprintf("%d octets of %d%s", n, len(frame), form), p, 0, cut(n))
		}
		add("four octets too long"+form, p, some, func(b []byte) []byte { return append(b, 0, 0, 0, 0) })
	}
	add("Segments Left 0", whole, 0, set(after+3, 0))
	add("Segments Left 3", whole, 0, set(after+3, 3))
	add("Last Entry 2", whole, some, set(after+4, 2))
	add("Hdr Ext Len 0", whole, 0, set(after+1, 0))
	add("Hdr Ext Len 255", whole, 0, set(after+1, 255))
	add("other routing type", whole, 0, set(after+2, 3))
	add("Next Header UDP", whole, 0, set(after, packet.NextHeaderUDP))
	add("SRH flags", whole, some, set(after+5, 0xff, 0xff, 0xff))
	add("other TLV type", whole, some, set(tlv, 125))
	add("Length 0 in a TLV", whole, some, set(tlv+1, 0))
	add("Length 255 in a TLV", whole, 0, set(tlv+1, 255))
	add("Num Receivers 0", whole, some, set(tlv+2+18, 0))
	add("Num Receivers 33", whole, some, set(tlv+2+18, 33))
	add("receiver of another group", whole, some, set(tlv+2+22+15, 0xee))
	// The address in SRH[SL] leaves with the outer header (draft, section 6.2): the inner one counts.
	add("other proxy in Segment List", whole, m.encapsulatedHosts(), set(after+8+15, 0xee))
	return list
}

// plainHosts is how many receivers a packet reaches that the source does not encapsulate: none in
// in-band mode.
func (m *maker) plainHosts() int {
	if m.mode == api.ModeInband {
		return 0
	}
	return receivers
}

// plain is an IPv6 packet without RoCE.
func (m *maker) plain(host string, ip packet.IPv6, payload []byte) []byte {
	p := m.frame(host, packet.BTH{}, 0)
	ip.PayloadLength, ip.TrafficClass = uint16(len(payload)), 0x48
	if !ip.Src.IsValid() {
		ip.Src = p.IPv6.Src
	}
	p.Ethernet.EtherType = packet.EtherTypeIPv6
	return append(ip.Append(p.Ethernet.Append(nil)), payload...)
}

// unicasts are packets that have nothing to do with a group.
func (m *maker) unicasts() []sample {
	var list []sample
	address := func(host string) netip.Addr { return m.hostOf(host).Address }
	add := func(what, from string, ip packet.IPv6, payload []byte, hosts int) {
		list = append(list, sample{what, m.uplink(from), m.plain(from, ip, payload), hosts})
	}
	// Both ways to N2 are equally good, and the flow label chooses.
	for label := range uint32(24) {
		add(fmt.Sprintf("flow label %d", label), "S1", packet.IPv6{NextHeader: packet.NextHeaderNone,
			FlowLabel: label, HopLimit: 64, Dst: address("R3")}, pattern(20), 1)
		add(fmt.Sprintf("flow label %d back", label), "R3", packet.IPv6{NextHeader: 6, FlowLabel: label,
			HopLimit: 64, Dst: address("S1")}, pattern(20), 1)
	}
	for _, from := range []string{"S1", "R1", "R3", "R5"} {
		for _, to := range []string{"S1", "R1", "R2", "R4", "R5"} {
			if from != to {
				add(from+" to "+to, from, packet.IPv6{NextHeader: packet.NextHeaderUDP, HopLimit: 64,
					Dst: address(to)}, pattern(100), 1)
			}
		}
	}
	n4 := m.switchOf("N4")
	function := func(s lab.Switch, f uint16) netip.Addr {
		a := s.Locator.Addr().As16()
		a[6], a[7] = byte(f>>8), byte(f)
		return netip.AddrFrom16(a)
	}
	nowhere := netip.MustParseAddr("2001:db8:dead::1")
	add("no route", "S1", packet.IPv6{NextHeader: 6, HopLimit: 64, Dst: nowhere}, pattern(20), 0)
	add("a switch's own address", "S1", packet.IPv6{NextHeader: 6, HopLimit: 64, Dst: n4.Loopback},
		pattern(20), some)
	add("Hop Limit 1", "S1", packet.IPv6{NextHeader: 6, HopLimit: 1, Dst: address("R1")}, pattern(20),
		0)
	add("Hop Limit 3", "S1", packet.IPv6{NextHeader: 6, HopLimit: 3, Dst: address("R1")}, pattern(20),
		some)
	add("another's address", "R1", packet.IPv6{NextHeader: 6, HopLimit: 64, Src: address("R2"),
		Dst: address("S1")}, pattern(20), 0)

	// Through a segment each of End, End.X and End.DT6.
	inner := m.plain("S1", packet.IPv6{NextHeader: 6, HopLimit: 64, Dst: address("R1")},
		pattern(30))[packet.EthernetLen:]
	for _, c := range []struct {
		what string
		sid  netip.Addr
	}{
		{"End", function(n4, 1)}, {"End.DT6", function(n4, 2)},
		{"End.X", function(m.switchOf("N6"), 0x102)}, {"unknown SID", function(n4, 0x7777)},
	} {
		srh, err := packet.NewSRH(packet.NextHeaderIPv6,
			[]netip.Addr{c.sid, function(m.switchOf("N1"), 2)}, nil)
		if err != nil {
			panic(err)
		}
		ip := packet.IPv6{NextHeader: packet.NextHeaderRouting, HopLimit: 64, Dst: c.sid}
		add(c.what+" first of two segments", "S1", ip, append(srh.Append(nil), inner...), some)
		ip.NextHeader = packet.NextHeaderIPv6
		add(c.what+" without SRH", "S1", ip, inner, some)
	}
	return list
}

// response is an answer of a receiver, right or not.
func (m *maker) response(rng *rand.Rand) sample {
	name := fmt.Sprintf("R%d", 1+rng.IntN(receivers))
	at := m.uplink(name)
	p := m.frame(name, packet.BTH{Opcode: packet.OpAcknowledge,
		PSN: packet.PSNAdd(m.next, rng.IntN(24)-8)}, 0)
	p.AETH.MSN = uint32(rng.IntN(64))
	what := "ACK"
	switch n := rng.IntN(100); {
	case n < 60:
		p.AETH.Syndrome = packet.ACKSyndrome(uint8(rng.IntN(32)))
	case n < 72:
		what, p.AETH.Syndrome = "NAK", packet.NAKSyndrome(packet.NAKSequence)
	case n < 80:
		what, p.AETH.Syndrome = "RNR NAK", packet.RNRSyndrome(uint8(rng.IntN(32)))
	case n < 83:
		what, p.AETH.Syndrome = "fatal NAK", packet.NAKSyndrome(packet.NAKCode(1+rng.IntN(4)))
	case n < 86:
		what, p.AETH.Syndrome = "reserved syndrome", packet.Syndrome(rng.IntN(256))
	default:
		what, p.BTH = "CNP", packet.CNPHeader(p.BTH.DestQPN)
	}
	switch rng.IntN(12) {
	case 0:
		what, p.BTH.DestQPN = what+" for another queue pair", p.BTH.DestQPN+1
	case 1:
		what, at = what+" on another port", m.uplink("R1")
	case 2:
		what, p.IPv6.Src = what+" of another", m.hostOf("R2").Address
	}
	frame := p.Append(nil)
	if rng.IntN(20) == 0 {
		what += " with a bad ICRC"
		frame[len(frame)-1] ^= 1
	}
	return sample{fmt.Sprintf("%s of %s, PSN %#06x", what, name, p.BTH.PSN), at, frame, some}
}

// relayed returns an answer in the form that a child of N6 would send, correct or not.
func (m *maker) relayed(rng *rand.Rand) sample {
	child := [...]string{"N4", "N5"}[rng.IntN(2)]
	at, node, parent := m.between(child, "N6"), m.switchOf(child), m.switchOf("N6")
	p := m.frame("R1", packet.BTH{Opcode: packet.OpAcknowledge,
		PSN: packet.PSNAdd(m.next, rng.IntN(24)-8)}, 0)
	p.Ethernet = packet.Ethernet{Dst: parent.MAC, Src: node.MAC}
	p.IPv6.Src, p.IPv6.FlowLabel = node.Loopback, m.epoch&0xffff
	p.AETH = packet.AETH{Syndrome: packet.ACKSyndrome(31), MSN: uint32(rng.IntN(64))}
	what := "ACK"
	switch rng.IntN(8) {
	case 0:
		what, p.IPv6.FlowLabel = "ACK of another epoch", p.IPv6.FlowLabel^1
	case 1:
		what, p.IPv6.Src = "ACK of a node that is no child", m.switchOf("N1").Loopback
	case 2:
		what, p.IPv6.Src = "ACK of the other child",
			m.switchOf([...]string{"N4", "N5"}[rng.IntN(2)]).Loopback
	case 3:
		what, p.AETH.Syndrome = "NAK", packet.NAKSyndrome(packet.NAKSequence)
	}
	return sample{fmt.Sprintf("%s of %s, PSN %#06x", what, child, p.BTH.PSN), at, p.Append(nil), some}
}

// mutant is a sample with some octets changed, or cut. The Ethernet header stays: the kernel reads
// VLAN tags itself.
func mutant(rng *rand.Rand, s sample) sample {
	frame := slices.Clone(s.frame)
	if len(frame) <= packet.EthernetLen {
		return s
	}
	for range 1 + rng.IntN(3) {
		// Headers are changed more often than payload.
		n := len(frame) - packet.EthernetLen
		if rng.IntN(4) > 0 {
			n = min(n, 120)
		}
		at := packet.EthernetLen + rng.IntN(n)
		if rng.IntN(2) == 0 {
			frame[at] ^= 1 << rng.IntN(8)
		} else {
			frame[at] = byte(rng.Uint32())
		}
	}
	if rng.IntN(8) == 0 {
		frame = frame[:packet.EthernetLen+rng.IntN(len(frame)-packet.EthernetLen)]
	}
	return sample{"changed: " + s.what, s.at, frame, some}
}

// How many samples of each kind there are.
const (
	responses = 120
	relays    = 40
	mutants   = 150
)

// samples has every kind, in the order they are to arrive.
func (m *maker) samples(rng *rand.Rand) []sample {
	list := append(m.unicasts(), m.requests()...)
	sound := slices.Clone(list)
	for i := range responses {
		if i%8 == 7 {
			m.next = packet.PSNAdd(m.next, 1)
		}
		list = append(list, m.response(rng))
	}
	for range relays {
		list = append(list, m.relayed(rng))
	}
	sound = append(sound, list[len(sound):]...)
	for range mutants {
		list = append(list, mutant(rng, sound[rng.IntN(len(sound))]))
	}
	return list
}

// play has the samples arrive one by one: each, and all that becomes of it, is over before the
// next. Hosts do not answer.
func (f *figure) play(t *testing.T, c *comparison, list []sample) {
	t.Helper()
	for i, s := range list {
		before := c.toHosts
		if err := f.inject(c, s); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), settleTimeout)
		err := c.settle(ctx)
		cancel()
		if err != nil {
			for _, w := range c.twins {
				w.compareEntries(t.Context(), t)
			}
			t.Fatalf("sample %d, %s, at %v: %v\n%s", i, s.what, s.at, err, dissect(s.frame))
		}
		if got := c.toHosts - before; s.hosts != some && got != s.hosts {
			t.Errorf("sample %d, %s, at %v: %d frames reached hosts, want %d\n%s", i, s.what, s.at, got,
				s.hosts, dissect(s.frame))
		}
	}
}

// inject makes a sample arrive. On a link between switches, the record shows the sample as sent by
// the switch at the other end.
func (f *figure) inject(c *comparison, s sample) error {
	linked := false
	for _, l := range f.links {
		for i, end := range l {
			if end == s.at {
				linked = true
				from := l[1-i]
				w := c.twins[from.Switch]
				w.due[from.Port] = append(w.due[from.Port], s.frame)
			}
		}
	}
	if !linked {
		c.awaited++
	}
	return f.switches.Inject(s.at, s.frame)
}
