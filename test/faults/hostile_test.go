package faults

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// intruders lists hosts outside of all groups, with their switches: an edge switch and the source's
// switch.
var intruders = [...][2]string{{"N1", "X1"}, {"N6", "X6"}}

const (
	// intrusions of a run, at most, one every intrusionGap on average.
	intrusions   = 200
	intrusionGap = 150 * time.Microsecond
	// One forged packet in so many is aimed.
	aimed = 4
	// hostilePort is the UDP source port of every packet that an intruder forges.
	hostilePort = 0xbad1
)

// hostileMAC is the source of every PFC frame that an intruder forges.
var hostileMAC = packet.MAC{2, 0xba, 0xd1, 0xba, 0xd1, 1}

// marks are octets that a forged packet holds and no other: the end of a destination address and
// the UDP ports; MAC addresses.
var marks = [][]byte{
	{0, 0, 0, 1, hostilePort >> 8, hostilePort & 0xff, packet.RoCEPort >> 8, packet.RoCEPort & 0xff},
	append(packet.PFCAddress[:], hostileMAC[:]...),
}

// A hostile host sends whatever might reach a group's memory, its source, or a queue's pauses:
// data, ACKs, NAKs, CNPs and PFC frames in anybody's name, plain or encapsulated up to three times,
// to SIDs, uSIDs and addresses. Nothing of it may leave the switch that the host is at.
type hostile struct {
	s    *scenario
	rng  *rand.Rand
	from []*lab.HostNode
	left int
	sent int
}

// intrude lets the intruders of a scenario begin.
func (s *scenario) intrude(seed uint64) error {
	h := &hostile{s: s, rng: rand.New(rand.NewPCG(seed, 2)), left: intrusions}
	for _, i := range intruders {
		host, err := s.world.Host(i[1])
		if err != nil {
			return err
		}
		h.from = append(h.from, host)
	}
	s.hostile = h
	if !s.open {
		s.world.AddTap(h)
	}
	s.world.After(intrusionGap, h.strike)
	return nil
}

// Sent implements lab.Tap.
func (h *hostile) Sent(now time.Duration, w *lab.Wire, frame []byte) {
	for _, i := range intruders {
		if w.From == i[1] {
			return
		}
	}
	for _, mark := range marks {
		if bytes.Contains(frame, mark) && !opaque(frame) {
			h.s.must(fmt.Errorf("%v: %s sends %s what a hostile host has forged: %x", now, w.From, w.To,
				frame))
		}
	}
}

// opaque reports whether the headers of a frame end in a header that no switch and no host here
// reads: the result of a bit error in a tunnel header. The rest of the frame is data.
func opaque(frame []byte) bool {
	if len(frame) < packet.EthernetLen || binary.BigEndian.Uint16(frame[12:]) != packet.EtherTypeIPv6 {
		return false
	}
	next, b := uint8(packet.NextHeaderIPv6), frame[packet.EthernetLen:]
	for {
		switch {
		case next == packet.NextHeaderIPv6 && len(b) >= packet.IPv6Len:
			next, b = b[6], b[packet.IPv6Len:]
		case next == packet.NextHeaderRouting && len(b) >= 8 && b[2] == packet.RoutingTypeSRH &&
			len(b) >= 8+8*int(b[1]):
			next, b = b[0], b[8+8*int(b[1]):]
		case next == packet.NextHeaderIPv6, next == packet.NextHeaderRouting:
			return true
		default:
			return !slices.Contains([]uint8{packet.NextHeaderUDP, packet.NextHeaderEthernet,
				packet.NextHeaderIPv4, packet.NextHeaderICMPv6}, next)
		}
	}
}

// Arrived implements lab.Tap.
func (*hostile) Arrived(time.Duration, *lab.Wire, []byte) {}

// refused counts the packets that the intruders' switches dropped because of a SID destination or
// encapsulation.
func (h *hostile) refused() (n uint64) {
	for _, i := range intruders {
		sw, err := h.s.world.Switch(i[0])
		if h.s.must(err); err == nil && !sw.Down() {
			n += sw.Drops()[p4.DropReasonSidFromOutside]
		}
	}
	return n
}

func (h *hostile) strike() {
	if h.left == 0 {
		return
	}
	h.left--
	i := h.rng.IntN(len(intruders))
	w, err := h.s.world.Wire(intruders[i][1], intruders[i][0])
	if h.s.must(err); err != nil {
		return
	}
	if h.rng.IntN(aimed) == 0 {
		w.Inject(h.aim(h.from[i]))
	} else {
		w.Inject(h.frame(h.from[i]))
	}
	h.sent++
	h.s.world.After(time.Duration(h.rng.Int64N(int64(2*intrusionGap))), h.strike)
}

// aim forges a packet that does harm wherever the host's switch lets the packet in: an ACK near the
// source's next PSN that the source accepts, or a WRITE that a receiver accepts in place of the
// source's next WRITE. Two tunnels hide the packet from the source guard, which sees two headers.
func (h *hostile) aim(from *lab.HostNode) []byte {
	g := h.s.group
	p := packet.RoCE{
		IPv6: packet.IPv6{HopLimit: 64, Src: proxy, Dst: g.Source.Config().Addr},
		UDP:  packet.UDP{SrcPort: hostilePort, DstPort: packet.RoCEPort},
		BTH: packet.BTH{
			Opcode: packet.OpAcknowledge, PKey: packet.DefaultPKey,
			DestQPN: g.SourceQP.Config().QPN, PSN: packet.PSNAdd(g.SourceQP.HighestPSN(), h.rng.IntN(16)-4),
		},
		AETH: packet.AETH{Syndrome: packet.ACKSyndrome(packet.CreditInvalid)},
	}
	if h.rng.IntN(2) == 0 {
		r := one(h.rng, g.Receivers...)
		p.IPv6.Dst = r.Host.Config().Addr
		p.BTH.Opcode, p.BTH.DestQPN, p.BTH.PSN = packet.OpWriteOnly, r.QP.Config().QPN, r.QP.ExpectedPSN()
		p.Payload = bytes.Repeat([]byte{0xbd}, pmtu)
		p.RETH = packet.RETH{VA: uint64(h.rng.IntN(max(1, g.Size()-pmtu))), RKey: 0x5eed, DMALength: pmtu}
	}
	b := p.Append(nil)[packet.EthernetLen:]
	for range 2 {
		ip := packet.IPv6{PayloadLength: uint16(len(b)), NextHeader: packet.NextHeaderIPv6, HopLimit: 64,
			Src: from.Config().Addr, Dst: h.decapsulator()}
		b = append(ip.Append(nil), b...)
	}
	return h.ethernet(from, b)
}

// decapsulator is the End.DT6 SID of some switch.
func (h *hostile) decapsulator() netip.Addr {
	sw := one(h.rng, h.s.world.Network.Switches...)
	objects, err := h.s.world.Advertise(sw.Name)
	h.s.must(err)
	for _, sid := range objects.Node.SIDs {
		if sid.Behavior == topology.BehaviorEndDT6 {
			return sid.Address
		}
	}
	h.s.must(fmt.Errorf("%s has no End.DT6 SID", sw.Name))
	return sw.Loopback
}

// frame forges one.
func (h *hostile) frame(from *lab.HostNode) []byte {
	own := from.Config().Addr
	protocol, b := h.forged(own)
	for range h.rng.IntN(4) {
		b = h.tunnel(own, protocol, b)
		protocol = packet.NextHeaderIPv6
	}
	if protocol != packet.NextHeaderIPv6 { // a PFC frame is in one tunnel at least
		b = h.tunnel(own, protocol, b)
	}
	return h.ethernet(from, b)
}

func (h *hostile) ethernet(from *lab.HostNode, b []byte) []byte {
	return append(packet.Ethernet{Dst: from.Config().GatewayMAC, Src: from.Config().MAC,
		EtherType: packet.EtherTypeIPv6}.Append(nil), b...)
}

// one returns one of several.
func one[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// forged is a packet from its IPv6 header on, or a PFC frame.
func (h *hostile) forged(own netip.Addr) (protocol uint8, b []byte) {
	g := h.s.group
	if h.rng.IntN(6) == 0 {
		pfc := packet.PFC{Classes: uint8(h.rng.Uint32()), Quanta: [8]uint16{65535, 65535, 65535, 65535,
			65535, 65535, 65535, 65535}}
		return packet.NextHeaderEthernet, pfc.AppendFrame(nil, hostileMAC)
	}
	src := one(h.rng, own, h.member(), h.node(), proxy)
	psn := packet.PSNAdd(g.SourceQP.UnackedPSN(), h.rng.IntN(200)-20)
	p := packet.RoCE{
		IPv6: packet.IPv6{HopLimit: 64, Src: src, Dst: proxy},
		UDP:  packet.UDP{SrcPort: hostilePort, DstPort: packet.RoCEPort},
		BTH: packet.BTH{Opcode: packet.OpAcknowledge, PKey: packet.DefaultPKey, DestQPN: designatedQPN,
			PSN: psn},
	}
	// Security must not rely on a secret epoch of the tree's nodes.
	if epoch := h.epoch(); h.rng.IntN(4) > 0 {
		p.IPv6.FlowLabel = epoch & 0xffff
	}
	switch h.rng.IntN(5) {
	case 0:
		p.AETH = packet.AETH{Syndrome: packet.ACKSyndrome(packet.CreditInvalid),
			MSN: h.rng.Uint32() & packet.PSNMask}
	case 1:
		p.AETH = packet.AETH{Syndrome: packet.NAKSyndrome(one(h.rng, packet.NAKSequence,
			packet.NAKRemoteAccess))}
	case 2:
		p.BTH.Opcode, p.BTH.BECN = packet.OpCongestionNotification, true
	default:
		p.BTH.Opcode = packet.OpWriteOnly
		p.Payload = bytes.Repeat([]byte{0xbd}, pmtu)
		p.RETH = packet.RETH{VA: uint64(h.rng.IntN(max(1, g.Size()-pmtu))), RKey: 0x5eed, DMALength: pmtu}
		if h.rng.IntN(3) == 0 { // past the tree, straight into a receiver's queue pair
			p.IPv6.Src, p.IPv6.Dst, p.BTH.DestQPN = proxy, h.member(), 0x200+uint32(h.rng.IntN(6))
		}
	}
	return packet.NextHeaderIPv6, p.Append(nil)[packet.EthernetLen:]
}

// tunnel encapsulates, from its own address more often than not.
func (h *hostile) tunnel(own netip.Addr, protocol uint8, b []byte) []byte {
	ip := packet.IPv6{
		PayloadLength: uint16(len(b)), NextHeader: protocol, HopLimit: 64,
		Src: one(h.rng, own, own, own, own, h.node(), h.member()), Dst: h.target(),
	}
	if h.rng.IntN(2) == 0 {
		return append(ip.Append(nil), b...)
	}
	list := []netip.Addr{ip.Dst}
	for range h.rng.IntN(4) {
		list = append(list, one(h.rng, h.target(), proxy))
	}
	srh, err := packet.NewSRH(protocol, list, nil)
	if h.s.must(err); err != nil {
		return b
	}
	srh.SegmentsLeft = uint8(h.rng.IntN(len(list) + 1))
	ip.NextHeader, ip.PayloadLength = packet.NextHeaderRouting, uint16(srh.Len()+len(b))
	return append(srh.Append(ip.Append(nil)), b...)
}

// node is the address of some switch.
func (h *hostile) node() netip.Addr {
	return one(h.rng, h.s.world.Network.Switches...).Loopback
}

// member is the address of the source or a receiver.
func (h *hostile) member() netip.Addr {
	g := h.s.group
	if i := h.rng.IntN(len(g.Receivers) + 1); i < len(g.Receivers) {
		return g.Receivers[i].Host.Config().Addr
	}
	return g.Source.Config().Addr
}

func (h *hostile) epoch() uint32 {
	if status := h.s.status(); status != nil {
		return status.Epoch
	}
	return 0
}

// target returns the destination of some packet: a SID of the tree, another SID of a switch, a
// container of uSIDs, or an address.
func (h *hostile) target() netip.Addr {
	sw := one(h.rng, h.s.world.Network.Switches...)
	switch h.rng.IntN(8) {
	case 0, 1, 2:
		if status := h.s.status(); status != nil && status.Tree != nil {
			return one(h.rng, status.Tree.Nodes...).SID
		}
	case 3:
		return h.member()
	case 4:
		return sw.Loopback
	}
	objects, err := h.s.world.Advertise(sw.Name)
	if h.s.must(err); err != nil {
		return sw.Loopback
	}
	sid := one(h.rng, objects.Node.SIDs...).Address
	if h.rng.IntN(4) == 0 { // behind another switch's uSID
		container := sw.Locator.Addr().As16()
		tail := sid.As16()
		copy(container[6:], tail[4:])
		return netip.AddrFrom16(container)
	}
	return sid
}

// admitted has a scenario's intruders count as routers of the domain: no edge keeps them out.
func (s *scenario) admitted() error {
	for _, i := range intruders {
		sw, err := s.world.Switch(i[0])
		if err != nil {
			return err
		}
		_, port := s.world.Network.Uplink(i[1])
		e := entry.In(p4.TablePort, entry.Do(p4.ActionSetPort, entry.With("host_facing", entry.Uint(0)),
			entry.With("vrf", entry.Uint(0))),
			entry.Exact("port", entry.Uint(uint64(port))))
		pipeline, err := southbound.NewPipeline(p4.P4Info(), p4.JSON())
		if err != nil {
			return err
		}
		encoded, err := pipeline.Schema().Encode(e)
		if err != nil {
			return err
		}
		err = sw.Device().Write(s.world.Now(), &p4v1.WriteRequest{
			DeviceId: sw.Device().ID(), Updates: []*p4v1.Update{{Type: p4v1.Update_MODIFY, Entity: encoded}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// TestIntrudersDoHarm: without a domain edge, the packets of the other tests' hostile hosts do
// harm. The source accepts ACKs for data that receivers lack, or a NAK that ends the transfer, and
// receivers hold data that the source never wrote. Only this makes the other tests meaningful.
func TestIntrudersDoHarm(t *testing.T) {
	cache := new(p4rt.Cache)
	forged := bytes.Repeat([]byte{0xbd}, pmtu)
	early, written := uint64(0), 0
	for seed := uint64(1); seed <= 6; seed++ {
		s, err := newScenario(seed, cache, options{mode: api.ModeProvisioned, open: true})
		if err != nil {
			t.Fatal(err)
		}
		s.world.Run(s.world.Now()+100*time.Millisecond, func() bool {
			// A source may take a forged NAK that ends its queue pair.
			return s.group.Pump() != nil || s.broken != nil || s.hostile.left == 0
		})
		if s.broken != nil {
			t.Fatal(s.broken)
		}
		n, _ := s.group.EarlyAcks()
		early += n
		if n == 0 && !s.group.SourceQP.Failed() {
			t.Errorf("seed %d: the source took none of %d forged packets", seed, s.hostile.sent)
		}
		for _, r := range s.group.Receivers {
			if bytes.Contains(r.Memory, forged) {
				written++
			}
		}
	}
	if early == 0 || written == 0 {
		t.Errorf("the source took %d forged ACKs, and %d receivers a forged WRITE; want both", early,
			written)
	}
}
