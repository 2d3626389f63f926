package fabric

import (
	"net/netip"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// Plain IPv6: longest prefix match, ECMP, Hop Limit, admission.
func forwarding() []scenario {
	ip := packet.IPv6{TrafficClass: 0xb8, FlowLabel: 0xabcde, NextHeader: packet.NextHeaderNone,
		HopLimit: 9, Src: host(1), Dst: host(2)}
	frame := plain(ip, []byte("payload that nobody parses"))
	to := func(change func(*packet.IPv6)) []byte {
		ip := ip
		change(&ip)
		return plain(ip, pattern(33))
	}
	wide, narrow := addr("fd00:77::1"), addr("fd00:77:0:1::1")
	return []scenario{
		{
			name: "forward/longest_prefix",
			entries: append(refusing(ecmpGroup(8, 1, 1)),
				entry(p4.TableIpv6Route, []any{0, netip.MustParsePrefix("fd00:77::/32")}, p4.ActionForward, 4,
					neighborOf(4)),
				entry(p4.TableIpv6Route, []any{0, netip.MustParsePrefix("fd00:77:0:1::/64")}, p4.ActionForward,
					5, neighborOf(5)),
				entry(p4.TableIpv6Route, []any{7, netip.MustParsePrefix("::/0")}, p4.ActionForward, 6,
					neighborOf(6)),
				entry(p4.TableIpv6Route, []any{0, netip.MustParsePrefix("fd00:77:0:2::/64")},
					p4.ActionDropNoRoute),
				entry(p4.TableIpv6Route, []any{0, netip.MustParsePrefix("fd00:77:0:3::/64")},
					p4.ActionEcmpGroup, 8),
				entry(p4.TableIpv6Route, []any{0, netip.MustParsePrefix("fd00:77:0:4::/64")},
					p4.ActionEcmpGroup, 7)),
			steps: []step{
				{what: "host route", in: wire{1, frame}, out: []wire{forwarded(2, frame)}},
				{
					what: "short prefix", in: wire{1, to(func(h *packet.IPv6) { h.Dst = wide })},
					out: []wire{forwarded(4, to(func(h *packet.IPv6) { h.Dst = wide }))},
				},
				{
					what: "long prefix", in: wire{1, to(func(h *packet.IPv6) { h.Dst = narrow })},
					out: []wire{forwarded(5, to(func(h *packet.IPv6) { h.Dst = narrow }))},
				},
				{
					what: "route that says no", in: wire{1, to(func(h *packet.IPv6) {
						h.Dst = addr("fd00:77:0:2::1")
					})},
					ingress: drops{p4.DropReasonNoRoute: 1},
				},
				{
					what: "route to a group whose member says no", in: wire{1, to(func(h *packet.IPv6) {
						h.Dst = addr("fd00:77:0:3::1")
					})},
					ingress: drops{p4.DropReasonNoRoute: 1},
				},
				{ // p4c gives a table with a selector no default action
					what: "route to a group that is not there: to no port", in: wire{1, to(func(h *packet.IPv6) {
						h.Dst = addr("fd00:77:0:4::1")
					})},
					egress: drops{p4.DropReasonNoNeighbor: 1},
				},
				{
					what: "no route", in: wire{1, to(func(h *packet.IPv6) { h.Dst = addr("fd00:78::1") })},
					ingress: drops{p4.DropReasonNoRoute: 1},
				},
			},
		},
		{
			name: "forward/vrf",
			entries: append(modify(entry(p4.TablePort, []any{2}, p4.ActionSetPort, 0, 7)),
				entry(p4.TableIpv6Route, []any{7, netip.MustParsePrefix("::/0")}, p4.ActionForward, 6,
					neighborOf(6))),
			steps: []step{
				{what: "vrf 0", in: wire{1, frame}, out: []wire{forwarded(2, frame)}},
				{what: "vrf 7", in: wire{2, frame}, out: []wire{forwarded(6, frame)}},
			},
		},
		{
			name: "forward/hop_limit",
			steps: []step{
				{
					what: "2 is the last that goes on", in: wire{1, to(func(h *packet.IPv6) { h.HopLimit = 2 })},
					out: []wire{forwarded(2, to(func(h *packet.IPv6) { h.HopLimit = 2 }))},
				},
				{what: "1", in: wire{1, to(func(h *packet.IPv6) { h.HopLimit = 1 })},
					ingress: drops{p4.DropReasonHopLimit: 1}},
				{what: "0", in: wire{1, to(func(h *packet.IPv6) { h.HopLimit = 0 })},
					ingress: drops{p4.DropReasonHopLimit: 1}},
			},
		},
		{
			name: "forward/no_neighbor",
			entries: []*p4v1.Update{
				entry(p4.TableIpv6Route, []any{0, exactly(wide)}, p4.ActionForward, 4, 9999),
				entry(p4.TableNeighbor, []any{9998}, p4.ActionDropNoNeighbor),
				entry(p4.TableIpv6Route, []any{0, exactly(narrow)}, p4.ActionForward, 4, 9998),
			},
			steps: []step{
				{in: wire{1, to(func(h *packet.IPv6) { h.Dst = wide })},
					egress: drops{p4.DropReasonNoNeighbor: 1}},
				{in: wire{1, to(func(h *packet.IPv6) { h.Dst = narrow })},
					egress: drops{p4.DropReasonNoNeighbor: 1}},
			},
		},
		{
			name: "admission",
			entries: append(modify(entry(p4.TablePort, []any{1}, p4.ActionSetPort, 1, 0)),
				entry(p4.TableSourceGuard, []any{1, exactly(host(1))}, p4.ActionAllowSource),
				entry(p4.TableSourceGuard, []any{1, netip.MustParsePrefix("fd00:a:1::/64")},
					p4.ActionAllowSource)),
			steps: []step{
				{what: "own address", in: wire{1, frame}, out: []wire{forwarded(2, frame)}},
				{
					what: "own prefix", in: wire{1, to(func(h *packet.IPv6) { h.Src = addr("fd00:a:1::99") })},
					out: []wire{forwarded(2, to(func(h *packet.IPv6) { h.Src = addr("fd00:a:1::99") }))},
				},
				{
					what: "another's address", in: wire{1, to(func(h *packet.IPv6) { h.Src = host(3) })},
					ingress: drops{p4.DropReasonSourceGuard: 1},
				},
				{
					what: "a network port is not guarded", in: wire{3, to(func(h *packet.IPv6) {
						h.Src = host(4)
					})},
					out: []wire{forwarded(2, to(func(h *packet.IPv6) { h.Src = host(4) }))},
				},
				{
					what: "another's MAC", in: patch(wire{3, frame}, 0, 2, 0, 0, 0, 0, 2),
					ingress: drops{p4.DropReasonNotMyStation: 1},
				},
				{what: "ARP", in: patch(wire{3, frame}, 12, 0x08, 0x06),
					ingress: drops{p4.DropReasonNotIpv6: 1}},
				{what: "IP version 4 under IPv6's EtherType", in: patch(wire{3, frame}, offOuter, 0x4b),
					ingress: drops{p4.DropReasonNotIpv6: 1}},
			},
		},
	}
}
