package fabric

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/dataplane/drop"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// Two classes, in the way MRC wants them.
const (
	dataClass    = 2
	controlClass = 5
)

var dscps = packet.DefaultDSCPClasses()

// priorities of the queues of the two classes. One queue for both keeps the order of what leaves
// the same on every target.
type priorities struct{ data, control uint32 }

// classEntries say what class every DSCP has.
func classEntries(p priorities) []*p4v1.Update {
	return []*p4v1.Update{
		entry(p4.TableTrafficClass, []any{dscps.NoTrim}, p4.ActionSetClass, dataClass, p.data),
		entry(p4.TableTrafficClass, []any{dscps.Trimmable}, p4.ActionSetTrimmableClass, dataClass,
			p.data),
		entry(p4.TableTrafficClass, []any{dscps.TrimmableRetx}, p4.ActionSetTrimmableClass, dataClass,
			p.data),
		entry(p4.TableTrafficClass, []any{dscps.Trimmed}, p4.ActionSetTrimmedClass, controlClass,
			p.control),
		entry(p4.TableTrafficClass, []any{dscps.TrimmedLastHop}, p4.ActionSetTrimmedClass, controlClass,
			p.control),
		entry(p4.TableTrafficClass, []any{dscps.Control}, p4.ActionSetClass, controlClass, p.control),
	}
}

// never is a limit or threshold that is not reached.
const never = 1 << 20

// queueOf is the data class's queue of a port.
type queueOf struct {
	port           uint32
	limit          uint32
	ecnMin, ecnMax uint32
	trimLimit      uint32
	hostFacing     bool
}

func (q queueOf) entry() *p4v1.Update {
	return entry(p4.TableClassQueue, []any{q.port, dataClass}, p4.ActionSetDataQueue, q.limit,
		q.ecnMin, q.ecnMax, q.trimLimit, q.hostFacing)
}

func controlQueue(port, limit uint32) *p4v1.Update {
	return entry(p4.TableClassQueue, []any{port, controlClass}, p4.ActionSetQueue, limit)
}

func trimEntry(tr packet.Trimmer, priority uint32) *p4v1.Update {
	return entry(p4.TableTrimming, nil, p4.ActionSetTrimming, tr.Size, tr.DSCP.Trimmed,
		tr.DSCP.TrimmedLastHop, controlClass, priority, tr.SetLength)
}

// mrcPacket is a frame of MRC as it reaches the switch.
func mrcPacket(dst uint32, dscp uint8, payload int) packet.MRC {
	return packet.MRC{
		Ethernet: packet.Ethernet{Dst: nodeMAC, Src: packet.MAC{2, 9, 9, 9, 9, 9}},
		IPv6: packet.IPv6{TrafficClass: packet.TrafficClass(dscp, packet.ECT0), FlowLabel: 0x0beef,
			HopLimit: 64, Src: host(1), Dst: host(dst)},
		UDP: packet.UDP{SrcPort: 0x1234, DstPort: packet.RoCEPort},
		BTH: packet.MRCBTH{Opcode: packet.OpMRCWriteMiddle, PKey: packet.DefaultPKey, DestQPN: 0x77,
			PSN: 5, Timestamped: true},
		METH:    packet.METH{RQMSN: 3, MSN: 4},
		RETH:    packet.RETH{VA: 1 << 40, RKey: 7, DMALength: 1 << 20},
		Payload: pattern(payload),
	}
}

func octets(p packet.MRC) []byte { return p.Append(nil) }

// changed returns a copy of an MRC packet, changed.
func changed(p packet.MRC, change func(*packet.MRC)) packet.MRC {
	change(&p)
	return p
}

// at counts n of a counter of a class at a port.
func at(counter, port uint32, class, n int) counts {
	return counts{{counter, int(port)<<3 | class}: n}
}

func sum(all ...counts) counts {
	c := counts{}
	for _, m := range all {
		maps.Copy(c, m)
	}
	return c
}

func sent(port uint32, class int) counts     { return at(p4.CounterClassTxID, port, class, 1) }
func marks(port uint32, class int) counts    { return at(p4.CounterClassMarksID, port, class, 1) }
func trims(port uint32, class int) counts    { return at(p4.CounterClassTrimsID, port, class, 1) }
func refusals(port uint32, class int) counts { return at(p4.CounterClassDropsID, port, class, 1) }

// classes: which class a packet has, and that each is counted.
func classes() []scenario {
	frame := func(dscp uint8) []byte { return octets(mrcPacket(2, dscp, 64)) }
	s := scenario{name: "classes/counted", classes: true, entries: append(classEntries(priorities{}),
		queueOf{port: 2, limit: never, ecnMin: never, ecnMax: never}.entry())}
	for dscp, class := range map[uint8]int{
		dscps.NoTrim: dataClass, dscps.Trimmable: dataClass, dscps.TrimmableRetx: dataClass,
		dscps.Trimmed: controlClass, dscps.TrimmedLastHop: controlClass, dscps.Control: controlClass,
	} {
		s.steps = append(s.steps, step{what: fmt.Sprintf("DSCP %d", dscp), in: wire{1, frame(dscp)},
			out: []wire{forwarded(2, frame(dscp))}, classes: sent(2, class)})
	}
	s.steps = append(s.steps,
		step{what: "DSCP without a class", in: wire{1, frame(50)}, out: []wire{forwarded(2, frame(50))}},
		step{
			what: "the map can be changed", in: wire{1, frame(50)}, out: []wire{forwarded(2, frame(50))},
			classes: sent(2, 3),
			write:   []*p4v1.Update{entry(p4.TableTrafficClass, []any{50}, p4.ActionSetClass, 3, 0)},
		},
	)
	t := tree{group: newGroup(60, 2), children: []uint32{7}}
	p := t.onTree(t.request(packet.OpWriteOnly, 1, 64))
	p.Outer.TrafficClass = packet.TrafficClass(dscps.NoTrim, packet.ECT0)
	copies := scenario{
		name: "classes/copies", classes: true,
		entries: append(append(t.downward(), classEntries(priorities{})...),
			queueOf{port: 7, ecnMin: never, ecnMax: never}.entry()),
		steps: []step{{
			what: "copies of a tree are counted, not held back", in: in(8, p),
			out:     append(t.all(p), t.passed(7, p)),
			classes: sum(sent(7, dataClass), at(p4.CounterClassTxID, p4.RecirculationPort, dataClass, 2)),
		}},
	}
	return []scenario{s, copies}
}

// trimming: what a full queue does. A limit of 0 makes it full for every packet, on every target.
func trimming() []scenario {
	size := packet.Trimmer{DSCP: dscps, Size: 96}
	data := mrcPacket(2, dscps.Trimmable, 1024)
	full := func(more ...*p4v1.Update) []*p4v1.Update {
		return append(append(classEntries(priorities{}), more...),
			queueOf{port: 2, trimLimit: never, ecnMin: never, ecnMax: never, hostFacing: true}.entry(),
			queueOf{port: 4, trimLimit: never, ecnMin: never, ecnMax: never}.entry(),
			queueOf{port: 5, trimLimit: 0, ecnMin: never, ecnMax: never}.entry())
	}
	// trimmed is what must come of a frame: the one that would leave, trimmed by the model.
	trimmed := func(tr packet.Trimmer, w wire, lastHop bool) wire {
		frame, err := tr.Trim(bytes.Clone(w.frame), lastHop)
		if err != nil {
			panic(err)
		}
		return wire{w.port, frame}
	}
	is := func(what string, tr packet.Trimmer, frame []byte, leaves wire, lastHop bool) step {
		return step{
			what: what, in: wire{1, frame}, out: []wire{trimmed(tr, leaves, lastHop)},
			classes: sum(trims(leaves.port, dataClass), sent(leaves.port, controlClass)),
		}
	}
	to := func(dst uint32, dscp uint8, payload int) []byte {
		return octets(mrcPacket(dst, dscp, payload))
	}
	s := scenario{name: "trimming/forced", classes: true, entries: full(trimEntry(size, 0))}
	s.steps = []step{
		is("last hop", size, data.Append(nil), forwarded(2, data.Append(nil)), true),
		is("another hop", size, to(4, dscps.Trimmable, 1024), forwarded(4, to(4, dscps.Trimmable, 1024)),
			false),
		is("sent again", size, to(4, dscps.TrimmableRetx, 4096),
			forwarded(4, to(4, dscps.TrimmableRetx, 4096)), false),
		is("shorter than the trim size", size, to(4, dscps.Trimmable, 0),
			forwarded(4, to(4, dscps.Trimmable, 0)), false),
		{
			what: "not trimmable", in: wire{1, to(4, dscps.NoTrim, 256)},
			ingress: drops{p4.DropReasonQueueFull: 1}, classes: refusals(4, dataClass),
		},
		{
			what: "the control class has a queue of its own", in: wire{1, to(4, dscps.Control, 0)},
			out:     []wire{forwarded(4, to(4, dscps.Control, 0))},
			classes: sent(4, controlClass),
		},
		{
			what: "the queue of trimmed packets is full too", in: wire{1, to(5, dscps.Trimmable, 1024)},
			ingress: drops{p4.DropReasonTrimQueueFull: 1},
			classes: sum(trims(5, dataClass), refusals(5, controlClass)),
		},
		{
			what: "a port without limits", in: wire{1, to(6, dscps.Trimmable, 1024)},
			out:     []wire{forwarded(6, to(6, dscps.Trimmable, 1024))},
			classes: sent(6, dataClass),
		},
	}
	// A trimmed packet passes however full the queues are, and keeps its trimmed mark.
	rest := trimmed(size, forwarded(2, to(4, dscps.Trimmable, 1024)), false).frame
	copy(rest, nodeMAC[:])
	again := forwarded(4, rest)
	s.steps = append(s.steps, step{what: "trimmed before", in: wire{1, rest}, out: []wire{again},
		classes: sent(4, controlClass)})

	lengths := scenario{name: "trimming/sizes", classes: true, entries: full()}
	for _, tr := range []packet.Trimmer{
		{DSCP: dscps, Size: packet.MinTrimLen}, {DSCP: dscps, Size: 128, SetLength: true},
		{DSCP: dscps, Size: 1000, SetLength: true}, {DSCP: dscps, Size: 9000, SetLength: true},
		{DSCP: packet.DSCPClasses{NoTrim: 3, Trimmable: dscps.Trimmable,
			TrimmableRetx: dscps.TrimmableRetx, Trimmed: 60, TrimmedLastHop: 61, Control: 43}, Size: 256},
	} {
		st := is(fmt.Sprintf("%d octets, length set %v, DSCP %d", tr.Size, tr.SetLength, tr.DSCP.Trimmed),
			tr, data.Append(nil), forwarded(2, data.Append(nil)), true)
		st.write = []*p4v1.Update{trimEntry(tr, 0)}
		lengths.steps = append(lengths.steps, st)
	}
	lengths.steps = append(lengths.steps, step{
		what: "trimming is not configured", in: wire{1, data.Append(nil)},
		ingress: drops{p4.DropReasonQueueFull: 1}, classes: refusals(2, dataClass),
		write: []*p4v1.Update{defaultOf(p4.TableTrimming)},
	})
	return []scenario{s, lengths, trimmedTunnels(), trimmedRoCE(), trimmedGroup()}
}

// defaultOf takes the default action of a keyless table back.
func defaultOf(table string) *p4v1.Update {
	return &p4v1.Update{Type: p4v1.Update_MODIFY,
		Entity: &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{
			TableId: tableNamed(table).GetPreamble().GetId(), IsDefaultAction: true,
		}}}}
}

// trimmedTunnels: the trim size applies to the packet as the switch sends it, and the switch marks
// the outermost header. The end of a tunnel copies the mark to the inner header.
func trimmedTunnels() scenario {
	s := scenario{name: "trimming/tunnels", classes: true}
	tr := packet.Trimmer{DSCP: dscps, Size: 192, SetLength: true}
	s.entries = append(classEntries(priorities{}), trimEntry(tr, 0), queueOf{port: 4, trimLimit: never,
		ecnMin: never, ecnMax: never}.entry())
	for _, routed := range []bool{false, true} {
		p := changed(mrcPacket(4, dscps.Trimmable, 1024), func(p *packet.MRC) {
			p.Encapsulated, p.Routed = true, routed
			p.Outer = packet.IPv6{TrafficClass: p.IPv6.TrafficClass, HopLimit: 9, Src: host(1),
				Dst: sidBehind(4)}
		})
		if routed {
			srh, err := packet.NewSRH(packet.NextHeaderIPv6, []netip.Addr{sidBehind(4), host(4)}, nil)
			if err != nil {
				panic(err)
			}
			p.SRH = srh
		}
		frame := p.Append(nil)
		left, err := tr.Trim(bytes.Clone(forwarded(4, frame).frame), false)
		if err != nil {
			panic(err)
		}
		s.steps = append(s.steps, step{
			what: fmt.Sprintf("through, routed %v", routed), in: wire{1, frame}, out: []wire{{4, left}},
			classes: sum(trims(4, dataClass), sent(4, controlClass)),
		})
	}
	for _, dscp := range []uint8{dscps.Trimmed, dscps.TrimmedLastHop, dscps.Trimmable, dscps.Control} {
		for _, ecn := range []uint8{packet.ECT0, packet.CE} {
			p := mrcPacket(6, dscps.TrimmableRetx, 200)
			p.Encapsulated = true
			p.Outer = packet.IPv6{TrafficClass: packet.TrafficClass(dscp, ecn), HopLimit: 9, Src: host(1),
				Dst: sidEndDT6}
			tc, _ := dscps.Decap(p.IPv6.TrafficClass, p.Outer.TrafficClass)
			inner := octets(changed(p, func(p *packet.MRC) {
				p.Encapsulated, p.IPv6.TrafficClass = false, tc
			}))
			class := dataClass
			if dscps.High(dscp) {
				class = controlClass
			}
			s.steps = append(s.steps, step{
				what: fmt.Sprintf("end of a tunnel, outer DSCP %d ECN %d", dscp, ecn),
				in:   wire{1, p.Append(nil)}, out: []wire{forwarded(6, inner)},
				classes: sent(6, class),
			})
		}
	}
	return s
}

// trimmedRoCE: the switch also forwards trimmed RoCEv2 packets without MRC. A packet cut short for
// another reason counts as malformed.
func trimmedRoCE() scenario {
	s := scenario{name: "trimming/roce", classes: true, entries: classEntries(priorities{})}
	for _, op := range []packet.Opcode{packet.OpWriteOnly, packet.OpWriteMiddle, packet.OpSendOnly} {
		p := arriving(host(1), host(2), packet.BTH{Opcode: op, DestQPN: 9, PSN: 1})
		p.Payload = pattern(512)
		for _, setLength := range []bool{false, true} {
			p.IPv6.TrafficClass = packet.TrafficClass(dscps.Trimmable, packet.ECT0)
			rest, err := (packet.Trimmer{DSCP: dscps, Size: 100, SetLength: setLength}).Trim(p.Append(nil),
				false)
			if err != nil {
				panic(err)
			}
			reason := p4.DropReasonParseTruncated
			if setLength {
				reason = p4.DropReasonParseUdpLength
			}
			s.steps = append(s.steps,
				step{what: fmt.Sprintf("%v", op), in: wire{1, rest}, out: []wire{forwarded(2, rest)},
					classes: sent(2, controlClass)},
				step{
					what: fmt.Sprintf("%v, cut by nobody", op), in: patch(wire{1, rest}, offOuter,
						0x60|dscps.Trimmable>>2, dscps.Trimmable<<6),
					ingress: drops{reason: 1},
				})
		}
	}
	return s
}

// trimmedGroup: a multicast group's trimmed packets pass transit nodes and end at edges.
func trimmedGroup() scenario {
	transit := tree{group: newGroup(61, 0), children: []uint32{7, 8}}
	edge := tree{group: newGroup(62, 2)}
	first := tree{group: newGroup(63, 1)}
	s := scenario{name: "trimming/group", classes: true}
	s.entries = append(append(transit.downward(), edge.downward()...), classEntries(priorities{})...)
	s.entries = append(s.entries, first.responses()...)
	trim := func(p packet.RoCE) []byte {
		p.Outer.TrafficClass = packet.TrafficClass(dscps.Trimmable, packet.ECT0)
		p.IPv6.TrafficClass = p.Outer.TrafficClass
		frame, err := (packet.Trimmer{DSCP: dscps, Size: 200}).Trim(p.Append(nil), false)
		if err != nil {
			panic(err)
		}
		return frame
	}
	down := trim(transit.onTree(transit.request(packet.OpWriteOnly, 1, 1024)))
	child := func(port uint32) wire {
		w := forwarded(port, down)
		a := sidBehind(port).As16()
		return patch(w, offOuter+24, a[:]...)
	}
	s.steps = []step{
		{what: "transit", in: wire{7, down}, out: []wire{child(7), child(8)},
			classes: sum(sent(7, controlClass), sent(8, controlClass))},
		{what: "edge", in: wire{7, trim(edge.onTree(edge.request(packet.OpWriteOnly, 1, 1024)))},
			ingress: drops{p4.DropReasonMtTrimmed: 1}},
		{what: "at the proxy address", in: wire{7, trim(first.request(packet.OpWriteOnly, 1, 1024))},
			ingress: drops{p4.DropReasonMtTrimmed: 1}},
	}
	return s
}

// marking: congestion marks, forced by a threshold of 0.
func marking() []scenario {
	s := scenario{name: "ecn/forced", classes: true, entries: append(classEntries(priorities{}),
		queueOf{port: 2, limit: never}.entry(), queueOf{port: 4, limit: never, ecnMin: never,
			ecnMax: never}.entry(), controlQueue(2, never))}
	with := func(dst uint32, dscp, ecn uint8) packet.MRC {
		return changed(mrcPacket(dst, dscp, 100), func(p *packet.MRC) {
			p.IPv6.TrafficClass = packet.TrafficClass(dscp, ecn)
		})
	}
	for ecn := range uint8(4) {
		p, want := with(2, dscps.NoTrim, ecn), with(2, dscps.NoTrim, ecn)
		n := sent(2, dataClass)
		if ecn == packet.ECT0 || ecn == packet.ECT1 {
			want, n = with(2, dscps.NoTrim, packet.CE), sum(n, marks(2, dataClass))
		}
		s.steps = append(s.steps, step{what: fmt.Sprintf("ECN %d", ecn), in: wire{1, p.Append(nil)},
			out: []wire{forwarded(2, want.Append(nil))}, classes: n})
	}
	quiet := octets(with(4, dscps.NoTrim, packet.ECT0))
	control := octets(with(2, dscps.Control, packet.ECT0))
	tunnel := changed(with(2, dscps.NoTrim, packet.ECT0), func(p *packet.MRC) {
		p.Encapsulated, p.Outer = true, packet.IPv6{TrafficClass: p.IPv6.TrafficClass, HopLimit: 9,
			Src: host(1), Dst: sidBehind(2)}
	})
	marked := changed(tunnel, func(p *packet.MRC) { p.Outer.TrafficClass |= packet.CE })
	s.steps = append(s.steps,
		step{what: "below the threshold", in: wire{1, quiet}, out: []wire{forwarded(4, quiet)},
			classes: sent(4, dataClass)},
		step{what: "the control class is not marked", in: wire{1, control},
			out: []wire{forwarded(2, control)}, classes: sent(2, controlClass)},
		step{what: "the outermost header", in: wire{1, tunnel.Append(nil)},
			out: []wire{forwarded(2, marked.Append(nil))}, classes: sum(sent(2, dataClass),
				marks(2, dataClass))},
	)
	return []scenario{s}
}

// slowPort makes a port of the embedded switch send slowly, with target queues deeper than the
// program's.
func slowPort(e *embedded, port uint32, packetsPerSecond uint64) {
	for class := range 8 {
		e.device.Switch().SetQueueRate(port, class, packetsPerSecond)
		e.device.Switch().SetQueueDepth(port, class, 64)
	}
}

// TestQueuesLoseNothingUnseen sends bursts into a slow port: every packet comes out, whole, trimmed
// or marked, or is counted; the target drops none by itself, and when the queue has run empty the
// next burst finds it empty.
func TestQueuesLoseNothingUnseen(t *testing.T) {
	const (
		burst   = 300
		limit   = 32
		trimmed = 48
	)
	e := newEmbedded()
	e.reset(t)
	e.write(t, baseEntries())
	e.write(t, classEntries(priorities{0, 7}))
	e.write(t, []*p4v1.Update{
		trimEntry(packet.Trimmer{DSCP: dscps, Size: 96}, 7), queueOf{port: 2, limit: limit, ecnMin: never,
			ecnMax: never, trimLimit: trimmed}.entry(),
	})
	slowPort(e, 2, 1000)
	for round := range 3 {
		var frames []wire
		for i := range burst {
			dscp := dscps.Trimmable
			if i%4 == 3 {
				dscp = dscps.NoTrim
			}
			frames = append(frames, wire{1, octets(mrcPacket(2, dscp, 512))})
		}
		before := readCells(t, e, p4.CounterClassTrimsID, p4.CounterClassDropsID,
			p4.CounterIngressDropsID)
		out := e.inject(t, frames...)
		e.advance(time.Second)
		e.out = nil
		e.device.Advance(e.now)
		out = append(out, e.out...)
		count := difference(readCells(t, e, p4.CounterClassTrimsID, p4.CounterClassDropsID,
			p4.CounterIngressDropsID), before)
		whole, cut := 0, 0
		for _, w := range out {
			if len(w.frame) == 96 {
				cut++
			} else {
				whole++
			}
		}
		data, control := cell{p4.CounterClassDropsID, 2<<3 | dataClass},
			cell{p4.CounterClassDropsID, 2<<3 | controlClass}
		trims := count[cell{p4.CounterClassTrimsID, 2<<3 | dataClass}]
		if whole+cut+count[data]+count[control] != burst {
			t.Errorf("round %d: %d whole, %d trimmed, %d and %d dropped, want %d in all", round, whole, cut,
				count[data], count[control], burst)
		}
		// The first of a burst leaves at once.
		if want := limit + 1; whole != want {
			t.Errorf("round %d: %d packets whole, want %d", round, whole, want)
		}
		if want := trimmed + 1; cut != want || trims != want+count[control] {
			t.Errorf("round %d: %d packets trimmed, %d counted, %d of them dropped; want %d to arrive",
				round, cut, trims, count[control], want)
		}
		if n := e.device.Switch().Stats().Drops[drop.QueueFull]; n != 0 {
			t.Fatalf("round %d: the target dropped %d packets by itself", round, n)
		}
		if n := count[cell{p4.CounterIngressDropsID, int(p4.DropReasonQueueFull)}]; n != count[data] {
			t.Errorf("round %d: %d packets dropped as QUEUE_FULL, %d of the class", round, n, count[data])
		}
	}
}

// TestQueueForgetsLostPackets: what a target loses behind the program's back does not fill the
// queue for ever.
func TestQueueForgetsLostPackets(t *testing.T) {
	e := newEmbedded()
	e.reset(t)
	e.write(t, baseEntries())
	e.write(t, classEntries(priorities{}))
	e.write(t, []*p4v1.Update{queueOf{port: 2, limit: 40, ecnMin: never, ecnMax: never}.entry()})
	e.device.Switch().SetQueueRate(2, 0, 1000)
	e.device.Switch().SetQueueDepth(2, 0, 8)
	frame := wire{1, octets(mrcPacket(2, dscps.NoTrim, 64))}
	for range 10 {
		var burst []wire
		for range 30 {
			burst = append(burst, frame)
		}
		e.inject(t, burst...)
		e.advance(time.Second)
		e.device.Advance(e.now)
	}
	if e.device.Switch().Stats().Drops[drop.QueueFull] == 0 {
		t.Error("the target lost nothing: the test shows nothing")
	}
	if n := e.counters(t, p4.CounterIngressDropsID)[int(p4.DropReasonQueueFull)]; n != 0 {
		t.Errorf("%d packets found a queue full that was empty", n)
	}
}

// TestControlLeavesFirst: the control class overtakes the data that waits.
func TestControlLeavesFirst(t *testing.T) {
	e := newEmbedded()
	e.reset(t)
	e.write(t, baseEntries())
	e.write(t, classEntries(priorities{0, 7}))
	var frames []wire
	for range 20 {
		frames = append(frames, wire{1, octets(mrcPacket(2, dscps.NoTrim, 64))})
	}
	frames = append(frames, wire{1, octets(mrcPacket(2, dscps.Control, 0))})
	e.device.Switch().SetQueueRate(2, 0, 1000)
	out := e.inject(t, frames...)
	if len(out) != 2 || packet.DSCP(trafficClass(out[1].frame)) != dscps.Control {
		t.Errorf("%d packets left at once, want the first data packet and the control packet: %v",
			len(out), out)
	}
}

func trafficClass(frame []byte) uint8 { return frame[offOuter]<<4 | frame[offOuter+1]>>4 }

// TestECNProbability: between the thresholds, the marking probability grows linearly with the
// number of packets that wait behind the packet. Thresholds two apart leave one length in between,
// where the switch marks exactly half of the packets.
func TestECNProbability(t *testing.T) {
	for _, c := range []struct{ low, high, burst, rounds int }{{20, 60, 101, 150}, {3, 5, 9, 400},
		{3, 4, 9, 20}} {
		marked := markedBehind(t, c.low, c.high, c.burst, c.rounds)
		for waiting, n := range marked[:c.burst-1] { // the last one left before the others came
			want := min(max(float64(waiting-c.low)/float64(c.high-c.low), 0), 1)
			got := float64(n) / float64(c.rounds)
			// Five standard deviations of a binomial distribution.
			if d := got - want; d*d > 25*max(want*(1-want), 0)/float64(c.rounds) {
				t.Errorf("thresholds %d and %d, %d behind: %.3f marked, want %.3f", c.low, c.high, waiting, got,
					want)
			}
		}
	}
}

// markedBehind counts marks by how many packets wait behind the marked one, in so many bursts.
func markedBehind(t *testing.T, low, high, burst, rounds int) []int {
	e := newEmbedded()
	e.reset(t)
	e.write(t, baseEntries())
	e.write(t, classEntries(priorities{}))
	e.write(t, []*p4v1.Update{queueOf{port: 2, limit: never, ecnMin: uint32(low),
		ecnMax: uint32(high)}.entry()})
	e.device.Switch().SetQueueRate(2, 0, 1000)
	e.device.Switch().SetQueueDepth(2, 0, 1000)
	marked := make([]int, burst)
	frame := wire{1, octets(mrcPacket(2, dscps.NoTrim, 0))}
	for range rounds {
		frames := make([]wire, burst)
		for i := range frames {
			frames[i] = frame
		}
		out := e.inject(t, frames...)
		for len(out) < burst {
			e.advance(time.Millisecond)
			e.out = nil
			e.device.Advance(e.now)
			out = append(out, e.out...)
		}
		for i, w := range out {
			if packet.ECN(trafficClass(w.frame)) == packet.CE {
				marked[burst-1-i]++
			}
		}
	}
	return marked
}
