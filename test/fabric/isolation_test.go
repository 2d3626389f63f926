package fabric

import (
	"fmt"
	"net/netip"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// Sets of hosts with the same permitted destinations: hosts 1 and 2 belong to project acme, acme
// shares host 5, and host 4 belongs to globex. Host 3 belongs to no isolated project.
const (
	acme       = 0x80000007
	acmeShared = 0x17
	globex     = 9
)

// isolatedPort makes a port face a host of an isolated project.
func isolatedPort(port, of uint32) []*p4v1.Update {
	return append(modify(entry(p4.TablePort, []any{port}, p4.ActionSetPort, 1, 0)),
		entry(p4.TableSourceGuard, []any{port, exactly(host(port))}, p4.ActionAllowSourceOf, of))
}

// mayReach lets a set of hosts send to the prefixes and to no other destination. notReach does the
// opposite.
func mayReach(of uint32, to ...netip.Prefix) []*p4v1.Update {
	return verdicts(of, p4.ActionDropIsolated, p4.ActionAllowDestination, to)
}

func notReach(of uint32, to ...netip.Prefix) []*p4v1.Update {
	return verdicts(of, p4.ActionAllowDestination, p4.ActionDropIsolated, to)
}

func verdicts(of uint32, otherwise, action string, to []netip.Prefix) []*p4v1.Update {
	updates := []*p4v1.Update{entry(p4.TableIsolation, []any{of, anybody}, otherwise)}
	for _, p := range to {
		updates = append(updates, entry(p4.TableIsolation, []any{of, p}, action))
	}
	return updates
}

// isolatedHosts is a switch with the hosts above. Ports from 6 on are the fabric's.
func isolatedHosts(proxies ...netip.Prefix) []*p4v1.Update {
	own := append([]netip.Prefix{exactly(host(1)), exactly(host(2))}, proxies...)
	return slices.Concat(isolatedPort(1, acme), isolatedPort(2, acme),
		hostPort(3, 0, exactly(host(3))), isolatedPort(4, globex), isolatedPort(5, acmeShared),
		mayReach(acme, append(slices.Clone(own), exactly(host(5)))...),
		mayReach(globex, exactly(host(4))),
		notReach(acmeShared, exactly(host(4))),
		notReach(0, append(slices.Clone(own), exactly(host(4)))...))
}

// datagram returns a packet between two hosts.
func datagram(from, to uint32) packet.IPv6 {
	return packet.IPv6{NextHeader: packet.NextHeaderUDP, HopLimit: 20, Src: host(from), Dst: host(to)}
}

var datagramPayload = append(packet.UDP{SrcPort: 9, DstPort: 99, Length: 16}.Append(nil),
	pattern(8)...)

// isolation: packets of an isolated project stay in the project, and packets of other projects stay
// out.
func isolation() []scenario {
	var steps []step
	reaches := [][]bool{ // by sender and receiver: hosts 1 to 6
		{true, true, false, false, true, false},
		{true, true, false, false, true, false},
		{false, false, true, false, true, true},
		{false, false, false, true, false, false},
		{true, true, true, false, true, true},
	}
	for i, row := range reaches {
		for j, open := range row {
			from, to := uint32(i+1), uint32(j+1)
			for _, chain := range [][]extension{nil, {{hopByHop, 8, 0}, {destination, 24, 0}}} {
				what := fmt.Sprintf("%v to %v, %d extension headers", host(from), host(to), len(chain))
				frame := behind(datagram(from, to), packet.NextHeaderUDP, datagramPayload, chain...)
				s := refuses(what, wire{from, frame}, p4.DropReasonIsolated)
				if open {
					s = step{what: what, in: wire{from, frame}, out: []wire{forwarded(to, frame)}}
				}
				steps = append(steps, s)
			}
		}
	}
	toNode := func(from uint32) wire {
		ip := datagram(from, 1)
		ip.Dst = nodeBehind(7)
		return wire{from, plain(ip, datagramPayload)}
	}
	fabric := plain(datagram(3, 1), datagramPayload)
	steps = append(steps,
		refuses("a node of the network, from a project", toNode(1), p4.DropReasonIsolated),
		step{what: "a node of the network, from an outsider", in: toNode(3),
			out: []wire{forwarded(7, toNode(3).frame)}},
		refuses("another's address", wire{3, plain(datagram(1, 2), datagramPayload)},
			p4.DropReasonSourceGuard),
		step{what: "from the fabric: the first switch has judged", in: wire{7, fabric},
			out: []wire{forwarded(1, fabric)}},
		step{
			what: "no longer isolated", in: wire{3, fabric}, out: []wire{forwarded(1, fabric)},
			write: append(modify(entry(p4.TableSourceGuard, []any{1, exactly(host(1))},
				p4.ActionAllowSource), entry(p4.TableSourceGuard, []any{2, exactly(host(2))},
				p4.ActionAllowSource)),
				remove(notReach(0, exactly(host(1)), exactly(host(2)), exactly(host(4)))...)...),
		},
		step{what: "nor is its own sender", in: toOf(1, 3), out: []wire{forwarded(3, toOf(1, 3).frame)}},
	)
	return slices.Concat([]scenario{{name: "isolation/plain", entries: isolatedHosts(), steps: steps}},
		isolatedVRF(), isolatedMRC(), isolatedGroups())
}

func toOf(from, to uint32) wire { return wire{from, plain(datagram(from, to), datagramPayload)} }

// isolatedVRF: a VRF keeps its packets inside, and has its own address space.
func isolatedVRF() []scenario {
	return []scenario{{
		name: "isolation/vrf",
		entries: slices.Concat(isolatedHosts(),
			modify(entry(p4.TablePort, []any{1}, p4.ActionSetPort, 1, 7)), []*p4v1.Update{
				entry(p4.TableIpv6Route, []any{7, exactly(host(8))}, p4.ActionForward, 8, neighborOf(8)),
			}),
		steps: []step{
			{what: "its own site", in: toOf(1, 8), out: []wire{forwarded(8, toOf(1, 8).frame)}},
			refuses("what is not in the VRF", toOf(1, 2), p4.DropReasonNoRoute),
			refuses("into it", toOf(3, 1), p4.DropReasonIsolated),
		},
	}}
}

// isolatedMRC: along uSIDs the destination inside counts, and where a uSID names a port, the host
// there must have it.
func isolatedMRC() []scenario {
	const f = packet.F3216
	mask, local := addr("ffff:ffff::"), netip.PrefixFrom(container(f, 0xe000), 35)
	frame := func(octets []byte) []byte {
		return append(packet.Ethernet{Dst: nodeMAC, Src: packet.MAC{2, 9, 9, 9, 9, 9},
			EtherType: packet.EtherTypeIPv6}.Append(nil), octets...)
	}
	along := func(from, to uint32, usids ...uint16) []byte {
		return frame(tunneled(tunnel{src: host(from), dst: container(f, usids...)},
			plain(datagram(from, to), datagramPayload)))
	}
	extended := func(from, to uint32, usids ...uint16) []byte {
		return frame(tunneled(tunnel{src: host(from), dst: container(f, usids...)},
			behind(datagram(from, to), packet.NextHeaderUDP, datagramPayload, extension{destination, 8, 0})))
	}
	segments := func(from, to uint32) []byte {
		t := tunnel{host(from), container(f, usidAdj, nodeUSID(4)),
			[]netip.Addr{container(f, nodeUSID(6), usidTable)}, 1}
		return frame(tunneled(t, plain(datagram(from, to), datagramPayload)))
	}
	shifted := func(t tunnel, from, to uint32) []byte {
		t.dst = container(f, nodeUSID(4))
		return frame(tunneled(t, plain(datagram(from, to), datagramPayload)))
	}
	onward := func(from, to uint32) wire {
		return forwarded(3, shifted(tunnel{src: host(from)}, from, to))
	}
	keep := uint16(0xe806)
	entries := slices.Concat(isolatedHosts(), usidEntries(f), sidsOfDomain(), []*p4v1.Update{
		entry(p4.TableIpv6Route, []any{0, usidPrefix(f, keep)}, p4.ActionForward, 6, neighborOf(6)),
		entry(p4.TableDelivery, []any{6, exactly(host(6))}, p4.ActionDeliver),
		entry(p4.TableDelivery, []any{6, anybody}, p4.ActionDropDelivery),
	})
	for _, p := range []uint32{1, 3, 4} {
		entries = append(entries, entry(p4.TableSidAllowed, []any{p, host(p), local}, p4.ActionAllowSid,
			mask))
	}
	inside := func(to uint32) []byte { return plain(datagram(2, to), datagramPayload) }
	return []scenario{{
		name: "isolation/mrc", entries: entries,
		steps: []step{
			{what: "own host", in: wire{1, along(1, 2, usidAdj, nodeUSID(4))}, out: []wire{onward(1, 2)}},
			{what: "outsiders", in: wire{3, along(3, 6, usidAdj, nodeUSID(4))}, out: []wire{onward(3, 6)}},
			{what: "own host, by the leaf's own table", in: wire{1, along(1, 2, usidTable)},
				out: []wire{forwarded(2, plain(datagram(1, 2), datagramPayload))}},
			refuses("out of the project", wire{1, along(1, 3, usidAdj, nodeUSID(4))}, p4.DropReasonIsolated),
			refuses("out of the project, by the leaf's own table", wire{1, along(1, 3, usidTable)},
				p4.DropReasonIsolated),
			refuses("out of the project, to a port of the leaf", wire{1, along(1, 6, usidHost)},
				p4.DropReasonIsolated),
			refuses("out of the project, behind options", wire{1, extended(1, 3, usidAdj, nodeUSID(4))},
				p4.DropReasonIsolated),
			refuses("out of the project, with a second container", wire{1, segments(1, 3)},
				p4.DropReasonIsolated),
			refuses("into the project", wire{3, along(3, 2, usidAdj, nodeUSID(4))}, p4.DropReasonIsolated),
			refuses("into the project, behind options", wire{3, extended(3, 2, usidAdj, nodeUSID(4))},
				p4.DropReasonIsolated),
			refuses("into the project, with a second container", wire{3, segments(3, 2)},
				p4.DropReasonIsolated),
			refuses("from one project to another", wire{4, along(4, 1, usidAdj, nodeUSID(4))},
				p4.DropReasonIsolated),
			// A way around: the address is one's own, and the uSID another's port.
			refuses("an own address at another's port", wire{1, along(1, 2, usidHost)},
				p4.DropReasonIsolated),
			refuses("from elsewhere", wire{7, along(2, 1, usidHost)}, p4.DropReasonIsolated),
			refuses("from elsewhere, and encapsulated to the end", wire{7, along(2, 1, keep)},
				p4.DropReasonIsolated),
			{what: "its own address at its port", in: wire{7, along(2, 6, usidHost)},
				out: []wire{forwarded(6, inside(6))}},
			{what: "its own address at its port, encapsulated to the end", in: wire{7, along(2, 6, keep)},
				out: []wire{forwarded(6, along(2, 6, keep))}},
			{what: "in transit nobody asks", in: wire{7, along(2, 1, usidAdj, nodeUSID(4))},
				out: []wire{onward(2, 1)}},
		},
	}}
}

// isolatedGroups: a group of the project works in both modes, and is nobody else's.
func isolatedGroups() []scenario {
	proxies := netip.MustParsePrefix("fd00:99::/64")
	t := tree{group: newGroup(80, 0)}
	start := sidBehind(8)
	p := t.request(packet.OpWriteOnly, 3, 128)
	from := func(port uint32) packet.RoCE {
		return with(p, func(p *packet.RoCE) { p.IPv6.Src = host(port) })
	}
	answered := newGroup(81, 2).where(func(g *group) {
		for i := range g.branches {
			g.branches[i].port, g.branches[i].addr = uint32(i+1), host(uint32(i+1))
		}
		g.up = 8
	})
	stranger := answered.answer(0, 1, packet.ACKSyndrome(packet.CreditInvalid), 1)
	stranger.IPv6.Src = host(3)
	provisioned := scenario{
		name: "isolation/group",
		entries: slices.Concat(isolatedHosts(proxies), t.responses(), answered.responses(),
			[]*p4v1.Update{
				entry(p4.TableMtSource, []any{t.id, 1, host(1)}, p4.ActionMtEncaps, node, start),
				entry(p4.TableMtSource, []any{t.id, 3, host(3)}, p4.ActionMtEncaps, node, start),
			}),
		steps: []step{
			{what: "its source", in: in(1, from(1)), out: []wire{out(8, encapsulated(start, from(1)))}},
			refuses("an outsider, though the group would take it", in(3, from(3)), p4.DropReasonIsolated),
			refuses("a shared host is no source by that", in(5, from(5)), p4.DropReasonMtNotSource),
			absorbed("its receiver answers",
				in(1, answered.answer(0, 1, packet.ACKSyndrome(packet.CreditInvalid), 1))),
			refuses("an outsider answers", in(3, stranger), p4.DropReasonIsolated),
		},
	}

	starts := tree{group: newGroup(82, 2), children: []uint32{7, 8}, inband: true, outer: host(1)}
	plainly := starts.request(packet.OpWriteOnly, 5, 99)
	fromHost := starts.onTree(plainly, inbandTLVs(edge(node, starts.asTLV(1, 0)...))...)
	another := with(fromHost, func(p *packet.RoCE) { p.Outer.Src, p.IPv6.Src = host(3), host(3) })
	elsewhere := with(fromHost, func(p *packet.RoCE) { p.IPv6.Dst = host(3) })
	inband := scenario{
		name: "isolation/inband",
		entries: slices.Concat(isolatedHosts(proxies), withoutState(starts.responses()),
			starts.downward(), fanOut(), []*p4v1.Update{
				entry(p4.TableMtSource, []any{starts.id, 1, host(1)}, p4.ActionMtInband),
				entry(p4.TableMtSource, []any{starts.id, 3, host(3)}, p4.ActionMtInband),
			}),
		steps: []step{
			{what: "its source", in: in(1, fromHost), out: append(starts.all(fromHost),
				starts.passed(7, fromHost), starts.passed(8, fromHost))},
			refuses("an outsider, though the group would take it", in(3, another), p4.DropReasonIsolated),
			refuses("another destination inside", in(1, elsewhere), p4.DropReasonIsolated),
		},
	}
	return []scenario{provisioned, inband}
}
