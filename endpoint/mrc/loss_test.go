package mrc

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// TestSACKLoss: a missing packet is sent again once enough has been received above it, once for SACKs, and not when it arrives before (§7.4.4, §7.4.5).
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
	if again[0].EV() == out[0].EV() || len(l.losses) != 2 || l.losses[0].Timeout || !slices.Contains(l.signals, SignalLost) {
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

// TestResendSaved: a packet that is found lost and then acknowledged before it is sent again is not, and counts as in flight no more (§7.4.4, §8.4).
func TestResendSaved(t *testing.T) {
	for _, how := range []string{"bitmap", "cumulative", "transport"} {
		w := &gate{open: true}
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
		w.open = true
		if again := s.settle(time.Microsecond); len(again) != 0 || s.qp.Schedule() != Pending {
			t.Errorf("%s: %d packets sent again, %v", how, len(again), s.qp.Schedule())
		}
		if s.qp.Counters().ResendsSaved != 1 {
			t.Errorf("%s: not counted", how)
		}
	}
}
