package mrc

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/endpoint"
	"github.com/weft-sdn/weft/packet"
)

// newResponding is a solo whose queue pair expects PSN 500 first, and its memory.
func newResponding(t testing.TB, edit func(*QPConfig)) (*solo, []byte) {
	s := newSolo(t, edit)
	memory := make([]byte, 1<<16)
	if _, err := s.host.RegisterMR(0, testRKey, memory, endpoint.AccessRemoteWrite); err != nil {
		t.Fatal(err)
	}
	return s, memory
}

// TestTrackerStart: the initial values of table 7-5.
func TestTrackerStart(t *testing.T) {
	for _, rq := range []uint32{0, 1, 500, packet.PSNMask} {
		k := newTracker(rq, 128)
		before := packet.PSNAdd(rq, -1)
		if k.cack != before || k.maxRcv != before || k.lowestUnsacked != before || k.ooo != 0 {
			t.Errorf("rq_psn %#x: %+v", rq, k)
		}
	}
	s, _ := newResponding(t, nil)
	if s.qp.CackPSN() != 499 || s.qp.rcvdBytes != 0 || s.qp.sackTrigger != 0 {
		t.Errorf("responder starts with %#x, %d, %d", s.qp.CackPSN(), s.qp.rcvdBytes, s.qp.sackTrigger)
	}
}

// TestSACKWorkedExample is the example of OCP MRC 1.0, §7.5.2.2: with cack_psn 405 and lowest_unsacked_psn above 673, PSNs 673, 704, 705 and 680
// arrive and cause a SACK. Its sack_offset of 268 takes a max_rcv_psn of at least 737; with 705, the rule gives 236.
func TestSACKWorkedExample(t *testing.T) {
	for _, c := range []struct {
		maxRcv uint32
		offset int16
	}{{737, 268}, {800, 268}, {736, 267}, {705, 236}} {
		k := newTracker(406, 1024)
		k.lowestUnsacked = 690
		if c.maxRcv > 705 {
			k.receive(c.maxRcv)
		}
		for _, psn := range []uint32{673, 704, 705} {
			k.receive(psn)
			k.noteUnsacked(psn, false)
		}
		k.receive(680) // causes the SACK
		if k.lowestUnsacked != 673 {
			t.Errorf("max_rcv_psn %d: lowest_unsacked_psn %d, want 673", c.maxRcv, k.lowestUnsacked)
		}
		base := k.sackBase()
		if got := packet.PSNOffset(base, k.cack); got != c.offset || k.lowestUnsacked != base+64 {
			t.Errorf("max_rcv_psn %d: sack_offset %d, want %d; then lowest_unsacked_psn %d", c.maxRcv, got, c.offset, k.lowestUnsacked)
		}
		bits := k.sackBits(base)
		for psn := base; psn < base+64; psn++ {
			want := slices.Contains([]uint32{673, 704, 705, 680, c.maxRcv}, psn)
			if bits>>(psn-base)&1 != 0 != want {
				t.Errorf("max_rcv_psn %d: bit of %d is not %v", c.maxRcv, psn, want)
			}
		}
	}
}

// dumb is the tracker with a map, and the pseudo-code of §7.5.2.2 word for word over numbers that do not wrap.
type dumb struct {
	start                  uint32
	cack, maxRcv, unsacked int // less start
	got                    map[int]bool
	size                   int
}

func (d *dumb) ooo() int {
	n := 0
	for psn := range d.got {
		if psn > d.cack {
			n++
		}
	}
	return n
}

func (d *dumb) receive(psn int, sack bool) (base int) {
	d.got[psn] = true
	d.maxRcv = max(d.maxRcv, psn)
	advanced := false
	for d.got[d.cack+1] {
		d.cack++
		advanced = true
	}
	if !sack {
		if advanced {
			if d.cack >= d.unsacked {
				d.unsacked = d.cack
			}
		} else if psn < d.unsacked {
			d.unsacked = psn
		}
		return 0
	}
	base = d.unsacked
	if base+64 >= d.maxRcv {
		base = max(d.maxRcv-64, d.cack)
	}
	base = min(max(base, d.cack), d.cack+d.size-64)
	d.unsacked = base + 64
	return base
}

// TestTrackerAgainstTwin: the tracker and a dumb twin say the same of random packets, through the wrap of PSNs.
func TestTrackerAgainstTwin(t *testing.T) {
	const size = 256
	sacks, full := 0, 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 4))
		start := [2]uint32{rng.Uint32N(1 << 24), 1<<24 - rng.Uint32N(200)}[rng.IntN(2)] & packet.PSNMask
		k := newTracker(start, size)
		d := &dumb{start: start, cack: -1, maxRcv: -1, unsacked: -1, got: map[int]bool{}, size: size}
		spread := 1 + rng.IntN(size)
		for range 500 {
			n := d.cack + 1 + rng.IntN(spread)
			if rng.IntN(4) == 0 {
				n = d.cack + 1
			}
			psn := packet.PSNAdd(start, n)
			want := fresh
			if d.got[n] {
				want = duplicate
			}
			if got := k.standing(psn); got != want {
				t.Fatalf("seed %d: PSN %#x stands %v, want %v", seed, psn, got, want)
			}
			if want == duplicate {
				continue
			}
			sack := rng.IntN(4) == 0
			base := d.receive(n, sack)
			k.receive(psn)
			advanced := false
			for k.advance() {
				advanced = true
			}
			if sack {
				sacks++
				got := k.sackBase()
				if got != packet.PSNAdd(start, base) {
					t.Fatalf("seed %d: sack_base %#x, want %#x", seed, got, packet.PSNAdd(start, base))
				}
				bits := k.sackBits(got)
				for i := range 64 {
					if has := d.got[base+i] || base+i == d.cack; bits>>i&1 != 0 != has {
						t.Fatalf("seed %d: bit %d of base %d (cack %d) is not %v", seed, i, base, d.cack, has)
					}
				}
				if bits == 1<<64-1 {
					full++
				}
			} else {
				k.noteUnsacked(psn, advanced)
			}
			if k.cack != packet.PSNAdd(start, d.cack) || k.maxRcv != packet.PSNAdd(start, d.maxRcv) || k.ooo != d.ooo() ||
				k.lowestUnsacked != packet.PSNAdd(start, d.unsacked) {
				t.Fatalf("seed %d: %+v, want %+v", seed, k, d)
			}
		}
	}
	if sacks < 5000 {
		t.Errorf("the test tests little: %d SACKs", sacks)
	}
}

// TestWindow: where packets lie and what becomes of them (OCP MRC 1.0, §6.3.1, §7.5.4).
func TestWindow(t *testing.T) {
	const size = 8 * packet.MPRUnit
	for _, c := range []struct {
		name    string
		d       int // from ePSN, 500
		answers []packet.Opcode
		refused Refusal
		cack    uint32
	}{
		{"expected", 0, nil, refusals, 500},
		{"out of order", 5, nil, refusals, 499},
		{"last in the window", size - 1, nil, refusals, 499},
		{"beyond the window", size, nil, RefusedWindow, 499},
		{"far beyond", 1 << 22, nil, RefusedWindow, 499},
		{"duplicate", -1, []packet.Opcode{packet.OpMRCSACK, packet.OpMRCAcknowledge}, RefusedDuplicate, 499},
		{"old duplicate", 1 - 1<<23, []packet.Opcode{packet.OpMRCSACK, packet.OpMRCAcknowledge}, RefusedDuplicate, 499},
		{"too old", -1 << 23, nil, RefusedWindow, 499},
	} {
		s, memory := newResponding(t, nil)
		out := s.give(request(packet.PSNAdd(500, c.d), []byte("x")))
		if !slices.Equal(opcodes(out), c.answers) {
			t.Errorf("%s: answers %v, want %v", c.name, opcodes(out), c.answers)
		}
		if s.qp.CackPSN() != c.cack {
			t.Errorf("%s: cack_psn %d, want %d", c.name, s.qp.CackPSN(), c.cack)
		}
		if placed := memory[0] == 'x'; placed != (c.refused == refusals) {
			t.Errorf("%s: placed is %v", c.name, placed)
		}
		if c.refused != refusals && s.refused(c.refused) != 1 {
			t.Errorf("%s: refused %v, want %v", c.name, s.host.Counters().Refused.Map(), c.refused)
		}
	}
}

// TestDuplicateAboveCack: a duplicate above the cumulative acknowledgement is SACKed, and its AckReq answered when that reaches it.
func TestDuplicateAboveCack(t *testing.T) {
	s, _ := newResponding(t, nil)
	s.give(request(501, nil))
	again := request(501, nil)
	again.BTH.AckReq, again.BTH.Retransmission = true, true
	out := s.give(again)
	if !slices.Equal(opcodes(out), []packet.Opcode{packet.OpMRCSACK}) || out[0].SETH.AckPSN() != 501 || !out[0].BTH.Retransmission {
		t.Errorf("duplicate answered with %v", opcodes(out))
	}
	out = s.give(request(500, nil))
	if acks := only(out, packet.OpMRCAcknowledge); len(acks) != 1 || acks[0].BTH.PSN != 501 {
		t.Errorf("after the gap: %v", opcodes(out))
	}
	if n := s.qp.Counters().RequestsReceived; n != 2 {
		t.Errorf("%d requests executed, want 2", n)
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
		// Packets of nothing count for MIN_ACK_PACKET_SIZE, 1 KB: more than 4096 octets are five of them.
		{name: "octets", psns: []uint32{500, 501, 502, 503, 504, 505, 506, 507, 508, 509}, sacks: []int{4, 9}},
		{name: "asked", psns: []uint32{500, 501, 502}, edit: map[int]func(*packet.MRC){1: ar}, sacks: []int{1}, acks: []uint32{501}},
		{
			name: "marked", psns: []uint32{500, 501}, sacks: []int{0},
			edit: map[int]func(*packet.MRC){0: func(p *packet.MRC) { p.IPv6.TrafficClass |= packet.CE }},
		},
		{
			name: "sent again", psns: []uint32{500, 501}, sacks: []int{1},
			edit: map[int]func(*packet.MRC){1: func(p *packet.MRC) { p.BTH.Retransmission = true }},
		},
		// The packet that asks comes before the others: it is answered at once, and again when they are all there.
		{name: "asked early", psns: []uint32{503, 500, 502, 501, 504}, edit: map[int]func(*packet.MRC){0: ar}, sacks: []int{0, 3}, acks: []uint32{503}},
		{
			name: "asked twice", psns: []uint32{501, 503, 502, 500}, edit: map[int]func(*packet.MRC){0: ar, 1: ar}, sacks: []int{0, 1, 3}, acks: []uint32{503},
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
					if a.SETH.AckPSN() != psn || a.SETH.Entropy != testEV || a.BTH.Retransmission != p.BTH.Retransmission {
						t.Errorf("SACK for %d: ack_psn %d, entropy %#x, rtx %v", psn, a.SETH.AckPSN(), a.SETH.Entropy, a.BTH.Retransmission)
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
		c.Penalty = func(time.Duration) (uint8, bool) { return 200, true } // beyond the field: its greatest value
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
	if a.BTH.PSN != 500 || a.BTH.DestQPN != 0x6789A || h.SPDCID != 0x2345 || h.DPDCID != 0x789A || h.CackPSN != 500 || h.AckPSN() != 503 ||
		h.SACKBase() != 500 || h.SACKBitmap != 0b11101 || h.Probe || h.MPR != 8 || h.Entropy != testEV {
		t.Errorf("BTH %+v SETH %+v", a.BTH, h)
	}
	n, err := h.NSCC()
	if err != nil {
		t.Fatal(err)
	}
	// nominal_pktsize: UDP length and 40. The lengths are those of the packets given: UDP, BTH, METH, RETH, payload, padding, ICRC.
	octets := 4*(8+12+4+16+4+40) + 100 + 52 + 52 + 8 + 4 // one with TSETH
	if want := (packet.NSCC{Timestamp: 77, OOOCount: 3, RcvdBytes: uint32((octets + 255) / 256), RcvCwndPenalty: 127, RestoreCwnd: true}); n != want {
		t.Errorf("CC_STATE %+v, want %+v", n, want)
	}
	if dscp := packet.DSCP(a.IPv6.TrafficClass); dscp != s.wire.DSCP.Control || packet.ECN(a.IPv6.TrafficClass) != packet.NotECT || a.UDP.Checksum != 0 {
		t.Errorf("SACK with traffic class %#x, UDP checksum %#x", a.IPv6.TrafficClass, a.UDP.Checksum)
	}
	s, _ = newResponding(t, nil) // no responder flow control
	p = request(500, nil)
	p.BTH.AckReq = true
	if n, _ := s.give(p)[0].SETH.NSCC(); n.RcvCwndPenalty != 0 || n.RestoreCwnd || n.Timestamp != 0 {
		t.Errorf("CC_STATE %+v, want no penalty and no timestamp", n)
	}
}

// TestPayloadLengths: the length errors of table 6-14, each packet by itself.
func TestPayloadLengths(t *testing.T) {
	first, middle, last, single := packet.OpMRCWriteFirst, packet.OpMRCWriteMiddle, packet.OpMRCWriteLast, packet.OpMRCWriteOnly
	for _, c := range []struct {
		op        packet.Opcode
		n, dmalen int
		ok        bool
	}{
		{single, 0, 0, true}, {single, 1, 1, true}, {single, 256, 256, true}, {single, 257, 257, false}, {single, 1, 2, false}, {single, 2, 1, false},
		{first, 256, 257, true}, {first, 255, 300, false}, {first, 256, 256, false}, {first, 257, 600, false},
		{middle, 256, 513, true}, {middle, 256, 512, false}, {middle, 100, 900, false}, {middle, 0, 900, false},
		{last, 1, 257, true}, {last, 256, 512, true}, {last, 0, 512, false}, {last, 44, 300, true}, {last, 45, 300, false}, {last, 100, 100, false},
		{single, 0, 1 << 31, false}, {first, 256, 1<<31 + 1, false},
	} {
		t.Run(fmt.Sprintf("%v/%d/%d", c.op, c.n, c.dmalen), func(t *testing.T) {
			s, _ := newResponding(t, nil)
			p := request(500, make([]byte, c.n))
			p.BTH.Opcode, p.RETH.DMALength = c.op, uint32(c.dmalen)
			out := s.give(p)
			nak := only(out, packet.OpMRCAcknowledge)
			if c.ok && (len(nak) != 0 || s.qp.Failed()) {
				t.Errorf("answered with %v", opcodes(out))
			}
			if !c.ok && (len(nak) != 1 || nak[0].AETH.Syndrome != packet.NAKSyndrome(packet.NAKInvalidRequest) || nak[0].BTH.PSN != 500 || !s.qp.Failed()) {
				t.Errorf("answered with %v, want NAK Invalid Request", opcodes(out))
			}
		})
	}
}

// TestRegionBounds: every packet is checked against the memory region, not only the first of a message.
func TestRegionBounds(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*packet.MRC)
		ok   bool
	}{
		{"inside", func(p *packet.MRC) { p.RETH.VA = 1<<16 - 256 }, true},
		{"over the end", func(p *packet.MRC) { p.RETH.VA = 1<<16 - 255 }, false},
		{"behind", func(p *packet.MRC) { p.RETH.VA = 1 << 40 }, false},
		{"wraps", func(p *packet.MRC) { p.RETH.VA = 1<<64 - 1 }, false},
		{"unknown key", func(p *packet.MRC) { p.RETH.RKey = 9 }, false},
		{"no right", func(p *packet.MRC) { p.RETH.RKey = 8 }, false},
	} {
		s, _ := newResponding(t, nil)
		if _, err := s.host.RegisterMR(0, 8, make([]byte, 1<<16), 0); err != nil {
			t.Fatal(err)
		}
		p := part(500, 1, 600) // the middle one, which comes first
		c.edit(&p)
		if out := s.give(p); len(out) != 0 {
			t.Errorf("%s: answered with %v before its turn", c.name, opcodes(out))
		}
		nak := only(s.give(part(499, 1, 512+256)), packet.OpMRCAcknowledge) // PSN 500; nothing asks for an ACK
		if c.ok != (len(nak) == 0) {
			t.Errorf("%s: %d NAKs", c.name, len(nak))
		}
		if !c.ok && (nak[0].AETH.Syndrome != packet.NAKSyndrome(packet.NAKRemoteAccess) || nak[0].BTH.PSN != 501) {
			t.Errorf("%s: NAK %v PSN %d, want remote access error, PSN 501", c.name, nak[0].AETH.Syndrome, nak[0].BTH.PSN)
		}
	}
}

// TestOrdering: the four rows of table 6-13. The packets of two operations arrive in every order; each WRITE with Immediate completes when its data and all before
// it have been placed, and in the order sent.
func TestOrdering(t *testing.T) {
	for _, c := range []struct{ first, second bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
		var packets []packet.MRC
		for m, imm := range []bool{c.first, c.second} {
			for i := range 2 {
				p := part(500+uint32(2*m), i, 300)
				p.RETH.VA += uint64(1000 * m)
				for j := range p.Payload {
					p.Payload[j] = byte(m + 1)
				}
				if imm && i == 1 {
					p.BTH.Opcode, p.ImmDt = packet.OpMRCWriteLastImmediate, packet.ImmDt(m+1)
				}
				packets = append(packets, p)
			}
		}
		orders := 0
		permute(4, func(order []int) {
			orders++
			s, memory := newResponding(t, nil)
			for id := range uint64(2) {
				if err := s.qp.PostRecv(endpoint.RecvRequest{ID: id + 1}); err != nil {
					t.Fatal(err)
				}
			}
			var done []uint32
			arrived := map[int]bool{}
			for _, i := range order {
				s.give(packets[i])
				arrived[i] = true
				if p := &packets[i]; !bytes.Equal(memory[p.RETH.VA:][:len(p.Payload)], p.Payload) {
					t.Errorf("%v in order %v: packet %d not placed when it arrived", c, order, i)
				}
				for got, ok := s.qp.Poll(); ok; got, ok = s.qp.Poll() {
					done = append(done, got.Immediate)
					for before := range 2 * int(got.Immediate) {
						if !arrived[before] {
							t.Errorf("%v in order %v: %d completed before packet %d arrived", c, order, got.Immediate, before)
						}
					}
					if got.ID != uint64(len(done)) || got.Octets != 300 {
						t.Errorf("%v in order %v: completion %+v", c, order, got)
					}
				}
			}
			var want []uint32
			if c.first {
				want = append(want, 1)
			}
			if c.second {
				want = append(want, 2)
			}
			if !slices.Equal(done, want) || s.qp.MSN() != 2 || s.qp.CackPSN() != 503 {
				t.Errorf("%v in order %v: completed %v, want %v; MSN %d", c, order, done, want, s.qp.MSN())
			}
		})
		if orders != 24 {
			t.Fatalf("%d orders", orders)
		}
	}
}

// permute calls f with every order of 0 to n-1.
func permute(n int, f func([]int)) {
	var extend func([]int)
	extend = func(order []int) {
		if len(order) == n {
			f(order)
			return
		}
		for i := range n {
			if !slices.Contains(order, i) {
				extend(append(slices.Clone(order), i))
			}
		}
	}
	extend(nil)
}

func immediateRequest(psn uint32, imm uint32) packet.MRC {
	p := request(psn, []byte{1})
	p.BTH.Opcode, p.ImmDt = packet.OpMRCWriteOnlyImmediate, packet.ImmDt(imm)
	return p
}

// TestImmediateLimit: the responder keeps as much immediate data as it said, and refuses more when its turn comes (table 6-15).
func TestImmediateLimit(t *testing.T) {
	s, _ := newResponding(t, func(c *QPConfig) { c.Local.MaxWIMM = 2 })
	for id := range uint64(8) {
		if err := s.qp.PostRecv(endpoint.RecvRequest{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	for psn := uint32(503); psn > 500; psn-- { // 501 finds no room
		if out := s.give(immediateRequest(psn, psn)); len(out) != 0 {
			t.Fatalf("PSN %d answered with %v", psn, opcodes(out))
		}
	}
	nak := only(s.give(request(500, nil)), packet.OpMRCAcknowledge)
	if len(nak) != 1 || nak[0].BTH.PSN != 501 || nak[0].AETH.Syndrome != packet.NAKSyndrome(packet.NAKInvalidRequest) || !s.qp.Failed() {
		t.Fatalf("answered with %+v, want NAK Invalid Request for PSN 501", nak)
	}
	for c, ok := s.qp.Poll(); ok; c, ok = s.qp.Poll() {
		if c.Status != endpoint.StatusFlushed {
			t.Errorf("completion %+v: no WRITE with Immediate may complete", c)
		}
	}

	// As many as it said, out of order, over and over: fine.
	s, _ = newResponding(t, func(c *QPConfig) { c.Local.MaxWIMM = 2 })
	for i := range uint32(10) {
		if err := s.qp.PostRecv(endpoint.RecvRequest{}); err != nil {
			t.Fatal(err)
		}
		s.give(immediateRequest(500+i^1, 500+i^1))
	}
	for i := range uint32(10) {
		if c, ok := s.qp.Poll(); !ok || c.Immediate != 500+i || c.Status != endpoint.StatusOK {
			t.Errorf("completion %+v, want immediate data %d", c, 500+i)
		}
	}
}

// TestNoReceiveRequest: a WRITE with Immediate that finds no receive request ends the connection with NAK Remote Operational Error (§6.3.3, table 6-15).
func TestNoReceiveRequest(t *testing.T) {
	s, memory := newResponding(t, nil)
	s.give(immediateRequest(501, 1))
	nak := only(s.give(request(500, nil)), packet.OpMRCAcknowledge)
	if len(nak) != 1 || nak[0].BTH.PSN != 501 || nak[0].AETH.Syndrome != packet.NAKSyndrome(packet.NAKRemoteOperational) || !s.qp.Failed() {
		t.Errorf("answered with %+v, want NAK Remote Operational Error for PSN 501", nak)
	}
	if memory[0] != 1 {
		t.Error("its data was not placed")
	}
}

// TestReservedOpcodes: an operation that MRC does not have is refused with NAK Invalid Request in its turn; what is no request is dropped (tables 6-2, 6-14).
func TestReservedOpcodes(t *testing.T) {
	requests, dropped := 0, 0
	for o := packet.Opcode(0xC0); o < 0xE0; o++ {
		if (packet.MRCBTH{Opcode: o}).BTH().Opcode != o {
			t.Fatal("opcode")
		}
		if _, assigned := (packet.MRCBTH{Opcode: o}).Extensions(); assigned {
			continue
		}
		s, _ := newResponding(t, nil)
		p := request(500, nil)
		p.BTH.Opcode = o
		out := s.give(p)
		switch {
		case len(out) == 0 && s.refused(RefusedOpcode) == 1 && !s.qp.Failed():
			dropped++
		case len(only(out, packet.OpMRCAcknowledge)) == 1 && out[len(out)-1].AETH.Syndrome == packet.NAKSyndrome(packet.NAKInvalidRequest) && s.qp.Failed():
			requests++
		default:
			t.Errorf("opcode %#x: answered with %v, refused %v", uint8(o), opcodes(out), s.host.Counters().Refused.Map())
		}
	}
	if requests != 12 || dropped != 8 {
		t.Errorf("%d requests refused, %d packets dropped", requests, dropped)
	}
}

// TestAdmission: packets for which a resource is missing are refused with the reasons of table 7-3, and taken when they come again.
func TestAdmission(t *testing.T) {
	for _, reason := range []packet.NACKReason{packet.NACKNoBitmap, packet.NACKNoPacketBuffer, packet.NACKNoResource, packet.NACKUnexpectedEvent} {
		full := true
		s, memory := newResponding(t, func(c *QPConfig) {
			c.Admit = func(time.Duration, uint32) (packet.NACKReason, bool) { return reason, !full }
		})
		p := request(502, []byte("x"))
		p.BTH.Retransmission, p.BTH.Timestamped, p.TSETH = true, true, packet.TSETH{Timestamp: 99, Type: packet.TSETHTimestamp}
		out := s.give(p)
		if len(out) != 1 || out[0].BTH.Opcode != packet.OpMRCNACK {
			t.Fatalf("%v: answered with %v", reason, opcodes(out))
		}
		n, b := out[0].NETH, out[0].BTH
		if want := uint16(out[0].Len() - packet.EthernetLen - packet.IPv6Len); out[0].UDP.Length != want {
			t.Errorf("%v: UDP length %d, want the NACK's own %d", reason, out[0].UDP.Length, want)
		}
		if n.Reason != reason || n.PSN != 502 || b.PSN != 502 || !b.Retransmission || n.Timestamp != 99 || n.Entropy != testEV || n.CCType != packet.CCTypeTimestamp ||
			n.SPDCID != uint16(s.qp.cfg.QPN) || n.DPDCID != uint16(s.qp.cfg.RemoteQPN) {
			t.Errorf("%v: %+v", reason, n)
		}
		if memory[0] != 0 || s.qp.standing(502) != fresh {
			t.Errorf("%v: a refused packet was taken", reason)
		}
		full = false
		if s.give(p); memory[0] != 'x' {
			t.Errorf("%v: not taken the second time", reason)
		}
	}
}

// TestTrimmedPackets: what is left of a trimmed packet is never placed, and answered as the connection was set up (OCP MRC 1.0, §7.5.3).
func TestTrimmedPackets(t *testing.T) {
	for _, c := range []struct {
		name     string
		lastHop  bool
		supports bool
		before   bool // the packet arrived whole before
		want     []packet.Opcode
		reason   packet.NACKReason
	}{
		{"trimmed", false, true, false, []packet.Opcode{packet.OpMRCNACK}, packet.NACKTrimmed},
		{"last hop", true, true, false, []packet.Opcode{packet.OpMRCNACK}, packet.NACKTrimmedLastHop},
		{"unsupported", false, false, false, []packet.Opcode{packet.OpMRCSACK}, 0},
		{"duplicate", false, true, true, []packet.Opcode{packet.OpMRCSACK, packet.OpMRCNACK}, packet.NACKTrimmed},
	} {
		for _, setLength := range []bool{false, true} {
			s, memory := newResponding(t, func(q *QPConfig) { q.Local.TrimNACK = c.supports })
			p := request(501, bytes.Repeat([]byte("x"), 200))
			p.BTH.Timestamped, p.TSETH = true, packet.TSETH{Timestamp: 31, Type: packet.TSETHTimestamp}
			p.BTH.AckReq = true
			if c.before {
				s.give(p)
				clear(memory)
			}
			whole := s.frame(p)
			trimmed, err := (packet.Trimmer{DSCP: s.wire.DSCP, Size: packet.MinTrimLen, SetLength: setLength}).Trim(bytes.Clone(whole), c.lastHop)
			if err != nil || len(trimmed) != packet.MinTrimLen {
				t.Fatal(err, len(trimmed))
			}
			before := s.qp.responder.maxRcv
			s.host.Receive(s.now, 1, trimmed)
			out := s.take()
			if !slices.Equal(opcodes(out), c.want) {
				t.Fatalf("%s: answered with %v, want %v", c.name, opcodes(out), c.want)
			}
			if !bytes.Equal(memory, make([]byte, len(memory))) || s.qp.responder.maxRcv != before || s.qp.CackPSN() != 499 {
				t.Errorf("%s: a trimmed packet was taken for a whole one", c.name)
			}
			a := out[len(out)-1]
			if c.reason != 0 {
				n := a.NETH
				if n.Reason != c.reason || n.PSN != 501 || n.Timestamp != 31 || n.Entropy != testEV {
					t.Errorf("%s: %+v", c.name, n)
				}
				if want := uint16(len(whole) - packet.EthernetLen - packet.IPv6Len); a.UDP.Length != want {
					t.Errorf("%s: UDP length %d of the NACK, want that of the whole packet, %d", c.name, a.UDP.Length, want)
				}
			} else if a.SETH.AckPSN() != 499 || a.SETH.SACKBitmap>>2&1 != 0 {
				t.Errorf("%s: the SACK acknowledges the trimmed packet: %+v", c.name, a.SETH)
			}
		}
	}
}

// TestTrimmedBeyondTheWindow: out-of-window rules hold for trimmed packets too; other packets than requests are not trimmed.
func TestTrimmedRefusals(t *testing.T) {
	s, _ := newResponding(t, nil)
	trim := func(p packet.MRC) []byte {
		f := s.frame(p)
		f[packet.EthernetLen] = 6<<4 | s.wire.DSCP.Trimmed>>2
		f[packet.EthernetLen+1] = s.wire.DSCP.Trimmed << 6
		return f
	}
	s.write(1)
	s.settle(time.Microsecond)
	s.host.Receive(s.now, 1, trim(request(500+8*128, nil)))
	s.host.Receive(s.now, 1, trim(ackPacket(100, plainACK)))
	if out := s.take(); len(out) != 0 || s.refused(RefusedWindow) != 1 || s.refused(RefusedTrimmed) != 1 || s.qp.SendQueueLen() != 1 {
		t.Errorf("answered with %v, refused %v", opcodes(out), s.host.Counters().Refused.Map())
	}
}

// TestShrunkWindow: with dynamic MPR, packets between the present and the negotiated window are refused aloud, those beyond both in silence (§7.5.4).
func TestShrunkWindow(t *testing.T) {
	s, _ := newResponding(t, nil)
	if err := s.qp.SetMPR(2); err != nil {
		t.Fatal(err)
	}
	for d, want := range map[int]packet.NACKReason{255: 0, 256: packet.NACKPSNOutOfRange, 1023: packet.NACKPSNOutOfRange, 1024: 0} {
		out := only(s.give(request(500+uint32(d), nil)), packet.OpMRCNACK)
		if want == 0 && len(out) != 0 || want != 0 && (len(out) != 1 || out[0].NETH.Reason != want) {
			t.Errorf("ePSN + %d: %d NACKs, want %v", d, len(out), want)
		}
	}
	p := request(500, nil)
	p.BTH.AckReq = true
	if out := s.give(p); out[0].SETH.MPR != 2 || s.qp.MPR() != 2 {
		t.Errorf("mpr %d, want 2", out[0].SETH.MPR)
	}
	for _, bad := range []int{0, -1, 9, 256} {
		if s.qp.SetMPR(bad) == nil || s.qp.MPR() != 2 {
			t.Errorf("SetMPR(%d) is accepted", bad)
		}
	}
	for _, edit := range []func(*QPConfig){func(c *QPConfig) { c.Local.DynamicMPR = false }, func(c *QPConfig) { c.Remote.DynamicMPR = false }} {
		s, _ = newResponding(t, edit)
		if s.qp.SetMPR(2) == nil {
			t.Error("SetMPR is accepted though one end does not support it")
		}
		if out := s.give(p); out[0].SETH.MPR != 0 {
			t.Errorf("mpr %d, want 0", out[0].SETH.MPR)
		}
	}
}

// TestServiceTime: how a responder's service time shows (OCP MRC 1.0, §7.5.5.8 and table 7-23). An answer waits for its port as long as that still sends.
func TestServiceTime(t *testing.T) {
	const wait = 10*time.Microsecond + 50 // 78 units
	for _, c := range []struct {
		supported, present, own bool
		want                    uint16
	}{
		{false, false, false, 0}, {false, true, false, 1000}, {true, false, false, 78}, {true, true, false, 1078}, {true, true, true, 1000},
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
		probe := packet.MRC{BTH: packet.MRCBTH{Opcode: packet.OpMRCProbe}, PETH: packet.PETH{ProbeID: 5, TSETH: ts}}
		if n, _ := s.give(probe)[0].SETH.NSCC(); n.Timestamp != c.want {
			t.Errorf("%+v: answer to a probe says %d", c, n.Timestamp)
		}
		busy()
		ev := packet.MRC{BTH: packet.EndpointHeader(packet.OpMRCEndpointRequest, 5), ERTH: packet.ERTH{Op: packet.EndpointEVProbe, TSETH: ts}}
		if got := s.give(ev)[0].EETH.Timestamp; got != c.want {
			t.Errorf("%+v: answer to an EV probe says %d", c, got)
		}
	}
}

// TestProbeAnswers: a reliability probe is answered with a SACK that carries its identifier and the state of the queue pair; no PSN plays a part (§7.4.6).
func TestProbeAnswers(t *testing.T) {
	s, _ := newResponding(t, nil)
	s.give(request(500, nil))
	s.give(request(502, nil))
	p := packet.MRC{BTH: packet.MRCBTH{Opcode: packet.OpMRCProbe, PSN: 0xABCDEF}, PETH: packet.PETH{ProbeID: 0xFFFE}}
	p.SetEV(testEV)
	out := s.give(p)
	if len(out) != 1 {
		t.Fatalf("%d answers", len(out))
	}
	h := out[0].SETH
	if !h.Probe || h.ProbeID() != 0xFFFE || h.CackPSN != 500 || h.SACKBitmap != 0b101 || h.Entropy != testEV || out[0].BTH.PSN != 0 {
		t.Errorf("BTH %+v SETH %+v", out[0].BTH, h)
	}
	if s.qp.CackPSN() != 500 || s.qp.Counters().RequestsReceived != 2 {
		t.Error("the probe changed what was received")
	}
}

// TestFailedResponder: a request to a queue pair in the error state is answered with NACK UNEXP_EVENT.
func TestFailedResponder(t *testing.T) {
	s, _ := newResponding(t, nil)
	s.give(immediateRequest(500, 1)) // no receive request
	out := s.give(request(501, nil))
	if len(out) != 1 || out[0].BTH.Opcode != packet.OpMRCNACK || out[0].NETH.Reason != packet.NACKUnexpectedEvent || s.refused(RefusedQPState) != 1 {
		t.Errorf("answered with %v", opcodes(out))
	}
	if out := s.give(ackPacket(1, plainACK)); len(out) != 0 {
		t.Errorf("an ACK answered with %v", opcodes(out))
	}
}
