package cm

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/packet"
)

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// fill returns the octets first, first+1, ...
func fill(n int, first byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = first + byte(i)
	}
	return b
}

// sampleREQ returns a REQ with a different value in every field, and every named bit set.
func sampleREQ() REQ {
	return REQ{
		LocalID: 0x01020304, ServiceID: ServiceID(0x4D2), CAGUID: 0x0200_5EFF_FE00_0001,
		QKey: 0x0A0B0C0D, QPN: 0x123456, ResponderResources: 3, InitiatorDepth: 5,
		RemoteTimeout: 20, Service: 2, FlowControl: true, StartingPSN: 0xABCDEF, LocalTimeout: 19,
		RetryCount: 7, PKey: 0xFFFF, PathMTU: MTU2048, RDC: true, RNRRetryCount: 6, MaxCMRetries: 15,
		SRQ: true, ExtendedService: 5, LocalLID: NoLID, RemoteLID: 0x1234,
		LocalGID: addr("2001:db8:1::1"), RemoteGID: addr("2001:db8:2::2"), FlowLabel: 0x54321,
		PacketRate: 0x23, TrafficClass: 0x68, HopLimit: 64, SL: 9, SubnetLocal: true, ACKTimeout: 18,
		Private: [PrivateREQ]byte(fill(PrivateREQ, 1)),
	}
}

// messages returns a message of each type, with its body by the tables of IBTA, without trailing
// zeros.
func messages() map[string]struct {
	m    Message
	body string
} {
	private := func(n int) string { return hex.EncodeToString(fill(n, 1)) }
	return map[string]struct {
		m    Message
		body string
	}{
		"REQ": {sampleREQ(), "01020304 00000000 00000000010604d2 02005efffe000001 00000000 0a0b0c0d" +
			"123456 03 000000 05 000000 a5 abcdef 9f ffff 4e fd ffff 1234" +
			"20010db8000100000000000000000001 20010db8000200000000000000000002" +
			"54321 023 68 40 98 90" + strings.Repeat("00", 44) + private(PrivateREQ)},
		"MRA": {MRA{LocalID: 1, RemoteID: 2, Of: OfREP, ServiceTimeout: 0x15,
			Private: [PrivateMRA]byte(fill(PrivateMRA, 1))},
			"00000001 00000002 40 a8" + private(PrivateMRA)},
		"REJ": {REJ{LocalID: 1, RemoteID: 2, Of: Timeout, Reason: InvalidMTU, InfoLen: 3,
			Info: [72]byte{7, 8, 9}, Private: [PrivateREJ]byte(fill(PrivateREJ, 1))},
			"00000001 00000002 80 06 001a 070809" + strings.Repeat("00", 69) + private(PrivateREJ)},
		"REP": {REP{LocalID: 1, RemoteID: 2, QKey: 3, QPN: 0x654321, StartingPSN: 0xFEDCBA,
			ResponderResources: 4, InitiatorDepth: 5, TargetACKDelay: 0x15,
			Failover: FailoverUnsupported, FlowControl: true, RNRRetryCount: 7, SRQ: true,
			CAGUID: 0x0102030405060708, Private: [PrivateREP]byte(fill(PrivateREP, 1))},
			"00000001 00000002 00000003 654321 00 00000000 fedcba 00 04 05 ab f0 0102030405060708" +
				private(PrivateREP)},
		"RTU": {RTU{1, 2, [PrivateRTU]byte(fill(PrivateRTU, 1))},
			"00000001 00000002" + private(PrivateRTU)},
		"DREQ": {DREQ{1, 2, 0x654321, [PrivateDREQ]byte(fill(PrivateDREQ, 1))},
			"00000001 00000002 654321 00" + private(PrivateDREQ)},
		"DREP": {DREP{1, 2, [PrivateDREP]byte(fill(PrivateDREP, 1))},
			"00000001 00000002" + private(PrivateDREP)},
		"LAP": {LAP{1, 2, 0x654321}, "00000001 00000002 00000000 654321"},
		"APR": {APR{1, 2, APRUnsupported}, "00000001 00000002 00 02"},
		"SIDR_REQ": {SIDRREQ{1, 0xFFFF, ServiceID(7), [PrivateSIDR]byte(fill(PrivateSIDR, 1))},
			"00000001 ffff 0000 0000000001060007" + private(PrivateSIDR)},
		"SIDR_REP": {SIDRREP{1, SIDRUnsupported, 2, 3, 4},
			"00000001 01 000000 000002 00 0000000000000003 00000004"},
	}
}

// TestMessages compares with the tables of IBTA volume 1, chapter 12, octet by octet.
func TestMessages(t *testing.T) {
	for name, c := range messages() {
		t.Run(name, func(t *testing.T) {
			if got := c.m.Attribute().String(); got != name {
				t.Errorf("attribute %s", got)
			}
			mad := MAD{TID: 0x1122334455667788, Message: c.m}
			want := unhex(t, "01 07 02 03 0000 0000 1122334455667788")
			want = append(want, 0, byte(c.m.Attribute()), 0, 0, 0, 0, 0, 0)
			want = append(want, unhex(t, c.body)...)
			want = append(want, make([]byte, MADLen-len(want))...)
			if got := mad.Append(nil); !bytes.Equal(got, want) {
				t.Errorf("append:\n got % x\nwant % x", got, want)
			}
			got, n, err := ParseMAD(append(want, 0xA5))
			if err != nil || n != MADLen || got != mad {
				t.Errorf("parse:\n got %+v, %d, %v\nwant %+v", got, n, err, mad)
			}
			for n := range MADLen {
				if _, took, err := ParseMAD(want[:n]); !errors.Is(err, packet.ErrTruncated) || took != 0 {
					t.Fatalf("%d octets: took %d, %v", n, took, err)
				}
			}
		})
	}
}

// TestBits: each bit of a message's body is a field's, or reserved: nothing else changes with it.
func TestBits(t *testing.T) {
	for name, c := range messages() {
		mad := MAD{Message: c.m}.Append(nil)
		ones := MAD{Message: must(t, allOnes(c.m.Attribute())).Message}.Append(nil)
		for bit := HeaderLen * 8; bit < MADLen*8; bit++ {
			in := make([]byte, MADLen)
			copy(in, mad[:HeaderLen])
			in[bit/8] = 0x80 >> (bit % 8)
			out := must(t, in).Append(nil)
			want := in[bit/8] & ones[bit/8]
			if out[bit/8] != want || bytes.Count(out[HeaderLen:], []byte{0}) < bodyLen-1 {
				t.Fatalf("%s: bit %d of octet %d: written again as % x", name, bit%8,
					bit/8-HeaderLen, out[HeaderLen:])
			}
		}
	}
}

// TestTooWide: a value with more bits than its field changes no other field.
func TestTooWide(t *testing.T) {
	for name, c := range map[string]struct{ m, want REP }{
		"REP": {REP{QPN: 0xFF00_0001, StartingPSN: 0xFF00_0002, TargetACKDelay: 0xFF, Failover: 0xFD,
			RNRRetryCount: 0xFE}, REP{QPN: 1, StartingPSN: 2, TargetACKDelay: 0x1F, Failover: 1,
			RNRRetryCount: 6}},
		"REP, failover alone": {REP{Failover: 0xFE}, REP{Failover: 2}},
	} {
		if got := must(t, MAD{Message: c.m}.Append(nil)).Message; got != Message(c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
	}
}

func allOnes(a Attribute) []byte {
	b := bytes.Repeat([]byte{0xFF}, MADLen)
	copy(b, MAD{Message: RTU{}}.Append(nil)[:HeaderLen])
	b[17] = byte(a)
	return b
}

func must(t *testing.T, b []byte) MAD {
	t.Helper()
	m, _, err := ParseMAD(b)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func sampleFrame() Frame {
	return Frame{
		Ethernet: packet.Ethernet{Dst: packet.MAC{2, 0, 0, 0, 0, 1}, Src: packet.MAC{2, 0, 0, 0, 0, 2},
			EtherType: packet.EtherTypeIPv6},
		IPv6: packet.IPv6{NextHeader: packet.NextHeaderUDP, PayloadLength: datagram, HopLimit: 64,
			Src: addr("2001:db8:1::1"), Dst: addr("2001:db8:2::2")},
		SrcPort: 0xC001, PKey: packet.DefaultPKey, PSN: 7, SourceQPN: GSI,
		MAD: MAD{TID: 9, Message: sampleREQ()},
	}
}

// TestFrame: what the headers in front of a MAD are on RoCEv2.
func TestFrame(t *testing.T) {
	f := sampleFrame()
	b := f.Append(nil)
	want := unhex(t, "020000000001 020000000002 86dd 60000000 0120 11 40"+
		"20010db8000100000000000000000001 20010db8000200000000000000000002"+
		"c001 12b7 0120 0000 64 00 ffff 00 000001 00 000007 80010000 00 000001 01070203")
	if !bytes.HasPrefix(b, want) || len(b) != f.Len() {
		t.Errorf("%d octets, want %d:\n got % x\nwant % x", len(b), f.Len(), b, want)
	}
	if !IsFrame(b) {
		t.Error("no CM frame")
	}
	got, n, err := ParseFrame(append(bytes.Clone(b), 0, 0))
	if err != nil || n != len(b) || !reflect.DeepEqual(got, f) {
		t.Errorf("parse:\n got %+v, %d, %v\nwant %+v", got, n, err, f)
	}
	for n := range b {
		if _, _, err := ParseFrame(b[:n]); !errors.Is(err, packet.ErrTruncated) {
			t.Fatalf("%d octets: %v", n, err)
		}
	}
}

// TestFrameRefuses: ParseFrame refuses frames without a CM message, and corrupt CM messages.
func TestFrameRefuses(t *testing.T) {
	const ip, udp, bth, deth, mad = 14, 54, 62, 74, 82
	for what, c := range map[string]struct {
		at   int
		to   byte
		want error
		is   bool
	}{
		"EtherType":         {12, 8, packet.ErrUnsupported, false},
		"IP version":        {ip, 0x40, packet.ErrMalformed, false},
		"Next Header":       {ip + 6, 6, packet.ErrUnsupported, false},
		"Payload Length":    {ip + 5, 0x24, packet.ErrUnsupported, true},
		"destination port":  {udp + 2, 0x13, packet.ErrUnsupported, false},
		"UDP Length":        {udp + 5, 0x24, packet.ErrMalformed, true},
		"opcode":            {bth, 0x04, packet.ErrUnsupported, true},
		"padding":           {bth + 1, 0x10, packet.ErrMalformed, true},
		"queue pair":        {bth + 7, 2, packet.ErrUnsupported, false},
		"Q_Key":             {deth, 0, packet.ErrMalformed, true},
		"base version":      {mad, 2, packet.ErrICRC, true},
		"an octet of a REQ": {mad + 60, 0xEE, packet.ErrICRC, true},
	} {
		b := sampleFrame().Append(nil)
		b[c.at] = c.to
		if _, n, err := ParseFrame(b); !errors.Is(err, c.want) || n != 0 {
			t.Errorf("%s: %d octets, %v, want %v", what, n, err, c.want)
		}
		if got := IsFrame(b); got != c.is {
			t.Errorf("%s: IsFrame is %v", what, got)
		}
	}
	for what, at := range map[string]int{"base version": 0, "class": 1, "class version": 2,
		"method": 3, "attribute": 17} {
		b := MAD{Message: RTU{}}.Append(nil)
		b[at] = 0x81
		if _, _, err := ParseMAD(b); !errors.Is(err, packet.ErrUnsupported) ||
			!strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestServiceID(t *testing.T) {
	if got := ServiceID(4791); got != 0x00000000010612B7 {
		t.Errorf("%#x", got)
	}
	if port, ok := Port(0x00000000010612B7); port != 4791 || !ok {
		t.Errorf("%d, %v", port, ok)
	}
	if _, ok := Port(0x00000000011112B7); ok { // RDMA_PS_UDP
		t.Error("a service of another port space has a port")
	}
}

func TestMTU(t *testing.T) {
	for m, want := range []int{0, 256, 512, 1024, 2048, 4096, 0} {
		if got := MTU(m).Octets(); got != want {
			t.Errorf("code %d: %d, want %d", m, got, want)
		}
	}
}

// TestPrivateData: the header of annex A11, and what applications and groups tell each other.
func TestPrivateData(t *testing.T) {
	ip := IP{SrcPort: 0x1234, Src: addr("2001:db8:1::1"), Dst: addr("2001:db8:2::2")}
	wire := unhex(t, "00 60 1234 20010db8000100000000000000000001 20010db8000200000000000000000002")
	if got := ip.Append(nil); !bytes.Equal(got, wire) || ip.Len() != len(wire) {
		t.Errorf("% x", got)
	}
	if got, n, err := ParseIP(append(wire, 1)); got != ip || n != IPLen || err != nil {
		t.Errorf("%+v, %d, %v", got, n, err)
	}
	four := IP{SrcPort: 0x1234, Src: addr("10.1.0.10"), Dst: addr("10.255.0.1")}
	// As Linux 6.1 writes it (struct cma_hdr): three words without meaning before each address.
	wire4 := unhex(t, "00 40 1234 000000000000000000000000 0a01000a 000000000000000000000000 0aff0001")
	if got := four.Append(nil); !bytes.Equal(got, wire4) {
		t.Errorf("IPv4: % x", got)
	}
	if got, n, err := ParseIP(append(wire4, 1)); got != four || n != IPLen || err != nil {
		t.Errorf("IPv4: %+v, %d, %v", got, n, err)
	}
	for at, to := range map[int]byte{0: 1, 1: 0x50} {
		b := bytes.Clone(wire)
		b[at] = to
		if _, _, err := ParseIP(b); !errors.Is(err, packet.ErrUnsupported) {
			t.Errorf("octet %d: %v", at, err)
		}
	}

	j := Join{HasMemory: true, HasToken: true, RKey: 0x01020304, VA: 0x1112131415161718,
		Length: 0x2122232425262728, Token: [TokenLen]byte(fill(TokenLen, 0x30))}
	wire = unhex(t, "5746 01 03 01020304 1112131415161718 2122232425262728")
	wire = append(wire, fill(TokenLen, 0x30)...)
	if got := j.Append(nil); !bytes.Equal(got, wire) || j.Len() != len(wire) {
		t.Errorf("join: % x", got)
	}
	if got, n, err := ParseJoin(append(wire, 1)); got != j || n != JoinLen || err != nil {
		t.Errorf("join: %+v, %d, %v", got, n, err)
	}
	if j.Len() > ConsumerREQ {
		t.Errorf("a join of %d octets, and an application has %d", j.Len(), ConsumerREQ)
	}

	o := Offer{MTU: MTU4096, RKey: 0x01020304, BaseVA: 0x1112131415161718,
		Length: 0x2122232425262728, Epoch: 0x31323334}
	wire = unhex(t, "5746 01 05 01020304 1112131415161718 2122232425262728 31323334 00000000")
	if got := o.Append(nil); !bytes.Equal(got, wire) || o.Len() != len(wire) {
		t.Errorf("offer: % x", got)
	}
	if got, n, err := ParseOffer(append(wire, 1)); got != o || n != OfferLen || err != nil {
		t.Errorf("offer: %+v, %d, %v", got, n, err)
	}
	for at, to := range map[int]byte{0: 0, 2: 2} {
		b := bytes.Clone(wire)
		b[at] = to
		if _, _, err := ParseOffer(b); !errors.Is(err, packet.ErrUnsupported) {
			t.Errorf("octet %d: %v", at, err)
		}
	}
	for what, parse := range map[string]func([]byte) error{
		"IP":    func(b []byte) error { _, _, err := ParseIP(b); return err },
		"join":  func(b []byte) error { _, _, err := ParseJoin(b); return err },
		"offer": func(b []byte) error { _, _, err := ParseOffer(b); return err },
	} {
		if err := parse(wire[:31]); !errors.Is(err, packet.ErrTruncated) {
			t.Errorf("%s of 31 octets: %v", what, err)
		}
	}
}

func TestNames(t *testing.T) {
	if got := Attribute(0x1F).String(); got != "attribute 0x001f" {
		t.Error(got)
	}
	if got := StaleConnection.String() + ", " + Reason(99).String(); got !=
		"stale connection, reason 99" {
		t.Error(got)
	}
}

// FuzzParseFrame: no input makes the parser panic, and Append writes an accepted frame as parsed.
func FuzzParseFrame(f *testing.F) {
	f.Add(sampleFrame().Append(nil))
	for _, c := range messages() {
		frame := sampleFrame()
		frame.MAD.Message = c.m
		f.Add(frame.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, n, err := ParseFrame(b)
		if err != nil {
			return
		}
		if n > len(b) || !IsFrame(b) {
			t.Fatalf("took %d of %d octets", n, len(b))
		}
		again, m, err := ParseFrame(frame.Append(nil))
		if err != nil || m != n || !reflect.DeepEqual(again, frame) {
			t.Fatalf("second parse: %+v, %d, %v\nwant %+v, %d", again, m, err, frame, n)
		}
	})
}

// FuzzParseMAD is FuzzParseFrame without an ICRC to pass.
func FuzzParseMAD(f *testing.F) {
	for _, c := range messages() {
		f.Add(MAD{TID: 1, Message: c.m}.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		mad, _, err := ParseMAD(b)
		if err != nil {
			return
		}
		again, _, err := ParseMAD(mad.Append(nil))
		if err != nil || again != mad {
			t.Fatalf("second parse: %+v, %v\nwant %+v", again, err, mad)
		}
	})
}
