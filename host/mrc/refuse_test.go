package mrc

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// TestAdmission: packets for which a resource is missing are refused with the reasons of table 7-3,
// and taken when they come again.
func TestAdmission(t *testing.T) {
	for _, reason := range []packet.NACKReason{packet.NACKNoBitmap, packet.NACKNoPacketBuffer,
		packet.NACKNoResource, packet.NACKUnexpectedEvent} {
		full := true
		s, memory := newResponding(t, func(c *QPConfig) {
			c.Admit = func(_ time.Duration, psn uint32, octets int) (packet.NACKReason, bool) {
				if psn != 502 || octets != 1 {
					t.Errorf("asked for PSN %d with %d octets, want 502 with 1", psn, octets)
				}
				return reason, !full
			}
		})
		p := request(502, []byte("x"))
		p.BTH.Retransmission, p.BTH.Timestamped, p.TSETH = true, true,
			packet.TSETH{Timestamp: 99, Type: packet.TSETHTimestamp}
		out := s.give(p)
		if len(out) != 1 || out[0].BTH.Opcode != packet.OpMRCNACK {
			t.Fatalf("%v: answered with %v", reason, opcodes(out))
		}
		n, b := out[0].NETH, out[0].BTH
		if want := uint16(out[0].Len() - packet.EthernetLen - packet.IPv6Len); out[0].UDP.Length != want {
			t.Errorf("%v: UDP length %d, want the NACK's own %d", reason, out[0].UDP.Length, want)
		}
		if n.Reason != reason || n.PSN != 502 || b.PSN != 502 || !b.Retransmission || n.Timestamp != 99 ||
			n.Entropy != testEV || n.CCType != packet.CCTypeTimestamp ||
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

// TestTrimmedPackets: what is left of a trimmed packet is never placed, and answered as the
// connection was set up (OCP MRC 1.0, §7.5.3).
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
		{"duplicate", false, true, true, []packet.Opcode{packet.OpMRCSACK, packet.OpMRCNACK},
			packet.NACKTrimmed},
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
			trimmed, err := (packet.Trimmer{DSCP: s.wire.DSCP, Size: packet.MinTrimLen,
				SetLength: setLength}).Trim(bytes.Clone(whole), c.lastHop)
			if err != nil || len(trimmed) != packet.MinTrimLen {
				t.Fatal(err, len(trimmed))
			}
			before := s.qp.responder.maxRcv
			s.host.Receive(s.now, 1, trimmed)
			out := s.take()
			if !slices.Equal(opcodes(out), c.want) {
				t.Fatalf("%s: answered with %v, want %v", c.name, opcodes(out), c.want)
			}
			if !bytes.Equal(memory, make([]byte, len(memory))) || s.qp.responder.maxRcv != before ||
				s.qp.CackPSN() != 499 {
				t.Errorf("%s: a trimmed packet was taken for a whole one", c.name)
			}
			a := out[len(out)-1]
			if c.reason != 0 {
				n := a.NETH
				if n.Reason != c.reason || n.PSN != 501 || n.Timestamp != 31 || n.Entropy != testEV {
					t.Errorf("%s: %+v", c.name, n)
				}
				if want := uint16(len(whole) - packet.EthernetLen - packet.IPv6Len); a.UDP.Length != want {
					t.Errorf("%s: UDP length %d of the NACK, want that of the whole packet, %d", c.name,
						a.UDP.Length, want)
				}
			} else if a.SETH.AckPSN() != 499 || a.SETH.SACKBitmap>>2&1 != 0 {
				t.Errorf("%s: the SACK acknowledges the trimmed packet: %+v", c.name, a.SETH)
			}
		}
	}
}

// TestTrimmedRefusals: out-of-window rules hold for trimmed packets too; other packets than
// requests are not trimmed.
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
	if out := s.take(); len(out) != 0 || s.refused(RefusedWindow) != 1 ||
		s.refused(RefusedTrimmed) != 1 || s.qp.SendQueueLen() != 1 {
		t.Errorf("answered with %v, refused %v", opcodes(out), s.host.Counters().Refused.Map())
	}
}

// TestShrunkWindow: with dynamic MPR, packets between the present and the negotiated window are
// refused aloud, those beyond both in silence (§7.5.4).
func TestShrunkWindow(t *testing.T) {
	s, _ := newResponding(t, nil)
	if err := s.qp.SetMPR(2); err != nil {
		t.Fatal(err)
	}
	for d, want := range map[int]packet.NACKReason{255: 0, 256: packet.NACKPSNOutOfRange,
		1023: packet.NACKPSNOutOfRange, 1024: 0} {
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
	for _, edit := range []func(*QPConfig){
		func(c *QPConfig) { c.Local.DynamicMPR = false }, func(c *QPConfig) {
			c.Remote.DynamicMPR = false
		}} {
		s, _ = newResponding(t, edit)
		if s.qp.SetMPR(2) == nil {
			t.Error("SetMPR is accepted though one end does not support it")
		}
		if out := s.give(p); out[0].SETH.MPR != 0 {
			t.Errorf("mpr %d, want 0", out[0].SETH.MPR)
		}
	}
}

// TestTrimmedLengths: switch chips correct different lengths when trimming. A host accepts a
// trimmed packet with the lengths of the whole packet, with a corrected outer length, with all IPv6
// lengths corrected, and with the UDP length corrected too, with and without a tunnel.
func TestTrimmedLengths(t *testing.T) {
	set := func(frame []byte, at, from int) {
		binary.BigEndian.PutUint16(frame[at:], uint16(len(frame)-from))
	}
	for _, tunnel := range []bool{false, true} {
		inner := packet.EthernetLen // where the inner IPv6 header begins
		if tunnel {
			inner += packet.IPv6Len
		}
		const length = 4 // of an IPv6 header, and of a UDP header
		for name, correct := range map[string]func(frame []byte){
			"none": func([]byte) {},
			"the outer header": func(f []byte) {
				set(f, packet.EthernetLen+length, packet.EthernetLen+packet.IPv6Len)
			},
			"all of IPv6": func(f []byte) {
				set(f, packet.EthernetLen+length, packet.EthernetLen+packet.IPv6Len)
				set(f, inner+length, inner+packet.IPv6Len)
			},
			"all of IPv6, and UDP": func(f []byte) {
				set(f, packet.EthernetLen+length, packet.EthernetLen+packet.IPv6Len)
				set(f, inner+length, inner+packet.IPv6Len)
				set(f, inner+packet.IPv6Len+length, inner+packet.IPv6Len)
			},
		} {
			s, memory := newResponding(t, func(q *QPConfig) { q.Local.TrimNACK = true })
			p := request(501, bytes.Repeat([]byte("x"), 200))
			if tunnel {
				p.Encapsulated = true
				p.Outer = packet.IPv6{HopLimit: 64, TrafficClass: s.wire.DSCP.Trimmed << 2,
					Src: netip.MustParseAddr("2001:db8::1"), Dst: netip.MustParseAddr("5f00:0:1:f000::")}
			}
			frame := s.frame(p)[:inner-packet.EthernetLen+packet.MinTrimLen]
			frame = bytes.Clone(frame)
			frame[packet.EthernetLen] = 0x60 | s.wire.DSCP.Trimmed>>2
			frame[packet.EthernetLen+1] = s.wire.DSCP.Trimmed << 6
			correct(frame)
			s.host.Receive(s.now, 1, frame)
			out := s.take()
			if len(out) == 0 || out[len(out)-1].BTH.Opcode != packet.OpMRCNACK ||
				out[len(out)-1].NETH.Reason != packet.NACKTrimmed {
				t.Errorf("in a tunnel: %t, corrected: %s: answered with %v, want a NACK", tunnel, name,
					opcodes(out))
			}
			if !bytes.Equal(memory, make([]byte, len(memory))) {
				t.Errorf("in a tunnel: %t, corrected: %s: a trimmed packet was placed", tunnel, name)
			}
		}
	}
}
