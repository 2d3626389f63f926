package mrc

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// record of what congestion control and the sprayer are told.
type listener struct {
	FixedWindow
	*RoundRobin
	sacks    []SACK
	nacks    []NACK
	losses   []Loss
	sent     []Sent
	backlogs []int
	signals  []Signal
	ids      []PathID
	took     []time.Duration
	windows  []int // of packets
}

func newListener(window int) *listener {
	return &listener{FixedWindow: FixedWindow(window), RoundRobin: NewRoundRobin(testPaths(8, 2)...)}
}

func (l *listener) OnNewData(_ time.Duration, backlog int) {
	l.backlogs = append(l.backlogs, backlog)
}
func (l *listener) OnSend(s Sent) { l.sent = append(l.sent, s) }
func (l *listener) OnSACK(s SACK) { l.sacks = append(l.sacks, s) }
func (l *listener) OnNACK(n NACK) { l.nacks = append(l.nacks, n) }
func (l *listener) OnLoss(x Loss) { l.losses = append(l.losses, x) }
func (l *listener) SetWindow(packets int) {
	l.windows = append(l.windows, packets)
}
func (l *listener) Feedback(_ time.Duration, id PathID, s Signal) {
	l.signals, l.ids = append(l.signals, s), append(l.ids, id)
}

func (l *listener) Took(_ PathID, d time.Duration) { l.took = append(l.took, d) }

// valve is a window that is open or shut.
type valve struct {
	FixedWindow
	open bool
}

func (g *valve) Window() int {
	if g.open {
		return 1 << 30
	}
	return 0
}
func (g *valve) MaxWindow() int { return 1 << 30 }

// pacer lets a packet leave at some times only.
type pacer struct {
	FixedWindow
	next time.Duration
}

func (p *pacer) NextSend() time.Duration { return p.next }
func (p *pacer) OnSend(s Sent)           { p.next = s.Now + time.Millisecond }

// TestNextSend: with room in the window a packet leaves when the congestion controller lets it, new
// or sent again, and the queue pair wants to be advanced then.
func TestNextSend(t *testing.T) {
	w := &pacer{FixedWindow: 1 << 20, next: 5 * time.Microsecond}
	s := newSolo(t, func(c *QPConfig) { c.Congestion = w })
	s.write(3)
	left := func(d time.Duration, want ...time.Duration) {
		t.Helper()
		var at []time.Duration
		for _, p := range s.settle(d) {
			at = append(at, p.at)
		}
		if !slices.Equal(at, want) {
			t.Errorf("packets left at %v, want %v", at, want)
		}
	}
	if next, ok := s.host.Advance(0); !ok || next != w.next || len(s.take()) > 0 {
		t.Errorf("wants to be advanced at %v, %v, want %v", next, ok, w.next)
	}
	const ms = time.Millisecond
	left(3*ms, 5*time.Microsecond, ms+5*time.Microsecond, 2*ms+5*time.Microsecond)
	s.give(nackPacket(101, packet.EV(0), packet.NACKTrimmed))
	w.next = 4 * ms
	left(ms, 4*ms)
}

// TestSchedule: the states and transitions of figure 4 (§8.3).
func TestSchedule(t *testing.T) {
	w := &valve{}
	s := newSolo(t, func(c *QPConfig) { c.Congestion = w })
	expect := func(what string, want Schedule) {
		t.Helper()
		if got := s.qp.Schedule(); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	expect("start", Idle)
	s.write(3)
	expect("new data, no window", Active)
	if out := s.settle(time.Microsecond); len(out) != 0 {
		t.Errorf("%d packets without a window", len(out))
	}
	w.open = true
	expect("window opens", Ready)
	w.open = false
	expect("window shuts", Active)
	w.open = true
	out := s.settle(0)
	expect("one sent by each port, one to send", Ready)
	out = append(out, s.settle(time.Microsecond)...)
	expect("all sent", Pending)
	w.open = false
	s.give(nackPacket(100, out[0].EV(), packet.NACKTrimmed))
	expect("a packet to be sent again", Active)
	w.open = true
	expect("which may be", Ready)
	w.open = false
	s.give(sackPacket(99, 100, out[0].EV(), 0))
	expect("it has arrived after all", Pending)
	s.write(1)
	expect("new data", Active)
	w.open = true
	s.settle(time.Microsecond)
	expect("sent", Pending)
	s.give(ackPacket(103, plainACK))
	expect("all acknowledged", Idle)
}

// TestInFlight: table 8-3, and what OnSACK is told (§8.4): rcvd_bytes in 256 octets modulo 2^24,
// the round trip, the fields of CC_STATE.
func TestInFlight(t *testing.T) {
	l := newListener(1 << 20)
	s := newSolo(t, func(c *QPConfig) { c.Congestion, c.Sprayer = l, l })
	s.qp.prevRcvd = packet.PSNMask - 1 // about to wrap
	s.write(4)
	out := s.settle(time.Microsecond)
	size := nominalSize(int(out[0].UDP.Length))
	if size != 8+12+4+4+16+256+4+40 || s.qp.InFlight() != 4*size || l.sent[3].InFlight != 4*size ||
		l.sent[3].Size != size || l.backlogs[0] != 4*size {
		t.Fatalf("%d in flight, %+v, backlog %v; nominal_pktsize %d", s.qp.InFlight(), l.sent, l.backlogs,
			size)
	}
	p := sackPacket(101, 101, out[1].EV(), 0)
	cc := packet.NSCC{Timestamp: out[1].TSETH.Timestamp, OOOCount: 9, RcvCwndPenalty: 64,
		RestoreCwnd: true, RcvdBytes: 0}
	p.SETH.SetNSCC(cc)
	p.SETH.Mark = packet.MarkSkipOnce
	s.now += 10 * time.Microsecond
	s.give(p)
	got := l.sacks[0]
	rtt := got.RTT
	want := SACK{Now: s.now, Newly: 512, InFlight: 4*size - 512, RTT: rtt, RTTValid: true,
		Marked: true, OOOCount: 9, Penalty: 64, RestoreCwnd: true}
	if got != want || rtt < s.now-out[1].at-128 || rtt > s.now-out[1].at+128 {
		t.Errorf("congestion control is told %+v, want %+v", got, want)
	}
	if !slices.Equal(l.signals, []Signal{SignalMarked, SignalArrived}) &&
		!slices.Equal(l.signals, []Signal{SignalArrived, SignalMarked}) {
		t.Errorf("the sprayer is told %v", l.signals)
	}
	if took := s.now - out[1].at; !slices.Equal(l.took, []time.Duration{took, took}) {
		t.Errorf("packets took %v, want %v for each", l.took, took)
	}
	// One that was overtaken says less, and changes nothing.
	cc.RcvdBytes = packet.PSNMask
	p.SETH.SetNSCC(cc)
	s.give(p)
	if l.sacks[1].Newly != 0 || s.qp.prevRcvd != 0 {
		t.Errorf("an old SACK counts: %+v", l.sacks[1])
	}
	s.give(ackPacket(103, plainACK))
	if s.qp.InFlight() != 0 {
		t.Errorf("%d octets in flight at the end", s.qp.InFlight())
	}
}

// TestBacklog: OnNewData is told the sum of the nominal_pktsize of the packets that a message
// takes, whatever its length and operation ("delta_backlog should be the sum of the nominal_pktsize
// of all the data packets", OCP MRC 1.0, section 8.6), and OnSend each of them, at once in flight.
func TestBacklog(t *testing.T) {
	for _, unit := range []time.Duration{0, packet.TimestampUnit} {
		for _, op := range []verbs.Op{verbs.OpWrite, verbs.OpWriteImmediate} {
			for _, octets := range []int{0, 1, 3, 4, 255, 256, 257, 600, 1024, 1025} {
				l := newListener(1 << 20)
				s := newSolo(t, func(c *QPConfig) { c.Congestion, c.Sprayer, c.TimestampUnit = l, l, unit })
				s.post(verbs.WorkRequest{Op: op, Data: make([]byte, octets)})
				sum := 0
				for i, p := range s.settle(10 * time.Microsecond) {
					size := int(p.UDP.Length) + 40
					sum += size
					if l.sent[i].Size != size || l.sent[i].InFlight != sum {
						t.Errorf("%v of %d octets, unit %v: packet %d is sent as %+v, want %d octets, %d in flight",
							op, octets, unit, i, l.sent[i], size, sum)
					}
				}
				if !slices.Equal(l.backlogs, []int{sum}) {
					t.Errorf("%v of %d octets, unit %v: backlog %v, want %d", op, octets, unit, l.backlogs, sum)
				}
			}
		}
	}
}

// TestRoundTrip: which timestamps count, and what service time does to them (§7.5.5.8, §8.4).
func TestRoundTrip(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		name    string
		unit    time.Duration
		service bool
		sends   int  // how often the packet was sent
		rtx     bool // in the SACK
		ts      uint16
		after   time.Duration
		want    time.Duration // 0: not valid
		gap     time.Duration // between sendings
	}{
		{"reflected", 128, true, 1, false, 0, 64 * us, 64 * us, 0},
		{"reflected, moved by service time", 128, true, 1, false, 100, 64 * us, 64*us - 12800, 0},
		{"reflected, wrapped", 128, true, 1, false, 0, 20 * time.Millisecond, 20 * time.Millisecond, 0},
		{"reflected, sent again", 128, true, 2, false, 0, 64 * us, 64 * us, 0},
		{"reflected, sent again, wrapped", 128, true, 2, true, 0, 20 * time.Millisecond,
			20 * time.Millisecond, 0},
		{"reflected, of the first, wrapped", 128, true, 2, false, 0, 20 * time.Millisecond,
			20 * time.Millisecond, 0},
		{"reflected, sent thrice, wrapped", 128, true, 3, true, 0, 20 * time.Millisecond,
			20 * time.Millisecond, 0},
		{"reflected, sent thrice within a turn", 128, true, 3, true, 0, 2 * time.Millisecond,
			2 * time.Millisecond, 3 * time.Millisecond},
		{"reflected, sent thrice over turns", 128, true, 3, true, 0, 2 * time.Millisecond, 0,
			10 * time.Millisecond},
		{"own unit", 4096, false, 1, false, 0, 40960, 40960, 0},
		{"stored", 0, false, 1, false, 500, 64 * us, 64 * us, 0},
		{"stored, service time reported", 0, true, 1, false, 500, 128 * us, 64 * us, 0},
		{"stored, sent again, of the second", 0, false, 2, true, 0, 64 * us, 64 * us, 0},
		{"stored, sent again, of either", 0, false, 2, false, 0, 64 * us, 0, 0},
		{"stored, sent thrice", 0, false, 3, true, 0, 64 * us, 0, 0},
	} {
		l := newListener(1 << 20)
		s := newSolo(t, func(q *QPConfig) {
			q.Congestion, q.Sprayer, q.TimestampUnit, q.Remote.ServiceTime, q.AckTimeout = l, l, c.unit,
				c.service, 20
		})
		s.now = 7 * us
		s.write(1)
		p := s.settle(0)[0]
		for range c.sends - 1 {
			n := nackPacket(100, p.EV(), packet.NACKTrimmed)
			n.BTH.Retransmission = p.BTH.Retransmission
			s.settle(c.gap)
			s.give(n)
			again := s.settle(us)
			p = again[0]
			s.now = p.at
		}
		if has := p.Headers.Is(packet.ExtTSETH); has != (c.unit != 0) || has &&
			p.TSETH.OwnUnit != (c.unit != 128) {
			t.Errorf("%s: TSETH %v %+v", c.name, has, p.TSETH)
		}
		s.now += c.after
		a := sackPacket(100, 100, p.EV(), 0)
		a.BTH.Retransmission = c.rtx
		ts := c.ts
		if c.unit != 0 {
			ts += p.TSETH.Timestamp
		}
		a.SETH.SetNSCC(packet.NSCC{Timestamp: ts})
		s.give(a)
		got := l.sacks[len(l.sacks)-1]
		if got.RTTValid != (c.want != 0) || got.RTTValid &&
			(got.RTT < c.want-c.unit || got.RTT > c.want+c.unit) || c.unit == 0 && got.RTT != c.want {
			t.Errorf("%s: RTT %v, %v; want %v", c.name, got.RTT, got.RTTValid, c.want)
		}
		if once := c.sends == 1; once != slices.Equal(l.took, []time.Duration{s.now - p.at}) ||
			!once && len(l.took) > 0 {
			t.Errorf("%s: the sprayer learned the times %v", c.name, l.took)
		}
	}
}

// TestEVOfTheAnswer: the sprayer gets feedback on the path of the answered packet, and no feedback
// if the entropy value differs.
func TestEVOfTheAnswer(t *testing.T) {
	l := newListener(1 << 20)
	s := newSolo(t, func(c *QPConfig) { c.Congestion, c.Sprayer = l, l })
	s.write(1)
	first := s.settle(time.Microsecond)[0]
	s.give(nackPacket(100, first.EV(), packet.NACKTrimmed))
	second := s.settle(time.Microsecond)[0]
	l.signals, l.ids = nil, nil
	a := sackPacket(99, 100, first.EV(), 0)
	a.SETH.Mark = packet.MarkAlwaysSkip
	s.give(a) // the first one has come after all
	a = sackPacket(99, 100, second.EV(), 0)
	a.BTH.Retransmission = true
	s.give(a)
	a.SETH.Entropy ^= 1
	s.give(a)
	if !slices.Equal(l.signals, []Signal{SignalBad, SignalArrived}) ||
		l.paths[l.ids[0]].EV != first.EV() || l.paths[l.ids[1]].EV != second.EV() {
		t.Errorf("the sprayer is told %v of %v", l.signals, l.ids)
	}
	if s.qp.Counters().EVMismatch != 1 {
		t.Errorf("%d mismatches counted", s.qp.Counters().EVMismatch)
	}
}

// TestDynamicMPR: the requester follows max_psn_range (§7.5.4): when the cumulative acknowledgement
// moves, within what the connection was set up with, and nothing beyond the window is sent or sent
// again meanwhile.
func TestDynamicMPR(t *testing.T) {
	var unset []time.Duration // when software was told of a SACK without mpr
	start := func(edit func(*QPConfig)) (*solo, []sentPacket) {
		unset = nil
		s := newSolo(t, func(c *QPConfig) {
			c.Remote.MaxMPR = 2
			c.MPRUnset = func(now time.Duration) { unset = append(unset, now) }
			if edit != nil {
				edit(c)
			}
		})
		s.write(1000)
		out := s.settle(100 * time.Microsecond)
		if len(out) != 256 {
			t.Fatalf("%d packets", len(out))
		}
		return s, out
	}
	with := func(mpr uint8, cack uint32) packet.MRC {
		p := sackPacket(cack, cack, 0, 0)
		p.SETH.MPR = mpr
		return p
	}
	s, out := start(nil)
	s.give(with(1, 99)) // cack_psn has not moved
	if s.qp.SendWindow() != 256 {
		t.Errorf("window %d, want 256", s.qp.SendWindow())
	}
	s.give(with(1, 109)) // now 355 has been sent, and 237 is the last that may be
	if s.qp.SendWindow() != 128 {
		t.Errorf("window %d, want 128", s.qp.SendWindow())
	}
	s.give(nackPacket(300, out[200].EV(), packet.NACKTrimmed))
	s.give(nackPacket(237, out[137].EV(), packet.NACKTrimmed))
	s.give(nackPacket(238, out[138].EV(), packet.NACKTrimmed))
	if again := s.settle(100 * time.Microsecond); !slices.Equal(psns(again), []uint32{237}) {
		t.Errorf("sent %v, want 237 alone", psns(again))
	}
	if s.qp.Schedule() != Active {
		t.Errorf("%v, want ACTIVE", s.qp.Schedule())
	}
	s.give(with(1, 171))
	if again := s.settle(100 * time.Microsecond); !slices.Equal(psns(again), []uint32{238}) {
		t.Errorf("sent %v, want 238 alone", psns(again))
	}
	s.give(with(200, 172)) // more than the connection was set up with
	if again := s.settle(100 * time.Microsecond); s.qp.SendWindow() != 256 ||
		again[0].BTH.PSN != 300 || again[len(again)-1].BTH.PSN != 172+256 {
		t.Errorf("window %d, sent %d to %d", s.qp.SendWindow(), again[0].BTH.PSN,
			again[len(again)-1].BTH.PSN)
	}
	if len(unset) != 0 {
		t.Errorf("told at %v of SACKs without mpr, before there was one", unset)
	}
	s.give(with(0, 173))
	s.now += time.Microsecond
	s.give(with(0, 173)) // cack_psn does not move
	if s.qp.SendWindow() != 256 || s.qp.Counters().MPRUnset != 2 ||
		!slices.Equal(unset, []time.Duration{s.now - time.Microsecond, s.now}) {
		t.Errorf("SACKs without mpr: window %d, counted %d, told at %v", s.qp.SendWindow(),
			s.qp.Counters().MPRUnset, unset)
	}
	s, _ = start(func(c *QPConfig) { c.Local.DynamicMPR = false })
	s.give(with(1, 109))
	s.give(with(0, 110))
	if s.qp.SendWindow() != 256 || s.qp.Counters().MPRUnset != 0 || len(unset) != 0 {
		t.Errorf("not dynamic: window %d, counted %d", s.qp.SendWindow(), s.qp.Counters().MPRUnset)
	}
}

// TestReadyQueuePairsRotate: queue pairs in READY state send in turn, one packet each, whoever has
// more to send; one that is not ready is passed over ("the scheduler will rotate between QPs in
// ready state", OCP MRC 1.0, section 8.3).
func TestReadyQueuePairsRotate(t *testing.T) {
	var order []uint32
	h := newTestHost(t, 0, 1, func(_ time.Duration, _ int, frame []byte) {
		p, _, err := packet.ParseMRC(frame, packet.DefaultMRCSettings())
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, p.BTH.DestQPN)
	})
	shut := &valve{}
	var qps []*QP
	for i, packets := range []int{2, 6, 4, 4} {
		c := testQPConfig(0, 1, 1)
		c.QPN, c.RemoteQPN, c.PMTU = uint32(10+i), uint32(20+i), 256
		if i == 2 {
			c.Congestion = shut // ACTIVE, not READY
		}
		q, err := h.CreateQP(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.PostSend(0, verbs.WorkRequest{Op: verbs.OpWrite,
			Data: make([]byte, packets*256)}); err != nil {
			t.Fatal(err)
		}
		qps = append(qps, q)
	}
	now := time.Duration(0)
	run := func() {
		for next, pending := h.Advance(now); pending && next < 100*time.Microsecond; next,
			pending = h.Advance(now) {
			now = next
		}
	}
	run()
	if want := []uint32{20, 21, 23, 20, 21, 23, 21, 23, 21, 23, 21, 21}; !slices.Equal(order, want) {
		t.Errorf("packets to %v, want %v", order, want)
	}
	if got := qps[2].Schedule(); got != Active {
		t.Errorf("the queue pair without a window is %v, want ACTIVE", got)
	}
	order, shut.open = nil, true
	run()
	if want := []uint32{22, 22, 22, 22}; !slices.Equal(order, want) {
		t.Errorf("with a window packets to %v, want %v", order, want)
	}
}
