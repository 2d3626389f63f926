package fabric

import (
	"fmt"
	"net/netip"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

const (
	cnpSent   = p4.MtEventCnpSent
	cnpOpened = p4.MtEventCnpWindow
)

// opens is a CNP that opens a window and is reported.
func opens(what string, g group, b int) step {
	return step{what: what, in: g.cnp(b), out: []wire{g.opened(b)}, events: events{cnpOpened: 1}}
}

func counted(what string, in wire) step {
	return step{what: what, in: in, ingress: drops{p4.DropReasonMtCnpAbsorbed: 1}}
}

// over ends the group's window from now on with whatever comes next: windows of no length.
func (g group) over() []*p4v1.Update {
	return modify(g.where(func(g *group) { g.window = 0 }).state())
}

func (g group) openAgain() []*p4v1.Update { return modify(g.state()) }

// CNP windows (draft section 5.3.3; docs/multicast.md, CNP).
func cnps() []scenario {
	g := newGroup(40, 3)
	entries := g.responses()
	idle := step{what: "nothing is left", in: g.poll(), ingress: drops{p4.DropReasonMtPollIdle: 1}}
	// A report of branch b: counts of the window, the worst branch, CNPs sent.
	state := func(b uint8, cnps uint32, worst uint8, total uint32) step {
		return step{
			what: fmt.Sprintf("state of branch %d", b), in: g.ask(b),
			out: []wire{report{port: p4.CpuPort, reason: p4.PacketInReasonState, group: g.id, branch: b,
				epoch: g.epoch, cnps: cnps, cnpTotal: total, cnpBranch: worst}.wire()},
		}
	}
	limited := g.where(func(g *group) { g.limit = 2 })
	bump := g.where(func(g *group) { g.epoch++ })
	return []scenario{
		{
			name: "cnp/window", entries: entries,
			steps: []step{
				idle,
				opens("the first opens and is reported", g, 1),
				counted("a second", g.cnp(1)), counted("of another branch", g.cnp(2)), counted("", g.cnp(1)),
				counted("of any transport version, which the ICRC covers", g.from(2,
					with(g.cnpPacket(2), func(p *packet.RoCE) { p.BTH.TVer = 5 }))),
				{what: "a poll is early", in: g.poll(), ingress: drops{p4.DropReasonMtPollIdle: 1}},
				absorbed("so is a response", g.ack(0, 10, 1)),
				withWrite(sends("over: the poll sends one CNP", g.poll(), cnpSent, g.upCNP()), g.over()),
				idle,
				withWrite(opens("the next window", g, 2), g.openAgain()),
				counted("", g.cnp(2)),
				withWrite(sends("one CNP a window", g.poll(), cnpSent, g.upCNP()), g.over()),
				idle,
			},
		},
		{
			name: "cnp/ended_by", entries: entries,
			steps: []step{
				absorbed("", g.ack(0, 10, 1)), absorbed("", g.ack(1, 10, 1)),
				sends("", g.ack(2, 20, 1), advanced, g.upAck(10, 1)),
				opens("", g, 0),
				withWrite(refuses("not by a response that does not count", in(7, g.answer(0, 1, 0, 1)),
					p4.DropReasonMtNotBranch), g.over()),
				sends("a response that is absorbed: it becomes the CNP", g.ack(1, 11, 1), cnpSent, g.upCNP()),
				absorbed("once", g.ack(1, 12, 1)),
				withWrite(opens("", g, 0), g.openAgain()),
				{
					what: "a response that sends an ACK: both leave", write: g.over(), in: g.ack(0, 11, 1),
					out: []wire{g.upAck(11, 1), g.upCNP()}, events: events{advanced: 1, cnpSent: 1},
				},
				withWrite(opens("", g, 0), g.openAgain()),
				{
					what: "a NAK", write: g.over(), in: g.nak(0, 12, 1),
					out: []wire{g.upNak(12, 1), g.upCNP()}, events: events{nakSeq: 1, cnpSent: 1},
				},
				withWrite(opens("", g, 0), g.openAgain()),
				{
					what: "a fatal NAK", write: g.over(), in: g.fatal(0, 12, packet.NAKRemoteAccess, 1),
					out:    []wire{g.upAnswer(12, packet.NAKSyndrome(packet.NAKRemoteAccess), 1), g.upCNP()},
					events: events{nakFatal: 1, cnpSent: 1},
				},
				withWrite(opens("", g, 1), g.openAgain()),
				{
					what: "a CNP, which opens the next", write: g.over(), in: g.cnp(2),
					out: []wire{g.upCNP(), g.opened(2)}, events: events{cnpSent: 1, cnpOpened: 1},
				},
				{
					what: "and so on", in: g.cnp(0),
					out: []wire{g.upCNP(), g.opened(0)}, events: events{cnpSent: 1, cnpOpened: 1},
				},
				{
					what: "a poll that also sends an ACK", write: modify(g.where(func(g *group) {
						g.window, g.live = 0, 0b100
					}).state()), in: g.poll(),
					out: []wire{g.upAck(20, 1), g.upCNP()}, events: events{advanced: 1, cnpSent: 1},
				},
				idle,
			},
		},
		{
			name: "cnp/counts", entries: entries,
			steps: []step{
				state(0, 0, 0, 0),
				opens("", g, 1),
				state(1, 1, 1, 0), state(2, 0, 1, 0),
				counted("as many as the worst: the first stays", g.cnp(2)), state(2, 1, 1, 0),
				counted("more", g.cnp(2)), state(2, 2, 2, 0), state(1, 1, 2, 0), state(0, 0, 2, 0),
				counted("", g.cnp(1)), state(1, 2, 2, 0), counted("", g.cnp(1)), state(1, 3, 1, 0),
				withWrite(sends("", g.poll(), cnpSent, g.upCNP()), g.over()),
				state(1, 3, 1, 1),
				withWrite(opens("all counts start at zero", g, 0), g.openAgain()),
				state(0, 1, 0, 1), state(1, 0, 0, 1), state(2, 0, 0, 1),
				counted("the one that was the worst counts from zero too", g.cnp(1)), state(1, 1, 0, 1),
				withWrite(sends("", g.poll(), cnpSent, g.upCNP()), g.over()),
				state(0, 1, 0, 2),
			},
		},
		{
			name: "cnp/rate_limit", entries: limited.responses(),
			steps: []step{
				opens("", limited, 0), counted("", g.cnp(0)),
				refuses("the third of this branch", g.cnp(0), p4.DropReasonMtCnpRate),
				counted("another branch has its own", g.cnp(1)), counted("", g.cnp(1)),
				refuses("", g.cnp(1), p4.DropReasonMtCnpRate),
				state(0, 2, 0, 0), state(1, 2, 0, 0),
				{
					what: "a new window, a new allowance", write: modify(limited.where(func(g *group) {
						g.window = 0
					}).state()), in: g.cnp(0),
					out: []wire{g.upCNP(), g.opened(0)}, events: events{cnpSent: 1, cnpOpened: 1},
				},
				withWrite(counted("", g.cnp(0)), modify(limited.state())),
				refuses("", g.cnp(0), p4.DropReasonMtCnpRate),
			},
		},
		{
			name: "cnp/epoch", entries: entries,
			steps: []step{
				opens("", g, 0), counted("", g.cnp(1)),
				{
					what: "a new epoch forgets the window", in: bump.poll(),
					ingress: drops{p4.DropReasonMtPollIdle: 1},
					write: modify(bump.where(func(g *group) { g.window = 0 }).state(), bump.upstream(),
						bump.branch(bump.branches[0], 2), bump.branch(bump.branches[1], 3),
						bump.branch(bump.branches[2], 4)),
				},
				withWrite(opens("and opens its own", bump, 1), modify(bump.state())),
				{
					what: "with its own counts", in: g.ask(0),
					out: []wire{report{port: p4.CpuPort, reason: p4.PacketInReasonState, group: g.id,
						epoch: bump.epoch, cnpBranch: 1}.wire()},
				},
			},
		},
		fastCNPs(),
		windowEdges(),
		states(),
	}
}

// fastCNPs: a CNP that a switch on the way sends to the source itself (Fast CNP) is a packet like
// any other to the source, whoever it says it is from. The group's window, counts and CNP are as
// without it (draft section 1.1).
func fastCNPs() scenario {
	g := newGroup(45, 2)
	fast := func(from netip.Addr) []byte {
		p := arriving(from, g.source(), packet.BTH{Opcode: packet.OpCongestionNotification,
			DestQPN: sourceQPN, BECN: true})
		return p.Append(nil)
	}
	passes := func(what string, port uint32, frame []byte) step {
		return step{what: what, in: wire{port, frame}, out: []wire{forwarded(g.up, frame)}}
	}
	state := func(what string, b uint8, cnps uint32, worst uint8) step {
		return step{
			what: what, in: g.ask(b),
			out: []wire{report{port: p4.CpuPort, reason: p4.PacketInReasonState, group: g.id, branch: b,
				epoch: g.epoch, cnps: cnps, cnpBranch: worst}.wire()},
		}
	}
	return scenario{
		name: "cnp/fast", entries: g.responses(),
		steps: []step{
			passes("from a switch, before any CNP of the group", 4, fast(sidBehind(4))),
			passes("in the name of the source's peer", 4, fast(g.proxy)),
			{what: "it opens no window", in: g.poll(), ingress: drops{p4.DropReasonMtPollIdle: 1}},
			opens("a receiver's CNP does", g, 1),
			passes("in an open window", 2, fast(g.proxy)),
			passes("in the name of a receiver, by its port", g.branches[0].port, fast(g.branches[0].addr)),
			state("it is not counted", 0, 0, 1), state("", 1, 1, 1),
			withWrite(passes("nor does it end one that is over", 4, fast(g.proxy)), g.over()),
			sends("as a response does", g.ack(0, 1, 1), cnpSent, g.upCNP()),
		},
	}
}

// windowEdges: the window to the microsecond.
func windowEdges() scenario {
	g := newGroup(41, 2).where(func(g *group) { g.window = 50 })
	after := func(d time.Duration, s step) step {
		s.after = d
		return s
	}
	us := time.Microsecond
	return scenario{
		name: "cnp/window_edges", virtual: true, entries: g.responses(),
		steps: []step{
			opens("", g, 0),
			after(49*us, counted("a microsecond before the end", g.cnp(1))),
			{what: "poll", in: g.poll(), ingress: drops{p4.DropReasonMtPollIdle: 1}},
			after(us, sends("at the end", g.poll(), cnpSent, g.upCNP())),
			after(49*us, opens("the next starts with its first CNP", g, 0)),
			after(49*us, absorbed("", g.ack(0, 10, 1))),
			after(us, sends("the next response", g.ack(0, 11, 1), cnpSent, g.upCNP())),
			opens("", g, 0),
			after(50*us, step{in: g.cnp(1), out: []wire{g.upCNP(), g.opened(1)},
				events: events{cnpSent: 1, cnpOpened: 1}}),
			after(49*us, counted("counted from the CNP that opened it", g.cnp(0))),
			after(us, sends("", g.poll(), cnpSent, g.upCNP())),
		},
	}
}

// states: what a STATE packet-out is answered.
func states() scenario {
	g := newGroup(42, 3)
	ask := func(what string, b uint8, r report) step {
		r.port, r.reason, r.group, r.branch, r.epoch = p4.CpuPort, p4.PacketInReasonState, g.id, b,
			g.epoch
		return step{what: what, in: g.ask(b), out: []wire{r.wire()}}
	}
	last := uint32(packet.PSNMask)
	bump := g.where(func(g *group) { g.epoch++ })
	fresh := ask("a new epoch knows nothing", 1, report{})
	fresh.out = []wire{report{port: p4.CpuPort, reason: p4.PacketInReasonState, group: g.id, branch: 1,
		epoch: bump.epoch}.wire()}
	fresh.write = modify(bump.state())
	return scenario{
		name: "state", entries: g.responses(),
		steps: []step{
			ask("nothing yet", 0, report{}),
			absorbed("", g.ack(0, last, 0x123456)),
			ask("valid", 0, report{flags: flagValid, ackPSN: last, msn: 0x123456}),
			ask("another is not", 1, report{}),
			absorbed("", g.nak(1, 5, 9)),
			ask("pending", 1, report{flags: flagValid | flagPending, ackPSN: 4, msn: 9}),
			sends("", g.rnr(2, 1, 30, 8), advanced, g.upAck(last, 8)),
			ask("RNR, and the last m", 2, report{flags: flagValid | flagPending | flagRNR | flagLast,
				ackPSN: 0, rnrTimer: 30, msn: 8, lastPSN: 0}),
			sends("", g.ack(0, 1, 0x123457), nakRNR, g.upRNR(1, 30, 8)),
			ask("", 0, report{flags: flagValid | flagLast, ackPSN: 1, msn: 0x123457, lastPSN: 1}),
			sends("", g.rnr(2, 1, 0, 8), nakRNR, g.upRNR(1, 0, 8)),
			ask("the longest timer", 2, report{flags: flagValid | flagPending | flagRNR | flagLast,
				ackPSN: 0, msn: 8, lastPSN: 1}),
			ask("a branch that nobody is", 31, report{flags: flagLast, lastPSN: 1}),
			refuses("a branch there cannot be", g.ask(32), p4.DropReasonPacketOut),
			refuses("", g.ask(255), p4.DropReasonPacketOut),
			refuses("a group that is not programmed", packetOut(p4.PacketOutOpState, 0, 43, 0),
				p4.DropReasonMtGroup),
			fresh,
		},
	}
}

// Packet I/O besides polls and states.
func packetIO() []scenario {
	g := newGroup(44, 1)
	sent := scenario{name: "packet_out"}
	for port := uint32(1); port <= ports; port++ {
		frame := append(plain(packet.IPv6{NextHeader: packet.NextHeaderNone, HopLimit: 1, Src: host(1),
			Dst: host(2)}, pattern(int(port)*1000)), byte(port))
		sent.steps = append(sent.steps, step{what: fmt.Sprint(port), in: packetOut(p4.PacketOutOpSend,
			port, 7, 9, frame...), out: []wire{{port, frame}}})
	}
	loop := pattern(100)
	sent.entries = g.responses()
	sent.steps = append(sent.steps,
		step{what: "to the CPU port: reported", in: packetOut(p4.PacketOutOpSend, p4.CpuPort, 7, 9,
			loop...), out: []wire{report{port: p4.CpuPort}.wire(loop...)}},
		refuses("unknown operation", packetOut(3, 1, 0, 0, loop...), p4.DropReasonPacketOut),
		refuses("unknown operation", packetOut(255, 1, 0, 0), p4.DropReasonPacketOut),
		refuses("a poll with a payload", packetOut(p4.PacketOutOpPoll, 0, g.id, 0, 1),
			p4.DropReasonPacketOut),
		refuses("a state with a payload", packetOut(p4.PacketOutOpState, 0, g.id, 0, loop...),
			p4.DropReasonPacketOut),
		refuses("a poll of a group that is not programmed", packetOut(p4.PacketOutOpPoll, 0, 1023, 0),
			p4.DropReasonMtGroup),
	)
	return []scenario{sent}
}
