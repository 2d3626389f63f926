package fabric

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// learned is a digest: the policy of a data packet, its segments in the order of the SRH.
type learned struct {
	source, dst     netip.Addr
	slice, port     uint32
	lastEntry, left uint8
	segments        []netip.Addr
}

func (l learned) equal(o learned) bool {
	return l.source == o.source && l.dst == o.dst && l.slice == o.slice && l.port == o.port &&
		l.lastEntry == o.lastEntry && l.left == o.left &&
		slices.Equal(l.segments, o.segments)
}

// learnedFrom reads a digest list.
func learnedFrom(d *p4v1.DigestList) []learned {
	var list []learned
	for _, data := range d.GetData() {
		m := data.GetStruct().GetMembers()
		number := func(i int) uint32 {
			b := m[i].GetBitstring()
			return binary.BigEndian.Uint32(append(make([]byte, 4), b...)[len(b):])
		}
		at := func(i int) netip.Addr {
			b := m[i].GetBitstring()
			return netip.AddrFrom16([16]byte(append(make([]byte, 16), b...)[len(b):]))
		}
		l := learned{source: at(0), dst: at(1), slice: number(2), port: number(3),
			lastEntry: uint8(number(4)), left: uint8(number(5))}
		for i := range 8 {
			l.segments = append(l.segments, at(6+i))
		}
		list = append(list, l)
	}
	return list
}

// digestEntry has the digest delivered, each at once.
func digestEntry() *p4v1.Update {
	return &p4v1.Update{Type: p4v1.Update_INSERT,
		Entity: &p4v1.Entity{Entity: &p4v1.Entity_DigestEntry{DigestEntry: &p4v1.DigestEntry{
			DigestId: p4.DigestPfcPolicyTID, Config: &p4v1.DigestEntry_Config{MaxListSize: 1},
		}}}}
}

// pfcLearning is scenario 2 of the draft: a segment list that leads back to an End.X.PFC SID is
// reported, once.
func pfcLearning() []scenario {
	const v6 = packet.NextHeaderIPv6
	pfc := addr("fd00:b:7::bfc1")
	inner := plain(packet.IPv6{NextHeader: packet.NextHeaderNone, HopLimit: 20, Src: host(1),
		Dst: host(6)}, pattern(30))[packet.EthernetLen:]
	// n segments, the last but one this switch's, with the PFC SID as number at
	lists := func(n, at int) []netip.Addr {
		var list []netip.Addr
		for i := range n {
			list = append(list, addr(fmt.Sprintf("fd00:b:7::%x:%x:%x", n, at+2, i)))
		}
		if at >= 0 {
			list[at] = pfc
		}
		list[n-2], list[n-1] = sidEndPFC, addr(fmt.Sprintf("fd00:b:4::%x:%x", n, at+2))
		return list
	}
	from := func(src netip.Addr, list []netip.Addr, left uint8) []byte {
		return routed(packet.IPv6{FlowLabel: 0xab321, HopLimit: 9, Src: src,
			Dst: list[len(list)-1-int(left)]}, list, left, v6, inner)
	}
	passed := func(src netip.Addr, list []netip.Addr) []wire {
		b := from(src, list, 1)
		ip := packet.IPv6{FlowLabel: 0xab321, HopLimit: 9, Src: src, Dst: list[len(list)-1]}
		return []wire{forwarded(4, routed(ip, list, 0, v6, b[len(b)-len(inner):]))}
	}
	tells := func(src netip.Addr, list []netip.Addr) []learned {
		l := learned{source: src, dst: sidEndPFC, slice: 0x21, port: 7, lastEntry: uint8(len(list) - 1),
			left: 1}
		for i := range 8 {
			s := netip.IPv6Unspecified()
			if i < len(list) {
				s = list[len(list)-1-i]
			}
			l.segments = append(l.segments, s)
		}
		return []learned{l}
	}
	const lifetime = 1_000_000_000_000 // microseconds: not in a test
	// sids are the entries of SIDs that lead to a node upstream.
	sids := func(all ...netip.Addr) (u []*p4v1.Update) {
		for _, table := range []string{p4.TablePfcSid1, p4.TablePfcSid2, p4.TablePfcSid3, p4.TablePfcSid4,
			p4.TablePfcSid5, p4.TablePfcSid6, p4.TablePfcSid7} {
			for _, sid := range all {
				u = append(u, entry(table, []any{sid}, p4.ActionUpstreamPfc))
			}
		}
		return u
	}
	start := func(lifetime uint64) []*p4v1.Update {
		u := append(pfcSIDs(0), digestEntry(), entry(p4.TablePfcLearning, nil, p4.ActionSetLearning,
			lifetime), entry(p4.TableSliceField, nil, p4.ActionSetSliceField, 0xff))
		return append(u, sids(pfc)...)
	}
	sends := func(what string, list []netip.Addr, told []learned) step {
		return step{what: what, in: wire{7, from(signaller, list, 1)}, out: passed(signaller, list),
			learned: told}
	}
	s := scenario{name: "pfc/learning", entries: start(lifetime)}
	for n := 3; n <= 8; n++ {
		for at := range n - 2 {
			list := lists(n, at)
			s.steps = append(s.steps,
				sends(fmt.Sprintf("%d segments, the upstream one number %d", n, at), list,
					tells(signaller, list)),
				sends("again", list, nil))
		}
		s.steps = append(s.steps, sends(fmt.Sprintf("%d segments, none upstream", n), lists(n, -1), nil))
	}
	list := lists(4, 0)
	s.steps = append(s.steps,
		step{what: "another source", in: wire{7, from(nodeBehind(5), list, 1)},
			out: passed(nodeBehind(5), list), learned: tells(nodeBehind(5), list)},
		step{what: "again", in: wire{7, from(nodeBehind(5), list, 1)}, out: passed(nodeBehind(5), list)},
		sends("nine segments are more than it looks at", lists(9, 0), nil),
	)
	// What is to be visited yet leads nowhere back, nor does this switch's own SID, or a place that a
	// list does not have.
	everywhere := scenario{name: "pfc/learning/downstream", entries: append(start(lifetime),
		sids(sidEndPFC, netip.IPv6Unspecified())...)}
	for n := 3; n <= 9; n++ {
		for left := 1; left < n-1; left++ {
			list := lists(n, -1)
			for i := range left {
				list[n-1-i] = pfc
			}
			list[n-1-left] = sidEndPFC
			b := from(signaller, list, uint8(left))
			ip := packet.IPv6{FlowLabel: 0xab321, HopLimit: 9, Src: signaller, Dst: pfc}
			everywhere.steps = append(everywhere.steps, step{
				what: fmt.Sprintf("%d segments, %d left", n, left), in: wire{7, b},
				out: []wire{forwarded(7, routed(ip, list, uint8(left-1), v6, b[len(b)-len(inner):]))},
			})
		}
	}
	// A segment list may end at the switch that hears of it.
	ends := []netip.Addr{pfc, sidEndDT6}
	heard := tells(signaller, ends)
	heard[0].dst, heard[0].left = sidEndDT6, 0
	s.steps = append(s.steps, step{
		what: "the last segment is of this switch, and the one before upstream",
		in:   wire{7, from(signaller, ends, 0)}, learned: heard,
		out: []wire{forwarded(6, append(packet.Ethernet{EtherType: packet.EtherTypeIPv6}.Append(nil),
			inner...))}})
	ahead := []netip.Addr{sidEndPFC, pfc}
	s.steps = append(s.steps, step{
		what: "the SID is downstream", in: wire{7, from(signaller, ahead, 1)},
		out: []wire{forwarded(7, routed(packet.IPv6{FlowLabel: 0xab321, HopLimit: 9, Src: signaller,
			Dst: pfc}, ahead, 0, v6, inner))},
	})

	aging := scenario{name: "pfc/learning/aging", virtual: true, entries: start(1000)}
	again := func(what string, after time.Duration, told []learned) step {
		st := sends(what, list, told)
		st.after = after
		return st
	}
	for n := 3; n <= 8; n++ { // these are kept in cells whose numbers have other bits
		list = lists(n, 0)
		told := tells(signaller, list)
		aging.steps = append(aging.steps, again("first", 0, told),
			again("within its lifetime", 999*time.Microsecond, nil),
			again("after it", time.Microsecond, told),
			again("which begins anew", 999*time.Microsecond, nil), again("once", 10*time.Millisecond, told))
	}
	off := scenario{name: "pfc/learning/off", entries: start(0),
		steps: []step{sends("nothing is reported", list, nil)}}
	return []scenario{s, everywhere, aging, off}
}
