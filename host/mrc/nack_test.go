package mrc

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// TestNACKs: table 7-3, row by row.
func TestNACKs(t *testing.T) {
	for _, c := range []struct {
		name   string
		reason packet.NACKReason
		signal Signal
		fatal  bool
	}{
		{"TRIMMED", packet.NACKTrimmed, SignalTrimmed, false},
		{"TRIMMED_LASTHOP", packet.NACKTrimmedLastHop, SignalTrimmedLastHop, false},
		{"NO_BITMAP", packet.NACKNoBitmap, SignalRefused, false},
		{"NO_PKT_BUFFER", packet.NACKNoPacketBuffer, SignalRefused, false},
		{"NO_RESOURCE", packet.NACKNoResource, SignalRefused, false},
		{"PSN_OOR_WINDOW", packet.NACKPSNOutOfRange, SignalRefused, false},
		{"UNEXP_EVENT", packet.NACKUnexpectedEvent, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newListener(1 << 20)
			s := newSolo(t, func(q *QPConfig) {
				q.Congestion, q.Sprayer, q.LinearRetries, q.ExponentialRetries = l, l, 2, 0
			})
			s.post(verbs.WorkRequest{ID: 1, Data: make([]byte, 512)})
			s.post(verbs.WorkRequest{ID: 2, Data: make([]byte, 512)})
			out := s.settle(time.Microsecond)
			size := nominalSize(int(out[2].UDP.Length))
			before := s.qp.InFlight()
			ev := out[2].EV()
			n := nackPacket(102, ev, c.reason)
			if c.fatal {
				s.give(n)
				for id, want := range []verbs.Status{verbs.StatusFlushed, verbs.StatusRemoteOperational} {
					if c, ok := s.qp.Poll(); !ok || c.ID != uint64(id+1) || c.Status != want {
						t.Errorf("completion %+v, want %v", c, want)
					}
				}
				if !s.qp.Failed() {
					t.Error("the queue pair goes on")
				}
				return
			}
			for retry := range 2 {
				n.NETH.Timestamp = out[len(out)-1].TSETH.Timestamp
				s.now += 10 * time.Microsecond
				if got := s.give(n); len(got) != 0 {
					t.Fatalf("answered with %v", opcodes(got))
				}
				if s.qp.InFlight() != before-size || len(l.nacks) != retry+1 {
					t.Errorf("%d octets in flight, want %d", s.qp.InFlight(), before-size)
				}
				nack := l.nacks[retry]
				if nack.Size != size || nack.Reason != c.reason || !nack.RTTValid ||
					nack.RTT < 9*time.Microsecond || nack.RTT > 13*time.Microsecond ||
					nack.InFlight != before-size {
					t.Errorf("congestion control is told %+v", nack)
				}
				if l.signals[len(l.signals)-1] != c.signal ||
					l.paths[l.ids[len(l.ids)-1]].EV != n.NETH.Entropy {
					t.Errorf("the sprayer is told %v of path %d", l.signals, l.ids)
				}
				s.give(n) // again: it says nothing new
				again := s.settle(time.Microsecond)
				if len(again) != 1 {
					t.Fatalf("%d packets sent again", len(again))
				}
				p := again[0]
				if p.BTH.PSN != 102 || !p.BTH.Retransmission || p.EV() == n.NETH.Entropy ||
					packet.DSCP(p.IPv6.TrafficClass) != s.wire.DSCP.TrimmableRetx || s.qp.InFlight() != before {
					t.Errorf("sent again %+v with EV %#x, %d in flight", p.BTH, p.EV(), s.qp.InFlight())
				}
				s.give(n) // the old one still: it is of an earlier transmission
				if extra := s.settle(time.Microsecond); len(extra) != 0 {
					t.Errorf("a NACK on an earlier transmission caused %d packets", len(extra))
				}
				l.nacks = l.nacks[:retry+1]
				n = nackPacket(102, p.EV(), c.reason)
				n.BTH.Retransmission = true
				out = append(out, again...)
			}
			s.give(n)
			if !s.qp.Failed() {
				t.Fatal("goes on after all retries")
			}
			for id, want := range []verbs.Status{verbs.StatusFlushed, verbs.StatusRetryExceeded} {
				if c, ok := s.qp.Poll(); !ok || c.ID != uint64(id+1) || c.Status != want {
					t.Errorf("completion %+v, want %v", c, want)
				}
			}
		})
	}
}

// TestNACKOfArrivedPacket: a packet that is known to have arrived is not sent again for a NACK,
// whose nominal_pktsize is zero (OCP MRC 1.0, section 8.5, MRC-8.5-02); reserved reasons and PSNs
// never sent count as refused.
func TestNACKOfArrivedPacket(t *testing.T) {
	l := newListener(1 << 20)
	s := newSolo(t, func(c *QPConfig) { c.Congestion, c.Sprayer = l, l })
	s.write(4)
	out := s.settle(time.Microsecond)
	s.give(sackPacket(99, 102, out[2].EV(), 0, 102))
	before := s.qp.InFlight()
	s.give(nackPacket(102, out[2].EV(), packet.NACKTrimmed))
	if len(l.nacks) != 1 || l.nacks[0].Size != 0 || l.nacks[0].InFlight != before ||
		s.qp.InFlight() != before {
		t.Errorf("congestion control is told %+v, want no octets, and %d in flight", l.nacks, before)
	}
	s.give(nackPacket(101, out[1].EV(), 0x55))
	s.give(nackPacket(104, 0, packet.NACKTrimmed))
	s.give(nackPacket(104, 0, packet.NACKUnexpectedEvent))
	if again := s.settle(10 * time.Microsecond); len(again) != 0 || s.qp.Failed() {
		t.Errorf("%d packets sent again, failed %v", len(again), s.qp.Failed())
	}
	if s.refused(RefusedReason) != 1 || s.refused(RefusedGhost) != 2 {
		t.Errorf("refused %v", s.host.Counters().Refused.Map())
	}
}

// TestNAKs: tables 6-11 and 6-12. A NAK ends the request it names, completes those before it, and
// flushes the rest.
func TestNAKs(t *testing.T) {
	for _, c := range []struct {
		code packet.NAKCode
		psn  uint32 // of the first packet of the request, or its last
		want verbs.Status
	}{
		{packet.NAKInvalidRequest, 103, verbs.StatusRemoteInvalidRequest},
		{packet.NAKRemoteAccess, 103, verbs.StatusRemoteAccess},
		{packet.NAKRemoteAccess, 102, verbs.StatusRemoteAccess},
		{packet.NAKRemoteOperational, 103, verbs.StatusRemoteOperational},
	} {
		code := c.code
		s := newSolo(t, nil)
		for id := range uint64(3) {
			s.post(verbs.WorkRequest{ID: id, Data: make([]byte, 300)})
		}
		if err := s.qp.PostRecv(verbs.RecvRequest{ID: 9}); err != nil {
			t.Fatal(err)
		}
		s.settle(time.Microsecond * 5)
		s.give(ackPacket(c.psn, packet.NAKSyndrome(code)))
		for id, status := range []verbs.Status{verbs.StatusOK, c.want, verbs.StatusFlushed} {
			if c, ok := s.qp.Poll(); !ok || c.ID != uint64(id) || c.Status != status {
				t.Errorf("%v: completion %+v, want %v", code, c, status)
			}
		}
		if c, ok := s.qp.Poll(); !ok || c.ID != 9 || !c.Recv || c.Status != verbs.StatusFlushed {
			t.Errorf("%v: completion %+v of the receive request", code, c)
		}
		if err := s.qp.PostSend(s.now, verbs.WorkRequest{Op: verbs.OpWrite}); !errors.Is(err,
			verbs.ErrQPState) {
			t.Errorf("%v: posted after: %v", code, err)
		}
		if next, pending := s.host.Advance(s.now); pending {
			t.Errorf("%v: still wants to be advanced at %v", code, next)
		}
	}
	// Not applicable, ghosts and bad responses: dropped and counted.
	s := newSolo(t, nil)
	s.write(2)
	s.settle(time.Microsecond)
	for _, c := range []struct {
		p packet.MRC
		r Refusal
	}{
		{ackPacket(100, packet.NAKSyndrome(packet.NAKSequence)), RefusedSyndrome},
		{ackPacket(100, packet.RNRSyndrome(3)), RefusedSyndrome},
		{ackPacket(100, 0xFF), RefusedSyndrome},
		{ackPacket(102, plainACK), RefusedGhost},
		{ackPacket(102, packet.NAKSyndrome(packet.NAKRemoteAccess)), RefusedGhost},
		{ackPacket(99, plainACK), RefusedStale},
		{ackPacket(99, packet.NAKSyndrome(packet.NAKRemoteAccess)), RefusedStale},
		{sackPacket(102, 102, 0, 0), RefusedGhost},
		{sackPacket(packet.PSNAdd(99, -1<<14), 99, 0, 0), RefusedStale},
	} {
		before := s.refused(c.r)
		s.give(c.p)
		if s.refused(c.r) != before+1 || s.qp.Failed() || s.qp.SendQueueLen() != 1 {
			t.Errorf("%v %+v: refused %v", c.p.BTH.Opcode, c.p.AETH, s.host.Counters().Refused.Map())
		}
	}
}

// TestNACKServiceTime: the round trip of a packet that was refused is without the responder's
// service time, which a NACK reports as a SACK does: taken off the timestamp that it reflects, or
// alone in tx_timestamp when the packet had none ("the requester MUST parse and interpret the
// tx_timestamp field in every SACK and NACK packet", OCP MRC 1.0, section 7.5.5.8).
func TestNACKServiceTime(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		name    string
		unit    time.Duration
		service bool   // the peer supports it
		ts      uint16 // units of 128 ns: reported, or added to the timestamp that is reflected
		want    time.Duration
	}{
		{"stored time, reported", 0, true, 500, 100*us - 64*us},
		{"stored time, none reported", 0, true, 0, 100 * us},
		{"stored time, peer does not support it", 0, false, 500, 100 * us},
		{"reflected", packet.TimestampUnit, true, 0, 100 * us},
		{"reflected, taken off", packet.TimestampUnit, true, 250, 100*us - 32*us},
	} {
		l := newListener(1 << 20)
		s := newSolo(t, func(q *QPConfig) {
			q.Congestion, q.Sprayer, q.TimestampUnit, q.Remote.ServiceTime = l, l, c.unit, c.service
		})
		s.write(1)
		p := s.settle(0)[0]
		n := nackPacket(100, p.EV(), packet.NACKNoPacketBuffer)
		n.NETH.Timestamp = c.ts
		if c.unit != 0 {
			n.NETH.Timestamp += p.TSETH.Timestamp
		}
		s.now = p.at + 100*us
		s.give(n)
		if got := l.nacks[0]; !got.RTTValid || got.RTT < c.want-c.unit || got.RTT > c.want+c.unit {
			t.Errorf("%s: congestion control gets %v, %v; want %v", c.name, got.RTT, got.RTTValid, c.want)
		}
	}
}

// TestRefusedInTurn: the queue pair retransmits refused packets in turn, even if the window allows
// a single packet at a time: a packet refused again does not block other packets.
func TestRefusedInTurn(t *testing.T) {
	w := &sizedWindow{FixedWindow: 1 << 20, greatest: 1 << 20}
	s := newSolo(t, func(c *QPConfig) { c.Congestion = w })
	s.write(3)
	sent := s.settle(time.Microsecond)
	w.FixedWindow = 1 // octet: a packet leaves when none is in flight
	for _, p := range sent {
		s.give(nackPacket(p.BTH.PSN, p.EV(), packet.NACKNoBitmap))
	}
	var order []uint32
	for range 7 {
		again := s.settle(time.Microsecond)
		if len(again) != 1 || !again[0].BTH.Retransmission {
			t.Fatalf("%v, want a packet sent again", psns(again))
		}
		p := nackPacket(again[0].BTH.PSN, again[0].EV(), packet.NACKNoBitmap)
		p.BTH.Retransmission = true
		s.give(p)
		order = append(order, again[0].BTH.PSN)
	}
	if want := []uint32{100, 101, 102, 100, 101, 102, 100}; !slices.Equal(order, want) {
		t.Errorf("sent again %v, want %v", order, want)
	}
	if n := s.qp.retx.Len(); n != 3 {
		t.Errorf("%d are to be sent again, want 3", n)
	}
}

// TestNACKOfWhichSending: a NACK belongs to the transmission with its entropy value. After a
// retransmission, only a NACK of the last transmission marks the packet lost again.
func TestNACKOfWhichSending(t *testing.T) {
	s := newSolo(t, nil)
	s.write(1)
	first := s.settle(time.Microsecond)[0]
	s.give(nackPacket(100, first.EV(), packet.NACKTrimmed))
	second := s.settle(time.Microsecond)[0]
	for _, c := range []struct {
		ev   packet.EV
		rtx  bool
		lost int
	}{{first.EV(), false, 0}, {first.EV(), true, 0}, {second.EV(), false, 0}, {second.EV(), true, 1},
		{second.EV(), true, 1}} {
		p := nackPacket(100, c.ev, packet.NACKTrimmed)
		p.BTH.Retransmission = c.rtx
		if s.give(p); s.qp.lost != c.lost {
			t.Errorf("%v, retransmission %v: %d lost, want %d", c.ev, c.rtx, s.qp.lost, c.lost)
		}
		check(t, s.qp)
	}
}

// TestExpiredGoesFirst: a packet whose timer expired goes before packets with later PSNs, so that
// its last timeout ends the queue pair, however many packets wait.
func TestExpiredGoesFirst(t *testing.T) {
	w := &sizedWindow{FixedWindow: 1 << 20, greatest: 1 << 20}
	s := newSolo(t, func(c *QPConfig) {
		c.Congestion, c.LinearRetries, c.ExponentialRetries = w, 2, 2
	})
	s.write(3)
	s.settle(time.Microsecond)
	w.FixedWindow = 1 // octet: a packet leaves when none is in flight
	var order []uint32
	for !s.qp.Failed() {
		for _, p := range s.settle(time.Millisecond) {
			order = append(order, p.BTH.PSN)
		}
		if len(order) > 100 {
			t.Fatal("it goes on")
		}
	}
	c := s.qp.Config()
	want := slices.Repeat([]uint32{100}, int(c.LinearRetries+c.ExponentialRetries))
	if !slices.Equal(order, want) {
		t.Errorf("sent again %v, want %v", order, want)
	}
}
