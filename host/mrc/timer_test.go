package mrc

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// TestTransportACKIsAskedFor: when SACKs report all packets as arrived but no transport ACK comes,
// the queue pair retransmits the highest packet, with rtx and AckReq, until an ACK comes. The usual
// limit of retries applies.
func TestTransportACKIsAskedFor(t *testing.T) {
	s := newSolo(t, func(c *QPConfig) {
		c.LinearRetries, c.ExponentialRetries, c.AckTimeout = 1, 1, 3
	})
	s.write(3)
	out := s.settle(time.Microsecond)
	s.give(sackPacket(102, 102, out[2].EV(), 0))
	sacked := s.now
	const timeout = 8192 * time.Nanosecond
	for i, at := range []time.Duration{sacked + timeout, sacked + 3*timeout} {
		out = s.settle(at + 1 - s.now)
		if len(out) != 1 || out[0].at != at {
			t.Fatalf("retry %d: %d packets", i, len(out))
		}
		p := out[0]
		if p.BTH.PSN != 102 || !p.BTH.Retransmission || !p.BTH.AckReq ||
			p.BTH.Opcode != packet.OpMRCWriteLast || s.qp.InFlight() != 0 {
			t.Errorf("retry %d: %+v, %d octets in flight", i, p.BTH, s.qp.InFlight())
		}
	}
	s.settle(10 * timeout)
	if c, ok := s.qp.Poll(); !ok || c.Status != verbs.StatusRetryExceeded || !s.qp.Failed() {
		t.Errorf("completion %+v", c)
	}
	if n := s.qp.Counters().AckProbes; n != 2 {
		t.Errorf("asked %d times", n)
	}
}

// TestTransportACKIsAskedForEarly: with probes, the first time is when it was quiet for as long as
// a probe waits, then after twice as long each, until the Local ACK Timeout; only that is a timeout
// and a retry.
func TestTransportACKIsAskedForEarly(t *testing.T) {
	const quiet = time.Microsecond
	s := newSolo(t, func(c *QPConfig) {
		c.LinearRetries, c.ExponentialRetries, c.AckTimeout, c.ProbeTimeout = 1, 0, 3, quiet
	})
	s.write(3)
	out := s.settle(100)
	s.give(sackPacket(102, 102, out[2].EV(), 0))
	sacked := s.now
	const timeout = 8192 * time.Nanosecond
	for i, at := range []time.Duration{sacked + quiet, sacked + 3*quiet, sacked + 7*quiet,
		sacked + timeout} {
		out = s.settle(at + 1 - s.now)
		if len(out) != 1 || out[0].at != at || out[0].BTH.PSN != 102 || !out[0].BTH.Retransmission ||
			!out[0].BTH.AckReq {
			t.Fatalf("time %d: %d packets", i, len(out))
		}
		if c := s.qp.Counters(); c.Timeouts != uint64(max(0, i-2)) || c.AckProbes != uint64(i+1) {
			t.Errorf("time %d: %+v", i, c)
		}
	}
	s.give(ackPacket(102, plainACK))
	if c, ok := s.qp.Poll(); !ok || c.Status != verbs.StatusOK {
		t.Errorf("completion %+v", c)
	}
	// The next message begins anew.
	s.write(1)
	out = s.settle(100)
	s.give(sackPacket(103, 103, out[0].EV(), 0))
	if out := s.settle(quiet + 1); len(out) != 1 || s.qp.Counters().Timeouts != 1 {
		t.Errorf("%d packets, %+v", len(out), s.qp.Counters())
	}
}

// TestTransportACKOfTheHead: the requester asks for the first message's transport ACK with the
// highest arrived packet, also when this packet begins a message that has arrived in part.
func TestTransportACKOfTheHead(t *testing.T) {
	s := newSolo(t, func(c *QPConfig) { c.AckTimeout, c.ProbeTimeout = 10, time.Microsecond })
	s.write(1)
	s.write(3)
	out := s.settle(100)
	s.give(sackPacket(101, 101, out[1].EV(), 0))
	asked := slices.DeleteFunc(s.settle(time.Microsecond), func(p sentPacket) bool {
		return p.BTH.Opcode == packet.OpMRCProbe
	})
	if len(asked) != 1 || asked[0].BTH.PSN != 101 || !asked[0].BTH.AckReq ||
		!asked[0].BTH.Retransmission || asked[0].BTH.Opcode != packet.OpMRCWriteFirst {
		t.Errorf("asked by %+v", asked)
	}
}

// TestTransportACKIsAskedForAtOnce: with the least possible probe time, the queue pair asks for the
// transport ACK after this time.
func TestTransportACKIsAskedForAtOnce(t *testing.T) {
	s := newSolo(t, func(c *QPConfig) { c.AckTimeout, c.ProbeTimeout = 3, 1 })
	s.write(1)
	out := s.settle(0)
	s.give(sackPacket(100, 100, out[0].EV(), 0))
	if out := s.settle(1); len(out) != 1 || out[0].BTH.PSN != 100 || !out[0].BTH.AckReq {
		t.Errorf("%d packets after a nanosecond, want one that asks for the ACK", len(out))
	}
}

// TestTimeoutTable: table 7-1.
func TestTimeoutTable(t *testing.T) {
	us := func(x float64) time.Duration { return time.Duration(x * 1000) }
	for _, c := range []struct {
		timeout, linear uint8
		retry           int
		want            time.Duration
	}{
		{1, 7, 1, us(2.048)}, {1, 7, 7, us(2.048)}, {1, 7, 8, us(4.096)}, {1, 7, 9, us(8.192)},
		{10, 2, 1, us(1048.576)}, {10, 2, 2, us(1048.576)}, {10, 2, 3, us(2097.152)},
		{10, 0, 1, us(2097.152)},
		{10, 0, 13, us(1.024 * (1 << 23))}, {10, 0, 14, us(1.024 * (1 << 24))},
		{10, 0, 15, us(1.024 * (1 << 24))}, {10, 0, 1000, us(1.024 * (1 << 24))},
		{24, 7, 1, us(1.024 * (1 << 24))}, {24, 7, 8, us(1.024 * (1 << 24))},
	} {
		cfg := QPConfig{AckTimeout: c.timeout, LinearRetries: c.linear}
		if got := cfg.ackTimeout(c.retry); got != c.want {
			t.Errorf("timeout %d, %d linear: before retry %d %v, want %v", c.timeout, c.linear, c.retry, got,
				c.want)
		}
	}
	for _, c := range []struct {
		linear, exponential uint8
		retries             int
		left                bool
	}{{0, 0, 0, false}, {7, 0, 6, true}, {7, 0, 7, false}, {2, 24, 25, true}, {2, 24, 26, false},
		{7, 25, 1 << 20, true}} {
		cfg := QPConfig{LinearRetries: c.linear, ExponentialRetries: c.exponential}
		if got := cfg.retriesLeft(c.retries); got != c.left {
			t.Errorf("%d + %d retries, after %d: left %v", c.linear, c.exponential, c.retries, got)
		}
	}
}

// TestDefaultTimeout: a queue pair that says nothing of timers has a Local ACK Timeout of 1.024 us
// x 2^10 ("Implementations MAY populate the timer with a default value", OCP MRC 1.0, section
// 7.4.1, MRC-033), asks by a probe after a quarter of it, and never runs out of retries.
func TestDefaultTimeout(t *testing.T) {
	const timeout = 1024 * 1024 * time.Nanosecond
	d := DefaultQPConfig()
	if d.ackTimeout(1) != timeout || d.ackTimeout(7) != timeout || d.ackTimeout(8) != 2*timeout ||
		!d.retriesLeft(1<<20) {
		t.Errorf("timeouts %v, %v, %v", d.ackTimeout(1), d.ackTimeout(7), d.ackTimeout(8))
	}
	s := newSolo(t, func(c *QPConfig) {
		c.AckTimeout, c.LinearRetries, c.ExponentialRetries, c.ProbeTimeout = d.AckTimeout,
			d.LinearRetries, d.ExponentialRetries, d.ProbeTimeout
	})
	s.write(1)
	first := s.settle(0)
	out := s.settle(timeout)
	again := slices.DeleteFunc(slices.Clone(out), func(p sentPacket) bool {
		return p.BTH.Opcode == packet.OpMRCProbe
	})
	probes := only(out, packet.OpMRCProbe)
	if len(first) != 1 || len(again) != 1 || again[0].at-first[0].at != timeout ||
		!again[0].BTH.Retransmission {
		t.Errorf("sent again %v after %v, want once after %v", psns(again), psns(first), timeout)
	}
	if len(probes) == 0 || probes[0].at-first[0].at != timeout/4 {
		t.Errorf("%d probes, want the first after %v", len(probes), timeout/4)
	}
}

// TestLocalACKTimeout: an unanswered packet is sent again, first after the linear timeout, then
// after doubled ones, and the queue pair fails when the retries are used up. A retransmission that
// a NACK causes starts with the linear timeout again.
func TestLocalACKTimeout(t *testing.T) {
	const T = 8192 * time.Nanosecond
	l := newListener(1 << 20)
	s := newSolo(t, func(c *QPConfig) {
		c.AckTimeout, c.LinearRetries, c.ExponentialRetries, c.Congestion, c.Sprayer = 3, 2, 2, l, l
	})
	s.write(1)
	first := s.settle(0)
	var gaps []time.Duration
	last := first[0].at
	for _, p := range s.settle(100 * T) {
		if p.BTH.PSN != 100 || !p.BTH.Retransmission {
			t.Errorf("%+v", p.BTH)
		}
		gaps = append(gaps, p.at-last)
		last = p.at
	}
	if want := []time.Duration{T, T, 2 * T, 4 * T}; !slices.Equal(gaps, want) {
		t.Errorf("retries after %v, want %v", gaps, want)
	}
	c, ok := s.qp.Poll()
	if !ok || c.Status != verbs.StatusRetryExceeded || c.At != last+8*T || !s.qp.Failed() {
		t.Errorf("completion %+v, want retry exceeded %v after the last", c, 8*T)
	}
	if n := len(l.losses); n != 4 || !l.losses[0].Timeout || l.losses[0].InFlight != 0 ||
		l.losses[0].Size != nominalSize(int(first[0].UDP.Length)) {
		t.Errorf("congestion control is told %+v", l.losses)
	}
	if !slices.Equal(l.signals, []Signal{SignalTimeout, SignalTimeout, SignalTimeout, SignalTimeout}) {
		t.Errorf("the sprayer is told %v", l.signals)
	}

	s = newSolo(t, func(c *QPConfig) { c.AckTimeout, c.LinearRetries = 3, 1 })
	s.write(1)
	out := s.settle(T + 2*T + 1) // first, after T, after 2T more
	if len(out) != 3 {
		t.Fatalf("%d packets", len(out))
	}
	n := nackPacket(100, out[2].EV(), packet.NACKTrimmed)
	n.BTH.Retransmission = true
	s.give(n)
	sent := s.settle(0)
	if out := s.settle(T); len(sent) != 1 || len(out) != 1 || out[0].at-sent[0].at != T {
		t.Errorf("after a NACK: sent again %v, the timeout after it %v; want the linear one", psns(sent),
			psns(out))
	}
	if s.qp.Failed() {
		t.Error("infinite retries have ended")
	}
}

// TestTimerPerPacket: acknowledgements of others do not put off a packet's timeout.
func TestTimerPerPacket(t *testing.T) {
	s := newSolo(t, func(c *QPConfig) { c.AckTimeout = 3 })
	s.write(2)
	out := s.settle(time.Microsecond)
	s.give(sackPacket(99, 101, out[1].EV(), 0, 101))
	if again := s.settle(8192 * time.Nanosecond); !slices.Equal(psns(again), []uint32{100}) {
		t.Errorf("sent again %v, want 100 alone", psns(again))
	}
}

// TestNothingInFlightNothingCounted: a SACK that was lost leaves octets counted as in flight; when
// nothing is, a small window does not keep from being sent again what is lost.
func TestNothingInFlightNothingCounted(t *testing.T) {
	l := newListener(1 << 20)
	s := newSolo(t, func(c *QPConfig) { c.AckTimeout, c.Congestion, c.Sprayer = 3, l, l })
	s.write(1)
	s.write(1)
	if out := s.settle(time.Microsecond); len(out) != 2 {
		t.Fatalf("%d packets", len(out))
	}
	s.give(ackPacket(100, plainACK))
	if s.qp.InFlight() == 0 {
		t.Fatal("a transport ACK changes what is counted as in flight: the test is about nothing")
	}
	l.FixedWindow = 1
	if again := s.settle(8192 * time.Nanosecond); !slices.Equal(psns(again), []uint32{101}) {
		t.Errorf("sent again %v, want 101", psns(again))
	}
}

// TestTimerStartsAgain: a packet that is sent again for what a NACK, SACKs or a probe say has the
// original timeout, however long the one before was ("the SRC_TIMER for that packet MUST be reset
// to the original, default timer value (not exponentially increased)", OCP MRC 1.0, section 7.4.4,
// MRC-042).
func TestTimerStartsAgain(t *testing.T) {
	const linear = ackTimeoutUnit << 8 // 262 us
	for _, how := range []string{"NACK", "SACKs", "probe"} {
		s := newSolo(t, func(c *QPConfig) {
			c.AckTimeout, c.LinearRetries, c.Congestion = 8, 1, FixedWindow(20*350)
			if how == "probe" {
				c.ProbeTimeout = linear / 8
			}
		})
		s.write(12)
		out := s.settle(time.Microsecond)
		// All packets but PSN 100 arrive; its timer expires twice, so the third timeout takes four times
		// as long.
		s.give(sackPacket(99, 111, out[11].EV(), 11*376, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110,
			111))
		for s.qp.Counters().Timeouts < 2 && s.now < 10*linear {
			s.settle(linear / 4)
		}
		if rec := s.qp.record(100); rec.state != flying || rec.expired < 2 ||
			rec.deadline-rec.sentAt < 4*linear {
			t.Fatalf("%s: %d timeouts, the next after %v: want a longer one", how, rec.expired,
				rec.deadline-rec.sentAt)
		}
		switch how {
		case "NACK":
			n := nackPacket(100, s.qp.record(100).lastBy.ev, packet.NACKTrimmed)
			n.BTH.Retransmission = true
			s.give(n)
		case "SACKs":
			s.write(60)
			rcvd := 11 * 376
			for psn := uint32(112); s.qp.Counters().SACKLosses == 0 && psn < 170; psn++ {
				s.settle(time.Microsecond)
				rcvd += 376
				a := sackPacket(99, psn, s.qp.record(psn).lastBy.ev, rcvd)
				a.SETH.SACKOffset, a.SETH.SACKBitmap = 2, 1<<(psn-100)-1
				a.SETH.SetNSCC(packet.NSCC{OOOCount: uint16(psn - 100),
					RcvdBytes: packet.RcvdBytes(uint64(rcvd))})
				s.give(a)
			}
		case "probe":
			var probes []sentPacket
			for len(probes) == 0 {
				probes = only(s.settle(linear), packet.OpMRCProbe)
			}
			s.give(probeAnswer(probes[len(probes)-1], 99, packet.MarkNone, 101, 102, 103, 104, 105, 106, 107,
				108, 109, 110, 111))
		}
		s.settle(time.Microsecond)
		if rec := s.qp.record(100); rec.state != flying || rec.deadline-rec.sentAt != linear {
			t.Errorf("%s: sent again with a timeout of %v, want %v", how, rec.deadline-rec.sentAt, linear)
		}
	}
}
