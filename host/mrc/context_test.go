package mrc

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// beside makes a second queue pair like the first, 77 to 78, and posts a WRITE of so many packets
// to each.
func (s *solo) beside(packets int) *QP {
	s.t.Helper()
	c := s.qp.cfg
	c.QPN, c.RemoteQPN = 77, 78
	second, err := s.host.CreateQP(c)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(packets)
	if err := second.PostSend(s.now, verbs.WorkRequest{Op: verbs.OpWrite,
		Data: make([]byte, packets*c.PMTU)}); err != nil {
		s.t.Fatal(err)
	}
	return second
}

// TestContext: queue pairs that share a congestion controller take turns, have no more in flight
// together than its window, and leave what they had to the others when they end.
func TestContext(t *testing.T) {
	shared := NewContext(FixedWindow(10 * 350)) // ten packets and a part of one
	s := newSolo(t, func(c *QPConfig) { c.Congestion = shared })
	second := s.beside(40)
	count := func(out []sentPacket) (first, other int) {
		for _, p := range out {
			if p.BTH.DestQPN == 78 {
				other++
			} else {
				first++
			}
		}
		return first, other
	}
	out := s.settle(10 * time.Microsecond)
	first, other := count(out)
	if first+other < 10 || first+other > 12 || first-other > 1 || other-first > 1 {
		t.Fatalf("%d and %d packets left, want about 5 each", first, other)
	}
	together := s.qp.InFlight() + second.InFlight()
	if n := shared.InFlight(); n != together || n <= int(shared.Congestion.(FixedWindow))-400 ||
		n > int(shared.Congestion.(FixedWindow))+400 {
		t.Errorf("%d octets in flight together, %d by queue pair, with a window of %d", n, together,
			shared.Window())
	}
	if s.qp.Schedule() != Active || second.Schedule() != Active {
		t.Errorf("%v and %v, want both ACTIVE", s.qp.Schedule(), second.Schedule())
	}

	// Feedback to one queue pair opens the window for both.
	s.give(sackPacket(101, 101, out[0].EV(), 2*s.qp.InFlight()/first))
	first, other = count(s.settle(10 * time.Microsecond))
	if first+other < 2 || first+other > 3 || first == 0 || other == 0 {
		t.Errorf("after a SACK of two packets %d and %d left, want one each and at most one more", first,
			other)
	}

	// When a queue pair fails or the host destroys it, the other queue pair gets its share of the
	// window.
	had := s.qp.InFlight()
	if err := s.qp.Abort(s.now); err != nil {
		t.Fatal(err)
	}
	if shared.InFlight() != second.InFlight() || had == 0 {
		t.Errorf("%d octets in flight after the first failed with %d, the second has %d",
			shared.InFlight(), had, second.InFlight())
	}
	if first, other = count(s.settle(10 * time.Microsecond)); first != 0 || other < 4 {
		t.Errorf("then %d and %d packets left, want those that the first had, by the second", first,
			other)
	}
	if err := second.Abort(s.now); err != nil {
		t.Fatal(err)
	}
	if err := s.host.DestroyQP(77); err != nil {
		t.Fatal(err)
	}
	if shared.InFlight() != 0 {
		t.Errorf("%d octets in flight of no queue pair", shared.InFlight())
	}
}

// TestContextsApart: without a shared context, each queue pair has its own window.
func TestContextsApart(t *testing.T) {
	s := newSolo(t, func(c *QPConfig) { c.Congestion = FixedWindow(10 * 350) })
	s.beside(40)
	if out := s.settle(10 * time.Microsecond); len(out) < 20 {
		t.Errorf("%d packets left, want ten of each", len(out))
	}
}

// TestContextHears: the shared congestion controller gets feedback on both queue pairs, with the
// octets in flight of both together.
func TestContextHears(t *testing.T) {
	l := newListener(1 << 20)
	shared := NewContext(l)
	s := newSolo(t, func(c *QPConfig) { c.Congestion = shared })
	second := s.beside(3)
	out := s.settle(10 * time.Microsecond)
	if last := l.sent[len(l.sent)-1]; len(out) != 6 || last.InFlight != shared.InFlight() ||
		last.InFlight <= second.InFlight() {
		t.Errorf("%d packets; the last was told with %d octets in flight, want %d", len(out),
			last.InFlight, shared.InFlight())
	}
	s.give(sackPacket(99, 101, out[0].EV(), 350, 101))
	if a := l.sacks[len(l.sacks)-1]; a.InFlight != shared.InFlight() || a.InFlight <= s.qp.InFlight() {
		t.Errorf("a SACK was told with %d octets in flight, want %d", a.InFlight, shared.InFlight())
	}
	s.give(nackPacket(100, packet.EV(0), packet.NACKNoPacketBuffer))
	if n := l.nacks[len(l.nacks)-1]; n.InFlight != shared.InFlight() || n.InFlight <= s.qp.InFlight() {
		t.Errorf("a NACK was told with %d octets in flight, want %d", n.InFlight, shared.InFlight())
	}
}

// TestSprayerHearsWindow: a sprayer is told how many packets the congestion window holds before it
// is asked for a path, again when that has changed, and 1 where it holds less.
func TestSprayerHearsWindow(t *testing.T) {
	full := 256 + nominalHeader
	for _, c := range []struct{ window, packets int }{{1, 1}, {full, 1}, {2*full - 1, 1},
		{2 * full, 2}, {1 << 20, 1 << 20 / full}} {
		l := newListener(c.window)
		s := newSolo(t, func(cfg *QPConfig) { cfg.Congestion, cfg.Sprayer = l, l })
		s.write(8)
		s.settle(time.Microsecond)
		if !slices.Equal(l.windows, []int{c.packets}) {
			t.Errorf("a window of %d octets: told of %v packets, want once %d", c.window, l.windows,
				c.packets)
		}
		l.FixedWindow = 1 << 22
		s.write(1)
		s.settle(time.Microsecond)
		if n := len(l.windows); n != 2 || l.windows[1] != 1<<22/full {
			t.Errorf("then of 4 MiB: told of %v packets, want %d", l.windows, 1<<22/full)
		}
	}
}
