package mrc

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// newResponding is a solo whose queue pair expects PSN 500 first, and its memory.
func newResponding(t testing.TB, edit func(*QPConfig)) (*solo, []byte) {
	s := newSolo(t, edit)
	memory := make([]byte, 1<<16)
	if _, err := s.host.RegisterMR(0, testRKey, memory, verbs.AccessRemoteWrite); err != nil {
		t.Fatal(err)
	}
	return s, memory
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
		{"duplicate", -1, []packet.Opcode{packet.OpMRCSACK, packet.OpMRCAcknowledge}, RefusedDuplicate,
			499},
		{"old duplicate", 1 - 1<<23, []packet.Opcode{packet.OpMRCSACK, packet.OpMRCAcknowledge},
			RefusedDuplicate, 499},
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

// TestPayloadLengths: the length errors of table 6-14, each packet by itself.
func TestPayloadLengths(t *testing.T) {
	first, middle, last, single := packet.OpMRCWriteFirst, packet.OpMRCWriteMiddle,
		packet.OpMRCWriteLast, packet.OpMRCWriteOnly
	for _, c := range []struct {
		op        packet.Opcode
		n, dmalen int
		ok        bool
	}{
		{single, 0, 0, true}, {single, 1, 1, true}, {single, 256, 256, true}, {single, 257, 257, false},
		{single, 1, 2, false}, {single, 2, 1, false},
		{first, 256, 257, true}, {first, 255, 300, false}, {first, 256, 256, false},
		{first, 257, 600, false},
		{middle, 256, 513, true}, {middle, 256, 512, false}, {middle, 100, 900, false},
		{middle, 0, 900, false},
		{last, 1, 257, true}, {last, 256, 512, true}, {last, 0, 512, false}, {last, 44, 300, true},
		{last, 45, 300, false}, {last, 100, 100, false},
		{single, 0, 1 << 31, false}, {first, 256, 1<<31 - 1, true}, {first, 256, 1 << 31, true},
		{first, 256, 1<<31 + 1, false},
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
			if !c.ok && (len(nak) != 1 ||
				nak[0].AETH.Syndrome != packet.NAKSyndrome(packet.NAKInvalidRequest) || nak[0].BTH.PSN != 500 ||
				!s.qp.Failed()) {
				t.Errorf("answered with %v, want NAK Invalid Request", opcodes(out))
			}
		})
	}
}

// TestRegionBounds: every packet is checked against the memory region, not only the first of a
// message.
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
		// PSN 500; nothing asks for an ACK
		nak := only(s.give(part(499, 1, 512+256)), packet.OpMRCAcknowledge)
		if c.ok != (len(nak) == 0) {
			t.Errorf("%s: %d NAKs", c.name, len(nak))
		}
		if !c.ok && (nak[0].AETH.Syndrome != packet.NAKSyndrome(packet.NAKRemoteAccess) ||
			nak[0].BTH.PSN != 501) {
			t.Errorf("%s: NAK %v PSN %d, want remote access error, PSN 501", c.name, nak[0].AETH.Syndrome,
				nak[0].BTH.PSN)
		}
	}
}

// TestOrdering: the four rows of table 6-13. The packets of two operations arrive in every order;
// each WRITE with Immediate completes when its data and all before it have been placed, and in the
// order sent.
func TestOrdering(t *testing.T) {
	for _, c := range []struct{ first, second bool }{{false, false}, {false, true}, {true, false},
		{true, true}} {
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
				if err := s.qp.PostRecv(verbs.RecvRequest{ID: id + 1}); err != nil {
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
							t.Errorf("%v in order %v: %d completed before packet %d arrived", c, order, got.Immediate,
								before)
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

// TestImmediateLimit: the responder keeps as much immediate data as it said, and refuses more when
// its turn comes (table 6-15).
func TestImmediateLimit(t *testing.T) {
	s, _ := newResponding(t, func(c *QPConfig) { c.Local.MaxWIMM = 2 })
	for id := range uint64(8) {
		if err := s.qp.PostRecv(verbs.RecvRequest{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	for psn := uint32(503); psn > 500; psn-- { // 501 finds no room
		if out := s.give(immediateRequest(psn, psn)); len(out) != 0 {
			t.Fatalf("PSN %d answered with %v", psn, opcodes(out))
		}
	}
	nak := only(s.give(request(500, nil)), packet.OpMRCAcknowledge)
	if len(nak) != 1 || nak[0].BTH.PSN != 501 ||
		nak[0].AETH.Syndrome != packet.NAKSyndrome(packet.NAKInvalidRequest) || !s.qp.Failed() {
		t.Fatalf("answered with %+v, want NAK Invalid Request for PSN 501", nak)
	}
	for c, ok := s.qp.Poll(); ok; c, ok = s.qp.Poll() {
		if c.Status != verbs.StatusFlushed {
			t.Errorf("completion %+v: no WRITE with Immediate may complete", c)
		}
	}

	// The peer keeps within the limit of the responder, out of order, again and again: the responder
	// accepts the requests.
	s, _ = newResponding(t, func(c *QPConfig) { c.Local.MaxWIMM = 2 })
	for i := range uint32(10) {
		if err := s.qp.PostRecv(verbs.RecvRequest{}); err != nil {
			t.Fatal(err)
		}
		s.give(immediateRequest(500+i^1, 500+i^1))
	}
	for i := range uint32(10) {
		if c, ok := s.qp.Poll(); !ok || c.Immediate != 500+i || c.Status != verbs.StatusOK {
			t.Errorf("completion %+v, want immediate data %d", c, 500+i)
		}
	}
}

// TestAfterAFault: the responder drops requests after a request that it cannot execute, and
// executes requests before it.
func TestAfterAFault(t *testing.T) {
	s, memory := newResponding(t, nil)
	bad := request(502, []byte("x"))
	bad.RETH.RKey = 99
	s.give(bad)
	after := request(503, []byte("y"))
	after.BTH.AckReq = true
	if out := s.give(after); len(out) != 0 || memory[0] != 0 || s.refused(RefusedFault) != 1 {
		t.Errorf("answered with %v, refused %v", opcodes(out), s.host.Counters().Refused.Map())
	}
	before := request(500, []byte("z"))
	before.BTH.AckReq = true
	out := s.give(before)
	if !slices.Equal(opcodes(out), []packet.Opcode{packet.OpMRCSACK, packet.OpMRCAcknowledge}) ||
		memory[0] != 'z' || out[0].SETH.SACKBitmap != 0b101 {
		t.Errorf("answered with %v, bitmap %b", opcodes(out), out[0].SETH.SACKBitmap)
	}
}

// TestNoReceiveRequest: a WRITE with Immediate that finds no receive request ends the connection
// with NAK Remote Operational Error (§6.3.3, table 6-15).
func TestNoReceiveRequest(t *testing.T) {
	s, memory := newResponding(t, nil)
	s.give(immediateRequest(501, 1))
	nak := only(s.give(request(500, nil)), packet.OpMRCAcknowledge)
	if len(nak) != 1 || nak[0].BTH.PSN != 501 ||
		nak[0].AETH.Syndrome != packet.NAKSyndrome(packet.NAKRemoteOperational) || !s.qp.Failed() {
		t.Errorf("answered with %+v, want NAK Remote Operational Error for PSN 501", nak)
	}
	if memory[0] != 1 {
		t.Error("its data was not placed")
	}
}

// TestReservedOpcodes: an operation that MRC does not have is refused with NAK Invalid Request in
// its turn; what is no request is dropped (tables 6-2, 6-14).
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
		case len(only(out, packet.OpMRCAcknowledge)) == 1 &&
			out[len(out)-1].AETH.Syndrome == packet.NAKSyndrome(packet.NAKInvalidRequest) && s.qp.Failed():
			requests++
		default:
			t.Errorf("opcode %#x: answered with %v, refused %v", uint8(o), opcodes(out),
				s.host.Counters().Refused.Map())
		}
	}
	if requests != 12 || dropped != 8 {
		t.Errorf("%d requests refused, %d packets dropped", requests, dropped)
	}
}

// TestFailedResponder: a request to a queue pair in the error state is answered with NACK
// UNEXP_EVENT.
func TestFailedResponder(t *testing.T) {
	s, _ := newResponding(t, nil)
	s.give(immediateRequest(500, 1)) // no receive request
	out := s.give(request(501, nil))
	if len(out) != 1 || out[0].BTH.Opcode != packet.OpMRCNACK ||
		out[0].NETH.Reason != packet.NACKUnexpectedEvent || s.refused(RefusedQPState) != 1 {
		t.Errorf("answered with %v", opcodes(out))
	}
	if out := s.give(ackPacket(1, plainACK)); len(out) != 0 {
		t.Errorf("an ACK answered with %v", opcodes(out))
	}
}
