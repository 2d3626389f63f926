package main

import (
	"fmt"
	"net/netip"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/entry"
)

// A role is a use of a switch: its entries, packets to send in repeatedly, and the expected output.
type role struct {
	name    string
	octets  int // of a frame that comes in
	copies  int // frames out for one in; 0: one out for each round of branches
	branch  int // branches that answer
	entries []entry.Entity
	in      []wire // one cycle
	out     []wire // of one cycle, in any order
	packets int    // that keep simple_switch busy for some seconds
}

// Surroundings of the switch: the tree and the source are behind port 1, receivers and children
// behind ports 2 and up.
const (
	upPort, downPort = 1, 2
	groupIndex       = 5
	groupEpoch       = 7
	designatedQPN    = 0xd0d0
	sourceQPN        = 0x100
	receiverQPN      = 0x200
)

var (
	nodeMAC    = packet.MAC{2, 0, 0, 0, 0, 1}
	nodeAddr   = netip.MustParseAddr("2001:db8::1")
	parentAddr = netip.MustParseAddr("2001:db8::2")
	treeSID    = netip.MustParseAddr("5f00:0:1:e000::")
	proxyAddr  = netip.MustParseAddr("2001:db8:ffff::1")
	sourceAddr = netip.MustParseAddr("2001:db8:1::1")
)

func receiverAddr(i int) netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("2001:db8:2::%x", i+1))
}
func childSID(i int) netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("5f00:0:%x:e000::", i+2))
}
func nextMAC(port uint32) packet.MAC {
	return packet.MAC{2, 0, 0, 0, 1, byte(port)}
}

// allRoles are the roles that are measured.
func allRoles() []role {
	roles := []role{forwarding(), replicating(2)}
	for _, n := range []int{2, 5} {
		roles = append(roles, delivering(n))
	}
	for _, n := range []int{2, 5, 16, 32} {
		roles = append(roles, aggregating(n))
	}
	return roles
}

// forwarding is an IPv6 route, and the smallest frame there is.
func forwarding() role {
	const octets = 64
	to := receiverAddr(0)
	r := role{name: "forward", octets: octets, copies: 1, packets: 100_000, entries: base(downPort)}
	r.entries = append(r.entries, routeTo(to, downPort))

	ip := packet.IPv6{NextHeader: packet.NextHeaderUDP, HopLimit: 64, Src: sourceAddr, Dst: to}
	ip.PayloadLength = octets - packet.EthernetLen - packet.IPv6Len
	udp := packet.UDP{SrcPort: 0xd001, DstPort: 9, Length: ip.PayloadLength}
	frame := func(eth packet.Ethernet, ip packet.IPv6) []byte {
		eth.EtherType = packet.EtherTypeIPv6
		b := udp.Append(ip.Append(eth.Append(nil)))
		return append(b, make([]byte, octets-len(b))...)
	}
	r.in = []wire{{upPort, frame(packet.Ethernet{Dst: nodeMAC, Src: nextMAC(upPort)}, ip)}}
	ip.HopLimit--
	r.out = []wire{{downPort, frame(packet.Ethernet{Dst: nextMAC(downPort), Src: nodeMAC}, ip)}}
	return r
}

// payloadOctets is the largest path MTU of InfiniBand.
const payloadOctets = 4096

// replicating is an End.Replicate segment with n child branches.
func replicating(n int) role {
	r := role{name: "replicate", copies: n, packets: 20_000, entries: append(base(downPort+n-1),
		groupState(n))}
	var replicas []entry.Replica
	for i := range n {
		port := uint32(downPort + i)
		replicas = append(replicas, entry.Replica{Port: port, Instance: uint32(i + 1)})
		r.entries = append(r.entries, inGroup(p4.TableMtReplica,
			entry.Do(p4.ActionToChild, address("sid", childSID(i)), number("neighbor", port)),
			entry.Exact("rid", entry.Uint(uint64(i+1)))))
	}
	r.entries = append(r.entries, entry.Copies(treeGroup, replicas...),
		localSID(entry.Do(p4.ActionEndReplicate, number("group", groupIndex),
			number("mcast_group", treeGroup), number("has_local", 0), address("source", parentAddr))))

	in := request()
	for i := range n {
		p := in
		p.Outer.Dst = childSID(i)
		p.Outer.HopLimit--
		r.out = append(r.out, leaving(uint32(downPort+i), p))
	}
	return r.from(upPort, in)
}

// delivering is an End.MT segment with n provisioned receivers.
func delivering(n int) role {
	r := role{name: "end_mt", copies: n, packets: 20_000 / n, entries: append(base(downPort),
		groupState(n))}
	var replicas []entry.Replica
	for i := range n {
		replicas = append(replicas, entry.Replica{Port: p4.RecirculationPort, Instance: uint32(i + 1)})
		r.entries = append(r.entries, routeTo(receiverAddr(i), downPort), inGroup(p4.TableMtReplica,
			entry.Do(p4.ActionToReceiver, address("receiver", receiverAddr(i)),
				number("receiver_qpn", receiverQPN+uint32(i)), number("proxy_source", 1)),
			entry.Exact("rid", entry.Uint(uint64(i+1)))))
	}
	r.entries = append(r.entries, proxyEntry(), entry.Copies(treeGroup, replicas...),
		localSID(entry.Do(p4.ActionEndMt, number("group", groupIndex), number("mcast_group", treeGroup),
			address("source", parentAddr))))

	in := request()
	for i := range n {
		p := in
		p.Encapsulated, p.Routed = false, false
		p.IPv6.Src, p.IPv6.Dst, p.IPv6.HopLimit = proxyAddr, receiverAddr(i), 64
		p.BTH.DestQPN = receiverQPN + uint32(i)
		r.out = append(r.out, leaving(downPort, p))
	}
	return r.from(upPort, in)
}

// A cycle of responses goes once around the PSN space, so every response carries news however often
// the cycle repeats.
const (
	rounds  = 64
	psnStep = 1 << 24 / rounds
)

// aggregating returns the role of the source's switch with n local receivers. All receivers
// acknowledge every PSN of the cycle.
func aggregating(n int) role {
	r := role{name: "aggregate", branch: n, packets: 50_000, entries: append(base(downPort),
		groupState(n))}
	r.entries = append(r.entries,
		proxyEntry(),
		inGroup(p4.TableMtUpstream, entry.Do(p4.ActionToSource, address("proxy", proxyAddr),
			address("address", sourceAddr),
			number("qpn", sourceQPN), number("neighbor", upPort))))
	for i := range n {
		r.entries = append(r.entries, inGroup(p4.TableMtBranch,
			entry.Do(p4.ActionSetBranch, number("branch", uint32(i)), number("epoch", groupEpoch),
				number("receiver", 1), number("msn_offset", 0)),
			entry.Exact("port", entry.Uint(downPort)), entry.Exact("src_addr", entry.Addr(receiverAddr(i)))))
	}
	for round := range uint32(rounds) {
		psn := round * psnStep
		ack := roce(packet.BTH{Opcode: packet.OpAcknowledge, DestQPN: designatedQPN, PSN: psn})
		ack.IPv6.Dst = proxyAddr
		ack.AETH = packet.AETH{Syndrome: packet.ACKSyndrome(5), MSN: psn}
		for i := range n {
			ack.IPv6.Src = receiverAddr(i)
			r.in = append(r.in, wire{downPort, ack.Append(nil)})
		}
		up := roce(packet.BTH{Opcode: packet.OpAcknowledge, DestQPN: sourceQPN, PSN: psn})
		up.IPv6.Src, up.IPv6.Dst = proxyAddr, sourceAddr
		up.UDP.SrcPort = 0xc000 | groupIndex
		up.AETH = packet.AETH{Syndrome: packet.ACKSyndrome(packet.CreditInvalid), MSN: psn}
		r.out = append(r.out, leaving(upPort, up))
	}
	r.octets = len(r.in[0].frame)
	return r
}

// from completes a role that takes one packet.
func (r role) from(port uint32, p packet.RoCE) role {
	r.in = []wire{{port, p.Append(nil)}}
	r.octets = len(r.in[0].frame)
	return r
}

// String is the role with what distinguishes it from others of its name.
func (r role) String() string {
	switch {
	case r.branch > 0:
		return fmt.Sprintf("%s of %d branches", r.name, r.branch)
	case r.copies > 1:
		return fmt.Sprintf("%s x%d", r.name, r.copies)
	}
	return r.name
}

// params are the role's fields of a figure.
func (r role) params() []field {
	f := []field{{"octets", r.octets}}
	if r.branch > 0 {
		return append(f, field{"branches", r.branch})
	}
	return append(f, field{"copies", r.copies})
}

// base returns the entries of any switch: itself, its ports, and a neighbor behind each.
func base(ports int) []entry.Entity {
	node := entry.In(p4.TableNode, entry.Do(p4.ActionSetNode, address("address", nodeAddr),
		number("tlv_type", uint32(packet.TLVEndMTDefault))))
	node.Default = true
	entries := []entry.Entity{
		node,
		entry.In(p4.TableMyStation, entry.Do(p4.ActionAcceptStation),
			entry.Exact("dst_addr", entry.MAC(nodeMAC))),
	}
	for port := range uint32(ports + 1) {
		if port == 0 {
			continue
		}
		id := entry.Uint(uint64(port))
		entries = append(entries,
			entry.In(p4.TablePort, entry.Do(p4.ActionSetPort, number("host_facing", 0), number("vrf", 0)),
				entry.Exact("port", id)),
			entry.In(p4.TableNeighbor, entry.Do(p4.ActionSetMacs,
				entry.With("src_addr", entry.MAC(nodeMAC)), entry.With("dst_addr", entry.MAC(nextMAC(port)))),
				entry.Exact("id", id)))
	}
	return entries
}

const treeGroup = p4.McastTree + 2*groupIndex

func groupState(branches int) entry.Entity {
	const forever = 1<<48 - 1 // microseconds
	return inGroup(p4.TableMtGroup, entry.Do(p4.ActionSetGroupState,
		number("epoch", groupEpoch), number("designated_qpn", designatedQPN),
		number("live_mask", uint32(1<<branches-1)),
		entry.With("nack_holdoff", entry.Uint(forever)), entry.With("cnp_window", entry.Uint(forever)),
		number("cnp_limit", 0),
		number("upstream_port", upPort), number("cnp_session", upPort+1)))
}

func proxyEntry() entry.Entity {
	return entry.In(p4.TableMtProxy, entry.Do(p4.ActionSetGroup, number("group", groupIndex)),
		entry.Exact("dst_addr", entry.Addr(proxyAddr)))
}

func inGroup(table string, do entry.Action, match ...entry.Match) entry.Entity {
	return entry.In(table, do, append(match, entry.Exact("group", entry.Uint(groupIndex)))...)
}

func routeTo(a netip.Addr, port uint32) entry.Entity {
	return entry.In(p4.TableIpv6Route, entry.Do(p4.ActionForward, number("port", port),
		number("neighbor", port)),
		entry.Exact("vrf", entry.Uint(0)), exactly("dst_addr", a))
}

func localSID(do entry.Action) entry.Entity {
	return entry.In(p4.TableLocalSid, do, exactly("dst_addr", treeSID))
}

func number(name string, v uint32) entry.Param { return entry.With(name, entry.Uint(uint64(v))) }

func address(name string, a netip.Addr) entry.Param { return entry.With(name, entry.Addr(a)) }

// roce is a RoCEv2 packet on its way into the switch.
func roce(bth packet.BTH) packet.RoCE {
	bth.PKey = packet.DefaultPKey
	return packet.RoCE{
		Ethernet: packet.Ethernet{Dst: nodeMAC, Src: nextMAC(upPort)},
		IPv6:     packet.IPv6{HopLimit: 64},
		UDP:      packet.UDP{SrcPort: 0xd001, DstPort: packet.RoCEPort},
		BTH:      bth,
	}
}

// request is a WRITE in the tree, on its way to this switch's SID.
func request() packet.RoCE {
	p := roce(packet.BTH{Opcode: packet.OpWriteMiddle, DestQPN: designatedQPN, PSN: 1})
	p.IPv6.Src, p.IPv6.Dst, p.IPv6.HopLimit = sourceAddr, proxyAddr, 63
	p.Payload = make([]byte, payloadOctets)
	for i := range p.Payload {
		p.Payload[i] = byte(i*7 + i>>8)
	}
	srh, err := packet.NewSRH(packet.NextHeaderIPv6, []netip.Addr{treeSID, proxyAddr}, nil)
	if err != nil {
		panic(err) // two segments always fit
	}
	p.Encapsulated, p.Routed, p.SRH = true, true, srh
	p.Outer = packet.IPv6{FlowLabel: 0x12345, HopLimit: 64, Src: parentAddr, Dst: treeSID}
	return p
}

// leaving is a packet on its way to the neighbor behind a port.
func leaving(port uint32, p packet.RoCE) wire {
	p.Ethernet = packet.Ethernet{Dst: nextMAC(port), Src: nodeMAC}
	return wire{port, p.Append(nil)}
}

func exactly(name string, a netip.Addr) entry.Match {
	return entry.Match{Field: name, Kind: entry.MatchLPM, Value: entry.Addr(a), Bits: a.BitLen()}
}
