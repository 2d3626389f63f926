package mrc

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// The tests in this file read and write octets by the tables of the specification, without the
// codec's constants and structures, because a test with the codec would repeat a wrong number or
// field of the codec on both sides.

// octets is a host with one port and one queue pair, 0x123456; the test plays the peer and compares
// frames octet by octet.
type octets struct {
	t    *testing.T
	host *Host
	qp   *QP
	now  time.Duration
	out  [][]byte
}

// Where a frame's parts begin.
const (
	atIPv6 = 14
	atUDP  = atIPv6 + 40
	atBTH  = atUDP + 8
)

func newOctets(t *testing.T, edit func(*QPConfig)) *octets {
	o := &octets{t: t}
	o.host = newTestHost(t, 0, 1, func(_ time.Duration, _ int, frame []byte) {
		o.out = append(o.out, bytes.Clone(frame))
	})
	c := testQPConfig(0, 1, 1)
	c.QPN, c.RemoteQPN, c.SQPSN, c.RQPSN, c.PMTU, c.ProbeTimeout = 0x123456, 0xABCDEF, 0x100, 0x200,
		256, 20*time.Microsecond
	c.Sprayer = NewRoundRobin(Path{EV: 0xC1230456, Port: 1})
	if edit != nil {
		edit(&c)
	}
	var err error
	if o.qp, err = o.host.CreateQP(c); err != nil {
		t.Fatal(err)
	}
	if _, err := o.host.RegisterMR(0x1000, 7, make([]byte, 1<<16),
		verbs.AccessRemoteWrite); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *octets) post(op verbs.Op, va uint64, n int, immediate uint32) {
	o.t.Helper()
	data := bytes.Repeat([]byte{0xEE}, n)
	if err := o.qp.PostSend(o.now, verbs.WorkRequest{Op: op, Data: data, RemoteVA: va, RKey: 7,
		Immediate: immediate}); err != nil {
		o.t.Fatal(err)
	}
}

// run advances the host for d, and returns what was sent since the last call of run or give.
func (o *octets) run(d time.Duration) [][]byte {
	for until := o.now + d; ; {
		next, pending := o.host.Advance(o.now)
		if !pending || next > until {
			o.now = until
			break
		}
		o.now = next
	}
	out := o.out
	o.out = nil
	return out
}

// give hands the host a packet of the peer: a DSCP, and the octets from the BTH to what is before
// the ICRC, in hexadecimal. A packet with the DSCP of trimmed ones gets the UDP length of 1,000
// octets.
func (o *octets) give(dscp byte, transport string) [][]byte {
	o.t.Helper()
	b := unhex(o.t, transport)
	hostMAC := testMAC(0, 1)
	src, dst := testAddr(1).As16(), testAddr(0).As16()
	f := bytes.Clone(hostMAC[:])
	f = append(f, gatewayMAC[:]...)
	f = append(f, 0x86, 0xDD)
	f = append(f, 0x60|dscp>>2, dscp<<6, 0x04, 0x56) // version, DSCP, ECN 00, flow label 0x00456
	f = binary.BigEndian.AppendUint16(f, uint16(8+len(b)+4))
	f = append(append(append(f, 17, 64), src[:]...), dst[:]...)
	length := 8 + len(b) + 4
	if dscp == 35 {
		length = 1000
	}
	f = append(f, 0xC1, 0x23, 4791>>8, 4791&0xFF, byte(length>>8), byte(length), 0, 0)
	f = append(f, b...)
	datagram := packet.AppendICRC(f[atIPv6:])
	o.host.Receive(o.now, 1, append(f[:atIPv6:atIPv6], datagram...))
	if n := o.host.Counters().Refused; n.Total() > 0 && dscp != 35 {
		o.t.Logf("refused: %v", n.Map())
	}
	out := o.out
	o.out = nil
	return out
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// like checks the octets of a frame from the BTH on, up to the ICRC: hexadecimal, in which a dot is
// any digit, and +n at the end is n octets of payload or padding more.
func like(t *testing.T, what string, frame []byte, pattern string) {
	t.Helper()
	more := 0
	if head, n, ok := strings.Cut(pattern, "+"); ok {
		pattern = head
		if _, err := fmt.Sscan(n, &more); err != nil {
			t.Fatal(err)
		}
	}
	pattern = strings.ReplaceAll(pattern, " ", "")
	got := hex.EncodeToString(frame[atBTH : len(frame)-4])
	if len(got) != len(pattern)+2*more {
		t.Errorf("%s: %d octets from the BTH on, want %d: %s", what, len(got)/2, len(pattern)/2+more,
			got[:min(len(got), 160)])
		return
	}
	for i := range pattern {
		if pattern[i] != '.' && pattern[i] != got[i] {
			t.Errorf("%s: octet %d differs:\n got %s\nwant %s", what, i/2, got[:len(pattern)], pattern)
			return
		}
	}
}

// TestRequestsOnTheWire: the opcodes and header stacks of WRITEs by table 6-2, with the fields of
// tables 6-3 to 6-9, and the opcode of reliability probes and endpoint requests, octet by octet.
func TestRequestsOnTheWire(t *testing.T) {
	o := newOctets(t, nil)
	o.post(verbs.OpWrite, 0x1000, 600, 0)
	o.post(verbs.OpWriteImmediate, 0x2000, 300, 0x11223344)
	o.post(verbs.OpWrite, 0x3000, 10, 0)
	o.post(verbs.OpWriteImmediate, 0x4000, 4, 0x55667788)
	out := o.run(10 * time.Microsecond)
	// BTH: opcode, SE M pad tver, p_key, var-res, dqp, a R rtx ts inv-res, psn. METH: RQMSN, MSN.
	// TSETH: tx_timestamp, tsr and reserved, ftype 1. RETH: va, r_key, dmalen. RQMSN means nothing
	// outside WRITEs with Immediate.
	want := []struct{ what, octets string }{
		{"WRITE First", "c6 00 ffff 00 abcdef 10 000100  .... 0001  .... 0001  0000000000001000 " +
			"00000007 00000258 +256"},
		{"WRITE Middle", "c7 00 ffff 00 abcdef 10 000101  .... 0001  .... 0001  0000000000001100 " +
			"00000007 00000258 +256"},
		{"WRITE Last", "c8 00 ffff 00 abcdef 90 000102  .... 0001  .... 0001  0000000000001200 " +
			"00000007 00000258 +88"},
		{"WRITE First", "c6 00 ffff 00 abcdef 10 000103  0001 0002  .... 0001  0000000000002000 " +
			"00000007 0000012c +256"},
		{"WRITE Last with Immediate",
			"c9 00 ffff 00 abcdef 90 000104  0001 0002  .... 0001  0000000000002100 00000007 0000012c  " +
				"11223344 +44"},
		{"WRITE Only", "ca 20 ffff 00 abcdef 90 000105  .... 0003  .... 0001  0000000000003000 " +
			"00000007 0000000a +12"},
		{"WRITE Only with Immediate",
			"cb 00 ffff 00 abcdef 90 000106  0002 0004  .... 0001  0000000000004000 00000007 00000004  " +
				"55667788 +4"},
	}
	if len(out) != len(want) {
		t.Fatalf("%d packets, want %d", len(out), len(want))
	}
	for i, w := range want {
		like(t, w.what, out[i], w.octets)
		if f := out[i]; f[12] != 0x86 || f[13] != 0xDD || f[atIPv6+6] != 17 ||
			binary.BigEndian.Uint16(f[atUDP+2:]) != 4791 || f[atUDP+6] != 0 || f[atUDP+7] != 0 {
			t.Errorf("%s: Ethernet, IPv6 and UDP % x", w.what, f[:atBTH])
		}
	}
	// PETH (table 7-18): probe_id; spdcid, dpdcid: source and destination QPN[15:0]; timestamp.
	out = o.run(20 * time.Microsecond)
	if len(out) != 1 {
		t.Fatalf("%d packets after a pause, want a probe", len(out))
	}
	like(t, "Reliability PROBE Request", out[0],
		"de 00 ffff 00 abcdef 00 000000  0000 00 .. 0001 0000 3456 cdef .... 0001")
	if _, err := o.host.SendEVProbe(o.now,
		EVProbe{Peer: testAddr(1), Path: Path{EV: 1, Port: 1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := o.host.SendPortStatus(o.now, testAddr(1), Path{EV: 1, Port: 1}); err != nil {
		t.Fatal(err)
	}
	// ERTH (table 7-20): op 1 is EV Probe, 0 Port Status Update with the mask: bit 1 is port 1.
	like(t, "Endpoint Request, EV Probe", o.out[0],
		"d8 00 ffff 00 000002 00 000001  00 01 00 .. 00000000 00000000 .... 0001")
	like(t, "Endpoint Request, Port Status Update", o.out[1],
		"d8 00 ffff 00 000002 00 000002  00 00 00 .. 00000002 00000000 .... 0001")
}

const (
	controlDSCP = 43
	dataDSCP    = 7
	trimmedDSCP = 35

	// A WRITE Only of 4 octets with AckReq, timestamp 0x0042: its PSN goes between the two halves.
	writeHead, writeTail = "ca 00 ffff 00 123456 90",
		"0000 0001  0042 0001  0000000000001000 00000007 00000004  eeeeeeee"
)

// TestAnswersOnTheWire: SACK, transport ACK, NACK, the answer to a probe and the endpoint response
// by tables 6-2, 7-6, 7-13, 7-15, 7-17 and 7-23, octet by octet, for requests that the test writes
// octet by octet.
func TestAnswersOnTheWire(t *testing.T) {
	o := newOctets(t, nil)
	out := o.give(dataDSCP, writeHead+"000200"+writeTail)
	if len(out) != 2 {
		t.Fatalf("%d answers to a WRITE, want SACK and ACK", len(out))
	}
	// SETH: type, nxt, m, pr, ack_psn_offset | entropy | spdcid, dpdcid | cack_psn | cc_type,
	// cc_fl, mpr, sack_offset | bitmap. CC_STATE: tx_timestamp, ooo_count | r_c, rcv_cwnd_pen,
	// rcvd_bytes: 8+12+4+4+16+4+4 octets of UDP and 40 are one unit.
	like(t, "SACK", out[0], "dc 00 ffff 00 abcdef 00 000200  00 00 0000 c1230456 3456 cdef 00 "+
		"000200 00 08 0000 0000000000000001  0042 0000 00 000001")
	like(t, "Acknowledge", out[1], "d1 00 ffff 00 abcdef 00 000200  1f 000001")
	for _, f := range out {
		if dscp := (f[atIPv6]&0xF)<<2 | f[atIPv6+1]>>6; dscp != controlDSCP {
			t.Errorf("answer with DSCP %d, want %d", dscp, controlDSCP)
		}
	}
	// One above a gap: ooo_count 1, bit 2 of the bitmap, ack_psn_offset 2.
	out = o.give(dataDSCP, writeHead+"000202"+writeTail)
	like(t, "SACK above a gap", out[0],
		"dc 00 ffff 00 abcdef 00 000200  00 00 0002 c1230456 3456 cdef 00 000200 00 08 0000 "+
			"0000000000000005  0042 0001 00 000001")
	// NETH: nack_reason 0x01, entropy, spdcid, dpdcid, nack_psn, cc_type 2 (timestamp),
	// tx_timestamp.
	out = o.give(trimmedDSCP, writeHead+"000201"+writeTail)
	if len(out) != 1 {
		t.Fatalf("%d answers to a trimmed WRITE, want a NACK", len(out))
	}
	like(t, "NACK", out[0], "dd 00 ffff 00 abcdef 00 000201  0000 01 .. c1230456 3456 cdef 00 "+
		"000201 20 00 0042")
	if n := binary.BigEndian.Uint16(out[0][atUDP+4:]); n != 1000 {
		t.Errorf("UDP length %d of the NACK, want that of the packet before it was trimmed, 1000", n)
	}
	// A probe, 0xDE: pr is set, probe_id comes back in ack_psn_offset.
	out = o.give(dataDSCP, "de 00 ffff 00 123456 00 000000  0000 00 00 beef 0000 cdef 3456 0043 0001")
	like(t, "answer to a probe", out[0],
		"dc 00 ffff 00 abcdef 00 000000  00 02 beef c1230456 3456 cdef 00 000200 00 08 .... "+
			"................  0043 0001 00 000001")
	out = o.give(dataDSCP, "d8 00 ffff 00 000002 00 00a55a  00 01 00 00 00000000 00000000 0044 0001")
	like(t, "Endpoint Response", out[0],
		"d9 00 ffff 00 000002 00 00a55a  00 04 0000 000000000000000000000000000000000000000000000000 "+
			"0044 0000 00000000")
}

// TestControlFromTheWire: a host does by SACK, NACK, ACK and endpoint response what tables 6-2,
// 7-15 and 7-17 say, when the test writes these octet by octet.
func TestControlFromTheWire(t *testing.T) {
	o := newOctets(t, func(c *QPConfig) { c.ProbeTimeout = 0 })
	for range 3 {
		o.post(verbs.OpWrite, 0x1000, 4, 0)
	}
	if out := o.run(time.Microsecond); len(out) != 3 {
		t.Fatalf("%d packets, want 3", len(out))
	}
	o.give(controlDSCP, "dc 00 ffff 00 123456 00 000100  00 00 0002 c1230456 cdef 3456 00 000100 00 "+
		"08 0000 0000000000000005  0000 0001 00 000001")
	if _, done := o.qp.Poll(); done || o.qp.UnackPSN() != 0x100 ||
		o.qp.record(0x101).state != flying || o.qp.record(0x102).state != arrived {
		t.Errorf("after a SACK of 0x100 and 0x102: unack_psn %#x, records %v and %v", o.qp.UnackPSN(),
			o.qp.record(0x101).state, o.qp.record(0x102).state)
	}
	o.give(controlDSCP,
		"dd 00 ffff 00 123456 00 000101  0000 01 00 c1230456 cdef 3456 00 000101 20 00 0000")
	out := o.run(time.Microsecond)
	if len(out) != 1 {
		t.Fatalf("%d packets after a NACK, want one again", len(out))
	}
	like(t, "sent again", out[0],
		// a, rtx and ts
		"ca 00 ffff 00 abcdef b0 000101  .... 0002 .... 0001 0000000000001000 00000007 00000004 +4")
	o.give(controlDSCP, "d1 00 ffff 00 123456 00 000102  1f 000003")
	for i := range 3 {
		if c, done := o.qp.Poll(); !done || c.Status != verbs.StatusOK {
			t.Errorf("completion %d after the ACK: %+v, %v", i, c, done)
		}
	}
	id, err := o.host.SendEVProbe(o.now, EVProbe{Peer: testAddr(1), Path: Path{EV: 1, Port: 1}})
	if err != nil {
		t.Fatal(err)
	}
	o.give(controlDSCP, fmt.Sprintf(
		"d9 00 ffff 00 000002 00 00%04x  00 04 0000 %048x 0000 0000 00000000", id, 0))
	if r, ok := o.host.PollEndpoint(); !ok || !r.Answered || r.ID != id {
		t.Errorf("EV probe: %+v, %v, want an answer", r, ok)
	}
}

// TestNACKCodesOnTheWire: the codes of tables 7-3 and 7-17, as octets: each is what a responder
// sends for its event, and a requester sends the packet again for all of them but 0x19, which ends
// the connection.
func TestNACKCodesOnTheWire(t *testing.T) {
	for _, c := range []struct {
		name  string
		code  byte
		event func(o *octets) [][]byte // what has a responder send it
		fatal bool
	}{
		{"TRIMMED", 0x01, func(o *octets) [][]byte {
			return o.give(trimmedDSCP, writeHead+"000200"+writeTail)
		}, false},
		{"TRIMMED_LASTHOP", 0x02, func(o *octets) [][]byte {
			o.host.cfg.Wire.DSCP.Trimmed, o.host.cfg.Wire.DSCP.TrimmedLastHop = 39, trimmedDSCP
			return o.give(trimmedDSCP, writeHead+"000200"+writeTail)
		}, false},
		{"NO_BITMAP", 0x06, admitted(packet.NACKNoBitmap), false},
		{"NO_PKT_BUFFER", 0x07, admitted(packet.NACKNoPacketBuffer), false},
		{"NO_RESOURCE", 0x0A, admitted(packet.NACKNoResource), false},
		{"PSN_OOR_WINDOW", 0x0B, func(o *octets) [][]byte {
			if err := o.qp.SetMPR(1); err != nil {
				o.t.Fatal(err)
			}
			return o.give(dataDSCP, writeHead+"000280"+writeTail) // 128 after the expected one
		}, false},
		{"UNEXP_EVENT", 0x19, admitted(packet.NACKUnexpectedEvent), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := c.event(newOctets(t, nil))
			if len(out) != 1 || out[0][atBTH] != 0xDD || out[0][atBTH+12+2] != c.code {
				t.Fatalf("answered with %x, want one NACK with reason %#02x", out, c.code)
			}
			o := newOctets(t, func(c *QPConfig) { c.ProbeTimeout = 0 })
			o.post(verbs.OpWrite, 0x1000, 4, 0)
			o.run(time.Microsecond)
			o.give(controlDSCP, fmt.Sprintf(
				"dd 00 ffff 00 123456 00 000100  0000 %02x 00 c1230456 cdef 3456 00 000100 20 00 0000", c.code))
			again := o.run(time.Microsecond)
			if o.qp.Failed() != c.fatal || len(again) == 1 == c.fatal {
				t.Errorf("after a NACK with %#02x: failed %v, %d packets sent again", c.code, o.qp.Failed(),
					len(again))
			}
		})
	}
}

// admitted refuses a WRITE for a reason of the responder's own.
func admitted(reason packet.NACKReason) func(*octets) [][]byte {
	return func(o *octets) [][]byte {
		o.qp.cfg.Admit = func(time.Duration, uint32, int) (packet.NACKReason, bool) {
			return reason, false
		}
		return o.give(dataDSCP, writeHead+"000200"+writeTail)
	}
}

// TestEntropyOnTheWire: table 7-2, as octets (MRC-034, MRC-109): the entropy of UDP source ports
// and of structured EVs is the UDP source port and the low 16 bits of the flow label, that of SRv6
// the outer destination and the SRH's segment. An answer carries an entropy of the responder's own,
// and the entropy of the answered packet in its SETH.
func TestEntropyOnTheWire(t *testing.T) {
	container, segment := netip.MustParseAddr("fcbb:bb00:1:2:3::"),
		netip.MustParseAddr("fcbb:bb00:4:5::")
	srh, err := packet.NewSRH(packet.NextHeaderIPv6, []netip.Addr{segment}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		path      Path
		inner     int // where the inner IPv6 header begins
		sport     uint16
		flowLabel uint32
	}{
		{"UDP source port", Path{EV: 0xC3A50000, Port: 1}, atIPv6, 0xC3A5, 0},
		{"structured EV", Path{EV: 0x8001F00F, Port: 1}, atIPv6, 0x8001, 0x0F00F},
		{"SRv6", Path{EV: 0x00070000, Port: 1, Route: &Route{Dst: container}}, atIPv6 + 40, 7, 0},
		{"SRv6 with an SRH", Path{EV: 0x00080000, Port: 1, Route: &Route{Dst: container, SRH: &srh}},
			atIPv6 + 40 + 24, 8, 0},
	} {
		o := newOctets(t, func(q *QPConfig) { q.Sprayer = NewRoundRobin(c.path) })
		o.post(verbs.OpWrite, 0x1000, 4, 0)
		frames := o.run(time.Microsecond)
		frames = append(frames, o.run(30 * time.Microsecond)[0]) // a reliability probe
		if frames[1][c.inner+48] != 0xDE {
			t.Fatalf("%s: opcode %#02x, want a probe", c.name, frames[1][c.inner+48])
		}
		for _, f := range frames {
			label := binary.BigEndian.Uint32(f[c.inner:]) & 0xFFFFF
			sport := binary.BigEndian.Uint16(f[c.inner+40:])
			if sport != c.sport || label != c.flowLabel || f[c.inner+6] != 17 {
				t.Errorf("%s: source port %#x, flow label %#x, want %#x and %#x", c.name, sport, label, c.sport,
					c.flowLabel)
			}
			if c.inner == atIPv6 {
				continue
			}
			if dst := netip.AddrFrom16([16]byte(f[atIPv6+24:])); dst != container {
				t.Errorf("%s: outer destination %v, want %v", c.name, dst, container)
			}
			if c.inner == atIPv6+40+24 {
				if got := netip.AddrFrom16([16]byte(f[atIPv6+40+8:])); f[atIPv6+6] != 43 || got != segment {
					t.Errorf("%s: next header %d, segment %v, want 43 and %v", c.name, f[atIPv6+6], got, segment)
				}
			}
		}
	}
	o := newOctets(t, func(q *QPConfig) { q.Sprayer = NewRoundRobin(Path{EV: 0x8001F00F, Port: 1}) })
	for _, f := range o.give(dataDSCP, writeHead+"000200"+writeTail) {
		if sport, label := binary.BigEndian.Uint16(f[atUDP:]),
			binary.BigEndian.Uint32(f[atIPv6:])&0xFFFFF; sport != 0x8001 || label != 0xF00F {
			t.Errorf("answer with source port %#x, flow label %#x", sport, label)
		}
		if f[atBTH] == 0xDC && hex.EncodeToString(f[atBTH+12+4:atBTH+12+8]) != "c1230456" {
			t.Errorf("SACK reflects % x", f[atBTH+12+4:atBTH+12+8])
		}
	}
}

// TestAttributesAreConfigured: queue pairs get the attributes of table 10-1 with their
// configuration, out of band (section 10.1.2.2, MRC-148). A new queue pair asks its peer for
// nothing, and what the peer's attributes allow holds from its first packet on, before it has heard
// anything.
func TestAttributesAreConfigured(t *testing.T) {
	dscp := func(f []byte) byte { return (f[atIPv6]&0xF)<<2 | f[atIPv6+1]>>6 }
	for _, c := range []struct {
		name   string
		remote Attributes
		op     verbs.Op
		sent   int  // of 600 messages of one packet
		dscp   byte // DSCP_TRIMMABLE 7, DSCP_NO_TRIM 3
	}{
		{"MRC_QP_MAX_MPR_DEST 1", Attributes{MaxMPR: 1, TrimNACK: true}, verbs.OpWrite, 128, 7},
		{"MRC_QP_MAX_MPR_DEST 3", Attributes{MaxMPR: 3, TrimNACK: true}, verbs.OpWrite, 384, 7},
		{"MRC_QP_MAX_WIMM_DEST 5", Attributes{MaxMPR: 8, MaxWIMM: 5, TrimNACK: true},
			verbs.OpWriteImmediate, 5, 7},
		{"no MRC_DEVICE_CAP_TRIM_NACK", Attributes{MaxMPR: 1}, verbs.OpWrite, 128, 3},
	} {
		o := newOctets(t, func(q *QPConfig) { q.Remote, q.ProbeTimeout = c.remote, 0 })
		if out := o.run(time.Second); len(out) != 0 {
			t.Fatalf("%s: a new queue pair sends %x", c.name, out[0])
		}
		for range 600 {
			o.post(c.op, 0x1000, 4, 0)
		}
		out := o.run(100 * time.Microsecond)
		if len(out) != c.sent {
			t.Errorf("%s: %d packets before anything is heard, want %d", c.name, len(out), c.sent)
		}
		for _, f := range out {
			if op := f[atBTH]; op != 0xCA && op != 0xCB || dscp(f) != c.dscp {
				t.Fatalf("%s: opcode %#02x with DSCP %d, want a WRITE with %d", c.name, op, dscp(f), c.dscp)
			}
		}
	}
	for _, c := range []struct {
		local, remote bool // MRC_QP_DYNAMIC_MPR
		mpr           byte // of SACKs
	}{{true, true, 2}, {true, false, 0}, {false, true, 0}, {false, false, 0}} {
		o := newOctets(t, func(q *QPConfig) {
			q.Local.MaxMPR, q.Local.DynamicMPR, q.Remote.DynamicMPR = 2, c.local, c.remote
		})
		if got := o.give(dataDSCP, writeHead+"000200"+writeTail)[0][atBTH+12+17]; got != c.mpr {
			t.Errorf("MRC_QP_DYNAMIC_MPR %v here and %v at the peer: SACK with mpr %d, want %d", c.local,
				c.remote, got, c.mpr)
		}
	}
	for _, c := range []struct {
		trimNACK bool // MRC_DEVICE_CAP_TRIM_NACK of this end
		opcode   byte
	}{{true, 0xDD}, {false, 0xDC}} {
		o := newOctets(t, func(q *QPConfig) { q.Local.TrimNACK = c.trimNACK })
		if got := o.give(trimmedDSCP, writeHead+"000200"+writeTail)[0][atBTH]; got != c.opcode {
			t.Errorf("MRC_DEVICE_CAP_TRIM_NACK %v: a trimmed packet is answered with %#02x, want %#02x",
				c.trimNACK, got, c.opcode)
		}
	}
}
