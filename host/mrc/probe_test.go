package mrc

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// doubtful is a sprayer with a path in doubt.
type doubtful struct {
	*RoundRobin
	path    Path
	at      time.Duration
	wanted  bool
	early   int // calls of Probe when none was due
	signals []Signal
}

func (d *doubtful) Probe(now time.Duration, ports packet.PortMask) (Path, bool) {
	if !d.wanted || now < d.at {
		d.early++
	}
	if !d.wanted || now < d.at || !ports.Has(d.path.Port) {
		return Path{}, false
	}
	d.at = now + 100*time.Microsecond
	return d.path, true
}
func (d *doubtful) NextProbe() (time.Duration, bool) { return d.at, d.wanted }
func (d *doubtful) Feedback(_ time.Duration, id PathID, s Signal) {
	if id == d.path.ID {
		d.signals = append(d.signals, s)
	}
}

// probeAnswer is the SACK for a probe.
func probeAnswer(p sentPacket, cack uint32, m packet.SACKMark, above ...uint32) packet.MRC {
	a := sackPacket(cack, 0, p.EV(), 0, above...)
	a.SETH.Probe, a.SETH.AckPSNOffset, a.SETH.Mark = true, int16(p.PETH.ProbeID), m
	n, _ := a.SETH.NSCC()
	n.Timestamp = p.PETH.TSETH.Timestamp
	a.SETH.SetNSCC(n)
	return a
}

// TestPathProbes: a path in doubt is probed by reliability probes while there is work, and the
// sprayer learns what the answers say (§7.4.6, §9.3.1).
func TestPathProbes(t *testing.T) {
	d := &doubtful{RoundRobin: NewRoundRobin(testPaths(4, 2)...), path: Path{ID: 99, EV: 0xDEAD0001,
		Port: 2}, at: 5 * time.Microsecond}
	l := newListener(1 << 20)
	s := newSolo(t, func(c *QPConfig) { c.Sprayer, c.Congestion, c.AckTimeout = d, l, 5 })
	d.wanted = true
	if out := s.settle(20 * time.Microsecond); len(out) != 0 {
		t.Errorf("an idle queue pair sent %v", opcodes(out))
	}
	s.write(1)
	out := only(s.settle(time.Microsecond), packet.OpMRCProbe)
	if len(out) != 1 {
		t.Fatalf("%d probes", len(out))
	}
	p := out[0]
	if p.EV() != d.path.EV || p.port != 2 || p.PETH.SPDCID != uint16(s.qp.cfg.QPN) ||
		p.PETH.DPDCID != uint16(s.qp.cfg.RemoteQPN) ||
		p.BTH.DestQPN != s.qp.cfg.RemoteQPN || p.BTH.PSN != 0 ||
		packet.DSCP(p.IPv6.TrafficClass) != s.wire.DSCP.Trimmable {
		t.Errorf("probe %+v %+v by port %d", p.BTH, p.PETH, p.port)
	}
	if s.qp.NextPSN() != 101 {
		t.Errorf("next PSN %d: a probe consumes none", s.qp.NextPSN())
	}
	s.now += 9 * time.Microsecond
	wrong := probeAnswer(p, 99, packet.MarkNone)
	wrong.SETH.Entropy++
	s.give(wrong)
	unknown := probeAnswer(p, 99, packet.MarkNone)
	unknown.SETH.AckPSNOffset++
	s.give(unknown)
	s.give(probeAnswer(p, 99, packet.MarkNone))
	if c := s.qp.Counters(); c.ProbesAnswered != 1 || c.ProbesUnknown != 1 || c.EVMismatch != 1 {
		t.Errorf("%+v", c)
	}
	if got := l.sacks[len(l.sacks)-1]; !got.Probe || !got.RTTValid ||
		got.RTT < 9*time.Microsecond-128 || got.RTT > 10*time.Microsecond+128 {
		t.Errorf("congestion control is told %+v", got)
	}
	for _, m := range []packet.SACKMark{packet.MarkSkipOnce, packet.MarkAlwaysSkip} {
		out = only(s.settle(101*time.Microsecond), packet.OpMRCProbe)
		if len(out) != 1 {
			t.Fatalf("%d probes", len(out))
		}
		s.give(probeAnswer(out[0], 99, m))
	}
	d.wanted = true
	s.settle(101 * time.Microsecond)
	d.wanted = false
	s.settle(100 * time.Microsecond)
	if want := []Signal{SignalProbeOK, SignalProbeMarked, SignalBad,
		SignalProbeLost}; !slices.Equal(d.signals, want) {
		t.Errorf("the sprayer is told %v, want %v", d.signals, want)
	}
	if n := s.qp.Counters().RequestsSent; n < 1 || s.qp.NextPSN() != 101 {
		t.Errorf("%d requests, next PSN %d", n, s.qp.NextPSN())
	}
	if d.early > 0 {
		t.Errorf("the sprayer was asked for a probe %d times when none was due", d.early)
	}
	// A due probe without a port does not make the host spin.
	d.wanted, d.path.Port = true, 9
	s.settle(time.Millisecond)
}

// TestProbeECN: reliability probes are ECN-capable if the data of their queue pair is ECN-capable.
func TestProbeECN(t *testing.T) {
	for notECT, want := range map[bool]uint8{false: packet.ECT0, true: packet.NotECT} {
		d := &doubtful{RoundRobin: NewRoundRobin(testPaths(4, 2)...), wanted: true,
			path: Path{ID: 99, EV: 0xDEAD0001, Port: 2}}
		s := newSolo(t, func(c *QPConfig) { c.Sprayer, c.NotECT = d, notECT })
		s.write(1)
		out := only(s.settle(time.Microsecond), packet.OpMRCProbe)
		if len(out) != 1 || packet.ECN(out[0].IPv6.TrafficClass) != want {
			t.Errorf("NotECT %v: %d probes, %+v", notECT, len(out), out)
		}
	}
}

// TestProbeWakesTheHost: the host is to be advanced when a path in doubt is to be probed, for the
// sake of a single message too.
func TestProbeWakesTheHost(t *testing.T) {
	for _, messages := range []int{0, 1, 2} {
		d := &doubtful{RoundRobin: NewRoundRobin(testPaths(4, 2)...), wanted: true,
			path: Path{ID: 99, EV: 0xDEAD0001, Port: 2}, at: 50 * time.Microsecond}
		s := newSolo(t, func(c *QPConfig) { c.Sprayer, c.AckTimeout = d, 20 })
		for range messages {
			s.write(1)
		}
		s.settle(10 * time.Microsecond)
		out := s.settle(50 * time.Microsecond)
		if want := min(messages, 1); len(out) != want || want > 0 && out[0].at != 50*time.Microsecond {
			t.Errorf("%d messages: %d probes, want %d, at 50 us", messages, len(out), want)
		}
	}
}

// TestLostProbeWakesTheHost: a host without other work wakes after a Local ACK Timeout, and gives
// the unanswered probe up.
func TestLostProbeWakesTheHost(t *testing.T) {
	const timeout = 1024 * 128 * time.Nanosecond
	d := &doubtful{RoundRobin: NewRoundRobin(testPaths(4, 2)...), wanted: true,
		path: Path{ID: 99, EV: 0xDEAD0001, Port: 2}, at: 50 * time.Microsecond}
	s := newSolo(t, func(c *QPConfig) { c.Sprayer, c.AckTimeout, c.LinearRetries = d, 7, 1 })
	s.write(1)
	s.settle(10 * time.Microsecond)
	if probes := only(s.settle(41*time.Microsecond), packet.OpMRCProbe); len(probes) != 1 {
		t.Fatalf("%d probes", len(probes))
	}
	d.wanted = false
	s.settle(50*time.Microsecond + timeout - 1 - s.now)
	next, pending := s.host.Advance(s.now)
	if !pending || next != s.now+1 || len(d.signals) != 0 {
		t.Errorf("told %v before the timeout, and to be advanced at %v, %v; want %v", d.signals, next,
			pending, s.now+1)
	}
	if s.settle(1); !slices.Equal(d.signals, []Signal{SignalProbeLost}) {
		t.Errorf("told %v at the timeout, want that the probe is lost", d.signals)
	}
}

// TestRetires: Advance looks at queue pairs with work alone, once each.
func TestRetires(t *testing.T) {
	s := newSolo(t, nil)
	s.write(1)
	s.write(1)
	if s.settle(time.Microsecond); len(s.host.active) != 1 {
		t.Errorf("%d queue pairs are looked at while one has work", len(s.host.active))
	}
	s.give(ackPacket(101, plainACK))
	if s.settle(time.Microsecond); len(s.host.active) != 0 {
		t.Errorf("%d queue pairs are looked at without work", len(s.host.active))
	}
	if n := s.qp.Counters().AcksReceived; n != 1 {
		t.Errorf("%d transport ACKs counted, want 1", n)
	}
}

// TestProbeServiceTime: the round trip of a probe without a timestamp is without the responder's
// service time, which the SACK reports (OCP MRC 1.0, section 7.5.5.8).
func TestProbeServiceTime(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		service bool
		ts      uint16 // units of 128 ns
		want    time.Duration
	}{{true, 50, 10*us - 6400}, {true, 0, 10 * us}, {false, 50, 10 * us}} {
		d := &doubtful{RoundRobin: NewRoundRobin(testPaths(4, 2)...), path: Path{ID: 99, EV: 0xDEAD0001,
			Port: 2}, wanted: true}
		l := newListener(1 << 20)
		s := newSolo(t, func(q *QPConfig) {
			q.Sprayer, q.Congestion, q.TimestampUnit, q.Remote.ServiceTime = d, l, 0, c.service
		})
		s.write(1)
		p := only(s.settle(us), packet.OpMRCProbe)[0]
		s.now = p.at + 10*us
		a := probeAnswer(p, 99, packet.MarkNone)
		a.SETH.SetNSCC(packet.NSCC{Timestamp: c.ts})
		s.give(a)
		if got := l.sacks[0]; !got.Probe || !got.RTTValid || got.RTT != c.want {
			t.Errorf("service time %v of %d units: %+v, want %v", c.service, c.ts, got, c.want)
		}
	}
}

// TestProbeFindsTheEnd: a reliability probe finds the lost last packets of a message long before
// their timeout, but not packets that may still be in flight.
func TestProbeFindsTheEnd(t *testing.T) {
	const quiet = 50 * time.Microsecond
	l := newListener(1 << 20)
	s := newSolo(t, func(c *QPConfig) { c.Congestion, c.Sprayer, c.ProbeTimeout = l, l, quiet })
	s.write(10)
	out := s.settle(time.Microsecond)
	s.give(sackPacket(104, 104, out[4].EV(), 0))
	out = s.settle(quiet - 1)
	if len(out) != 0 {
		t.Fatalf("sent %v before it was quiet for long enough", opcodes(out))
	}
	out = s.settle(1)
	if !slices.Equal(opcodes(out), []packet.Opcode{packet.OpMRCProbe}) {
		t.Fatalf("sent %v, want a probe", opcodes(out))
	}
	s.now += 5 * time.Microsecond
	s.give(probeAnswer(out[0], 104, packet.MarkNone, 106, 107))
	again := s.settle(time.Microsecond)
	if !slices.Equal(psns(again), []uint32{105, 108, 109}) || s.qp.Counters().ProbeLosses != 3 ||
		len(l.losses) != 3 {
		t.Errorf("sent again %v, want 105, 108, 109", psns(again))
	}
	for _, p := range again {
		if !p.BTH.Retransmission {
			t.Errorf("PSN %d without rtx", p.BTH.PSN)
		}
	}
	// Nothing comes back: probes go on, ever more slowly.
	var at []time.Duration
	for _, p := range only(s.settle(7*quiet+2*time.Microsecond), packet.OpMRCProbe) {
		at = append(at, p.at)
	}
	if len(at) != 3 || at[1]-at[0] != 2*quiet || at[2]-at[1] != 4*quiet {
		t.Errorf("probes at %v", at)
	}
	// A NACK also ends the quiet time; here a NACK of a packet that arrived, so the queue pair does
	// not retransmit the packet.
	s = newSolo(t, func(c *QPConfig) { c.ProbeTimeout = quiet })
	s.write(2)
	first := s.settle(time.Microsecond)
	s.give(sackPacket(99, 101, first[1].EV(), 0, 101))
	s.settle(quiet / 2)
	s.give(nackPacket(101, first[1].EV(), packet.NACKTrimmed))
	if out = s.settle(quiet - 1); len(out) != 0 {
		t.Errorf("sent %v before it was quiet for long enough after a NACK", opcodes(out))
	}
	if out = s.settle(1); !slices.Equal(opcodes(out), []packet.Opcode{packet.OpMRCProbe}) {
		t.Errorf("sent %v after it was quiet for long enough, want a probe", opcodes(out))
	}
	// The answer to an early probe says nothing of what was sent since.
	s = newSolo(t, func(c *QPConfig) { c.ProbeTimeout = quiet })
	s.write(1)
	s.settle(time.Microsecond)
	probe := only(s.settle(quiet), packet.OpMRCProbe)[0]
	s.write(1)
	s.settle(time.Microsecond)
	s.give(probeAnswer(probe, 100, packet.MarkNone))
	if again := s.settle(10 * time.Microsecond); len(again) != 0 {
		t.Errorf("sent again %v", psns(again))
	}
}

// TestNothingToProbe: with nothing under way and no path in doubt there is nothing to wake the host
// for, though a port is busy, and nothing is probed without work.
func TestNothingToProbe(t *testing.T) {
	d := &doubtful{RoundRobin: NewRoundRobin(testPaths(4, 2)...), path: Path{ID: 99, Port: 1}}
	s := newSolo(t, func(c *QPConfig) { c.Sprayer = d })
	s.host.ports[0].free = time.Second
	if at, ok := s.qp.nextProbe(5); ok {
		t.Errorf("due at %v", at)
	}
	if d.wanted = true; s.qp.sendProbe(5, 1<<1) || len(s.take()) > 0 {
		t.Error("a probe without work")
	}
	if at, ok := s.qp.nextProbe(5); ok {
		t.Errorf("without work: due at %v", at)
	}
	s.write(1)
	if at, ok := s.qp.nextProbe(5); !ok || at != time.Second {
		t.Errorf("due already, without a port: %v, %v", at, ok)
	}
	if !s.qp.sendProbe(5, 1<<1) || len(only(s.take(), packet.OpMRCProbe)) != 1 {
		t.Error("no probe with work")
	}
}
