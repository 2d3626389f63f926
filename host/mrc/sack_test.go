package mrc

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// TestDuplicateAboveCack: a duplicate above the cumulative acknowledgement is SACKed, and its
// AckReq answered when that reaches it.
func TestDuplicateAboveCack(t *testing.T) {
	s, _ := newResponding(t, nil)
	s.give(request(501, nil))
	again := request(501, nil)
	again.BTH.AckReq, again.BTH.Retransmission = true, true
	out := s.give(again)
	if !slices.Equal(opcodes(out), []packet.Opcode{packet.OpMRCSACK}) || out[0].SETH.AckPSN() != 501 ||
		!out[0].BTH.Retransmission {
		t.Errorf("duplicate answered with %v", opcodes(out))
	}
	out = s.give(request(500, nil))
	if acks := only(out, packet.OpMRCAcknowledge); len(acks) != 1 || acks[0].BTH.PSN != 501 {
		t.Errorf("after the gap: %v", opcodes(out))
	}
	if c := s.qp.Counters(); c.RequestsReceived != 2 || c.AcksSent != 1 {
		t.Errorf("%d requests executed, want 2; %d transport ACKs sent, want 1", c.RequestsReceived,
			c.AcksSent)
	}
}

// TestSACKTriggers: what makes a responder send a SACK (OCP MRC 1.0, §7.5.2).
func TestSACKTriggers(t *testing.T) {
	ar := func(p *packet.MRC) { p.BTH.AckReq = true }
	for _, c := range []struct {
		name  string
		psns  []uint32
		edit  map[int]func(*packet.MRC) // by index
		sacks []int                     // indexes of packets that cause one
		acks  []uint32                  // PSNs of transport ACKs
	}{
		{name: "nothing", psns: []uint32{500, 501}},
		// Packets of nothing count for MIN_ACK_PACKET_SIZE, 1 KB: more than 4096 octets are five of
		// them.
		{name: "octets", psns: []uint32{500, 501, 502, 503, 504, 505, 506, 507, 508, 509},
			sacks: []int{4, 9}},
		{name: "asked", psns: []uint32{500, 501, 502}, edit: map[int]func(*packet.MRC){
			1: ar}, sacks: []int{1}, acks: []uint32{501}},
		{
			name: "marked", psns: []uint32{500, 501}, sacks: []int{0},
			edit: map[int]func(*packet.MRC){0: func(p *packet.MRC) { p.IPv6.TrafficClass |= packet.CE }},
		},
		{
			name: "sent again", psns: []uint32{500, 501}, sacks: []int{1},
			edit: map[int]func(*packet.MRC){1: func(p *packet.MRC) { p.BTH.Retransmission = true }},
		},
		// The packet with AckReq arrives before the other packets: the responder answers at once, and
		// again after all packets arrive.
		{name: "asked early", psns: []uint32{503, 500, 502, 501, 504}, edit: map[int]func(*packet.MRC){
			0: ar}, sacks: []int{0, 3}, acks: []uint32{503}},
		{
			name: "asked twice", psns: []uint32{501, 503, 502, 500}, edit: map[int]func(*packet.MRC){
				0: ar, 1: ar}, sacks: []int{0, 1, 3}, acks: []uint32{503},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := newResponding(t, func(c *QPConfig) { c.SACKThreshold = 4096 })
			var sacks []int
			var acks []uint32
			for i, psn := range c.psns {
				p := request(psn, nil)
				if edit := c.edit[i]; edit != nil {
					edit(&p)
				}
				out := s.give(p)
				for _, a := range only(out, packet.OpMRCSACK) {
					sacks = append(sacks, i)
					if a.SETH.AckPSN() != psn || a.SETH.Entropy != testEV ||
						a.BTH.Retransmission != p.BTH.Retransmission {
						t.Errorf("SACK for %d: ack_psn %d, entropy %#x, rtx %v", psn, a.SETH.AckPSN(), a.SETH.Entropy,
							a.BTH.Retransmission)
					}
					if want := map[bool]packet.SACKMark{true: packet.MarkSkipOnce}[marked(&p)]; a.SETH.Mark != want {
						t.Errorf("SACK for %d: m %d, want %d", psn, a.SETH.Mark, want)
					}
				}
				for _, a := range only(out, packet.OpMRCAcknowledge) {
					acks = append(acks, a.BTH.PSN)
					if a.AETH.Syndrome != plainACK {
						t.Errorf("ACK with %v, want credit 0x1F", a.AETH.Syndrome)
					}
				}
			}
			if !slices.Equal(sacks, c.sacks) || !slices.Equal(acks, c.acks) {
				t.Errorf("SACKs at %v, want %v; ACKs %v, want %v", sacks, c.sacks, acks, c.acks)
			}
		})
	}
}

// TestSACKFields: tables 7-6, 7-13 and 7-15, and how SACKs travel (table 7-8).
func TestSACKFields(t *testing.T) {
	s, _ := newResponding(t, func(c *QPConfig) {
		// beyond the field: its greatest value
		c.Penalty = func(time.Duration) (uint8, bool) { return 200, true }
		c.QPN, c.RemoteQPN = 0x12345, 0x6789A
	})
	s.give(request(500, make([]byte, 100)))
	s.give(request(502, make([]byte, 50)))
	s.give(request(504, make([]byte, 50)))
	p := request(503, make([]byte, 7))
	p.BTH.Timestamped, p.TSETH = true, packet.TSETH{Timestamp: 77, Type: packet.TSETHTimestamp}
	p.BTH.AckReq = true
	p.IPv6.FlowLabel = 0xF0456 // beyond the entropy value's bits
	out := s.give(p)
	if len(out) != 1 {
		t.Fatalf("%d answers", len(out))
	}
	a := out[0]
	h := a.SETH
	if a.BTH.PSN != 500 || a.BTH.DestQPN != 0x6789A || h.SPDCID != 0x2345 || h.DPDCID != 0x789A ||
		h.CackPSN != 500 || h.AckPSN() != 503 ||
		h.SACKBase() != 500 || h.SACKBitmap != 0b11101 || h.Probe || h.MPR != 8 || h.Entropy != testEV {
		t.Errorf("BTH %+v SETH %+v", a.BTH, h)
	}
	n, err := h.NSCC()
	if err != nil {
		t.Fatal(err)
	}
	// nominal_pktsize: UDP length and 40. The lengths are those of the packets given: UDP, BTH,
	// METH, RETH, payload, padding, ICRC.
	octets := 4*(8+12+4+16+4+40) + 100 + 52 + 52 + 8 + 4 // one with TSETH
	if want := (packet.NSCC{Timestamp: 77, OOOCount: 3, RcvdBytes: uint32((octets + 255) / 256),
		RcvCwndPenalty: 127, RestoreCwnd: true}); n != want {
		t.Errorf("CC_STATE %+v, want %+v", n, want)
	}
	if dscp := packet.DSCP(a.IPv6.TrafficClass); dscp != s.wire.DSCP.Control ||
		packet.ECN(a.IPv6.TrafficClass) != packet.NotECT || a.UDP.Checksum != 0 {
		t.Errorf("SACK with traffic class %#x, UDP checksum %#x", a.IPv6.TrafficClass, a.UDP.Checksum)
	}
	s, _ = newResponding(t, nil) // no responder flow control
	p = request(500, nil)
	p.BTH.AckReq = true
	if n, _ := s.give(p)[0].SETH.NSCC(); n.RcvCwndPenalty != 0 || n.RestoreCwnd || n.Timestamp != 0 {
		t.Errorf("CC_STATE %+v, want no penalty and no timestamp", n)
	}
}

// TestServiceTime: the responder reports its service time (OCP MRC 1.0, §7.5.5.8 and table 7-23).
// An answer waits while its port is busy.
func TestServiceTime(t *testing.T) {
	const wait = 10*time.Microsecond + 50 // 78 units
	for _, c := range []struct {
		supported, present, own bool
		want                    uint16
	}{
		{false, false, false, 0}, {false, true, false, 1000}, {true, false, false, 78},
		{true, true, false, 1078}, {true, true, true, 1000},
	} {
		s, _ := newResponding(t, func(q *QPConfig) { q.Local.ServiceTime = c.supported })
		s.host.cfg.EndpointServiceTime = c.supported
		ts := packet.TSETH{}
		if c.present {
			ts = packet.TSETH{Timestamp: 1000, OwnUnit: c.own, Type: packet.TSETHTimestamp}
		}
		busy := func() {
			for i := range s.host.ports {
				s.host.ports[i].free = s.now + wait
			}
		}
		p := request(500, nil)
		p.BTH.AckReq, p.BTH.Timestamped, p.TSETH = true, c.present, ts
		busy()
		if n, _ := s.give(p)[0].SETH.NSCC(); n.Timestamp != c.want {
			t.Errorf("%+v: SACK says %d", c, n.Timestamp)
		}
		if err := s.qp.SetMPR(1); err != nil {
			t.Fatal(err)
		}
		p.BTH.PSN = 800
		busy()
		if got := s.give(p)[0].NETH.Timestamp; got != c.want {
			t.Errorf("%+v: NACK says %d", c, got)
		}
		busy()
		probe := packet.MRC{BTH: packet.MRCBTH{Opcode: packet.OpMRCProbe},
			PETH: packet.PETH{ProbeID: 5, TSETH: ts}}
		if n, _ := s.give(probe)[0].SETH.NSCC(); n.Timestamp != c.want {
			t.Errorf("%+v: answer to a probe says %d", c, n.Timestamp)
		}
		busy()
		ev := packet.MRC{BTH: packet.EndpointHeader(packet.OpMRCEndpointRequest, 5),
			ERTH: packet.ERTH{Op: packet.EndpointEVProbe, TSETH: ts}}
		if got := s.give(ev)[0].EETH.Timestamp; got != c.want {
			t.Errorf("%+v: answer to an EV probe says %d", c, got)
		}
	}
}

// TestProbeAnswers: a reliability probe is answered with a SACK that carries its identifier and the
// state of the queue pair; no PSN plays a part (§7.4.6).
func TestProbeAnswers(t *testing.T) {
	s, _ := newResponding(t, nil)
	s.give(request(500, nil))
	s.give(request(502, nil))
	p := packet.MRC{BTH: packet.MRCBTH{Opcode: packet.OpMRCProbe, PSN: 0xABCDEF},
		PETH: packet.PETH{ProbeID: 0xFFFE}}
	p.SetEV(testEV)
	out := s.give(p)
	if len(out) != 1 {
		t.Fatalf("%d answers", len(out))
	}
	h := out[0].SETH
	if !h.Probe || h.ProbeID() != 0xFFFE || h.CackPSN != 500 || h.SACKBitmap != 0b101 ||
		h.Entropy != testEV || out[0].BTH.PSN != 0 {
		t.Errorf("BTH %+v SETH %+v", out[0].BTH, h)
	}
	if s.qp.CackPSN() != 500 || s.qp.Counters().RequestsReceived != 2 {
		t.Error("the probe changed what was received")
	}
}

// sackAt gives packets and returns the indexes of those that a SACK answers.
func (s *solo) sackAt(packets ...packet.MRC) (at []int) {
	s.t.Helper()
	for i, p := range packets {
		if len(only(s.give(p), packet.OpMRCSACK)) > 0 {
			at = append(at, i)
		}
	}
	return at
}

// sized are requests with so many octets of payload each, from a PSN on.
func sized(psn uint32, octets ...int) (list []packet.MRC) {
	for i, n := range octets {
		list = append(list, request(psn+uint32(i), make([]byte, n)))
	}
	return list
}

// TestSACKTriggerCount: sack_trigger_cnt grows by the larger of the payload and
// MIN_ACK_PACKET_SIZE, a SACK leaves when it exceeds the threshold, and every SACK resets it,
// whatever caused that ("resets to zero when a SACK message is transmitted for any reason", OCP MRC
// 1.0, section 7.5.2, MRC-066).
func TestSACKTriggerCount(t *testing.T) {
	const threshold = 4096
	start := func(edit func(*QPConfig)) *solo {
		s, _ := newResponding(t, func(c *QPConfig) {
			c.PMTU, c.SACKThreshold = 4096, threshold
			if edit != nil {
				edit(c)
			}
		})
		return s
	}
	for _, c := range []struct {
		name   string
		octets []int
		want   []int
	}{
		{"small packets count 1,024 each", []int{0, 1, 1023, 1024, 0, 0, 0, 0, 0, 0}, []int{4, 9}},
		{"large ones their payload", []int{2048, 2048, 1, 2048, 1025, 1024}, []int{2, 5}},
		{"exactly the threshold is not beyond it", []int{4096, 0, 4096, 4095, 4096}, []int{1, 3}},
	} {
		if got := start(nil).sackAt(sized(500, c.octets...)...); !slices.Equal(got, c.want) {
			t.Errorf("%s: SACKs at %v, want %v", c.name, got, c.want)
		}
	}
	s := start(func(c *QPConfig) { c.MinAckPacket = 0 })
	if got := s.sackAt(sized(500, 0, 0, 0, 4096, 0, 1)...); !slices.Equal(got, []int{5}) {
		t.Errorf("without a minimum SACKs at %v, want 5 alone", got)
	}
	// Three packets of 1 KB are counted when something else causes a SACK. Then four more do not
	// reach beyond the threshold, and a fifth does.
	edited := func(psn uint32, f func(*packet.MRC)) packet.MRC {
		p := request(psn, nil)
		f(&p)
		return p
	}
	for name, cause := range map[string]struct {
		edit func(*QPConfig)
		next uint32 // PSN after it
		p    packet.MRC
	}{
		"AR":        {nil, 504, edited(503, func(p *packet.MRC) { p.BTH.AckReq = true })},
		"CE":        {nil, 504, edited(503, func(p *packet.MRC) { p.IPv6.TrafficClass |= packet.CE })},
		"rtx":       {nil, 504, edited(503, func(p *packet.MRC) { p.BTH.Retransmission = true })},
		"duplicate": {nil, 503, request(500, nil)},
		"probe":     {nil, 503, packet.MRC{BTH: packet.MRCBTH{Opcode: packet.OpMRCProbe}}},
		"trimmed packet, without NACKs": {func(c *QPConfig) {
			c.Local.TrimNACK = false
		}, 503, edited(503, func(p *packet.MRC) {
			p.IPv6.TrafficClass = packet.TrafficClass(packet.DefaultDSCPClasses().Trimmed, packet.ECT0)
		})},
	} {
		s := start(cause.edit)
		if got := s.sackAt(sized(500, 0, 0, 0)...); len(got) != 0 {
			t.Fatalf("%s: SACKs at %v before it", name, got)
		}
		if got := s.sackAt(cause.p); len(got) != 1 {
			t.Fatalf("%s: no SACK", name)
		}
		if got := s.sackAt(sized(cause.next, 0, 0, 0, 0, 0, 0)...); !slices.Equal(got, []int{4}) {
			t.Errorf("%s: then SACKs at %v, want 4: the SACK that it caused resets the count", name, got)
		}
	}
}

// TestProbeFollowsSACKRules: the SACK that answers a reliability probe is a SACK like any other
// (OCP MRC 1.0, section 7.4.6 and 7.5.2, MRC-050): m says whether the probe was marked, and
// max_psn_range, CC_STATE and bitmap are the present ones.
func TestProbeFollowsSACKRules(t *testing.T) {
	for _, c := range []struct {
		name string
		ecn  uint8
		m    packet.SACKMark
	}{
		{"not ECN-capable", packet.NotECT, 0b00}, {"not marked", packet.ECT0, 0b00},
		{"marked", packet.CE, 0b01},
	} {
		s, _ := newResponding(t, func(c *QPConfig) {
			c.Penalty = func(time.Duration) (uint8, bool) {
				return 9, true
			}
		})
		s.give(request(500, make([]byte, 100)))
		s.give(request(502, make([]byte, 100)))
		if err := s.qp.SetMPR(3); err != nil {
			t.Fatal(err)
		}
		p := packet.MRC{BTH: packet.MRCBTH{Opcode: packet.OpMRCProbe}, PETH: packet.PETH{ProbeID: 77}}
		p.IPv6.TrafficClass = packet.TrafficClass(packet.DefaultDSCPClasses().Trimmable, c.ecn)
		p.SetEV(testEV)
		out := s.give(p)
		if len(out) != 1 {
			t.Fatalf("%s: %d answers", c.name, len(out))
		}
		h := out[0].SETH
		if h.Mark != c.m || !h.Probe || h.MPR != 3 || h.CackPSN != 500 || h.SACKBitmap != 0b101 {
			t.Errorf("%s: SETH %+v, want m %d, pr, mpr 3", c.name, h, c.m)
		}
		n, err := h.NSCC()
		octets := 2 * (8 + 12 + 4 + 16 + 100 + 4 + 40)
		if want := (packet.NSCC{OOOCount: 1, RcvdBytes: uint32((octets + 255) / 256), RcvCwndPenalty: 9,
			RestoreCwnd: true}); err != nil || n != want {
			t.Errorf("%s: CC_STATE %+v, %v, want %+v", c.name, n, err, want)
		}
	}
}
