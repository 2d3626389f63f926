package fabric

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/test/seeds"
)

// usidBlock is the block of a format in the scenarios.
func usidBlock(f packet.USIDFormat) netip.Prefix {
	if f == packet.F1616 {
		return netip.MustParsePrefix("fdb1::/16")
	}
	return netip.MustParsePrefix("fdb0:32::/32")
}

// container packs uSIDs into one address.
func container(f packet.USIDFormat, usids ...uint16) netip.Addr {
	all, err := f.Containers(usidBlock(f), usids...)
	if err != nil || len(all) != 1 {
		panic(fmt.Sprintf("containers %v: %v", all, err))
	}
	return all[0]
}

// usidPrefix is what a switch matches for a uSID, or for a node's and a local one behind it.
func usidPrefix(f packet.USIDFormat, usids ...uint16) netip.Prefix {
	return netip.PrefixFrom(container(f, usids...), f.BlockBits()+16*len(usids))
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

func unEntry(f packet.USIDFormat, psp, usd bool, usids ...uint16) *p4v1.Update {
	return entry(p4.TableLocalSid, []any{usidPrefix(f, usids...)}, p4.ActionUn,
		flag(f == packet.F1616), flag(len(usids) == 2), psp, usd)
}

func uaEntry(f packet.USIDFormat, psp, usd bool, port uint32, usids ...uint16) *p4v1.Update {
	return entry(p4.TableLocalSid, []any{usidPrefix(f, usids...)}, p4.ActionUa,
		flag(f == packet.F1616), flag(len(usids) == 2), psp, usd, port, neighborOf(port))
}

// The uSIDs of the switch, and of the node behind port n: 0x10n.
const (
	usidNode  = 0x0100
	usidAdj   = 0xe003 // to the node behind port 3
	usidHost  = 0xe006 // decapsulates, to the host behind port 6
	usidTable = 0xe0f0 // decapsulates, to a lookup
	usidUSD   = 0x0101 // uN with PSP and USD
	usidXUSD  = 0xe005 // uA with PSP and USD, to port 5
)

func usidEntries(f packet.USIDFormat) []*p4v1.Update {
	updates := []*p4v1.Update{
		unEntry(f, false, false, usidNode),
		unEntry(f, true, true, usidUSD),
		uaEntry(f, false, false, 3, usidAdj),
		uaEntry(f, true, true, 5, usidXUSD),
		// a node's uSID and a local one behind it: port 4, to be told apart
		uaEntry(f, false, false, 4, usidNode, usidAdj),
		entry(p4.TableLocalSid, []any{usidPrefix(f, usidHost)}, p4.ActionEndDx6, 6, neighborOf(6)),
		entry(p4.TableLocalSid, []any{usidPrefix(f, usidTable)}, p4.ActionEndDt6, 0),
		entry(p4.TableLocalSid, []any{usidPrefix(f, usidNode, usidHost)}, p4.ActionEndDx6, 8,
			neighborOf(8)),
	}
	for port := uint32(1); port <= ports; port++ {
		updates = append(updates, entry(p4.TableIpv6Route, []any{0, usidPrefix(f, uint16(0x100+port)<<4)},
			p4.ActionForward, port, neighborOf(port)))
	}
	return updates
}

// nodeUSID is the uSID of the node behind a port.
func nodeUSID(port uint32) uint16 { return uint16(0x100+port) << 4 }

// usids: uN, uA, uDT6, uDX6 in both formats.
func usids() []scenario {
	var all []scenario
	inner := mrcPacket(2, dscps.Trimmable, 100)
	for _, f := range []packet.USIDFormat{packet.F3216, packet.F1616} {
		// tunnelled is a packet in a tunnel along containers, of which the second and all after it are in
		// an SRH: reduced, or with the first one, too.
		tunnelled := func(reduced bool, left uint8, containers ...netip.Addr) packet.MRC {
			return changed(inner, func(p *packet.MRC) {
				p.Encapsulated, p.Outer = true, packet.IPv6{TrafficClass: p.IPv6.TrafficClass, FlowLabel: 7,
					HopLimit: 20, Src: host(1), Dst: containers[0]}
				if len(containers) == 1 && reduced {
					return
				}
				visit := containers
				if reduced {
					visit = visit[1:]
				}
				srh, err := packet.NewSRH(packet.NextHeaderIPv6, visit, nil)
				if err != nil {
					panic(err)
				}
				srh.SegmentsLeft = left
				p.Routed, p.SRH = true, srh
			})
		}
		// onward returns the step of a packet that the switch forwards by a port, according to the
		// codec's model.
		onward := func(what string, b packet.USIDBehavior, p packet.MRC, port uint32) step {
			want := changed(p, func(q *packet.MRC) {
				srh := &q.SRH
				if !q.Routed {
					srh = nil
				}
				if got := f.Process(b, &q.Outer, srh); got != packet.SIDForward {
					panic(fmt.Sprintf("%s: outcome %v", what, got))
				}
				q.Outer.HopLimit++ // forwarded takes it off
			})
			return step{what: what, in: wire{1, octets(p)}, out: []wire{forwarded(port, octets(want))}}
		}
		is := func(what string, p packet.MRC, reason p4.DropReason) step {
			return step{what: what, in: wire{1, octets(p)}, ingress: drops{reason: 1}}
		}
		decapsulated := func(what string, p packet.MRC, port uint32) step {
			return step{what: what, in: wire{1, octets(p)}, out: []wire{forwarded(port, octets(inner))}}
		}
		popped := func(p packet.MRC, dst netip.Addr) packet.MRC {
			return changed(p, func(q *packet.MRC) { q.Routed, q.Outer.Dst = false, dst })
		}
		to4 := container(f, usidNode, nodeUSID(4), 7)
		lastHere := container(f, usidNode)
		next := container(f, nodeUSID(4), usidHost)
		hop1 := func(p packet.MRC) packet.MRC {
			return changed(p, func(q *packet.MRC) { q.Outer.HopLimit = 1 })
		}
		full := make([]uint16, f.Capacity())
		for i := range full {
			full[i] = nodeUSID(uint32(i%8) + 1)
		}
		full[0] = usidNode
		bare := plain(packet.IPv6{NextHeader: packet.NextHeaderNone, HopLimit: 9, Src: host(1), Dst: to4},
			pattern(9))
		bareNext := plain(packet.IPv6{NextHeader: packet.NextHeaderNone, HopLimit: 9, Src: host(1),
			Dst: f.Shift(to4)}, pattern(9))
		s := scenario{name: "usid/" + f.String(), entries: usidEntries(f)}
		s.steps = []step{
			onward("uN", packet.UN, tunnelled(true, 0, to4), 4),
			onward("uN, a full container", packet.UN, tunnelled(true, 0, container(f, full...)), 2),
			{what: "uN without a tunnel", in: wire{1, bare}, out: []wire{forwarded(4, bareNext)}},
			onward("uA, whatever the route", packet.UA,
				tunnelled(true, 0, container(f, usidAdj, nodeUSID(4))), 3),
			onward("uN, the SRH is not looked at", packet.UN, tunnelled(true, 1, to4, next), 4),
			onward("uN, end of container, reduced SRH", packet.UN, tunnelled(true, 1, lastHere, next), 4),
			onward("uN, end of container, full SRH", packet.UN, tunnelled(false, 1, lastHere, next), 4),
			onward("uA, end of container", packet.UA, tunnelled(true, 1, container(f, usidAdj), next), 3),
			{
				what: "uN and a local uSID in one step",
				in:   wire{1, octets(tunnelled(true, 0, container(f, usidNode, usidAdj, nodeUSID(2))))},
				out:  []wire{forwarded(4, octets(tunnelled(true, 0, container(f, nodeUSID(2)))))},
			},
			decapsulated("uDX6", tunnelled(true, 0, container(f, usidHost)), 6),
			decapsulated("uDT6", tunnelled(true, 0, container(f, usidTable)), 2),
			decapsulated("uDX6 behind the node's uSID", tunnelled(true, 0, container(f, usidNode, usidHost)),
				8),
			decapsulated("uDX6, an SRH that is done", tunnelled(false, 0, container(f, usidHost)), 6),
			is("uDX6, segments left", tunnelled(true, 1, container(f, usidHost), next),
				p4.DropReasonSidSegmentsLeft),
			is("uDT6, segments left", tunnelled(true, 1, container(f, usidTable), next),
				p4.DropReasonSidSegmentsLeft),
			is("uN, nothing left", tunnelled(true, 0, lastHere), p4.DropReasonSidUpperLayer),
			is("uN, SRH done, nothing left", tunnelled(false, 0, lastHere), p4.DropReasonSidSegmentsLeft),
			is("uA, nothing left", tunnelled(true, 0, container(f, usidAdj)), p4.DropReasonSidUpperLayer),
			is("uN, Hop Limit 1", hop1(tunnelled(true, 0, to4)), p4.DropReasonHopLimit),
			is("uN, end of container, Hop Limit 1", hop1(tunnelled(true, 1, lastHere, next)),
				p4.DropReasonHopLimit),
			is("Segments Left beyond Last Entry + 1", tunnelled(true, 2, lastHere, next),
				p4.DropReasonParseSegmentsLeft),
			is("no route to the next uSID", tunnelled(true, 0, container(f, usidNode, 0x7777)),
				p4.DropReasonNoRoute),
			// PSP takes the SRH off with the last segment, USD the tunnel when nothing is left.
			{
				what: "uN with PSP", in: wire{1, octets(tunnelled(true, 1, container(f, usidUSD), next))},
				out: []wire{forwarded(4, octets(popped(tunnelled(true, 1, container(f, usidUSD), next),
					next)))},
			},
			onward("uN with PSP, not the last segment", packet.UN, tunnelled(true, 2, container(f, usidUSD),
				next, to4), 4),
			decapsulated("uN with USD", tunnelled(true, 0, container(f, usidUSD)), 2),
			decapsulated("uN with USD, SRH done", tunnelled(false, 0, container(f, usidUSD)), 2),
			decapsulated("uA with USD", tunnelled(true, 0, container(f, usidXUSD)), 5),
			{
				what: "uN with USD, nothing to take out",
				in: wire{1, plain(packet.IPv6{NextHeader: packet.NextHeaderNone, HopLimit: 9, Src: host(1),
					Dst: container(f, usidUSD)}, nil)},
				ingress: drops{p4.DropReasonSidUpperLayer: 1},
			},
		}
		all = append(all, s)
	}
	return append(all, flavors(), endDX6())
}

// flavors of End and End.X.
func flavors() scenario {
	inner := packet.IPv6{NextHeader: packet.NextHeaderNone, HopLimit: 20, Src: host(1), Dst: host(6)}
	innerPacket := plain(inner, pattern(30))[packet.EthernetLen:]
	sid := func(i int) netip.Addr { return addr(fmt.Sprintf("fd00:b:ff::f%d", i)) }
	ip := func(dst netip.Addr) packet.IPv6 { return packet.IPv6{HopLimit: 30, Src: host(1), Dst: dst} }
	const v6 = packet.NextHeaderIPv6
	visit := func(first netip.Addr) []netip.Addr { return []netip.Addr{first, sidBehind(4), host(5)} }
	tlvs := []byte{packet.TLVPadN, 6, 0, 0, 0, 0, 0, 0}
	bareTo := func(dst netip.Addr) []byte {
		h := ip(dst)
		h.NextHeader = v6
		return plain(h, innerPacket)
	}
	psp, usd, xpsp, xusd := sid(1), sid(2), sid(3), sid(4)
	return scenario{
		name: "srv6/flavors",
		entries: []*p4v1.Update{
			entry(p4.TableLocalSid, []any{exactly(psp)}, p4.ActionEndFlavors, true, false),
			entry(p4.TableLocalSid, []any{exactly(usd)}, p4.ActionEndFlavors, false, true),
			entry(p4.TableLocalSid, []any{exactly(xpsp)}, p4.ActionEndXFlavors, 3, neighborOf(3), true,
				false),
			entry(p4.TableLocalSid, []any{exactly(xusd)}, p4.ActionEndXFlavors, 3, neighborOf(3), false,
				true),
		},
		steps: []step{
			{what: "PSP, not the last", in: wire{1, routed(ip(psp), visit(psp), 2, v6, innerPacket)},
				out: []wire{forwarded(4, routed(ip(sidBehind(4)), visit(psp), 1, v6, innerPacket))}},
			{what: "PSP, the last", in: wire{1, routed(ip(psp), visit(psp), 1, v6, innerPacket, tlvs...)},
				out: []wire{forwarded(5, bareTo(host(5)))}},
			{what: "PSP, none left", in: wire{1, routed(ip(psp), visit(psp), 0, v6, innerPacket)},
				ingress: drops{p4.DropReasonSidSegmentsLeft: 1}},
			{what: "USD, the last", in: wire{1, routed(ip(usd), visit(usd), 1, v6, innerPacket)},
				out: []wire{forwarded(5, routed(ip(host(5)), visit(usd), 0, v6, innerPacket))}},
			{what: "USD, none left", in: wire{1, routed(ip(usd), visit(usd), 0, v6, innerPacket, tlvs...)},
				out: []wire{forwarded(6, plain(inner, pattern(30)))}},
			{what: "USD, no SRH", in: wire{1, bareTo(usd)},
				out: []wire{forwarded(6, plain(inner, pattern(30)))}},
			{what: "End.X with PSP", in: wire{1, routed(ip(xpsp), visit(xpsp), 1, v6, innerPacket)},
				out: []wire{forwarded(3, bareTo(host(5)))}},
			{what: "End.X with USD", in: wire{1, bareTo(xusd)},
				out: []wire{forwarded(3, plain(inner, pattern(30)))}},
		},
	}
}

// endDX6 is End.DX6 (RFC 8986 section 4.4).
func endDX6() scenario {
	sid := addr("fd00:b:ff::d8")
	inner := packet.IPv6{TrafficClass: 2, NextHeader: packet.NextHeaderNone, HopLimit: 20,
		Src: host(1), Dst: addr("fd00:dead::1")}
	innerPacket := plain(inner, pattern(30))[packet.EthernetLen:]
	ip := packet.IPv6{TrafficClass: 3, NextHeader: packet.NextHeaderIPv6, HopLimit: 30, Src: host(1),
		Dst: sid}
	marked := inner
	marked.TrafficClass = 3
	none := ip
	none.NextHeader = packet.NextHeaderNone
	return scenario{
		name: "srv6/end.dx6",
		entries: []*p4v1.Update{entry(p4.TableLocalSid, []any{exactly(sid)}, p4.ActionEndDx6, 7,
			neighborOf(7))},
		steps: []step{
			{what: "no route, an adjacency", in: wire{1, plain(ip, innerPacket)},
				out: []wire{forwarded(7, plain(marked, pattern(30)))}},
			{what: "Segments Left 0", in: wire{1, routed(ip, []netip.Addr{sid}, 0, packet.NextHeaderIPv6,
				innerPacket)}, out: []wire{forwarded(7, plain(marked, pattern(30)))}},
			{what: "Segments Left 1", in: wire{1, routed(ip, []netip.Addr{host(5), sid}, 1,
				packet.NextHeaderIPv6, innerPacket)}, ingress: drops{p4.DropReasonSidSegmentsLeft: 1}},
			{what: "no IPv6 inside", in: wire{1, plain(none, pattern(3))},
				ingress: drops{p4.DropReasonSidUpperLayer: 1}},
		},
	}
}

// TestUSIDStacks sends the packets of MRC section 9.3.5 through the switches of their paths: a full
// path over three tiers, a T1 and a T0 shortcut. The last uSID delivers: it takes the tunnel off,
// or leaves it for a host that owns the address (section 9.3.5.1).
func TestUSIDStacks(t *testing.T) {
	e := newEmbedded()
	for _, f := range []packet.USIDFormat{packet.F3216, packet.F1616} {
		for _, c := range []struct {
			name  string
			nodes []uint16
		}{
			{"full path", []uint16{0x11, 0x21, 0x31, 0x22, 0x12}},
			{"T1 shortcut", []uint16{0x11, 0x21, 0x12}},
			{"T0 shortcut", []uint16{0x11}},
		} {
			for _, decapsulate := range []bool{true, false} {
				t.Run(fmt.Sprintf("%v/%s/decapsulated %v", f, c.name, decapsulate), func(t *testing.T) {
					p := mrcPacket(6, dscps.Trimmable, 40)
					p.Encapsulated, p.Outer = true, packet.IPv6{HopLimit: 20, Src: host(1),
						Dst: container(f, append(slices.Clone(c.nodes), usidHost)...)}
					frame := octets(p)
					for i, node := range c.nodes {
						e.reset(t)
						e.write(t, baseEntries())
						e.write(t, []*p4v1.Update{unEntry(f, false, false, node)})
						last := i == len(c.nodes)-1
						switch {
						case !last:
							e.write(t, []*p4v1.Update{entry(p4.TableIpv6Route, []any{0, usidPrefix(f, c.nodes[i+1])},
								p4.ActionForward, 2, neighborOf(2))})
						case decapsulate:
							e.write(t, []*p4v1.Update{entry(p4.TableLocalSid, []any{usidPrefix(f, node, usidHost)},
								p4.ActionEndDx6, 2, neighborOf(2))})
						default:
							e.write(t, []*p4v1.Update{entry(p4.TableIpv6Route, []any{0, usidPrefix(f, usidHost)},
								p4.ActionForward, 2, neighborOf(2))})
						}
						out := e.inject(t, wire{1, frame})
						if len(out) != 1 || out[0].port != 2 {
							t.Fatalf("node %#x: out came %v", node, out)
						}
						frame = slices.Clone(out[0].frame)
						copy(frame, nodeMAC[:])
					}
					got, _, err := packet.ParseMRC(frame, packet.DefaultMRCSettings())
					if err != nil {
						t.Fatal(err)
					}
					if got.Encapsulated == decapsulate {
						t.Errorf("encapsulated %v", got.Encapsulated)
					}
					if !decapsulate && got.Outer.Dst != container(f, usidHost) {
						t.Errorf("outer destination %v", got.Outer.Dst)
					}
					if err := packet.CheckICRC(got.Datagram); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// icmpEntry lets the switch send ICMPv6 errors: one an interval of microseconds, burst of them at
// once.
func icmpEntry(interval, burst uint64) *p4v1.Update {
	return entry(p4.TableIcmpErrors, nil, p4.ActionSetIcmp, interval, (burst-1)*interval)
}

// icmpError is the error that a frame brings about, as it leaves by the port to the frame's source
// (RFC 4443 section 2.4).
func icmpError(port uint32, frame []byte, typ, code uint8, pointer uint32) wire {
	quoted := frame[packet.EthernetLen:]
	quoted = quoted[:min(len(quoted), packet.ICMPv6MaxQuoted)]
	src, dst := node, netip.AddrFrom16([16]byte(frame[offOuter+8:]))
	e := packet.ICMPv6Error{Type: typ, Code: code, Word: pointer, Quoted: quoted}
	e.Checksum = packet.ICMPv6Checksum(src, dst, e.Append(nil))
	message := e.Append(nil)
	w := forwarded(port, plain(packet.IPv6{NextHeader: 58, HopLimit: 64, Src: src, Dst: dst}, message))
	w.frame[offOuter+7]++ // it starts here
	return w
}

// icmpErrors: what RFC 8986 and 4443 want to be answered.
func icmpErrors() []scenario {
	const (
		timeExceeded, parameterProblem = 3, 4
		segmentsLeft                   = packet.IPv6Len + 3
		f                              = packet.F3216
	)
	ip := func(dst netip.Addr, hops uint8) packet.IPv6 {
		return packet.IPv6{NextHeader: packet.NextHeaderNone, HopLimit: hops, Src: host(1), Dst: dst}
	}
	const none, v6 = packet.NextHeaderNone, packet.NextHeaderIPv6
	inner := plain(ip(host(6), 20), pattern(30))[packet.EthernetLen:]
	visit := []netip.Addr{sidEnd, sidBehind(4), host(5)}
	answered := func(what string, frame []byte, reason p4.DropReason, typ, code uint8,
		pointer uint32) step {
		event := p4.IcmpEventParameterProblem
		if typ == timeExceeded {
			event = p4.IcmpEventTimeExceeded
		}
		return step{
			what: what, in: wire{3, frame}, out: []wire{icmpError(1, frame, typ, code, pointer)},
			ingress: drops{reason: 1}, icmp: map[p4.IcmpEvent]int{event: 1},
		}
	}
	silent := func(what string, frame []byte, reason p4.DropReason) step {
		return step{what: what, in: wire{3, frame}, ingress: drops{reason: 1}}
	}
	refused := func(what string, frame []byte, reason p4.DropReason) step {
		s := silent(what, frame, reason)
		s.icmp = map[p4.IcmpEvent]int{p4.IcmpEventUnanswerable: 1}
		return s
	}
	from := func(h packet.IPv6, src netip.Addr) packet.IPv6 { h.Src = src; return h }
	icmp := func(typ uint8, h packet.IPv6) []byte {
		h.NextHeader = 58
		return plain(h, append([]byte{typ, 0, 0, 0, 0, 0, 0, 0}, pattern(20)...))
	}
	tooFar := routed(ip(sidEnd, 30), visit, 4, none, pattern(7))
	tree := tree{group: newGroup(70, 1)}
	s := scenario{
		name: "icmp/errors",
		entries: append(append(usidEntries(f), tree.downward()...), icmpEntry(1, 1<<30),
			entry(p4.TableLocalSid, []any{exactly(addr("fd00:b:ff::d8"))}, p4.ActionEndDx6, 7,
				neighborOf(7))),
	}
	s.steps = []step{
		answered("Hop Limit 1 in transit", plain(ip(host(2), 1), pattern(40)), p4.DropReasonHopLimit,
			timeExceeded, 0, 0),
		answered("Hop Limit 0, an odd length", plain(ip(host(2), 0), pattern(41)), p4.DropReasonHopLimit,
			timeExceeded, 0, 0),
		answered("no payload", plain(ip(host(2), 1), nil), p4.DropReasonHopLimit, timeExceeded, 0, 0),
		answered("as much as fits", plain(ip(host(2), 1), pattern(1280-48-40)), p4.DropReasonHopLimit,
			timeExceeded, 0, 0),
		answered("an octet more", plain(ip(host(2), 1), pattern(1280-48-40+1)), p4.DropReasonHopLimit,
			timeExceeded, 0, 0),
		answered("a large one", plain(ip(host(2), 1), pattern(4096)), p4.DropReasonHopLimit, timeExceeded,
			0, 0),
		answered("RoCEv2", in(3, with(arriving(host(1), host(2),
			packet.BTH{Opcode: packet.OpWriteMiddle}), func(p *packet.RoCE) { p.IPv6.HopLimit = 1 })).frame,
			p4.DropReasonHopLimit, timeExceeded, 0, 0),
		answered("Hop Limit 1 at End", routed(ip(sidEnd, 1), visit, 2, none, pattern(7)),
			p4.DropReasonHopLimit, timeExceeded, 0, 0),
		answered("Hop Limit 1 at End.X", routed(ip(sidEndX, 1), visit, 2, none, pattern(7)),
			p4.DropReasonHopLimit, timeExceeded, 0, 0),
		answered("Hop Limit 1 at uN", plain(packet.IPv6{NextHeader: v6, HopLimit: 1, Src: host(1),
			Dst: container(f, usidNode, nodeUSID(4))}, inner), p4.DropReasonHopLimit, timeExceeded, 0, 0),
		answered("End, Segments Left beyond Last Entry + 1", tooFar, p4.DropReasonParseSegmentsLeft,
			parameterProblem, 0, segmentsLeft),
		answered("End, Segment List beyond the SRH",
			patch(wire{3, routed(ip(sidEnd, 30), visit, 2, none, pattern(7))}, offNext+4, 9).frame,
			p4.DropReasonParseSrhLength, parameterProblem, 0, segmentsLeft),
		answered("End.DT6, segments left", routed(ip(sidEndDT6, 30), visit, 1, v6, inner),
			p4.DropReasonSidSegmentsLeft, parameterProblem, 0, segmentsLeft),
		answered("End.DX6, segments left", routed(ip(addr("fd00:b:ff::d8"), 30), visit, 1, v6, inner),
			p4.DropReasonSidSegmentsLeft, parameterProblem, 0, segmentsLeft),
		answered("End, none left, SRH", routed(ip(sidEnd, 30), visit, 0, v6, inner),
			p4.DropReasonSidSegmentsLeft, parameterProblem, 4, packet.IPv6Len+8+3*16),
		answered("End, no SRH", plain(packet.IPv6{NextHeader: v6, HopLimit: 30, Src: host(1),
			Dst: sidEnd}, inner), p4.DropReasonSidUpperLayer, parameterProblem, 4, packet.IPv6Len),
		answered("End.DT6, not IPv6", routed(ip(sidEndDT6, 30), visit, 0, none, pattern(7)),
			p4.DropReasonSidUpperLayer, parameterProblem, 4, packet.IPv6Len+8+3*16),
		answered("an echo request", icmp(128, ip(host(2), 1)), p4.DropReasonHopLimit, timeExceeded, 0, 0),
		refused("an ICMPv6 error", icmp(1, ip(host(2), 1)), p4.DropReasonHopLimit),
		refused("from no address", plain(from(ip(host(2), 1), netip.IPv6Unspecified()), nil),
			p4.DropReasonHopLimit),
		refused("from a multicast address", plain(from(ip(host(2), 1), addr("ff02::1")), nil),
			p4.DropReasonHopLimit),
		refused("out of a tunnel that ended here",
			plain(packet.IPv6{NextHeader: v6, HopLimit: 9, Src: host(1), Dst: sidEndDT6},
				plain(ip(host(6), 1), nil)[packet.EthernetLen:]), p4.DropReasonHopLimit),
		silent("no route", plain(ip(addr("fd00:dead::1"), 9), nil), p4.DropReasonNoRoute),
		silent("Segments Left wrong, not for this switch", routed(ip(host(5), 30), visit, 4, none,
			pattern(7)), p4.DropReasonParseSegmentsLeft),
		silent("Hop Limit 1 at a tree's SID",
			in(3, with(tree.onTree(tree.request(packet.OpWriteOnly, 1, 32)), func(p *packet.RoCE) {
				p.Outer.HopLimit = 1
			})).frame, p4.DropReasonHopLimit),
		silent("Segments Left wrong at a tree's SID",
			patch(in(7, tree.onTree(tree.request(packet.OpWriteOnly, 1, 32))), offNext+3, 9).frame,
			p4.DropReasonParseSegmentsLeft),
	}
	one := plain(ip(host(2), 1), pattern(9))
	limited := scenario{name: "icmp/rate", virtual: true, entries: []*p4v1.Update{icmpEntry(1000, 3)}}
	for range 3 {
		limited.steps = append(limited.steps, answered("burst", one, p4.DropReasonHopLimit, timeExceeded,
			0, 0))
	}
	over := silent("over the rate", one, p4.DropReasonHopLimit)
	over.icmp = map[p4.IcmpEvent]int{p4.IcmpEventLimited: 1}
	later := answered("an interval later", one, p4.DropReasonHopLimit, timeExceeded, 0, 0)
	later.after = 1000 * 1000
	limited.steps = append(limited.steps, over, over, later, over)
	off := scenario{name: "icmp/off",
		steps: []step{silent("no entry, no error", one, p4.DropReasonHopLimit)}}
	admitted := scenario{
		name: "icmp/guard", entries: append(modify(entry(p4.TablePort, []any{3}, p4.ActionSetPort, 1, 0)),
			icmpEntry(1, 1<<30)),
		steps: []step{
			silent("a host that lies about its address gets nobody an error", one, p4.DropReasonSourceGuard),
			silent("nor with a bad SRH", tooFar, p4.DropReasonSourceGuard),
			silent("nor does another's MAC", patch(wire{3, tooFar}, 0, 2, 9, 9, 9, 9, 9).frame,
				p4.DropReasonNotMyStation),
		},
	}
	return []scenario{s, limited, off, admitted}
}

// TestUSIDAgainstModel holds random containers, SRHs and behaviors against the codec's model of RFC
// 9800.
func TestUSIDAgainstModel(t *testing.T) {
	e := newEmbedded()
	first, rounds := seeds.Range(t, 1, 2)
	for seed := first; seed < first+rounds; seed++ {
		rng := rand.New(rand.NewPCG(seed, 0))
		for _, f := range []packet.USIDFormat{packet.F3216, packet.F1616} {
			e.reset(t)
			e.write(t, baseEntries())
			e.write(t, usidEntries(f))
			pool := []uint16{usidNode, usidAdj, usidHost, usidTable, nodeUSID(2), nodeUSID(4)}
			behaviors := map[uint16]packet.USIDBehavior{usidNode: packet.UN, usidAdj: packet.UA,
				usidHost: packet.UDX6, usidTable: packet.UDT6}
			random := func() netip.Addr {
				list := []uint16{pool[rng.IntN(4)]}
				for range rng.IntN(f.Capacity()) {
					list = append(list, pool[rng.IntN(len(pool))])
				}
				return container(f, list...)
			}
			for i := range 300 {
				p := mrcPacket(2, dscps.Trimmable, 16)
				p.Encapsulated, p.Outer = true, packet.IPv6{NextHeader: packet.NextHeaderIPv6,
					HopLimit: uint8(rng.IntN(4)), Src: host(1), Dst: random()}
				if rng.IntN(2) == 0 {
					list := []netip.Addr{random()}
					if rng.IntN(2) == 0 {
						list = append(list, random())
					}
					srh, err := packet.NewSRH(packet.NextHeaderIPv6, list, nil)
					if err != nil {
						t.Fatal(err)
					}
					srh.SegmentsLeft = uint8(rng.IntN(len(list) + 2))
					p.Routed, p.SRH = true, srh
				}
				// The switch processes a node's uSID and a following local uSID in one step, unlike the model.
				rest, err := f.AppendUSIDs(nil, p.Outer.Dst)
				if err != nil {
					t.Fatal(err)
				}
				if len(rest) > 1 && rest[0] == usidNode && (rest[1] == usidAdj || rest[1] == usidHost) {
					continue
				}
				frame := octets(p)
				want := p
				srh := &want.SRH
				if !want.Routed {
					srh = nil
				}
				outcome := f.Process(behaviors[f.Active(p.Outer.Dst)], &want.Outer, srh)
				if p.Routed && int(p.SRH.SegmentsLeft) > int(p.SRH.LastEntry)+1 {
					outcome = packet.SIDParameterProblem // the parser looks first
				}
				out := e.inject(t, wire{1, frame})
				name := fmt.Sprintf("seed %d, %v, packet %d: %v hops %d SRH %v", seed, f, i, rest,
					p.Outer.HopLimit, p.Routed)
				switch outcome {
				case packet.SIDForward:
					// It goes on where there is a route; what the model says is in the headers.
					if len(out) == 1 && !slices.Equal(out[0].frame[offOuter:], octets(want)[offOuter:]) {
						t.Errorf("%s: leaves as\n%s", name, dissect(out[0]))
					}
					if _, routedTo := behaviors[f.Active(want.Outer.Dst)]; len(out) == 0 && !routedTo {
						t.Errorf("%s: dropped", name)
					}
				case packet.SIDDecapsulate:
					inner := octets(changed(p, func(q *packet.MRC) { q.Encapsulated = false }))
					if len(out) != 1 || !slices.Equal(out[0].frame, forwarded(out[0].port, inner).frame) {
						t.Errorf("%s: %v", name, out)
					}
				default:
					if len(out) != 0 {
						t.Errorf("%s: leaves, outcome %v", name, outcome)
					}
				}
				if t.Failed() {
					return
				}
			}
		}
	}
}
