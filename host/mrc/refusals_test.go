package mrc

import (
	"net/netip"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// accepted stands for no refusal in tables of refusals.
const accepted = refusals

// TestRefusalTable: each kind of packet with each fault that an endpoint looks for. A packet with a
// fault counts once under the reason of that fault, and only what the specification wants answered
// is answered.
func TestRefusalTable(t *testing.T) {
	const (
		icrc = iota
		peer
		partition
		trimmed
		stale
		class
		faults
	)
	names := [faults]string{"ICRC", "peer", "P_Key", "trimmed", "stale PSN", "class"}
	for _, c := range []struct {
		name string
		// fresh returns an acceptable packet, old a packet that comes too late.
		fresh, old func(s *solo) packet.MRC
		want       [faults]Refusal
		answered   [faults]packet.Opcode // 0: in silence
		open       packet.Opcode         // answer to a packet without a fault; 0: none
	}{
		{
			"request", func(*solo) packet.MRC { return request(500, nil) }, func(*solo) packet.MRC {
				return request(499, nil)
			},
			[faults]Refusal{RefusedICRC, RefusedAddressPair, RefusedPKey, RefusedTrimmed, RefusedDuplicate,
				accepted},
			[faults]packet.Opcode{trimmed: packet.OpMRCNACK, stale: packet.OpMRCSACK}, 0,
		},
		{
			"ACK", func(*solo) packet.MRC { return ackPacket(102, plainACK) }, func(*solo) packet.MRC {
				return ackPacket(101, plainACK)
			},
			[faults]Refusal{RefusedICRC, RefusedAddressPair, RefusedPKey, RefusedTrimmed, RefusedStale,
				accepted}, [faults]packet.Opcode{}, 0,
		},
		{
			"SACK", func(*solo) packet.MRC { return sackPacket(102, 102, 0, 0) },
			func(s *solo) packet.MRC {
				return sackPacket(packet.PSNAdd(s.qp.unack, -len(s.qp.records)-1), 102, 0, 0)
			},
			[faults]Refusal{RefusedICRC, RefusedAddressPair, RefusedPKey, RefusedTrimmed, RefusedStale,
				accepted}, [faults]packet.Opcode{}, 0,
		},
		{
			"NACK that ends the queue pair", func(*solo) packet.MRC {
				return nackPacket(102, 0, packet.NACKUnexpectedEvent)
			},
			func(*solo) packet.MRC { return nackPacket(101, 0, packet.NACKUnexpectedEvent) },
			[faults]Refusal{RefusedICRC, RefusedAddressPair, RefusedPKey, RefusedTrimmed, RefusedStale,
				accepted}, [faults]packet.Opcode{}, 0,
		},
		{
			"NACK", func(*solo) packet.MRC { return nackPacket(102, 0, packet.NACKTrimmed) },
			func(*solo) packet.MRC { return nackPacket(104, 0, packet.NACKTrimmed) }, // never sent
			[faults]Refusal{RefusedICRC, RefusedAddressPair, RefusedPKey, RefusedTrimmed, RefusedGhost,
				accepted}, [faults]packet.Opcode{}, 0,
		},
		{
			// A probe has no PSN, and trimming leaves a probe complete.
			"probe", func(*solo) packet.MRC {
				return packet.MRC{BTH: packet.MRCBTH{Opcode: packet.OpMRCProbe}}
			},
			func(*solo) packet.MRC {
				return packet.MRC{BTH: packet.MRCBTH{Opcode: packet.OpMRCProbe, PSN: 1}}
			},
			[faults]Refusal{RefusedICRC, RefusedAddressPair, RefusedPKey, accepted, accepted, accepted},
			[faults]packet.Opcode{trimmed: packet.OpMRCSACK, stale: packet.OpMRCSACK}, packet.OpMRCSACK,
		},
		{
			// Anybody may ask whether a path leads here.
			"EV probe", endpointRequest(packet.EndpointEVProbe), endpointRequest(packet.EndpointEVProbe),
			[faults]Refusal{RefusedICRC, accepted, RefusedPKey, accepted, accepted, accepted},
			[faults]packet.Opcode{peer: packet.OpMRCEndpointResponse, trimmed: packet.OpMRCEndpointResponse,
				stale: packet.OpMRCEndpointResponse},
			packet.OpMRCEndpointResponse,
		},
		{
			"port status", endpointRequest(packet.EndpointPortStatus),
			endpointRequest(packet.EndpointPortStatus),
			[faults]Refusal{RefusedICRC, accepted, RefusedPKey, RefusedTrimmed, accepted, accepted},
			[faults]packet.Opcode{peer: packet.OpMRCEndpointResponse, stale: packet.OpMRCEndpointResponse},
			packet.OpMRCEndpointResponse,
		},
		{
			"endpoint response", func(s *solo) packet.MRC {
				return s.endpointResponse(0, packet.EndpointEVProbe)
			},
			func(s *solo) packet.MRC { return s.endpointResponse(1, packet.EndpointEVProbe) },
			[faults]Refusal{RefusedICRC, RefusedEndpoint, RefusedPKey, RefusedTrimmed, RefusedEndpoint,
				accepted}, [faults]packet.Opcode{}, 0,
		},
		{
			"response to another operation", func(s *solo) packet.MRC {
				return s.endpointResponse(0, packet.EndpointEVProbe)
			},
			func(s *solo) packet.MRC { return s.endpointResponse(0, packet.EndpointPortStatus) },
			[faults]Refusal{RefusedICRC, RefusedEndpoint, RefusedPKey, RefusedTrimmed, RefusedEndpoint,
				accepted}, [faults]packet.Opcode{}, 0,
		},
	} {
		for fault := range faults {
			s := newAsking(t)
			p := c.fresh(s)
			if fault == stale {
				p = c.old(s)
			}
			switch fault {
			case partition:
				p.BTH.PKey = 0x8001
			case class:
				p.IPv6.TrafficClass = packet.TrafficClass(s.wire.DSCP.NoTrim, packet.ECT0)
			}
			f := s.frame(p)
			switch fault {
			case icrc:
				f[len(f)-1] ^= 1
			case peer:
				q, _, err := packet.ParseMRC(f, s.wire)
				if err != nil {
					t.Fatal(err)
				}
				q.IPv6.Src = testAddr(3)
				f = q.Append(nil)
			case trimmed:
				f[packet.EthernetLen] = 6<<4 | s.wire.DSCP.Trimmed>>2
				f[packet.EthernetLen+1] = s.wire.DSCP.Trimmed << 6
			}
			before := s.host.Counters().Refused
			s.host.Receive(s.now, 1, f)
			after := s.host.Counters().Refused
			if want := c.want[fault]; want == accepted && after.Total() != before.Total() ||
				want != accepted && (after.Total() != before.Total()+1 || after[want] != before[want]+1) {
				t.Errorf("%s, %s: refused %v", c.name, names[fault], after.Map())
			}
			want := c.answered[fault]
			if fault == class {
				want = c.open
			}
			out := s.take()
			if want == 0 && len(out) != 0 || want != 0 && len(out) == 0 {
				t.Errorf("%s, %s: answered with %v, want %v", c.name, names[fault], opcodes(out), want)
			} else if want != 0 && out[0].BTH.Opcode != want {
				t.Errorf("%s, %s: answered with %v first, want %v", c.name, names[fault], opcodes(out), want)
			}
			if c.want[fault] != accepted && s.qp.Failed() {
				t.Errorf("%s, %s: it ended the queue pair", c.name, names[fault])
			}
		}
	}
}

// newAsking is a host that has received PSN 499 before, has sent PSNs 100 to 103, of which the
// first two are acknowledged, and waits for the answer to an EV probe.
func newAsking(t testing.TB) *solo {
	s, _ := newResponding(t, nil)
	s.write(4)
	s.settle(time.Microsecond)
	s.give(ackPacket(101, plainACK))
	if _, err := s.host.SendEVProbe(s.now,
		EVProbe{Peer: testAddr(1), Path: Path{EV: testEV, Port: 1}}); err != nil {
		t.Fatal(err)
	}
	s.take()
	return s
}

func endpointRequest(op packet.EndpointOp) func(*solo) packet.MRC {
	return func(*solo) packet.MRC {
		return packet.MRC{BTH: packet.EndpointHeader(packet.OpMRCEndpointRequest, 9),
			ERTH: packet.ERTH{Op: op, Ports: 1 << 1}}
	}
}

// endpointResponse answers the endpoint operation that waits, or the one with an identifier so much
// greater.
func (s *solo) endpointResponse(add uint16, op packet.EndpointOp) packet.MRC {
	return packet.MRC{BTH: packet.EndpointHeader(packet.OpMRCEndpointResponse, s.host.ops.id+add),
		EETH: packet.EETH{Op: op}}
}

// TestStaleFatalNACK: a NACK that ends the queue pair does so from the first packet that no
// transport ACK covers, and is refused below it.
func TestStaleFatalNACK(t *testing.T) {
	for psn, want := range map[uint32]bool{100: false, 101: false, 102: true, 103: true} {
		s := newAsking(t)
		s.give(nackPacket(psn, 0, packet.NACKUnexpectedEvent))
		if s.qp.Failed() != want || (s.refused(RefusedStale) == 1) == want {
			t.Errorf("PSN %d: failed %v, refused %v", psn, s.qp.Failed(), s.host.Counters().Refused.Map())
		}
	}
}

// TestManyPeers: a host stores the port status of a limited number of peers; a known peer may still
// update its status.
func TestManyPeers(t *testing.T) {
	s := newAsking(t)
	status := func(from int) Refusals {
		p, _, err := packet.ParseMRC(s.frame(endpointRequest(packet.EndpointPortStatus)(s)), s.wire)
		if err != nil {
			t.Fatal(err)
		}
		p.IPv6.Src = testAddr(from)
		s.host.Receive(s.now, 1, p.Append(nil))
		return s.host.Counters().Refused
	}
	const most = 65_536
	for i := range most - 1 {
		s.host.peers[netip.AddrFrom16([16]byte{0x20, 1, byte(i >> 16), byte(i >> 8), byte(i)})] = 0
	}
	if r := status(3); r.Total() != 0 || len(s.host.peers) != most {
		t.Fatalf("the last one that has room is refused: %v, %d peers", r.Map(), len(s.host.peers))
	}
	if r := status(3); r.Total() != 0 {
		t.Errorf("a known one is refused: %v", r.Map())
	}
	if r := status(4); r[RefusedEndpoint] != 1 || len(s.host.peers) != most {
		t.Errorf("one too many: %v, %d peers", r.Map(), len(s.host.peers))
	}
}

// TestRequestsAloneCountMarks: congestion that was marked on a request is counted; control packets
// are not ECN-capable, and a mark on one says nothing.
func TestRequestsAloneCountMarks(t *testing.T) {
	s, _ := newResponding(t, nil)
	s.write(1)
	s.settle(time.Microsecond)
	marked := func(p packet.MRC, ecn uint8) uint64 {
		p.IPv6.TrafficClass = packet.TrafficClass(s.wire.DSCP.Trimmable, ecn)
		s.give(p)
		return s.qp.Counters().CEReceived
	}
	if n := marked(request(500, nil), packet.ECT0); n != 0 {
		t.Errorf("%d marks counted without one", n)
	}
	if n := marked(request(501, nil), packet.CE); n != 1 {
		t.Errorf("%d marks counted, want 1", n)
	}
	if n := marked(sackPacket(99, 100, 0, 0), packet.CE); n != 1 {
		t.Errorf("the mark on a SACK counts")
	}
	if n := marked(packet.MRC{BTH: packet.MRCBTH{Opcode: packet.OpMRCProbe}}, packet.CE); n != 1 {
		t.Errorf("the mark on a probe counts")
	}
}

// TestDuplicatesAndTrimmedCount: the host counts each duplicate and each trimmed packet once, in
// the right counter.
func TestDuplicatesAndTrimmedCount(t *testing.T) {
	s, _ := newResponding(t, nil)
	trim := func(psn uint32) {
		f := s.frame(request(psn, nil))
		f[packet.EthernetLen] = 6<<4 | s.wire.DSCP.Trimmed>>2
		f[packet.EthernetLen+1] = s.wire.DSCP.Trimmed << 6
		s.host.Receive(s.now, 1, f)
	}
	expect := func(duplicates, trimmed uint64) {
		t.Helper()
		if c := s.qp.Counters(); c.Duplicates != duplicates || c.Trimmed != trimmed {
			t.Errorf("%d duplicates and %d trimmed packets counted, want %d and %d", c.Duplicates, c.Trimmed,
				duplicates, trimmed)
		}
	}
	s.give(request(500, nil))
	expect(0, 0)
	s.give(request(500, nil)) // at the cumulative acknowledgement
	expect(1, 0)
	s.give(request(502, nil))
	s.give(request(502, nil)) // above it
	expect(2, 0)
	trim(501)
	expect(2, 1)
	trim(502) // it has arrived before
	expect(2, 2)
}

// TestForeignCCState: a SACK with a cc_type other than NSCC still acknowledges packets (OCP MRC
// 1.0, section 7.5.5.4 permits other types). The queue pair subtracts acknowledged packets from the
// octets in flight, and ignores the state in the SACK.
func TestForeignCCState(t *testing.T) {
	l := newListener(1 << 20)
	s := newSolo(t, func(c *QPConfig) { c.Congestion, c.Sprayer = l, l })
	s.write(4)
	out := s.settle(time.Microsecond)
	size := nominalSize(int(out[0].UDP.Length))
	p := sackPacket(100, 102, out[2].EV(), 0, 102)
	p.SETH.SetNSCC(packet.NSCC{Timestamp: 9, OOOCount: 99, RcvdBytes: 7, RcvCwndPenalty: 64,
		RestoreCwnd: true})
	p.SETH.CCType = 3
	s.now += 10 * time.Microsecond
	s.give(p)
	want := SACK{Now: s.now, Newly: 2 * size, InFlight: 2 * size}
	if len(l.sacks) != 1 || l.sacks[0] != want {
		t.Fatalf("congestion control is told %+v, want %+v", l.sacks, want)
	}
	if s.qp.InFlight() != 2*size || s.qp.prevRcvd != 0 {
		t.Errorf("%d octets in flight, want %d; prev_rcvd_bytes %d, want 0", s.qp.InFlight(), 2*size,
			s.qp.prevRcvd)
	}
	if c := s.qp.Counters(); c.CCStatesUnknown != 1 || c.SACKsReceived != 1 ||
		c.PenaltiesReceived != 0 {
		t.Errorf("%+v", c)
	}
	s.give(p) // again: it acknowledges nothing new
	if got := l.sacks[1]; got.Newly != 0 || s.qp.InFlight() != 2*size {
		t.Errorf("a second one counts: %+v", got)
	}
	// The queue pair takes losses and arrivals from this SACK as from any SACK: only PSN 101 may be
	// sent again.
	p = sackPacket(103, 103, out[3].EV(), 0)
	p.SETH.CCType = 3
	s.give(p)
	if s.qp.InFlight() != 0 || s.refused(RefusedStale) != 0 {
		t.Errorf("%d octets in flight at the end", s.qp.InFlight())
	}
	s.give(ackPacket(103, plainACK))
	if c, ok := s.qp.Poll(); !ok || c.Status != verbs.StatusOK {
		t.Errorf("completion %+v, %v", c, ok)
	}
}

// TestReceivedBytesBoundary: rcvd_bytes counts from its first unit of 256 octets on.
func TestReceivedBytesBoundary(t *testing.T) {
	l := newListener(1 << 20)
	s := newSolo(t, func(c *QPConfig) { c.Congestion, c.Sprayer = l, l })
	s.write(4)
	out := s.settle(time.Microsecond)
	before := s.qp.InFlight()
	for i, units := range []uint32{0, 1, 1, 3} {
		p := sackPacket(99, 100, out[0].EV(), 0)
		p.SETH.SetNSCC(packet.NSCC{RcvdBytes: units})
		s.give(p)
		if want := []int{0, 256, 0, 512}[i]; l.sacks[i].Newly != want {
			t.Errorf("%d units: %d octets newly, want %d", units, l.sacks[i].Newly, want)
		}
		if want := before - int(units)*256; s.qp.InFlight() != want {
			t.Errorf("%d units: %d octets in flight, want %d", units, s.qp.InFlight(), want)
		}
	}
}

// TestPenaltiesAreCounted: SACKs with a penalty count, those without do not.
func TestPenaltiesAreCounted(t *testing.T) {
	s := newSolo(t, nil)
	s.write(4)
	s.settle(time.Microsecond)
	for penalty, want := range []uint64{0, 1} {
		p := sackPacket(99, 100, 0, 0)
		p.SETH.SetNSCC(packet.NSCC{RcvCwndPenalty: uint8(penalty)})
		s.give(p)
		if got := s.qp.Counters().PenaltiesReceived; got != want {
			t.Errorf("penalty %d: %d counted, want %d", penalty, got, want)
		}
	}
}

// TestSince: the time since a timestamp of 16 bits is the one nearest to the time since the packet
// was sent.
func TestSince(t *testing.T) {
	const unit = packet.TimestampUnit
	const turn = unit << 16
	for _, c := range []struct{ passed, want time.Duration }{
		{0, 0}, {turn / 2, 0}, {turn/2 + unit, turn}, {turn, turn}, {turn + turn/2, turn + turn},
		{2 * turn, 2 * turn},
	} {
		now := 5*turn + c.passed
		if got := since(now, uint16(now/unit), unit, now-c.passed); got != c.want {
			t.Errorf("%v after it was sent, with the timestamp of now: %v, want %v", c.passed, got, c.want)
		}
	}
}

// TestScheduleOfAnACK: a queue pair all of whose packets have arrived is active again when it must
// ask for the transport ACK (figure 4).
func TestScheduleOfAnACK(t *testing.T) {
	w := &valve{open: true}
	s := newSolo(t, func(c *QPConfig) { c.Congestion = w })
	s.write(1)
	out := s.settle(time.Microsecond)
	s.give(sackPacket(100, 100, out[0].EV(), 0))
	w.open = false
	if got := s.qp.Schedule(); got != Pending {
		t.Errorf("the transport ACK is awaited: %v, want PENDING", got)
	}
	for s.qp.Schedule() == Pending {
		next, pending := s.host.Advance(s.now)
		if !pending || next > time.Second {
			t.Fatal("it never asks for the transport ACK")
		}
		s.now = next
	}
	if got := s.qp.Schedule(); got != Active {
		t.Errorf("the transport ACK must be asked for: %v, want ACTIVE", got)
	}
	w.open = true
	if got := s.qp.Schedule(); got != Ready {
		t.Errorf("and may be: %v, want READY", got)
	}
}

// TestTimestampUnits: a requester whose peer takes its service time off timestamps uses the unit of
// the specification, or none (MRC-115).
func TestTimestampUnits(t *testing.T) {
	for _, c := range []struct {
		service bool
		unit    time.Duration
		ok      bool
	}{
		{true, 0, true}, {true, packet.TimestampUnit, true}, {true, packet.TimestampUnit + 1, false},
		{true, packet.TimestampUnit - 1, false},
		{false, 0, true}, {false, packet.TimestampUnit + 1, true},
	} {
		h := newTestHost(t, 0, 1, func(time.Duration, int, []byte) {})
		q := testQPConfig(0, 1, 1)
		q.Remote.ServiceTime, q.TimestampUnit = c.service, c.unit
		if _, err := h.CreateQP(q); (err == nil) != c.ok {
			t.Errorf("service time %v, unit %v: %v", c.service, c.unit, err)
		}
	}
}

// TestOldestProbeMakesRoom: when as many probes wait as a queue pair remembers, the one that was
// sent first is given up for the next, wherever it stands.
func TestOldestProbeMakesRoom(t *testing.T) {
	s := newSolo(t, func(c *QPConfig) { c.AckTimeout = 20 })
	s.write(1)
	s.settle(time.Microsecond)
	probe := func() sentPacket {
		s.now += time.Microsecond
		s.qp.transmitProbe(s.now, testPaths(1, 1)[0])
		out := only(s.take(), packet.OpMRCProbe)
		if len(out) != 1 {
			t.Fatalf("%d probes", len(out))
		}
		return out[0]
	}
	answered := func(p sentPacket) bool {
		before := s.qp.Counters().ProbesAnswered
		s.give(probeAnswer(p, 99, packet.MarkNone))
		return s.qp.Counters().ProbesAnswered == before+1
	}
	var sent []sentPacket
	for range len(s.qp.probes.out) {
		sent = append(sent, probe())
	}
	if !answered(sent[0]) {
		t.Fatal("the first one is not remembered")
	}
	probe() // in the place of the first
	if n := s.qp.Counters().ProbesLost; n != 0 {
		t.Errorf("%d probes given up while there is room", n)
	}
	probe()
	if n := s.qp.Counters().ProbesLost; n != 1 {
		t.Errorf("%d probes given up, want 1", n)
	}
	if answered(sent[1]) {
		t.Error("the oldest one is remembered")
	}
	if !answered(sent[2]) {
		t.Error("the second oldest one is given up")
	}
}

// TestControlPKey: SACKs, NACKs and reliability probes have the P_Key that is provisioned for them,
// in both directions, and everything else that of the partition (table 7-11).
func TestControlPKey(t *testing.T) {
	const control, partition = 0x9234, 0x8765
	s, _ := newResponding(t, func(c *QPConfig) { c.Local.TrimNACK = true })
	s.host.cfg.PKey, s.host.cfg.ControlPKey = partition, control
	with := func(p packet.MRC, key uint16) packet.MRC { p.BTH.PKey = key; return p }
	s.write(2)
	sent := s.settle(time.Microsecond)
	s.qp.transmitProbe(s.now, testPaths(1, 1)[0])
	sent = append(sent, s.take()...)
	asking := request(500, nil)
	asking.BTH.AckReq = true
	sent = append(sent, s.give(with(asking, partition))...)
	trimmed := request(501, nil)
	trimmed.IPv6.TrafficClass = packet.TrafficClass(s.wire.DSCP.Trimmed, packet.ECT0)
	sent = append(sent, s.give(with(trimmed, partition))...)
	sent = append(sent, s.give(with(endpointRequest(packet.EndpointEVProbe)(s), partition))...)
	seen := map[packet.Opcode]bool{}
	for _, p := range sent {
		seen[p.BTH.Opcode] = true
		want := uint16(partition)
		switch p.BTH.Opcode {
		case packet.OpMRCSACK, packet.OpMRCNACK, packet.OpMRCProbe:
			want = control
		}
		if p.BTH.PKey != want {
			t.Errorf("%v with P_Key %#x, want %#x", p.BTH.Opcode, p.BTH.PKey, want)
		}
	}
	for _, o := range []packet.Opcode{packet.OpMRCSACK, packet.OpMRCNACK, packet.OpMRCProbe,
		packet.OpMRCAcknowledge, packet.OpMRCEndpointResponse} {
		if !seen[o] {
			t.Errorf("no %v was sent", o)
		}
	}
	for _, c := range []struct {
		p    packet.MRC
		want uint16
	}{
		{sackPacket(99, 99, 0, 0), control}, {nackPacket(100, 0, packet.NACKTrimmed), control},
		{packet.MRC{BTH: packet.MRCBTH{Opcode: packet.OpMRCProbe}}, control},
		{ackPacket(100, plainACK), partition}, {request(502, nil), partition},
		{endpointRequest(packet.EndpointEVProbe)(s), partition},
	} {
		for _, key := range []uint16{control, partition} {
			before := s.refused(RefusedPKey)
			s.give(with(c.p, key))
			if refused := s.refused(RefusedPKey) == before+1; refused != (key != c.want) {
				t.Errorf("%v with P_Key %#x: refused %v", c.p.BTH.Opcode, key, refused)
			}
		}
	}
}
