package fabric

import (
	"fmt"
	"net/netip"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// l3vpn sends tenant traffic into and out of SRv6 policies: two tenants use the same addresses, one
// on port 2 and one on port 6.
func l3vpn() []scenario {
	const none, v6 = packet.NextHeaderNone, packet.NextHeaderIPv6
	const slices = 0xfff
	dst, tenants := host(0x99), []struct{ port, vrf, slice uint32 }{{2, 5, 0x105}, {6, 6, 0x206}}
	far := []netip.Addr{addr("fd00:b:4::d5"), addr("fd00:b:4::d6")}
	near := []netip.Addr{addr("fd00:b:ff::da"), addr("fd00:b:ff::db")}
	inner := packet.IPv6{TrafficClass: packet.TrafficClass(26, packet.ECT0), FlowLabel: 0xfedcb,
		NextHeader: none, HopLimit: 9, Src: host(1), Dst: dst}
	out := s6{slices}

	s := scenario{name: "l3vpn/policies", classes: true,
		entries: append(pfcSIDs(0), entry(p4.TableSliceField, nil, p4.ActionSetSliceField, slices))}
	for i, t := range tenants {
		s.entries = append(s.entries, hostPort(t.port, t.vrf, anybody)...)
		s.entries = append(s.entries,
			entry(p4.TableSrv6Policy, []any{t.vrf, exactly(dst)}, p4.ActionVpnSteer, 1, far[i], t.slice,
				10+i, i, 0),
			entry(p4.TableLocalSid, []any{exactly(near[i])}, p4.ActionEndDt6, t.vrf),
			entry(p4.TableServiceSid, []any{near[i]}, p4.ActionServiceDt6, t.vrf),
			entry(p4.TableIpv6Route, []any{t.vrf, exactly(host(1))}, p4.ActionForward, t.port,
				neighborOf(t.port)),
			entry(p4.TableSlice, []any{t.slice}, p4.ActionSetSlice, 2+i, 0),
		)
	}
	list := policies()
	s.entries = append(s.entries, list[0].entry())
	for _, p := range list {
		p.id = 1
		visited, visit, port := p.path()
		for i, t := range tenants {
			step := step{
				what: fmt.Sprintf("%d segments, first one this switch's %v, tenant %d", len(p.segments), p.own,
					i), in: wire{t.port, plain(inner, pattern(33))},
				out: []wire{out.encapsulated(port, inner, uint8(10+i), t.slice, pattern(33), visited,
					append(append([]netip.Addr(nil), visit...), far[i])...)},
				classes: sent(port, i),
			}
			if i == 0 {
				step.write = []*p4v1.Update{p.entry()}
				if p.segments != nil || len(s.steps) > 0 {
					step.write = modify(step.write...)
				}
			}
			s.steps = append(s.steps, step)
			// Out of one tunnel and into another, without a trace of the first.
			again := routed(packet.IPv6{TrafficClass: 0xfc, FlowLabel: 0xfffff, HopLimit: 2,
				Src: nodeBehind(4), Dst: near[i]}, []netip.Addr{sidBehind(7), sidBehind(8), near[i]}, 0, v6,
				plain(inner, pattern(33))[packet.EthernetLen:], 200, 6, 1, 2, 3, 4, 5, 6)
			copy(again[offNext+5:], []byte{0xff, 0xee, 0xdd}) // flags and tag of the SRH
			step.what, step.in, step.write = step.what+", out of a tunnel", wire{4, again}, nil
			s.steps = append(s.steps, step)
		}
	}
	s.entries[len(s.entries)-1] = policyNumbered(list[0], 1)
	s.steps[0].write = nil
	last := inner
	last.Dst = host(2)
	s.steps = append(s.steps,
		step{what: "what is not the tenant's is not steered", in: wire{2, plain(last, nil)},
			ingress: drops{p4.DropReasonNoRoute: 1}},
		step{
			what: "a policy that is gone", in: wire{2, plain(inner, nil)},
			ingress: drops{p4.DropReasonSrPolicy: 1},
			write:   remove(policyNumbered(list[0], 1)),
		},
		step{what: "Hop Limit 1", in: wire{2, plain(hops(inner, 1), nil)},
			ingress: drops{p4.DropReasonHopLimit: 1}, write: []*p4v1.Update{policyNumbered(list[0], 1)}},
	)
	// An error goes back to the tenant, not to another tenant's host with the same address.
	errors := scenario{name: "l3vpn/errors", entries: append([]*p4v1.Update{icmpEntry(1,
		1<<30)}, s.entries...)}
	for i, p := range list {
		for k, t := range tenants {
			frame := plain(hops(inner, uint8(k)), pattern(33))
			e := step{what: fmt.Sprintf("%d segments, Hop Limit %d", len(p.segments), k),
				in: wire{t.port, frame}, out: []wire{icmpError(t.port, frame, 3, 0, 0)},
				ingress: drops{p4.DropReasonHopLimit: 1},
				icmp:    map[p4.IcmpEvent]int{p4.IcmpEventTimeExceeded: 1}}
			if i > 0 && k == 0 {
				e.write = modify(policyNumbered(p, 1))
			}
			errors.steps = append(errors.steps, e)
		}
	}

	// Back: the tenant's End.DT6, alone or behind a SID of the same switch.
	back := packet.IPv6{TrafficClass: packet.TrafficClass(26, packet.ECT1), NextHeader: none,
		HopLimit: 20, Src: dst, Dst: host(1)}
	backPacket := plain(back, pattern(50))[packet.EthernetLen:]
	outer := packet.IPv6{TrafficClass: packet.TrafficClass(10, packet.ECT1), HopLimit: 30,
		Src: nodeBehind(4)}
	arrive := func(dst netip.Addr, slice uint32) packet.IPv6 {
		h := outer
		h.Dst, h.FlowLabel = dst, 0xab000|slice
		return h
	}
	for i, t := range tenants {
		be := arrive(near[i], t.slice)
		be.NextHeader = v6
		delivered := []wire{forwarded(t.port, plain(back, pattern(50)))}
		s.steps = append(s.steps,
			step{what: "best effort", in: wire{4, plain(be, backPacket)}, out: delivered,
				classes: sent(t.port, 2+i)},
			step{what: "the last segment",
				in: wire{4, routed(arrive(near[i], t.slice), []netip.Addr{sidBehind(7), near[i]}, 0, v6,
					backPacket)}, out: delivered, classes: sent(t.port, 2+i)},
		)
		for _, own := range []netip.Addr{sidEnd, sidEndPFC} {
			visit := []netip.Addr{sidBehind(7), own, near[i]}
			s.steps = append(s.steps,
				step{what: "behind another SID of this switch",
					in: wire{4, routed(arrive(own, t.slice), visit, 1, v6, backPacket)}, out: delivered,
					classes: sent(t.port, 2+i)},
				step{what: "not IPv6", in: wire{4, routed(arrive(own, t.slice), visit, 1, none, nil)},
					ingress: drops{p4.DropReasonSidUpperLayer: 1}},
				step{
					what: "segments left", in: wire{4,
						routed(arrive(own, t.slice), []netip.Addr{own, near[i], sidBehind(5)}, 2, v6, backPacket)},
					ingress: drops{p4.DropReasonSidSegmentsLeft: 1},
				},
			)
		}
	}
	transit := arrive(sidBehind(5), 0x206)
	transit.NextHeader = v6
	pfc := inTunnel(signaller, sidBehind(5), 0x206, 0, nil, pfcOf(9, 3).AppendFrame(nil, pfcSource))
	fromOutside := transit
	fromOutside.Dst = host(5)
	s.entries = append(s.entries, entry(p4.TableIpv6Route, []any{6, exactly(host(5))},
		p4.ActionForward, 5, neighborOf(5)))
	s.steps = append(s.steps,
		step{what: "in transit a slice has its queue", in: wire{4, plain(transit, backPacket)},
			out: []wire{forwarded(5, plain(transit, backPacket))}, classes: sent(5, 3)},
		step{what: "but not its PFC frames", in: wire{4, pfc}, out: []wire{forwarded(5, pfc)}},
		step{what: "nor a host's, which uses no tunnel at all",
			in: wire{6, plain(fromOutside, backPacket)}, ingress: drops{p4.DropReasonSourceGuard: 1}},
		step{what: "nor a flow label of a packet that is in no tunnel",
			in: wire{4, plain(packet.IPv6{FlowLabel: 0x206, NextHeader: none, HopLimit: 9, Src: host(3),
				Dst: host(5)}, nil)},
			out: []wire{forwarded(5, plain(packet.IPv6{FlowLabel: 0x206, NextHeader: none, HopLimit: 9,
				Src: host(3), Dst: host(5)}, nil))}},
	)
	return []scenario{s, errors}
}

func hops(h packet.IPv6, n uint8) packet.IPv6 { h.HopLimit = n; return h }

func policyNumbered(p somePolicy, id uint16) *p4v1.Update { p.id = id; return p.entry() }

// s6 encapsulates as the switch does, with slices in some bits of the flow label.
type s6 struct{ slices uint32 }

func (s s6) encapsulated(port uint32, inner packet.IPv6, dscp uint8, slice uint32, payload []byte,
	visited []netip.Addr, visit ...netip.Addr) wire {
	label := flowLabel(inner, 0)&^s.slices | slice
	inner.HopLimit--
	outer := packet.IPv6{
		TrafficClass: packet.TrafficClass(dscp, packet.ECN(inner.TrafficClass)), FlowLabel: label,
		NextHeader: packet.NextHeaderIPv6,
		HopLimit:   64, Src: node, Dst: visit[0],
	}
	in := plain(inner, payload)[packet.EthernetLen:]
	list := append(append([]netip.Addr(nil), visited...), visit...)
	frame := plain(outer, in)
	if len(list) > 1 {
		frame = routed(outer, list, uint8(len(visit)-1), packet.NextHeaderIPv6, in)
	}
	w := forwarded(port, frame)
	w.frame[offOuter+7]++ // it starts here
	return w
}

// domainEdge: a host may send only to explicitly allowed SIDs.
func domainEdge() []scenario {
	const none, v6 = packet.NextHeaderNone, packet.NextHeaderIPv6
	block := netip.MustParsePrefix("fd00:b::/32")
	dt6 := addr("fd00:b:ff::d6")
	ip := func(dst netip.Addr) packet.IPv6 {
		return packet.IPv6{NextHeader: none, HopLimit: 9, Src: host(1), Dst: dst}
	}
	inner := plain(ip(host(6)), pattern(20))[packet.EthernetLen:]
	visit := func(sid netip.Addr) []netip.Addr { return []netip.Addr{sid, sidBehind(4)} }
	outside := func(what string, frame []byte) step {
		return step{what: what, in: wire{1, frame}, ingress: drops{p4.DropReasonSidFromOutside: 1}}
	}
	passes := func(what string, port uint32, frame []byte, out wire) step {
		return step{what: what, in: wire{port, frame}, out: []wire{out}}
	}
	tree := tree{group: newGroup(61, 2), inband: true, outer: host(1)}
	data := tree.request(packet.OpWriteOnly, 9, 24)
	named := tree.onTree(data, inbandTLVs(edge(node, tree.asTLV(0)...))...)
	forged := inTunnel(signaller, sidEndXPFC, 0, 0, nil, pfcOf(9, 3).AppendFrame(nil, pfcSource))
	uN := plain(packet.IPv6{NextHeader: v6, HopLimit: 9, Src: host(1),
		Dst: container(packet.F3216, usidNode, nodeUSID(4))}, inner)

	s := scenario{
		name: "edge/outside",
		entries: append(append(append(pfcSIDs(0), usidEntries(packet.F3216)...),
			append(tree.downward(), fanOut()...)...),
			append(append(hostPort(1, 0, anybody), hostPort(8, 0, anybody)...),
				icmpEntry(1, 1<<30),
				entry(p4.TablePfcTunnel, []any{sidEndXPFC, signaller, 0}, p4.ActionAcceptPfc, 0xff),
				entry(p4.TableSidSpace, []any{block}, p4.ActionSidOfDomain),
				entry(p4.TableSidSpace, []any{usidBlock(packet.F3216)}, p4.ActionSidOfDomain),
				entry(p4.TableMtSource, []any{tree.id, 8, host(1)}, p4.ActionMtInband),
				entry(p4.TableSidAllowed, []any{8, host(1), usidBlock(packet.F3216)}, p4.ActionAllowSid,
					addr("ffff:ffff::")),
				entry(p4.TablePfcPort, []any{1}, p4.ActionAcceptLinkPfc, 0xff),
			)...),
		steps: []step{
			outside("End", routed(ip(sidEnd), visit(sidEnd), 1, none, nil)),
			outside("End.X", routed(ip(sidEndX), visit(sidEndX), 1, none, nil)),
			outside("End.X.PFC, segments left", routed(ip(sidEndXPFC), visit(sidEndXPFC), 1, none, nil)),
			outside("a forged PFC frame, of a source that would be believed", forged),
			outside("the same with an SRH", inTunnel(signaller, sidEndXPFC, 0, 0, visit(sidEndXPFC),
				pfcOf(9, 3).AppendFrame(nil, pfcSource))),
			outside("End.DT6", plain(packet.IPv6{NextHeader: v6, HopLimit: 9, Src: host(1), Dst: dt6},
				inner)),
			outside("a SID of another node", plain(ip(sidBehind(4)), nil)),
			outside("without an ICMPv6 error", routed(packet.IPv6{HopLimit: 1, Src: host(1), Dst: sidEnd},
				visit(sidEnd), 1, none, nil)),
			outside("whatever is wrong with it", routed(ip(sidEnd), visit(sidEnd), 4, none, nil)),
			refuses("a tree, of another source", in(1, named), p4.DropReasonMtNotSource),
			outside("a uSID", uN),
			passes("other addresses", 1, plain(ip(host(5)), nil), forwarded(5, plain(ip(host(5)), nil))),
			passes("PFC on the link is the link's", 1, onLink(1, pfcOf(9, 3)).frame,
				commanded(1, pfcOf(9, 3))).with(xoffs(1, 3)),
			passes("a port of the fabric is asked nothing", 2, routed(ip(sidEnd), visit(sidEnd), 1, none,
				nil), forwarded(4, routed(ip(sidBehind(4)), visit(sidEnd), 0, none, nil))),
			passes("nor of PFC frames but their source", 4, forged, commanded(3, pfcOf(9, 3))).with(xoffs(3,
				3)),
			{what: "a tree, its source", in: in(8, named), out: []wire{tree.delivered(0, data)}},
			{what: "a uSID, allowed", in: wire{8, uN}, out: []wire{forwarded(4, plain(packet.IPv6{
				NextHeader: v6, HopLimit: 9, Src: host(1), Dst: container(packet.F3216, nodeUSID(4)),
			}, inner))}},
			{what: "what else is not", in: wire{8, routed(ip(sidEnd), visit(sidEnd), 1, none, nil)},
				ingress: drops{p4.DropReasonSidFromOutside: 1}},
			{
				what:    "a switch's own SIDs need no prefix",
				in:      wire{1, routed(ip(sidEnd), visit(sidEnd), 1, none, nil)},
				ingress: drops{p4.DropReasonSidFromOutside: 1},
				write:   remove(entry(p4.TableSidSpace, []any{block}, p4.ActionSidOfDomain)),
			},
			outside("nor does a plain packet", plain(ip(sidEnd), nil)),
		},
	}
	return []scenario{s}
}

// with adds counts of pauses.
func (s step) with(c counts) step { s.pauses = c; return s }
