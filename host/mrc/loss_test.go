package mrc

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// TestSACKLoss: a missing packet is sent again once enough has been received above it, once for
// SACKs, and not when it arrives before (§7.4.4, §7.4.5).
func TestSACKLoss(t *testing.T) {
	l := newListener(20 * 350) // about 20 packets: 1.5 windows, but at most the greatest window
	s := newSolo(t, func(c *QPConfig) { c.Congestion, c.Sprayer = l, l })
	s.write(60)
	var out []sentPacket
	var above []uint32
	rcvd := 0
	arrive := func(psn uint32) {
		rcvd += 336 + 40
		above = append(above, psn)
		s.give(sackPacket(99, psn, out[psn-100].EV(), rcvd, above...))
	}
	more := func() []sentPacket {
		got := s.settle(time.Microsecond)
		for _, p := range got {
			if !p.BTH.Retransmission {
				out = append(out, p)
			}
		}
		return got
	}
	more()
	threshold := s.qp.reordering(0)
	if threshold < 15 || threshold > 25 {
		t.Fatalf("threshold %d", threshold)
	}
	var again []sentPacket
	for psn := uint32(102); len(again) == 0 && psn < 150; psn++ { // 100 and 101 are missing
		if len(above) > threshold {
			break
		}
		if packet.PSNDiff(psn, 99) > len(out) {
			t.Fatalf("PSN %d not sent yet", psn)
		}
		arrive(psn)
		for _, p := range more() {
			if p.BTH.Retransmission {
				again = append(again, p)
			}
		}
		if threshold = s.qp.reordering(0); len(again) > 0 && len(above) < threshold-1 {
			t.Errorf("sent again after %d packets, threshold %d", len(above), threshold)
		}
	}
	if !slices.Equal(psns(again), []uint32{100, 101}) {
		t.Fatalf("sent again %v, want 100 and 101", psns(again))
	}
	if again[0].EV() == out[0].EV() || len(l.losses) != 2 || l.losses[0].Timeout ||
		!slices.Contains(l.signals, SignalLost) {
		t.Errorf("losses %+v, signals %v", l.losses, l.signals)
	}
	for range 10 { // more of the same does not send them again
		psn := above[len(above)-1] + 1
		if packet.PSNDiff(psn, 99) > len(out) {
			break
		}
		arrive(psn)
		for _, p := range more() {
			if p.BTH.Retransmission {
				t.Errorf("PSN %d is sent again", p.BTH.PSN)
			}
		}
	}
	if n := s.qp.Counters().SACKLosses; n != 2 {
		t.Errorf("%d packets found lost", n)
	}
}

// TestResendSaved: a packet that is found lost and then acknowledged before it is sent again is
// not, and counts as in flight no more (§7.4.4, §8.4).
func TestResendSaved(t *testing.T) {
	for _, how := range []string{"bitmap", "cumulative", "transport"} {
		w := &valve{open: true}
		s := newSolo(t, func(c *QPConfig) { c.Congestion = w })
		s.write(3)
		out := s.settle(time.Microsecond)
		sizes := 0
		for _, p := range out {
			sizes += nominalSize(int(p.UDP.Length))
		}
		w.open = false
		s.give(nackPacket(101, out[1].EV(), packet.NACKTrimmed))
		if s.qp.InFlight() != sizes*2/3 || s.qp.Schedule() != Active {
			t.Fatalf("%d octets in flight, %v", s.qp.InFlight(), s.qp.Schedule())
		}
		one := sizes / 3
		switch how {
		case "bitmap":
			s.give(sackPacket(99, 101, out[1].EV(), one, 101))
		case "cumulative":
			s.give(sackPacket(101, 101, out[1].EV(), 2*one))
		case "transport":
			s.give(ackPacket(101, plainACK))
		}
		if n, want := s.qp.InFlight(),
			map[string]int{"bitmap": 2 * one, "cumulative": one}[how]; want != 0 &&
			(n < want-255 || n > want+255) {
			t.Errorf("%s: %d octets in flight, want %d but for the rounding of rcvd_bytes", how, n, want)
		}
		w.open = true
		if again := s.settle(time.Microsecond); len(again) != 0 || s.qp.Schedule() != Pending {
			t.Errorf("%s: %d packets sent again, %v", how, len(again), s.qp.Schedule())
		}
		if s.qp.Counters().ResendsSaved != 1 {
			t.Errorf("%s: not counted", how)
		}
	}
}

// TestUnknownIsNotLost: the queue pair does not take a packet for lost while no SACK is certain
// about the packet, however many packets arrived above it. Once the queue pair knows as many
// arrivals as the responder counts, the packet is lost.
func TestUnknownIsNotLost(t *testing.T) {
	s := newSolo(t, func(c *QPConfig) { c.Congestion = FixedWindow(20 * 350) })
	s.qp.context.Congestion = FixedWindow(1 << 20)
	s.write(90)
	out := s.settle(10 * time.Microsecond)
	if len(out) != 90 {
		t.Fatalf("%d packets", len(out))
	}
	s.qp.context.Congestion = FixedWindow(20 * 350)
	for psn := uint32(100); psn < 190; psn++ {
		s.qp.record(psn).cwnd = 0 // as if sent with that window
	}
	// All but 100, 101 and 150 have arrived; the first SACK shows 126 to 189.
	a := sackPacket(99, 189, out[89].EV(), 0)
	a.SETH.SACKOffset, a.SETH.SACKBitmap = 27, ^uint64(1<<24)
	cc := packet.NSCC{OOOCount: 87, RcvdBytes: 100}
	a.SETH.SetNSCC(cc)
	s.give(a)
	if again := s.settle(10 * time.Microsecond); !slices.Equal(psns(again), []uint32{100, 150}) {
		t.Errorf("sent again %v, want 100, which follows the cumulative acknowledgement, and 150, "+
			"whose bit is 0", psns(again))
	}
	a.SETH.SACKOffset, a.SETH.SACKBitmap = 3, ^uint64(1<<48) // 102 to 165
	s.give(a)
	if again := s.settle(10 * time.Microsecond); !slices.Equal(psns(again), []uint32{101}) {
		t.Errorf("sent again %v, want 101, now that all that the responder counts is known", psns(again))
	}
}

// TestSentAgainInFlight: what was received above a packet before it was sent again says nothing
// of the second time.
func TestSentAgainInFlight(t *testing.T) {
	s := newSolo(t, func(c *QPConfig) { c.Congestion = FixedWindow(20 * 350) })
	s.write(200)
	out := s.settle(10 * time.Microsecond)
	s.give(nackPacket(100, out[0].EV(), packet.NACKTrimmed))
	rcvd := 0
	highest := uint32(100)
	for resent := uint32(0); s.qp.Counters().SACKLosses == 0; {
		if highest++; int(highest-100) >= len(out) || highest > 160 {
			t.Fatalf("never found lost again; %d sent", len(out))
		}
		rcvd += 376
		var above []uint32
		for psn := max(101, highest-60); psn <= highest; psn++ {
			above = append(above, psn)
		}
		a := sackPacket(99, highest, out[highest-100].EV(), rcvd, above...)
		cc, _ := a.SETH.NSCC()
		cc.OOOCount = uint16(highest - 100)
		a.SETH.SetNSCC(cc)
		s.give(a)
		lost := s.qp.Counters().SACKLosses > 0
		for _, p := range s.settle(time.Microsecond) {
			if p.BTH.Retransmission && resent == 0 {
				resent = out[len(out)-1].BTH.PSN + 1
			}
			if !p.BTH.Retransmission {
				out = append(out, p)
			}
		}
		if lost && (resent == 0 || packet.PSNDiff(highest, resent) < 10) {
			t.Errorf("found lost again when %d was received; it was sent again before %d", highest, resent)
		}
	}
}

// TestReordering: a packet is lost when one and a half windows of packets have arrived above it, by
// the greater of the windows of now and of when it was sent, and by no more than the greatest
// window (OCP MRC 1.0, section 7.4.5), but by 5 at least (docs/mrc-hosts.md).
func TestReordering(t *testing.T) {
	for _, c := range []struct{ now, then, greatest, want int }{
		{10, 10, 1000, 15}, {20, 10, 1000, 30}, {10, 20, 1000, 30}, {10, 10, 12, 12}, {10, 20, 40, 30},
		{1, 1, 1000, 5},
	} {
		w := &sizedWindow{FixedWindow: 1 << 20, greatest: 1 << 20}
		s := newSolo(t, func(q *QPConfig) { q.Congestion = w })
		s.write(64)
		out := s.settle(10 * time.Microsecond)
		size := nominalSize(int(out[1].UDP.Length))
		s.qp.waiting = 64 * size // the first has a longer header
		w.FixedWindow, w.greatest = FixedWindow(c.now*size), c.greatest*size
		if got := s.qp.reordering(c.then * size); got != c.want {
			t.Errorf("windows of %d packets now and %d then, at most %d: %d packets, want %d", c.now, c.then,
				c.greatest, got, c.want)
		}
		s.qp.record(100).cwnd = c.then * size
		var above []uint32
		for len(above) < c.want && s.qp.Counters().SACKLosses == 0 {
			psn := uint32(101 + len(above))
			above = append(above, psn)
			s.give(sackPacket(99, psn, out[psn-100].EV(), 0, above...))
		}
		if len(above) != c.want || s.qp.Counters().SACKLosses != 1 {
			t.Errorf("windows of %d packets now and %d then, at most %d: %d lost when %d were received "+
				"above, want 1 at %d", c.now, c.then, c.greatest, s.qp.Counters().SACKLosses, len(above),
				c.want)
		}
	}
}

// sizedWindow is a window with another greatest one.
type sizedWindow struct {
	FixedWindow
	greatest int
}

func (w *sizedWindow) MaxWindow() int { return w.greatest }

// TestBitmapTellsSprayer: the sprayer gets feedback once on each packet named by the bitmap of a
// SACK, and no feedback on the paths of a packet sent twice.
func TestBitmapTellsSprayer(t *testing.T) {
	l := newListener(1 << 20)
	s := newSolo(t, func(c *QPConfig) { c.Congestion, c.Sprayer = l, l })
	s.write(5)
	out := s.settle(time.Microsecond)
	s.give(nackPacket(101, out[1].EV(), packet.NACKTrimmed))
	s.settle(time.Microsecond)
	l.signals, l.ids = nil, nil
	for range 2 {
		s.give(sackPacket(99, 103, out[3].EV(), 0, 101, 102, 103))
	}
	arrived := map[packet.EV]int{}
	for i, signal := range l.signals {
		if signal != SignalArrived {
			t.Errorf("the sprayer is told %v", signal)
		}
		arrived[l.paths[l.ids[i]].EV]++
	}
	if arrived[out[2].EV()] != 1 || arrived[out[3].EV()] == 0 || len(arrived) != 2 {
		t.Errorf("the sprayer hears of %v, want %v once and %v", arrived, out[2].EV(), out[3].EV())
	}
}

// TestSACKLossOnce: SACKs find a packet lost once, however much is received above it after it was
// sent again; its timer finds it the second time ("a packet is retransmitted at most once due to
// SACK based loss detection", OCP MRC 1.0, section 7.4.5, MRC-048).
func TestSACKLossOnce(t *testing.T) {
	s := newSolo(t, func(c *QPConfig) { c.Congestion = FixedWindow(20 * 350) })
	s.write(300)
	out := s.settle(time.Microsecond)
	var again []uint32
	rcvd, found := 0, uint32(0)
	for psn := uint32(101); psn < 400; psn++ { // all but 100 arrive, in order
		if int(psn-100) >= len(out) {
			t.Fatalf("PSN %d is not sent yet", psn)
		}
		rcvd += nominalSize(int(out[psn-100].UDP.Length))
		a := sackPacket(99, psn, out[psn-100].EV(), rcvd)
		base := max(100, int(psn)-63)
		a.SETH.SACKOffset, a.SETH.SACKBitmap = int16(base-99), 0
		for i := base; i <= int(psn); i++ {
			if i > 100 {
				a.SETH.SACKBitmap |= 1 << (i - base)
			}
		}
		a.SETH.SetNSCC(packet.NSCC{OOOCount: uint16(psn - 100),
			RcvdBytes: packet.RcvdBytes(uint64(rcvd))})
		s.give(a)
		if found == 0 && s.qp.Counters().SACKLosses > 0 {
			found = psn
		}
		for _, p := range s.settle(time.Microsecond) {
			if p.BTH.Retransmission {
				again = append(again, p.BTH.PSN)
			} else {
				out = append(out, p)
			}
		}
	}
	if found == 0 || found > 200 {
		t.Fatalf("found lost at PSN %d: want it early enough that 100 packets and more follow", found)
	}
	if !slices.Equal(again, []uint32{100}) || s.qp.Counters().SACKLosses != 1 {
		t.Errorf("sent again %v, found lost %d times by SACKs: want PSN 100 once", again,
			s.qp.Counters().SACKLosses)
	}
	late := s.settle(1100 * time.Microsecond) // past the Local ACK Timeout, 1.05 ms
	if c := s.qp.Counters(); !slices.Equal(psns(late), []uint32{100}) || c.SACKLosses != 1 ||
		c.Timeouts != 1 {
		t.Errorf("after its timeout sent again %v, %+v: want PSN 100 for its timer", psns(late), c)
	}
}

// TestInferFromProbe: among packets reported missing by the answer to a probe, packets sent at
// least ProbeTimeout before the probe are lost. The answer decides nothing about packets that it
// does not report.
func TestInferFromProbe(t *testing.T) {
	const timeout = 10 * time.Microsecond
	for _, c := range []struct {
		name    string
		timeout time.Duration
		cack    uint32
		asked   time.Duration // after the packets were sent
		offset  int           // of the bitmap
		want    bool
	}{
		{"in time", timeout, 99, timeout, 11, true}, {"too soon", timeout, 99, timeout - 1, 11, false},
		{"no probes", 0, 99, timeout, 11, false}, {"overtaken", timeout, 98, timeout, 11, false},
		{"from the first one on", timeout, 99, timeout, 1, true},
		{"from the cumulative acknowledgement on", timeout, 99, timeout, 0, true},
	} {
		s := newSolo(t, func(q *QPConfig) { q.ProbeTimeout = c.timeout })
		s.write(100)
		s.settle(100 * time.Microsecond)
		for psn := uint32(100); psn < 200; psn++ {
			s.qp.record(psn).sentAt = 5
		}
		const bitmap = uint64(0xF0F0_F0F0_F0F0_F0F1)
		h := packet.SETH{CackPSN: c.cack, SACKBitmap: bitmap, SACKOffset: int16(c.offset)}
		s.qp.inferFromProbe(s.now, &h, 5+c.asked)
		base := 99 + c.offset
		for psn := 100; psn < 200; psn++ {
			missing := psn == 100 && base > 100 || psn >= base && psn < base+64 &&
				bitmap>>(psn-base)&1 == 0
			if got := s.qp.record(uint32(psn)).state == lost; got != (missing && c.want) {
				t.Errorf("%s: PSN %d lost: %v", c.name, psn, got)
			}
		}
		if n := s.qp.Counters().ProbeLosses; int(n) != s.qp.lost {
			t.Errorf("%s: %d lost, counted %d", c.name, s.qp.lost, n)
		}
		check(t, s.qp)
	}
}

// TestExcessiveCount: a SACK that counts more packets out of order than were sent makes nothing
// lost that was not sent.
func TestExcessiveCount(t *testing.T) {
	l := newListener(20 * 350)
	s := newSolo(t, func(c *QPConfig) { c.Congestion, c.Sprayer = l, l })
	s.write(12)
	out := s.settle(time.Microsecond)
	p := sackPacket(99, 105, out[5].EV(), 0, 105, 106)
	n, _ := p.SETH.NSCC()
	n.OOOCount = 1000
	p.SETH.SetNSCC(n)
	s.give(p)
	check(t, s.qp)
	if got := s.qp.Counters().SACKLosses; got != 10 || s.qp.lost != 10 {
		t.Errorf("%d lost, counted %d; want the 10 that were sent and did not arrive", s.qp.lost, got)
	}
}

// TestEarliestTimeout: the queue pair waits for the earliest timeout of all packets in flight.
func TestEarliestTimeout(t *testing.T) {
	s := newSolo(t, nil)
	s.write(4)
	s.settle(time.Microsecond)
	for i, deadline := range []time.Duration{9, 7, 8, 7} {
		s.qp.record(uint32(100 + i)).deadline = deadline * time.Millisecond
	}
	s.qp.record(103).state, s.qp.flying = arrived, 3
	for _, c := range []struct{ now, next, timeouts int }{{6, 7, 0}, {7, 8, 1}, {8, 9, 2}} {
		s.qp.expirePackets(time.Duration(c.now) * time.Millisecond)
		if !s.qp.timed || s.qp.deadline != time.Duration(c.next)*time.Millisecond ||
			int(s.qp.Counters().Timeouts) != c.timeouts || s.qp.lost != c.timeouts {
			t.Errorf("%+v: next at %v, %v; %d timeouts", c, s.qp.deadline, s.qp.timed,
				s.qp.Counters().Timeouts)
		}
	}
	if s.qp.expirePackets(9 * time.Millisecond); s.qp.timed {
		t.Errorf("with nothing under way: %v", s.qp.deadline)
	}
}
