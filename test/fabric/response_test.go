package fabric

import (
	"fmt"
	"net/netip"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// absorbed is a response that makes nothing due.
func absorbed(what string, in wire) step {
	return step{what: what, in: in, ingress: drops{p4.DropReasonMtAbsorbed: 1}}
}

// sends is a response, or a poll, that makes an answer leave.
func sends(what string, in wire, event p4.MtEvent, out wire) step {
	return step{what: what, in: in, out: []wire{out}, events: events{event: 1}}
}

func refuses(what string, in wire, reason p4.DropReason) step {
	return step{what: what, in: in, ingress: drops{reason: 1}}
}

const (
	advanced = p4.MtEventAckAdvanced
	repeated = p4.MtEventAckRepeated
	nakSeq   = p4.MtEventNakSequence
	nakRNR   = p4.MtEventNakRnr
	nakFatal = p4.MtEventNakFatal
)

// Response aggregation (draft section 5.3; docs/multicast.md, Responses).
func responses() []scenario {
	g := newGroup(20, 3)
	entries := g.responses()
	last := uint32(packet.PSNMask)
	return append([]scenario{
		{
			name: "response/ack_minimum", entries: entries,
			steps: []step{
				absorbed("branch 0: not all have reported", g.ack(0, 10, 1)),
				absorbed("branch 1", g.ack(1, 12, 2)),
				absorbed("branch 0 again", g.ack(0, 20, 3)),
				sends("the last one makes the minimum known", g.ack(2, 15, 2), advanced, g.upAck(12, 2)),
				absorbed("not the slowest", g.ack(2, 30, 9)),
				sends("the slowest: the next one bounds", g.ack(1, 40, 9), advanced, g.upAck(20, 3)),
				absorbed("a PSN that is behind, not from the lowest branch", g.ack(1, 35, 8)),
				sends("the lowest", g.ack(0, 30, 9), advanced, g.upAck(30, 9)),
			},
		},
		{
			name: "response/ack_repeated", entries: entries,
			steps: []step{
				absorbed("", g.ack(0, 10, 1)), absorbed("", g.ack(1, 10, 1)),
				sends("", g.ack(2, 10, 1), advanced, g.upAck(10, 1)),
				absorbed("branch 2 repeats itself", g.ack(2, 10, 1)),
				absorbed("branch 1 repeats itself", g.ack(1, 10, 1)),
				sends("the lowest repeats itself: the source does", g.ack(0, 10, 1), repeated, g.upAck(10, 1)),
				sends("every time", g.ack(0, 10, 1), repeated, g.upAck(10, 1)),
				sends("an old PSN too", g.ack(0, 4, 0), repeated, g.upAck(10, 1)),
				absorbed("one that advances is no repetition", g.ack(0, 11, 2)),
				sends("and the minimum is repeated, not its own", g.ack(0, 11, 2), repeated, g.upAck(10, 1)),
			},
		},
		{
			name: "response/witness_is_lowest_live", entries: g.where(func(g *group) {
				g.live = 0b110
			}).responses(),
			steps: []step{
				refuses("branch 0 is not live", g.ack(0, 50, 1), p4.DropReasonMtDeadBranch),
				absorbed("", g.ack(1, 10, 1)),
				sends("all live branches have reported", g.ack(2, 10, 1), advanced, g.upAck(10, 1)),
				absorbed("2 is no witness", g.ack(2, 10, 1)),
				sends("1 is", g.ack(1, 10, 1), repeated, g.upAck(10, 1)),
			},
		},
		{
			name: "response/nak", entries: entries,
			steps: []step{
				absorbed("", g.ack(0, 10, 1)), absorbed("", g.ack(1, 10, 1)),
				sends("a NAK also acknowledges what is before it", g.nak(2, 9, 1), nakSeq, g.upNak(9, 1)),
				absorbed("a NAK in front of the minimum waits", g.nak(0, 15, 2)),
				sends("an ACK that reaches the NAK clears it", g.ack(2, 9, 1), advanced, g.upAck(9, 1)),
				sends("", g.ack(2, 20, 3), advanced, g.upAck(10, 1)),
				sends("the waiting NAK's turn: its branch is the minimum", g.ack(1, 20, 3), nakSeq,
					g.upNak(15, 2)),
				absorbed("hold-off: the same m not again", g.ack(1, 21, 3)),
				absorbed("not for another branch", g.nak(2, 30, 4)),
				sends("its own branch repeats it", g.nak(0, 15, 2), nakSeq, g.upNak(15, 2)),
				sends("and again", g.nak(0, 15, 2), nakSeq, g.upNak(15, 2)),
				absorbed("an ACK that stops short of it clears nothing", g.ack(1, 22, 3)),
				sends("the lowest branch repeats its ACK under a pending NAK within the hold-off",
					g.ack(0, 14, 2), repeated, g.upAck(14, 2)),
				sends("filled", g.ack(0, 25, 4), advanced, g.upAck(22, 3)),
			},
		},
		{
			name: "response/nak_stale", entries: entries,
			steps: []step{
				absorbed("", g.ack(0, 10, 1)), absorbed("", g.ack(1, 10, 1)),
				sends("", g.ack(2, 12, 1), advanced, g.upAck(10, 1)),
				absorbed("behind its own AckPSN: a non-advancing ACK", g.nak(2, 12, 1)),
				absorbed("far behind", g.nak(1, 3, 1)),
				sends("of the witness", g.nak(0, 10, 1), repeated, g.upAck(10, 1)),
				sends("just not stale: e = AckPSN + 1", g.nak(0, 11, 1), nakSeq, g.upNak(11, 1)),
			},
		},
		{
			name: "response/nak_first", entries: entries,
			steps: []step{
				absorbed("pending before the minimum is known", g.nak(0, 10, 0)),
				absorbed("", g.ack(1, 10, 0)),
				sends("known, and pending at it", g.ack(2, 10, 0), nakSeq, g.upNak(10, 0)),
			},
		},
		{
			name: "response/nak_without_holdoff", entries: g.where(func(g *group) {
				g.holdoff = 0
			}).responses(),
			steps: []step{
				absorbed("", g.ack(0, 10, 1)), absorbed("", g.ack(1, 12, 1)),
				sends("", g.nak(2, 9, 1), nakSeq, g.upNak(9, 1)),
				sends("any response that finds it so", g.ack(1, 13, 1), nakSeq, g.upNak(9, 1)),
				sends("any", g.nak(1, 14, 1), nakSeq, g.upNak(9, 1)),
			},
		},
		{
			name: "response/nak_of_several", entries: entries,
			steps: []step{
				absorbed("", g.nak(0, 10, 1)), absorbed("", g.nak(1, 10, 1)),
				sends("once for all", g.nak(2, 10, 1), nakSeq, g.upNak(10, 1)),
				absorbed("the second is filled", g.ack(1, 20, 1)),
				absorbed("the first is filled", g.ack(0, 20, 1)),
				sends("m moves when the last one is", g.ack(2, 20, 1), advanced, g.upAck(20, 1)),
			},
		},
		{
			name: "response/rnr", entries: entries,
			steps: []step{
				absorbed("", g.ack(0, 10, 1)), absorbed("", g.ack(1, 10, 1)),
				sends("keeps its timer", g.rnr(2, 9, 14, 1), nakRNR, g.upRNR(9, 14, 1)),
				sends("repeated with another timer", g.rnr(2, 9, 3, 1), nakRNR, g.upRNR(9, 3, 1)),
				sends("a sequence NAK does not replace it", g.nak(2, 9, 1), nakRNR, g.upRNR(9, 3, 1)),
				sends("code 0 is the longest", g.rnr(2, 9, 0, 1), nakRNR, g.upRNR(9, 0, 1)),
				sends("filled", g.ack(2, 10, 1), advanced, g.upAck(10, 1)),
				absorbed("", g.ack(0, 11, 1)),
				absorbed("", g.ack(1, 11, 1)),
				sends("a NAK after it starts without timer", g.nak(2, 11, 1), nakSeq, g.upNak(11, 1)),
			},
		},
		{
			name: "response/rnr_outranks", entries: entries,
			steps: []step{
				absorbed("", g.nak(0, 10, 1)), absorbed("", g.rnr(1, 10, 7, 1)),
				sends("RNR before sequence", g.nak(2, 10, 1), nakRNR, g.upRNR(10, 7, 1)),
				absorbed("hold-off", g.ack(2, 9, 1)),
				sends("repeated: the longest of them", g.rnr(0, 10, 31, 1), nakRNR, g.upRNR(10, 31, 1)),
				sends("0 is longer than 31", g.rnr(2, 10, 0, 1), nakRNR, g.upRNR(10, 0, 1)),
				absorbed("the longest is filled", g.ack(2, 15, 2)),
				sends("then the next", g.rnr(0, 10, 31, 1), nakRNR, g.upRNR(10, 31, 1)),
			},
		},
		{
			name: "response/fatal", entries: entries,
			steps: []step{
				refuses("before any PSN is known", g.fatal(0, 10, packet.NAKRemoteAccess, 1),
					p4.DropReasonMtNoPsn),
				absorbed("", g.ack(1, 20, 2)),
				sends("it has acknowledged all the same", g.ack(2, 21, 2), advanced, g.upAck(9, 1)),
				sends("goes up at once, with the minimum's PSN", g.fatal(2, 30, packet.NAKInvalidRequest, 3),
					nakFatal, g.upAnswer(10, packet.NAKSyndrome(packet.NAKInvalidRequest), 1)),
				sends("every time", g.fatal(2, 30, packet.NAKInvalidRequest, 3), nakFatal,
					g.upAnswer(10, packet.NAKSyndrome(packet.NAKInvalidRequest), 1)),
				sends("m moves by it", g.fatal(0, 21, packet.NAKRemoteOperational, 2), nakFatal,
					g.upAnswer(21, packet.NAKSyndrome(packet.NAKRemoteOperational), 2)),
				sends("and that is known", g.ack(0, 20, 2), repeated, g.upAck(20, 2)),
			},
		},
		{
			name: "response/syndrome", entries: entries,
			steps: []step{
				refuses("reserved type", g.from(0, g.answer(0, 10, 0x40, 1)), p4.DropReasonMtSyndrome),
				refuses("reserved bit", g.from(0, g.answer(0, 10, 0x80, 1)), p4.DropReasonMtSyndrome),
				absorbed("", g.ack(1, 5, 0)),
				absorbed("branch 0 has not reported by those", g.ack(2, 5, 0)),
				sends("reserved NAK codes are fatal", g.from(0, g.answer(0, 6, packet.Syndrome(0x7f), 1)),
					nakFatal, g.upAnswer(6, packet.Syndrome(0x7f), 0)),
			},
		},
		{
			name: "response/wrap", entries: entries,
			steps: []step{
				absorbed("", g.ack(0, last-1, last)), absorbed("", g.ack(1, 3, 2)),
				sends("before and after the wrap", g.ack(2, last, 0), advanced, g.upAck(last-1, last)),
				sends("m is 0", g.ack(0, last, last), advanced, g.upAck(last, last)),
				sends("NAK of PSN 0", g.nak(2, 0, 0), nakSeq, g.upNak(0, last)),
				absorbed("past it", g.ack(2, 2, 1)),
				sends("", g.ack(0, 2, 1), advanced, g.upAck(2, 1)),
				absorbed("half the space ahead is before, not after", g.ack(1, 3+1<<23, 2)),
				absorbed("", g.ack(0, 5, 1)), sends("", g.ack(2, 5, 1), advanced, g.upAck(3, 1)),
				sends("just less than half ahead", g.ack(1, 3+1<<23-1, 2), advanced, g.upAck(5, 1)),
			},
		},
		psnOffset(),
		{
			name: "response/msn", entries: g.where(func(g *group) {
				g.branches[2].offset = last - 4
			}).responses(),
			steps: []step{
				absorbed("", g.ack(0, 10, 7)), absorbed("", g.ack(1, 10, 9)),
				sends("a joined receiver's is offset, modulo 2^24", g.ack(2, 10, 10), advanced, g.upAck(10, 5)),
				absorbed("", g.ack(2, 11, 30)), absorbed("", g.ack(1, 11, 3)),
				sends("the minimum of all, whoever bounds the PSN", g.ack(0, 11, 8), advanced, g.upAck(11, 3)),
				sends("it moves with its own branch only when that advances", g.ack(0, 11, 1), repeated,
					g.upAck(11, 3)),
			},
		},
		{
			name: "response/live_mask", entries: entries,
			steps: []step{
				absorbed("", g.ack(0, 10, 1)), absorbed("", g.ack(1, 20, 2)),
				absorbed("branch 1 again", g.ack(1, 21, 2)),
				{what: "nothing is due before branch 2 has reported", in: g.poll(),
					ingress: drops{p4.DropReasonMtPollIdle: 1}},
				withWrite(sends("branch 2 is removed: the poll sends what is due", g.poll(), advanced,
					g.upAck(10, 1)), modify(g.where(func(g *group) { g.live = 0b011 }).state())),
				{what: "once", in: g.poll(), ingress: drops{p4.DropReasonMtPollIdle: 1}},
				refuses("branch 2 counts no more", g.ack(2, 5, 1), p4.DropReasonMtDeadBranch),
				withWrite(sends("branch 0 is removed: the next response sends it", g.ack(1, 21, 2), advanced,
					g.upAck(21, 2)), modify(g.where(func(g *group) { g.live = 0b010 }).state())),
				withWrite(refuses("nobody is left", g.ack(1, 30, 3), p4.DropReasonMtDeadBranch),
					modify(g.where(func(g *group) { g.live = 0 }).state())),
				{what: "nothing to poll for", in: g.poll(), ingress: drops{p4.DropReasonMtPollIdle: 1}},
			},
		},
		{
			name: "response/nobody_live", entries: g.where(func(g *group) { g.live = 0 }).responses(),
			steps: []step{
				{what: "a poll before any response: there is no minimum", in: g.poll(),
					ingress: drops{p4.DropReasonMtPollIdle: 1}},
				refuses("an ACK", g.ack(0, 10, 1), p4.DropReasonMtDeadBranch),
				refuses("a CNP opens no window", g.cnp(0), p4.DropReasonMtDeadBranch),
				refuses("a fatal NAK", g.fatal(0, 10, packet.NAKRemoteAccess, 1), p4.DropReasonMtDeadBranch),
				{what: "a poll after them", in: g.poll(), ingress: drops{p4.DropReasonMtPollIdle: 1}},
			},
		},
		{
			name: "response/poll_nak", entries: entries,
			steps: []step{
				absorbed("", g.ack(0, 10, 1)), absorbed("", g.nak(1, 15, 2)),
				sends("", g.ack(2, 20, 3), advanced, g.upAck(10, 1)),
				withWrite(sends("with branch 0 gone, a NAK is due", g.poll(), nakSeq, g.upNak(15, 2)),
					modify(g.where(func(g *group) { g.live = 0b110 }).state())),
				{what: "hold-off", in: g.poll(), ingress: drops{p4.DropReasonMtPollIdle: 1}},
			},
		},
		holdoffEdges(), holdoffGrows(),
	}, append(answerers(), append(upwardForms(), extremes()...)...)...)
}

// withWrite changes entries before a step.
func withWrite(s step, updates []*p4v1.Update) step {
	s.write = updates
	return s
}

// holdoffEdges: the hold-off to the microsecond. It doubles with every NAK of the same m, up to 64
// times.
func holdoffEdges() scenario {
	g := newGroup(21, 2).where(func(g *group) { g.holdoff = 1000 })
	after := func(d time.Duration, s step) step {
		s.after = d
		return s
	}
	return scenario{
		name: "response/holdoff_edges", virtual: true, entries: g.responses(),
		steps: []step{
			absorbed("", g.ack(0, 10, 1)),
			sends("", g.nak(1, 5, 0), nakSeq, g.upNak(5, 0)),
			after(999*time.Microsecond, absorbed("a microsecond early", g.ack(0, 11, 1))),
			after(time.Microsecond, sends("on time", g.ack(0, 12, 1), nakSeq, g.upNak(5, 0))),
			after(999*time.Microsecond, sends("repeated early", g.nak(1, 5, 0), nakSeq, g.upNak(5, 0))),
			after(3999*time.Microsecond, absorbed("the repetition started the hold-off again, twice doubled",
				g.ack(0, 13, 1))),
			after(time.Microsecond, sends("on time", g.ack(0, 14, 1), nakSeq, g.upNak(5, 0))),
			sends("filled", g.ack(1, 9, 0), advanced, g.upAck(9, 0)),
			sends("another m needs no hold-off", g.nak(1, 12, 0), nakSeq, g.upNak(12, 0)),
			after(999*time.Microsecond, absorbed("its first hold-off is the configured one: early",
				g.ack(0, 15, 1))),
			after(time.Microsecond, sends("its first hold-off is the configured one", g.ack(0, 16, 1),
				nakSeq, g.upNak(12, 0))),
		},
	}
}

// holdoffGrows: a branch that never answers again has fewer and fewer NAKs sent, and a poll no more
// than a response.
func holdoffGrows() scenario {
	const holdoff = 100
	g := newGroup(26, 2).where(func(g *group) { g.holdoff = holdoff })
	s := scenario{
		name: "response/holdoff_grows", virtual: true, entries: g.responses(),
		steps: []step{absorbed("", g.ack(0, 10, 1)), sends("", g.nak(1, 5, 0), nakSeq, g.upNak(5, 0))},
	}
	for n := range 10 {
		span := time.Duration(holdoff<<min(n, p4.NackDoublings)) * time.Microsecond
		due := sends("due", g.ack(0, 10, 1), nakSeq, g.upNak(5, 0))
		early := step{what: "early", after: span - time.Microsecond, in: g.ack(0, 10, 1),
			out: []wire{g.upAck(4, 0)}, events: events{repeated: 1}}
		due.after = time.Microsecond
		if n%2 == 1 {
			early.in, early.out, early.events, early.ingress = g.poll(), nil, nil,
				drops{p4.DropReasonMtPollIdle: 1}
			due.in = g.poll()
		}
		s.steps = append(s.steps, early, due)
	}
	next := g.where(func(g *group) { g.epoch++ })
	s.steps = append(s.steps,
		withWrite(absorbed("another epoch", next.ack(0, 10, 1)), modify(next.state(), next.upstream(),
			next.branch(next.branches[0], 2), next.branch(next.branches[1], 3))),
		sends("begins anew", next.nak(1, 5, 0), nakSeq, next.upNak(5, 0)),
		step{what: "due", after: holdoff * time.Microsecond, in: next.ack(0, 11, 1),
			out: []wire{next.upNak(5, 0)}, events: events{nakSeq: 1}},
	)
	return s
}

// answerers: who may answer, and in which epoch.
func answerers() []scenario {
	g := newGroup(22, 2).where(func(g *group) {
		g.branches[0].also = []uint32{6}
		g.branches[1] = branch{index: 1, port: 4, addr: nodeBehind(4), child: true}
	})
	otherEpoch := func(low uint32) wire {
		return in(4, with(g.answer(1, 10, 0, 1), func(p *packet.RoCE) { p.IPv6.FlowLabel = low }))
	}
	changed := func(b int, psn uint32, change func(*packet.RoCE)) wire {
		return g.from(b, with(g.answer(b, psn, 0, 1), change))
	}
	next := g.where(func(g *group) { g.epoch += 0x10001 })
	reprogrammed := modify(next.state(), next.branch(next.branches[0], 2),
		next.branch(next.branches[0], 6), next.branch(next.branches[1], 4))
	corrupt := g.ack(0, 10, 1)
	corrupt = patch(corrupt, len(corrupt.frame)-5, 0x55)
	s := scenario{
		name: "response/answerers", entries: append(g.responses(),
			entry(p4.TableMtProxy, []any{addr("fd00:99::dead")}, p4.ActionSetGroup, 999)),
		steps: []step{
			refuses("from a port that is not its own", in(3, g.answer(0, 10, 0, 1)),
				p4.DropReasonMtNotBranch),
			refuses("from an address that is not a branch's",
				in(2, with(g.answer(0, 10, 0, 1), func(p *packet.RoCE) { p.IPv6.Src = host(2) })),
				p4.DropReasonMtNotBranch),
			refuses("from the source", in(1, with(g.answer(0, 10, 0, 1), func(p *packet.RoCE) {
				p.IPv6.Src = host(1)
			})), p4.DropReasonMtNotBranch),
			refuses("a CNP from elsewhere", in(3, g.cnpPacket(0)), p4.DropReasonMtNotBranch),
			refuses("another QPN", changed(0, 10, func(p *packet.RoCE) { p.BTH.DestQPN++ }),
				p4.DropReasonMtQpn),
			refuses("corrupt", corrupt, p4.DropReasonIcrc),
			refuses("a child of another epoch", otherEpoch(g.epoch&0xffff+1), p4.DropReasonMtEpoch),
			refuses("a child without epoch", otherEpoch(0), p4.DropReasonMtEpoch),
			refuses("a CNP of another epoch", in(4, with(g.cnpPacket(1), func(p *packet.RoCE) {
				p.IPv6.FlowLabel = 1
			})), p4.DropReasonMtEpoch),
			refuses("a group that is not programmed", changed(0, 10, func(p *packet.RoCE) {
				p.IPv6.Dst = addr("fd00:99::dead")
			}), p4.DropReasonMtGroup),
			absorbed("a receiver, whatever its flow label", changed(0, 10, func(p *packet.RoCE) {
				p.IPv6.FlowLabel = 0xfffff
			})),
			sends("a child of this epoch; four bits of the flow label are free",
				otherEpoch(0xf0000|g.epoch&0xffff), advanced, g.upAck(10, 1)),
			sends("by its other port, with a UDP checksum",
				in(6, with(g.answer(0, 10, 0, 1), func(p *packet.RoCE) { p.Checksummed = true })), repeated,
				g.upAck(10, 1)),
			withWrite(refuses("the group's epoch is newer than the branch's", g.ack(0, 20, 2),
				p4.DropReasonMtEpoch), modify(next.state(), next.upstream())),
			withWrite(refuses("the child is not there yet", g.ack(1, 20, 2), p4.DropReasonMtEpoch),
				reprogrammed),
			absorbed("a new epoch starts from nothing", next.ack(0, 20, 2)),
			sends("even behind what was sent before", next.ack(1, 5, 0), advanced, next.upAck(5, 0)),
			{
				what: "not for the proxy: forwarded as any packet", in: changed(0, 10, func(p *packet.RoCE) {
					p.IPv6.Dst = host(5)
				}),
				out: []wire{forwarded(5, changed(0, 10, func(p *packet.RoCE) { p.IPv6.Dst = host(5) }).frame)},
			},
		},
	}

	// A non-adjacent child sends responses inside IPv6 to this node's End.DT6 SID.
	wrapped := func(p packet.RoCE, routed bool) wire {
		p.Encapsulated, p.Routed = true, routed
		p.Outer = packet.IPv6{HopLimit: 60, Src: p.IPv6.Src, Dst: sidEndDT6}
		if routed {
			srh, err := packet.NewSRH(packet.NextHeaderIPv6, []netip.Addr{sidBehind(3), sidEndDT6},
				inbandTLVs([]byte{200, 2, 1, 1}))
			if err != nil {
				panic(err)
			}
			srh.SegmentsLeft = 0
			p.SRH = srh
		}
		return in(4, p)
	}
	over := g.where(func(g *group) { g.window = 0 })
	far := scenario{
		name: "response/not_adjacent_child", entries: g.responses(),
		steps: []step{
			absorbed("", g.ack(0, 10, 1)),
			sends("IPv6 in IPv6", wrapped(g.answer(1, 9, 0, 1), false), advanced, g.upAck(9, 1)),
			sends("with an SRH", wrapped(g.answer(1, 10, 0, 1), true), advanced, g.upAck(10, 1)),
			refuses("of another epoch", wrapped(with(g.answer(1, 11, 0, 1), func(p *packet.RoCE) {
				p.IPv6.FlowLabel = 0
			}), true), p4.DropReasonMtEpoch),
			{in: g.cnp(0), out: []wire{g.opened(0)}, events: events{p4.MtEventCnpWindow: 1}},
			absorbed("", g.ack(0, 20, 1)),
			{
				what:  "nothing of the encapsulation stays on the ACK and the CNP that it makes due",
				write: modify(over.state()),
				in:    wrapped(g.answer(1, 11, 0, 1), true), out: []wire{g.upAck(11, 1), g.upCNP()},
				events: events{advanced: 1, p4.MtEventCnpSent: 1},
			},
		},
	}
	return []scenario{s, far, fromScratch()}
}

// psnOffset: the aggregation counts the source's PSNs, whatever a receiver's PSNs are. Branch 1
// lags by 5 and so passes 2^24 later; branch 2 counts from the other half of the space.
func psnOffset() scenario {
	const last = packet.PSNMask
	g := newGroup(1022, 3).where(func(g *group) {
		g.branches[1].psn, g.branches[2].psn = last-4, 1<<23
	})
	// of returns a branch's PSN for the source's PSN psn.
	of := func(b int, psn uint32) uint32 { return (psn + g.branches[b].psn) & last }
	s := scenario{name: "response/psn_offset", entries: g.responses()}
	for _, psn := range []uint32{last - 1, last, 0, 1, 4, 5, 6, 1<<23 - 1, 1 << 23, 1<<23 + 1} {
		s.steps = append(s.steps, absorbed("", g.ack(0, psn, 1)), absorbed("", g.ack(1, of(1, psn), 1)),
			sends(fmt.Sprintf("the source's PSN %d", psn), g.ack(2, of(2, psn), 1), advanced,
				g.upAck(psn, 1)))
	}
	const at = 1<<23 + 2
	s.steps = append(s.steps, absorbed("", g.ack(0, at, 1)), absorbed("", g.ack(2, of(2, at), 1)),
		sends("NAK", g.nak(1, of(1, at), 1), nakSeq, g.upNak(at, 1)),
		sends("RNR NAK", g.rnr(1, of(1, at), 12, 1), p4.MtEventNakRnr, g.upRNR(at, 12, 1)),
		sends("after it", g.ack(1, of(1, at), 1), advanced, g.upAck(at, 1)),
		sends("fatal NAK", g.fatal(2, of(2, at+1), packet.NAKRemoteAccess, 1), p4.MtEventNakFatal,
			g.upAnswer(at+1, packet.NAKSyndrome(packet.NAKRemoteAccess), 1)))
	return s
}

// fromScratch: a response takes nothing from the packet that triggered it.
func fromScratch() scenario {
	g := newGroup(25, 1).where(func(g *group) {
		g.parent, g.window, g.branches[0].port = toParentEncaps, 0, 4
	})
	odd := func(p packet.RoCE) wire {
		p = with(p, everyField)
		p.IPv6.TrafficClass, p.IPv6.HopLimit, p.IPv6.FlowLabel, p.Checksummed = 0xff, 1, 0xf0f0f, true
		p.Encapsulated, p.Routed = true, true
		p.Outer = packet.IPv6{TrafficClass: 0xff, FlowLabel: 0xaaaaa, HopLimit: 2, Src: host(3),
			Dst: sidEndDT6}
		srh, err := packet.NewSRH(packet.NextHeaderIPv6, []netip.Addr{sidBehind(2), sidBehind(3),
			sidEndDT6}, inbandTLVs([]byte{200, 2, 1, 1}))
		if err != nil {
			panic(err)
		}
		srh.SegmentsLeft = 0
		p.SRH = srh
		return in(4, p)
	}
	return scenario{
		name: "response/from_scratch", entries: g.responses(),
		steps: []step{
			sends("ACK", odd(g.answer(0, 10, 3, 1)), advanced, g.upAck(10, 1)),
			sends("repeated", odd(g.answer(0, 10, 3, 1)), repeated, g.upAck(10, 1)),
			sends("NAK", odd(g.answer(0, 11, packet.NAKSyndrome(packet.NAKSequence), 1)), nakSeq,
				g.upNak(11, 1)),
			{what: "a window", in: g.cnp(0), out: []wire{g.opened(0)}, events: events{cnpOpened: 1}},
			{what: "a CNP out of a NAK, by a clone",
				in:  odd(g.answer(0, 11, packet.NAKSyndrome(packet.NAKSequence), 1)),
				out: []wire{g.upNak(11, 1), g.upCNP()}, events: events{nakSeq: 1, cnpSent: 1}},
			{what: "a window", in: g.cnp(0), out: []wire{g.opened(0)}, events: events{cnpOpened: 1}},
			{
				what: "a CNP out of a CNP", in: g.cnp(0), out: []wire{g.upCNP(), g.opened(0)},
				events: events{cnpSent: 1, cnpOpened: 1},
			},
			{
				what: "an ACK out of a poll, and a CNP", in: g.poll(), out: []wire{g.upNak(11, 1), g.upCNP()},
				events: events{nakSeq: 1, cnpSent: 1},
				write:  modify(g.where(func(g *group) { g.window, g.holdoff = 0, 0 }).state()),
			},
		},
	}
}

// upwardForms: to the source, to a parent node, to one that is not adjacent, to nobody.
func upwardForms() []scenario {
	var list []scenario
	for _, c := range []struct {
		name   string
		parent parent
	}{{"to_source", toSource}, {"to_parent", toParent}, {"to_parent_encaps", toParentEncaps}} {
		g := newGroup(23, 2).where(func(g *group) {
			g.parent, g.window, g.branches[1].child = c.parent, 0, c.parent == toParent
		})
		list = append(list, scenario{
			name: "response/" + c.name, entries: g.responses(),
			steps: []step{
				absorbed("", g.ack(0, 10, 1)),
				sends("ACK", g.ack(1, 10, 1), advanced, g.upAck(10, 1)),
				sends("NAK", g.nak(1, 11, 1), nakSeq, g.upNak(11, 1)),
				sends("RNR NAK", g.rnr(1, 11, 9, 1), nakRNR, g.upRNR(11, 9, 1)),
				sends("fatal NAK", g.fatal(1, 11, packet.NAKRemoteAccess, 1), nakFatal,
					g.upAnswer(11, packet.NAKSyndrome(packet.NAKRemoteAccess), 1)),
				{in: g.cnp(0), out: []wire{g.opened(0)}, events: events{p4.MtEventCnpWindow: 1}},
				sends("CNP", g.poll(), p4.MtEventCnpSent, g.upCNP()),
			},
		})
	}
	old := newGroup(26, 1).where(func(g *group) { g.parent, g.window = toParent, 0 })
	next := old.where(func(g *group) { g.epoch++ })
	list = append(list, scenario{
		name: "response/upstream_of_another_epoch", entries: old.responses(),
		steps: []step{
			{
				what: "an answer of the old epoch does not pass for one of the new", in: old.ack(0, 10, 1),
				write:  modify(next.upstream()),
				egress: drops{p4.DropReasonMtEpoch: 1}, events: events{advanced: 1},
			},
			{in: old.cnp(0), out: []wire{old.opened(0)}, events: events{cnpOpened: 1}},
			{
				what: "nor do an ACK and the CNP cloned beside it", in: old.ack(0, 11, 1),
				egress: drops{p4.DropReasonMtEpoch: 2}, events: events{advanced: 1, cnpSent: 1},
			},
			withWrite(sends("all of the new epoch", next.ack(0, 12, 1), advanced, next.upAck(12, 1)),
				modify(next.state(), next.branch(next.branches[0], 2))),
		},
	})
	g := newGroup(24, 1)
	return append(list, scenario{
		name: "response/no_upstream", entries: append(g.responses(), remove(g.upstream())...),
		steps: []step{
			{what: "dropped in egress", in: g.ack(0, 10, 1), egress: drops{p4.DropReasonMtUpstream: 1},
				events: events{advanced: 1}},
			withWrite(sends("until it is there", g.ack(0, 10, 1), repeated, g.upAck(10, 1)),
				[]*p4v1.Update{g.upstream()}),
			{
				what: "its next hop is gone", in: g.ack(0, 11, 1), egress: drops{p4.DropReasonNoNeighbor: 1},
				events: events{advanced: 1},
				write: remove(entry(p4.TableNeighbor, []any{neighborOf(1)}, p4.ActionSetMacs, macOf(1),
					macBehind(1))),
			},
		},
	})
}

// extremes: every branch index, the first and the last group.
func extremes() []scenario {
	var list []scenario
	for _, id := range []uint16{0, 1023} {
		g := newGroup(id, 32)
		s := scenario{name: fmt.Sprintf("response/32_branches_of_group_%d", id), entries: g.responses()}
		for b := range 32 {
			if b < 31 {
				s.steps = append(s.steps, absorbed("first report", g.ack(b, 100+uint32(b), uint32(b))))
			} else {
				s.steps = append(s.steps, sends("all known", g.ack(b, 131, 31), advanced, g.upAck(100, 0)))
			}
		}
		for b := range 31 {
			s.steps = append(s.steps, sends(fmt.Sprintf("branch %d bounds", b+1), g.ack(b, 1000, 50),
				advanced, g.upAck(101+uint32(b), uint32(b)+1)))
		}
		for b := range 31 {
			s.steps = append(s.steps, absorbed("repetition of a branch that is not the lowest",
				g.ack(b+1, 101, 1)))
		}
		s.steps[len(s.steps)-1] = sends("", g.nak(31, 132, 31), nakSeq, g.upNak(132, 31))
		list = append(list, s)
	}
	// Neighbors in the registers.
	a, b := newGroup(30, 32), newGroup(31, 1)
	a.live = 1 << 31
	list = append(list, scenario{
		name: "response/groups_apart", entries: append(a.responses(), b.responses()...),
		steps: []step{
			sends("last branch of one group", a.ack(31, 100, 1), advanced, a.upAck(100, 1)),
			sends("first branch of the next", b.ack(0, 50, 2), advanced, b.upAck(50, 2)),
			sends("", a.nak(31, 101, 1), nakSeq, a.upNak(101, 1)),
			sends("", b.nak(0, 101, 2), nakSeq, b.upNak(101, 2)),
			sends("", a.ack(31, 200, 3), advanced, a.upAck(200, 3)),
			sends("", b.ack(0, 200, 4), advanced, b.upAck(200, 4)),
		},
	})
	return list
}
