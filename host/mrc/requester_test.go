package mrc

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// TestSegmentation: the requester segments messages into packets by tables 6-2 to 6-9 and 7-8.
func TestSegmentation(t *testing.T) {
	s := newSolo(t, nil)
	data := pattern(700, 3)
	s.post(verbs.WorkRequest{Data: data, RemoteVA: 0x10000, RKey: 5})
	s.post(verbs.WorkRequest{Op: verbs.OpWriteImmediate, Data: data[:300], RemoteVA: 0x20000, RKey: 6,
		Immediate: 77, Solicited: true})
	s.post(verbs.WorkRequest{Op: verbs.OpWriteImmediate, Data: data[:256], RKey: 6, Immediate: 78})
	s.post(verbs.WorkRequest{Data: nil, RKey: 6})
	s.now = 100 * time.Microsecond // 781 units
	out := s.settle(10 * time.Microsecond)
	want := []struct {
		op     packet.Opcode
		va     uint64
		dmalen uint32
		n      int
		msn    uint16
		rqmsn  uint16
	}{
		{packet.OpMRCWriteFirst, 0x10000, 700, 256, 1, 0},
		{packet.OpMRCWriteMiddle, 0x10100, 700, 256, 1, 0},
		{packet.OpMRCWriteLast, 0x10200, 700, 188, 1, 0},
		{packet.OpMRCWriteFirst, 0x20000, 300, 256, 2, 1},
		{packet.OpMRCWriteLastImmediate, 0x20100, 300, 44, 2, 1},
		{packet.OpMRCWriteOnlyImmediate, 0, 256, 256, 3, 2},
		{packet.OpMRCWriteOnly, 0, 0, 0, 4, 2},
	}
	if len(out) != len(want) {
		t.Fatalf("%d packets, want %d", len(out), len(want))
	}
	for i, w := range want {
		p := out[i]
		if p.BTH.Opcode != w.op || p.RETH.VA != w.va || p.RETH.DMALength != w.dmalen ||
			len(p.Payload) != w.n || p.METH.MSN != w.msn || p.METH.RQMSN != w.rqmsn {
			t.Errorf("packet %d: %v %+v %+v, %d octets; want %+v", i, p.BTH.Opcode, p.RETH, p.METH,
				len(p.Payload), w)
		}
		last := w.op != packet.OpMRCWriteFirst && w.op != packet.OpMRCWriteMiddle
		if p.BTH.PSN != 100+uint32(i) || p.BTH.Retransmission || !p.BTH.Timestamped ||
			p.BTH.AckReq != last || p.BTH.DestQPN != s.qp.cfg.RemoteQPN || p.BTH.TVer != 0 {
			t.Errorf("packet %d: %+v", i, p.BTH)
		}
		if p.BTH.Solicited != (i == 4) {
			t.Errorf("packet %d: solicited %v", i, p.BTH.Solicited)
		}
		if want := (packet.TSETH{Timestamp: uint16(p.at / packet.TimestampUnit),
			Type: packet.TSETHTimestamp}); p.TSETH != want {
			t.Errorf("packet %d: %+v, want %+v", i, p.TSETH, want)
		}
		if i == 4 && p.ImmDt != 77 || i == 5 && p.ImmDt != 78 {
			t.Errorf("packet %d: immediate data %d", i, p.ImmDt)
		}
		if p.UDP.Checksum != 0 || p.UDP.DstPort != 4791 ||
			packet.DSCP(p.IPv6.TrafficClass) != s.wire.DSCP.Trimmable ||
			packet.ECN(p.IPv6.TrafficClass) != packet.ECT0 {
			t.Errorf("packet %d: %+v, %+v", i, p.UDP, p.IPv6)
		}
		if p.Ethernet.Src != testMAC(0, p.port) || p.Ethernet.Dst != gatewayMAC {
			t.Errorf("packet %d: %+v by port %d", i, p.Ethernet, p.port)
		}
	}
	var got []byte
	for _, p := range out[:3] {
		got = append(got, p.Payload...)
	}
	if !slices.Equal(got, data) {
		t.Error("wrong payload")
	}
}

// TestPortAndClassesAreConfigurable: the UDP port and all DSCPs.
func TestPortAndClassesAreConfigurable(t *testing.T) {
	s := newSolo(t, nil)
	s.wire = packet.MRCSettings{Port: 9999, DSCP: packet.DSCPClasses{NoTrim: 1, Trimmable: 2,
		TrimmableRetx: 3, Trimmed: 4, TrimmedLastHop: 5, Control: 6}}
	s.host.cfg.Wire = s.wire
	s.write(1)
	out := s.settle(time.Microsecond)
	if len(out) != 1 || out[0].UDP.DstPort != 9999 || packet.DSCP(out[0].IPv6.TrafficClass) != 2 {
		t.Fatalf("sent %+v", out)
	}
	p := request(500, nil)
	p.IPv6.TrafficClass = packet.TrafficClass(4, packet.ECT0)
	f := s.frame(p)
	s.host.Receive(s.now, 1, f[:packet.MinTrimLen-packet.TSETHLen])
	p.IPv6.TrafficClass = packet.TrafficClass(5, packet.ECT0)
	f = s.frame(p)
	s.host.Receive(s.now, 1, f)
	out = s.take()
	if len(out) != 2 || out[0].NETH.Reason != packet.NACKTrimmed ||
		out[1].NETH.Reason != packet.NACKTrimmedLastHop || packet.DSCP(out[0].IPv6.TrafficClass) != 6 {
		t.Errorf("answers %+v", out)
	}
	s.give(nackPacket(100, s.qp.record(100).lastBy.ev, packet.NACKTrimmed))
	if out := s.settle(time.Microsecond); len(out) != 1 || packet.DSCP(out[0].IPv6.TrafficClass) != 3 {
		t.Errorf("sent again %+v", out)
	}
	s = newSolo(t, func(c *QPConfig) { c.Remote.TrimNACK = false })
	s.write(1)
	if out := s.settle(time.Microsecond); packet.DSCP(out[0].IPv6.TrafficClass) != s.wire.DSCP.NoTrim {
		t.Errorf("a peer that answers no trimmed packets gets trimmable ones")
	}
}

// TestPayloadCounts: the counters count payload at every transmission, and at every first arrival.
func TestPayloadCounts(t *testing.T) {
	s := newSolo(t, nil)
	s.post(verbs.WorkRequest{Data: make([]byte, 600)}) // packets of 256, 256 and 88 octets
	out := s.settle(time.Microsecond)
	s.give(nackPacket(102, out[2].EV(), packet.NACKTrimmed))
	s.settle(time.Microsecond)
	if c := s.qp.Counters(); c.PayloadSent != 688 || c.RequestsSent != 4 || c.RequestsResent != 1 {
		t.Errorf("%+v, want 688 octets in 4 packets, 1 of them again", c)
	}
}

// TestPostedOrder: work requests complete in the order posted, for transport ACKs alone; what SACKs
// say completes nothing (§6.2.1, §7.2.1).
func TestPostedOrder(t *testing.T) {
	s := newSolo(t, nil)
	for id := range uint64(4) {
		s.post(verbs.WorkRequest{ID: id, Data: make([]byte, 300)})
	}
	out := s.settle(5 * time.Microsecond)
	if len(out) != 8 {
		t.Fatalf("%d packets", len(out))
	}
	s.give(sackPacket(107, 107, out[7].EV(), 0))
	if _, ok := s.qp.Poll(); ok {
		t.Error("a SACK completed a work request")
	}
	if s.qp.UnackPSN() != 107 || s.qp.Schedule() != Pending {
		t.Errorf("unack_psn %d, %v", s.qp.UnackPSN(), s.qp.Schedule())
	}
	s.give(ackPacket(104, plainACK)) // ends in the middle of the third
	for id := range uint64(2) {
		if c, ok := s.qp.Poll(); !ok || c.ID != id || c.Status != verbs.StatusOK || c.Octets != 300 {
			t.Errorf("completion %+v %v, want ID %d", c, ok, id)
		}
	}
	if _, ok := s.qp.Poll(); ok {
		t.Error("a message completed half way")
	}
	s.give(ackPacket(107, plainACK))
	for id := uint64(2); id < 4; id++ {
		if c, ok := s.qp.Poll(); !ok || c.ID != id {
			t.Errorf("completion %+v, want ID %d", c, id)
		}
	}
	if s.qp.Schedule() != Idle {
		t.Errorf("%v", s.qp.Schedule())
	}
}

// TestArrivalIsInferred: a transport ACK says that packets have arrived, so the send window moves
// (§7.2.1).
func TestArrivalIsInferred(t *testing.T) {
	s := newSolo(t, func(c *QPConfig) { c.Remote.MaxMPR = 1 })
	s.write(300)
	if out := s.settle(time.Millisecond / 2); len(out) != 128 || s.qp.NextPSN() != 228 {
		t.Fatalf("%d packets before any acknowledgement, want 128", len(out))
	}
	s.give(ackPacket(109, plainACK))
	if out := s.settle(time.Microsecond * 10); len(out) != 10 || s.qp.UnackPSN() != 109 {
		t.Errorf("%d packets after 10 were acknowledged", len(out))
	}
}

// TestSendLimit: nothing beyond unack_psn + 128 x mpr is sent (table 7-4, §7.4.4).
func TestSendLimit(t *testing.T) {
	for _, mpr := range []int{1, 2, 5} {
		s := newSolo(t, func(c *QPConfig) { c.Remote.MaxMPR, c.SQPSN = mpr, packet.PSNMask-20 })
		s.write(2000)
		if s.qp.UnackPSN() != packet.PSNMask-21 {
			t.Errorf("unack_psn starts at %#x", s.qp.UnackPSN())
		}
		if out := s.settle(time.Millisecond / 2); len(out) != 128*mpr {
			t.Errorf("mpr %d: %d packets", mpr, len(out))
		}
		if s.qp.Schedule() != Active {
			t.Errorf("mpr %d: %v, want ACTIVE", mpr, s.qp.Schedule())
		}
		s.give(sackPacket(packet.PSNMask, packet.PSNMask, 0, 0))
		if out := s.settle(time.Millisecond / 10); len(out) != 21 {
			t.Errorf("mpr %d: %d packets after 21 were acknowledged", mpr, len(out))
		}
	}
}

// TestImmediatesInFlight: no more WRITEs with Immediate are begun than the peer keeps room for;
// plain ones go on up to the next that must wait.
func TestImmediatesInFlight(t *testing.T) {
	s := newSolo(t, func(c *QPConfig) { c.Remote.MaxWIMM = 2 })
	for i := range 8 {
		op := verbs.OpWriteImmediate
		if i%2 == 1 {
			op = verbs.OpWrite
		}
		s.post(verbs.WorkRequest{ID: uint64(i), Op: op, Data: make([]byte, 300)})
	}
	out := s.settle(5 * time.Microsecond)
	if len(out) != 8 || s.qp.Schedule() != Active {
		t.Fatalf("%d packets, %v; want the 8 of 4 messages, ACTIVE", len(out), s.qp.Schedule())
	}
	s.give(sackPacket(107, 107, out[7].EV(), 0)) // arrived, but perhaps not completed
	if out := s.settle(5 * time.Microsecond); len(out) != 0 {
		t.Errorf("%d packets after a SACK", len(out))
	}
	s.give(ackPacket(101, plainACK))
	if out := s.settle(5 * time.Microsecond); len(out) != 4 {
		t.Errorf("%d packets after one completed, want the 4 of two messages", len(out))
	}
	s = newSolo(t, func(c *QPConfig) { c.Remote.MaxWIMM = 0 })
	if err := s.qp.PostSend(0, verbs.WorkRequest{Op: verbs.OpWriteImmediate}); !errors.Is(err,
		verbs.ErrWorkRequest) {
		t.Errorf("posted to a peer without room: %v", err)
	}
}

// TestAckRequests: the last packet before a requester falls silent asks for an acknowledgement,
// whatever makes it so (§7.5.2).
func TestAckRequests(t *testing.T) {
	// three packets of 344 fill it
	s := newSolo(t, func(c *QPConfig) { c.Congestion = FixedWindow(700) })
	s.write(6)
	out := s.settle(time.Microsecond * 5)
	if len(out) != 3 || out[0].BTH.AckReq || !out[2].BTH.AckReq {
		t.Errorf("%d packets, the last asks %v", len(out), out[len(out)-1].BTH.AckReq)
	}
	s = newSolo(t, nil)
	s.write(3)
	out = s.settle(time.Microsecond * 5)
	if out[0].BTH.AckReq || out[1].BTH.AckReq || !out[2].BTH.AckReq {
		t.Error("the last packet of a message, and it alone, should ask")
	}
}

// TestClosing: a packet behind which none may follow asks once as much was sent since the last that
// did as half a window has, or as a SACK is sent for.
func TestClosing(t *testing.T) {
	for _, c := range []struct {
		window, threshold, since int
		want                     bool
	}{{1000, 600, 499, false}, {1000, 600, 500, true}, {1000, 400, 399, false}, {1000, 400, 400, true},
		{1001, 600, 500, true}} {
		s := newSolo(t, func(q *QPConfig) {
			q.Congestion, q.SACKThreshold = FixedWindow(c.window), c.threshold
		})
		s.qp.sinceAsk = c.since
		if got := s.qp.closing(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
		s.write(1) // which may follow
		if s.qp.closing() {
			t.Errorf("%+v: though one may follow", c)
		}
		s.settle(time.Microsecond)
		if s.qp.sinceAsk != 0 {
			t.Errorf("%+v: %d octets since a packet that asked", c, s.qp.sinceAsk)
		}
	}
	s := newSolo(t, func(q *QPConfig) { q.Congestion = FixedWindow(1) })
	s.write(3)
	s.qp.cfg.SACKThreshold = 1 << 20
	s.qp.context.Congestion = FixedWindow(1 << 20)
	s.host.ports[0].free, s.host.ports[1].free = 0, time.Second
	s.host.sendOne(0)
	if want := nominalSize(int(s.take()[0].UDP.Length)); s.qp.sinceAsk != want {
		t.Errorf("%d octets since, want %d", s.qp.sinceAsk, want)
	}
}

// TestClassOfQueuePair: a queue pair with its own DSCP sends data, data sent again and probes with
// that DSCP, and answers with the DSCP of control. A codepoint of the host selects the class of the
// host.
func TestClassOfQueuePair(t *testing.T) {
	for _, c := range []struct {
		name               string
		own                func(packet.DSCPClasses) uint8
		first, again, test func(packet.DSCPClasses) uint8
	}{
		{"own", classOwn, classOwn, classOwn, classOwn},
		{"not trimmed", classNoTrim, classNoTrim, classRetx, classTrimmable},
		{"trimmable", classTrimmable, classTrimmable, classRetx, classTrimmable},
		{"sent again", classRetx, classTrimmable, classRetx, classTrimmable},
	} {
		t.Run(c.name, func(t *testing.T) {
			own := c.own(packet.DefaultDSCPClasses())
			s := newSolo(t, func(q *QPConfig) { q.DSCP = own })
			sent := func(what string, want func(packet.DSCPClasses) uint8) {
				t.Helper()
				out := s.settle(time.Microsecond)
				if len(out) == 0 || packet.DSCP(out[0].IPv6.TrafficClass) != want(s.wire.DSCP) {
					t.Errorf("%s: %+v, want DSCP %d", what, out, want(s.wire.DSCP))
				}
			}
			s.write(1)
			sent("data", c.first)
			s.give(nackPacket(100, s.qp.record(100).lastBy.ev, packet.NACKTrimmed))
			sent("again", c.again)
			s.qp.transmitProbe(s.now, Path{Port: 1})
			sent("probe", c.test)
			p := request(500, nil)
			p.BTH.AckReq = true
			s.host.Receive(s.now, 1, s.frame(p))
			if out := s.take(); len(out) == 0 ||
				packet.DSCP(out[0].IPv6.TrafficClass) != s.wire.DSCP.Control {
				t.Errorf("answers %+v", out)
			}
			s.host.cfg.Wire.DSCP.Control, s.wire.DSCP.Control = own, own // since
			s.qp.transmitProbe(s.now, Path{Port: 1})
			sent("after the codepoint is control's", classTrimmable)
		})
	}
	s := newSolo(t, nil)
	for _, d := range []uint8{packet.DefaultDSCPClasses().Control, packet.DefaultDSCPClasses().Trimmed,
		packet.DefaultDSCPClasses().TrimmedLastHop, 64} {
		q := s.qp.Config()
		q.QPN, q.DSCP = q.QPN+1, d
		if _, err := s.host.CreateQP(q); !errors.Is(err, verbs.ErrConfig) ||
			!strings.Contains(err.Error(), "DSCP") {
			t.Errorf("DSCP %d: %v", d, err)
		}
	}
}

func classOwn(packet.DSCPClasses) uint8         { return 26 }
func classNoTrim(c packet.DSCPClasses) uint8    { return c.NoTrim }
func classTrimmable(c packet.DSCPClasses) uint8 { return c.Trimmable }
func classRetx(c packet.DSCPClasses) uint8      { return c.TrimmableRetx }
