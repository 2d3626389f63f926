package fabric

import (
	"fmt"
	"net/netip"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// group is a multicast group as one switch sees it.
type group struct {
	id       uint16
	epoch    uint32
	qpn      uint32 // designated
	proxy    netip.Addr
	live     uint32
	holdoff  uint64 // microseconds
	window   uint64 // microseconds
	limit    uint32
	up       uint32 // upstream port
	branches []branch
	parent   parent
	ipv4     bool // proxy address, source and receivers
}

// branch is one answerer.
type branch struct {
	index  uint8
	port   uint32
	also   []uint32 // further ports it may answer on
	addr   netip.Addr
	qpn    uint32 // of a receiver
	child  bool   // a node, whose responses carry the epoch
	offset uint32 // of its MSN
	psn    uint32 // what is added to the PSNs of its packets
	epoch  uint32 // 0: the group's
}

// parent defines how responses go up.
type parent uint8

const (
	toSource parent = iota
	toParent
	toParentEncaps
)

const (
	forever   = 1<<48 - 1 // microseconds
	sourceQPN = 0x5050
)

// newGroup is a group whose source is the host behind port 1, with n receivers behind ports 2 to 6
// in turn.
func newGroup(id uint16, n int) group {
	g := group{
		id: id, epoch: 0x00070000 + uint32(id), qpn: 0xd00 + uint32(id),
		proxy:   addr(fmt.Sprintf("fd00:99::%x", id)),
		holdoff: forever, window: forever, up: 1,
	}
	for b := range n {
		g.branches = append(g.branches, branch{
			index: uint8(b), port: 2 + uint32(b)%5, addr: addr(fmt.Sprintf("fd00:a:1::%x", b)), qpn: 0x100 +
				uint32(b),
		})
		g.live |= 1 << b
	}
	return g
}

// where returns the group with changes.
func (g group) where(change func(*group)) group {
	g.branches = append([]branch(nil), g.branches...)
	change(&g)
	return g
}

// source is the address of the group's source.
func (g group) source() netip.Addr {
	if g.ipv4 {
		return hostIPv4(g.up)
	}
	return host(g.up)
}

// responses are the entries that aggregation needs.
func (g group) responses() []*p4v1.Update {
	updates := []*p4v1.Update{
		g.proxyEntry(),
		g.state(), g.upstream(),
	}
	for _, b := range g.branches {
		for _, port := range append([]uint32{b.port}, b.also...) {
			updates = append(updates, g.branch(b, port))
		}
	}
	return updates
}

func (g group) proxyEntry() *p4v1.Update {
	return entry(p4.TableMtProxy, []any{g.proxy}, p4.ActionSetGroup, g.id)
}

func (g group) state() *p4v1.Update {
	return entry(p4.TableMtGroup, []any{g.id}, p4.ActionSetGroupState, g.epoch, g.qpn, g.live,
		g.holdoff, g.window, g.limit, g.up, g.up+1)
}

func (g group) branch(b branch, port uint32) *p4v1.Update {
	epoch := b.epoch
	if epoch == 0 {
		epoch = g.epoch
	}
	if b.psn != 0 {
		return entry(p4.TableMtBranch, []any{g.id, port, b.addr}, p4.ActionSetBranchPsn, b.index,
			epoch, !b.child, b.offset, b.psn)
	}
	return entry(p4.TableMtBranch, []any{g.id, port, b.addr}, p4.ActionSetBranch, b.index, epoch,
		!b.child, b.offset)
}

func (g group) upstream() *p4v1.Update {
	switch g.parent {
	case toParent:
		return entry(p4.TableMtUpstream, []any{g.id}, p4.ActionToParent, g.proxy, node, g.epoch, g.qpn,
			neighborOf(g.up))
	case toParentEncaps:
		return entry(p4.TableMtUpstream, []any{g.id}, p4.ActionToParentEncaps, g.proxy, node, g.epoch,
			g.qpn, sidBehind(g.up), neighborOf(g.up))
	}
	return entry(p4.TableMtUpstream, []any{g.id}, p4.ActionToSource, g.proxy, g.source(), sourceQPN,
		neighborOf(g.up))
}

// answer is a response of branch b as it arrives.
func (g group) answer(b int, psn uint32, syndrome packet.Syndrome, msn uint32) packet.RoCE {
	br := g.branches[b]
	p := arriving(br.addr, g.proxy, packet.BTH{Opcode: packet.OpAcknowledge, DestQPN: g.qpn, PSN: psn})
	p.AETH = packet.AETH{Syndrome: syndrome, MSN: msn}
	if br.child {
		p.IPv6.FlowLabel = g.epoch & 0xffff
	}
	return p
}

func (g group) from(b int, p packet.RoCE) wire { return in(g.branches[b].port, p) }

func (g group) ack(b int, psn, msn uint32) wire {
	return g.from(b, g.answer(b, psn, packet.ACKSyndrome(5), msn))
}

func (g group) nak(b int, psn, msn uint32) wire {
	return g.from(b, g.answer(b, psn, packet.NAKSyndrome(packet.NAKSequence), msn))
}

func (g group) rnr(b int, psn uint32, timer uint8, msn uint32) wire {
	return g.from(b, g.answer(b, psn, packet.RNRSyndrome(timer), msn))
}

func (g group) fatal(b int, psn uint32, code packet.NAKCode, msn uint32) wire {
	return g.from(b, g.answer(b, psn, packet.NAKSyndrome(code), msn))
}

func (g group) cnpPacket(b int) packet.RoCE {
	p := g.answer(b, 0, 0, 0)
	p.BTH.Opcode, p.BTH.BECN = packet.OpCongestionNotification, true
	return p
}

func (g group) cnp(b int) wire { return g.from(b, g.cnpPacket(b)) }

// opened is the packet-in of the CNP that opened a window: the CNP as it came.
func (g group) opened(b int) wire {
	br := g.branches[b]
	return report{port: uint16(br.port), reason: p4.PacketInReasonCnpWindow, group: g.id,
		branch: br.index, epoch: g.epoch}.wire(g.cnp(b).frame...)
}

func (g group) poll() wire { return packetOut(p4.PacketOutOpPoll, 0, g.id, 0) }

func (g group) ask(b uint8) wire { return packetOut(p4.PacketOutOpState, 0, g.id, b) }

// up is what leaves for the source or the parent.
func (g group) upward(bth packet.BTH, aeth packet.AETH) wire {
	bth.PKey = packet.DefaultPKey
	p := packet.RoCE{
		IPv6: packet.IPv6{HopLimit: 64, Src: g.proxy, Dst: g.source()},
		UDP:  packet.UDP{SrcPort: 0xc000 | g.id, DstPort: packet.RoCEPort},
		BTH:  bth, AETH: aeth,
	}
	p.BTH.DestQPN = sourceQPN
	if g.parent != toSource {
		p.IPv6 = packet.IPv6{FlowLabel: g.epoch & 0xffff, HopLimit: 64, Src: node, Dst: g.proxy}
		p.BTH.DestQPN = g.qpn
	}
	if g.parent == toParentEncaps {
		p.Encapsulated = true
		p.Outer = packet.IPv6{FlowLabel: g.epoch & 0xffff, HopLimit: 64, Src: node, Dst: sidBehind(g.up)}
	}
	return out(g.up, p)
}

func (g group) upAnswer(psn uint32, syndrome packet.Syndrome, msn uint32) wire {
	return g.upward(packet.BTH{Opcode: packet.OpAcknowledge, PSN: psn}, packet.AETH{Syndrome: syndrome,
		MSN: msn})
}

func (g group) upAck(psn, msn uint32) wire {
	return g.upAnswer(psn, packet.ACKSyndrome(packet.CreditInvalid), msn)
}

func (g group) upNak(psn, msn uint32) wire {
	return g.upAnswer(psn, packet.NAKSyndrome(packet.NAKSequence), msn)
}

func (g group) upRNR(psn uint32, timer uint8, msn uint32) wire {
	return g.upAnswer(psn, packet.RNRSyndrome(timer), msn)
}

func (g group) upCNP() wire {
	return g.upward(packet.BTH{Opcode: packet.OpCongestionNotification, BECN: true}, packet.AETH{})
}

// tree is the downward side of a group at this switch.
type tree struct {
	group
	children []uint32   // ports; the child behind one is reached by sidBehind(port)
	inband   bool       // receivers are in the packets' TLVs
	fallback bool       // receivers are provisioned for packets without
	literal  bool       // the source address stays, as the draft's text has it
	outer    netip.Addr // source of the encapsulation; default the node behind port 7
}

// sid is the SID the tree has at this switch.
func (t tree) sid() netip.Addr { return addr(fmt.Sprintf("fd00:b:ff::%x", 0x1000+int(t.id))) }

// from is the source address of the encapsulation.
func (t tree) from() netip.Addr {
	if t.outer.IsValid() {
		return t.outer
	}
	return nodeBehind(7)
}

func (t tree) mcast() uint32 { return p4.McastTree + 2*uint32(t.id) }

// downward are the entries that copy data: the SID, the copies, what each of them becomes.
func (t tree) downward() []*p4v1.Update {
	updates := append(t.receivers(), t.groups()...)
	action, params := p4.ActionEndMt, []any{t.id, t.mcast(), t.from()}
	if len(t.children) > 0 {
		action, params = p4.ActionEndReplicate, []any{t.id, t.mcast(), len(t.branches) > 0, t.from()}
	}
	updates = append(updates, t.state(), t.proxyEntry(),
		entry(p4.TableLocalSid, []any{exactly(t.sid())}, action, params...))
	for i, port := range t.children {
		updates = append(updates, entry(p4.TableMtReplica, []any{t.id, childRID(i)}, p4.ActionToChild,
			sidBehind(port), neighborOf(port)))
	}
	return updates
}

// childRID leaves the first 16 branches to receivers.
func childRID(i int) uint32 { return 17 + uint32(i) }

// groups are the multicast groups: the tree's, and the receivers alone.
func (t tree) groups() []*p4v1.Update {
	var copies, local []copyTo
	for i, port := range t.children {
		copies = append(copies, copyTo{port, childRID(i)})
	}
	for _, b := range t.branches {
		local = append(local, copyTo{p4.RecirculationPort, uint32(b.index) + 1})
	}
	switch {
	case t.inband:
		copies = append(copies, copyTo{p4.RecirculationPort, p4.RidTlv})
	default:
		copies = append(copies, local...)
	}
	if !t.fallback {
		local = nil
	}
	return []*p4v1.Update{multicast(t.mcast(), copies...), multicast(t.mcast()+1, local...)}
}

// receivers are the entries for this node's own receivers, and routes to them.
func (t tree) receivers() []*p4v1.Update {
	var updates []*p4v1.Update
	for _, b := range t.branches {
		updates = append(updates,
			entry(p4.TableMtReplica, []any{t.id, int(b.index) + 1}, p4.ActionToReceiver, b.addr, b.qpn,
				!t.literal),
			entry(p4.TableMtTlvReceiver, []any{t.id, b.addr}, p4.ActionAllowTlvReceiver, !t.literal),
			entry(p4.TableIpv6Route, []any{0, exactly(b.addr)}, p4.ActionForward, b.port,
				neighborOf(b.port)),
		)
	}
	return append(updates, entry(p4.TableMtReplica, []any{t.id, p4.RidTlv}, p4.ActionToTlvReceivers,
		t.fallback))
}

// request is a packet that the source sends in provisioned mode. The other fields follow from the
// PSN: a switch carries it along, and has it in the ICRC.
func (t tree) request(op packet.Opcode, psn uint32, size int) packet.RoCE {
	bits := (psn + 1) * 2654435761
	p := arriving(t.source(), t.proxy, packet.BTH{Opcode: op, DestQPN: t.qpn, PSN: psn, AckReq: true,
		Solicited: bits>>31 == 1, MigReq: bits>>30&1 == 1, PadCount: uint8(bits >> 28 & 3),
		TVer: uint8(bits >> 24 & 15), FECN: bits>>7&1 == 1, BECN: bits>>6&1 == 1,
		Reserved6: uint8(bits & 63), Reserved7: uint8(bits >> 1 & 127)})
	p.BTH.PKey = uint16(bits >> 8)
	p.RETH = packet.RETH{VA: 0x1000_2000_3000_4000, RKey: 0xaabbccdd, DMALength: uint32(size)}
	p.ImmDt = 0x01020304
	p.Payload = pattern(size)
	return p
}

// onTree puts a packet between its outer header and this switch's SID.
func (t tree) onTree(p packet.RoCE, tlvs ...byte) packet.RoCE {
	srh, err := packet.NewSRH(packet.NextHeaderIPv6, []netip.Addr{t.sid(), sixteen(t.proxy)}, tlvs)
	if err != nil {
		panic(err)
	}
	p.Encapsulated, p.Routed, p.SRH = true, true, srh
	p.Outer = packet.IPv6{TrafficClass: p.IPv6.TrafficClass, FlowLabel: 0x54321, HopLimit: 60,
		Src: t.from(), Dst: t.sid()}
	return p
}

// listed is a packet on the tree with another Segment List, in the order of the visit, and Segments
// Left.
func listed(p packet.RoCE, left uint8, visit ...netip.Addr) packet.RoCE {
	srh, err := packet.NewSRH(packet.NextHeaderIPv6, visit, p.SRH.TLVList)
	if err != nil {
		panic(err)
	}
	srh.SegmentsLeft = left
	p.SRH = srh
	return p
}

// delivered is what receiver b gets of a packet.
func (t tree) delivered(b int, p packet.RoCE) wire {
	br := t.branches[b]
	return t.deliveredTo(br.port, br.addr, br.qpn, p)
}

func (t tree) deliveredTo(port uint32, to netip.Addr, qpn uint32, p packet.RoCE) wire {
	p.Encapsulated, p.Routed = false, false
	p.IPv6.Dst, p.BTH.DestQPN, p.IPv6.HopLimit = to, qpn, 64
	if !t.literal {
		p.IPv6.Src = t.proxy
	}
	return out(port, p)
}

// all returns the copies for every receiver of this node.
func (t tree) all(p packet.RoCE) []wire {
	var wires []wire
	for b := range t.branches {
		wires = append(wires, t.delivered(b, p))
	}
	return wires
}

// passed is what the child behind a port gets of a packet on the tree.
func (t tree) passed(port uint32, p packet.RoCE) wire {
	p.Outer.Dst = sidBehind(port)
	p.Outer.HopLimit--
	return out(port, p)
}

// encapsulated returns the result of H.Encaps at this switch, for a packet of the source and a tree
// that starts at a SID.
func encapsulated(start netip.Addr, p packet.RoCE) packet.RoCE {
	srh, err := packet.NewSRH(packet.NextHeaderIPv6, []netip.Addr{start, sixteen(p.IPv6.Dst)}, nil)
	if err != nil {
		panic(err)
	}
	inner := p.IPv6
	inner.NextHeader = packet.NextHeaderUDP
	p.Encapsulated, p.Routed, p.SRH = true, true, srh
	p.Outer = packet.IPv6{
		TrafficClass: inner.TrafficClass,
		FlowLabel:    flowLabel(inner, uint32(p.UDP.SrcPort)<<16|uint32(p.UDP.DstPort)), HopLimit: 64,
		Src: node, Dst: start,
	}
	p.IPv6.HopLimit--
	return p
}

// fromSource returns the frames for a packet of the source if the tree starts at this switch.
func (t tree) fromSource(p packet.RoCE) []wire {
	wires := t.all(p)
	for _, port := range t.children {
		q := encapsulated(t.sid(), p)
		q.Outer.Dst = sidBehind(port)
		wires = append(wires, out(port, q))
	}
	return wires
}

// withoutState leaves out the group's own entry and its proxy address, which both sides of a tree
// state.
func withoutState(updates []*p4v1.Update) []*p4v1.Update {
	return slices.DeleteFunc(updates, func(u *p4v1.Update) bool {
		id := u.GetEntity().GetTableEntry().GetTableId()
		return id == p4.TableMtGroupID || id == p4.TableMtProxyID
	})
}
