package packet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"testing"
)

var mrcSettings = DefaultMRCSettings()

const (
	mrcEthernet  = "020000000002 020000000001 86dd"
	mrcAddresses = "20010db8000000000000000000000001 20010db8000000000000000000000002"
)

// mrcCase is a message and its frame up to the ICRC, put together from the tables by hand.
type mrcCase struct {
	name string
	wire string
	want MRC
}

// mrcBase returns the common part of the messages in mrcCases.
func mrcBase(dscp, ecn uint8, bth MRCBTH) MRC {
	bth.PKey = DefaultPKey
	return MRC{
		Ethernet: Ethernet{Dst: dstMAC, Src: srcMAC, EtherType: EtherTypeIPv6},
		IPv6: IPv6{TrafficClass: TrafficClass(dscp, ecn), FlowLabel: 0x02345, HopLimit: 64,
			Src: addr("2001:db8::1"), Dst: addr("2001:db8::2")},
		UDP: UDP{SrcPort: 0xc123, DstPort: RoCEPort},
		BTH: bth,
	}
}

// One of each message. Traffic classes: Trimmable (7) with ECT(0) 0x1e, TrimmableRetx (11) 0x2e,
// NoTrim (3) 0x0e, Control (43) without ECT 0xac.
func mrcCases(t testing.TB) []mrcCase {
	with := func(p MRC, change func(p *MRC)) MRC {
		change(&p)
		return p
	}
	seth, _, err := ParseSETH(unhex(t, sethWire))
	if err != nil {
		t.Fatal(err)
	}
	neth, _, err := ParseNETH(unhex(t, nethWire))
	if err != nil {
		t.Fatal(err)
	}
	return []mrcCase{
		{
			"WRITE Only with Immediate, timestamp, padding",
			"61e02345 003c 11 40" + mrcAddresses + "c123 12b7 003c 0000" +
				"cb 30 ffff 00 000118 90 fffffe" + "0003 0007" + "beef 0001" +
				"00007f0000001000 0000abcd 00000005" + "deadbeef" + "0102030405 000000",
			with(mrcBase(7, ECT0, MRCBTH{Opcode: OpMRCWriteOnlyImmediate, DestQPN: 0x118, AckReq: true,
				Timestamped: true, PSN: 0xfffffe}), func(p *MRC) {
				p.METH, p.TSETH = METH{RQMSN: 3, MSN: 7}, TSETH{Timestamp: 0xbeef, Type: TSETHTimestamp}
				p.RETH, p.ImmDt = RETH{VA: 0x7f0000001000, RKey: 0xabcd, DMALength: 5}, 0xdeadbeef
				p.Payload = []byte{1, 2, 3, 4, 5}
			}),
		},
		{
			"WRITE First",
			"60e02345 0030 11 40" + mrcAddresses + "c123 12b7 0030 0000" +
				"c6 00 ffff 00 000118 00 000007" + "0000 0007" + "00007f0000001000 0000abcd 0000000c" +
				"01020304",
			with(mrcBase(3, ECT0, MRCBTH{Opcode: OpMRCWriteFirst, DestQPN: 0x118, PSN: 7}), func(p *MRC) {
				p.METH, p.RETH, p.Payload = METH{MSN: 7}, RETH{VA: 0x7f0000001000, RKey: 0xabcd, DMALength: 12},
					[]byte{1, 2, 3, 4}
			}),
		},
		{
			"WRITE Middle, sent again: its own address, the length of the whole",
			"62e02345 0030 11 40" + mrcAddresses + "c123 12b7 0030 0000" +
				"c7 00 ffff 00 000118 20 000008" + "0000 0007" + "00007f0000001004 0000abcd 0000000c" +
				"05060708",
			with(mrcBase(11, ECT0, MRCBTH{Opcode: OpMRCWriteMiddle, DestQPN: 0x118, Retransmission: true,
				PSN: 8}), func(p *MRC) {
				p.METH, p.RETH, p.Payload = METH{MSN: 7}, RETH{VA: 0x7f0000001004, RKey: 0xabcd, DMALength: 12},
					[]byte{5, 6, 7, 8}
			}),
		},
		{
			"WRITE Last",
			"61e02345 0030 11 40" + mrcAddresses + "c123 12b7 0030 0000" +
				"c8 00 ffff 00 000118 80 000009" + "0000 0007" + "00007f0000001008 0000abcd 0000000c" +
				"090a0b0c",
			with(mrcBase(7, ECT0, MRCBTH{Opcode: OpMRCWriteLast, DestQPN: 0x118, AckReq: true, PSN: 9}),
				func(p *MRC) {
					p.METH, p.RETH, p.Payload = METH{MSN: 7}, RETH{VA: 0x7f0000001008, RKey: 0xabcd,
						DMALength: 12},
						[]byte{9, 10, 11, 12}
				}),
		},
		{
			"WRITE Last with Immediate",
			"61e02345 0034 11 40" + mrcAddresses + "c123 12b7 0034 0000" +
				"c9 80 ffff 00 000118 80 000009" + "0004 0007" + "00007f0000001008 0000abcd 0000000c" +
				"00000001" + "090a0b0c",
			with(mrcBase(7, ECT0, MRCBTH{Opcode: OpMRCWriteLastImmediate, Solicited: true, DestQPN: 0x118,
				AckReq: true, PSN: 9}), func(p *MRC) {
				p.METH, p.RETH, p.Payload = METH{RQMSN: 4, MSN: 7}, RETH{VA: 0x7f0000001008, RKey: 0xabcd,
					DMALength: 12}, []byte{9, 10, 11, 12}
				p.ImmDt = 1
			}),
		},
		{
			"WRITE Only of nothing",
			"61e02345 002c 11 40" + mrcAddresses + "c123 12b7 002c 0000" +
				"ca 00 ffff 00 000118 80 000009" + "0000 0001" + "0000000000000000 00000000 00000000",
			with(mrcBase(7, ECT0, MRCBTH{Opcode: OpMRCWriteOnly, DestQPN: 0x118, AckReq: true, PSN: 9}),
				func(p *MRC) { p.METH.MSN = 1 }),
		},
		{
			"Acknowledge, without credits",
			"6ac02345 001c 11 40" + mrcAddresses + "c123 12b7 001c 0000" + "d1 00 ffff 00 000109 00 000009" +
				"1f 000002",
			with(mrcBase(43, NotECT, MRCBTH{Opcode: OpMRCAcknowledge, DestQPN: 0x109, PSN: 9}),
				func(p *MRC) {
					p.AETH = AETH{Syndrome: ACKSyndrome(CreditInvalid), MSN: 2}
				}),
		},
		{
			"SACK",
			"6ac02345 003c 11 40" + mrcAddresses + "c123 12b7 003c 0000" + "dc 00 ffff 00 000109 00 000195" +
				sethWire,
			with(mrcBase(43, NotECT, MRCBTH{Opcode: OpMRCSACK, DestQPN: 0x109, PSN: 405}), func(p *MRC) {
				p.SETH = seth
			}),
		},
		{
			"NACK of a packet with 4196 octets of UDP",
			"6ac02345 002c 11 40" + mrcAddresses + "c123 12b7 1064 0000" + "dd 00 ffff 00 000109 20 a788c0" +
				nethWire,
			with(mrcBase(43, NotECT, MRCBTH{Opcode: OpMRCNACK, DestQPN: 0x109, Retransmission: true,
				PSN: 0xa788c0}), func(p *MRC) {
				p.UDP.Length, p.NETH = 4196, neth
			}),
		},
		{
			"probe request",
			"61c02345 0028 11 40" + mrcAddresses + "c123 12b7 0028 0000" + "de 00 ffff 00 000118 00 000000" +
				pethWire,
			with(mrcBase(7, NotECT, MRCBTH{Opcode: OpMRCProbe, DestQPN: 0x118}), func(p *MRC) {
				p.PETH = PETH{VendorInfo: 0x55, ProbeID: 0x1234, SPDCID: 0x109, DPDCID: 0x118,
					TSETH: TSETH{Timestamp: 0xbeef, Type: TSETHTimestamp}}
			}),
		},
		{
			"endpoint request: port status",
			"6ac02345 0028 11 40" + mrcAddresses + "c123 12b7 0028 0000" + "d8 00 ffff 00 000002 00 00beef" +
				erthStatusWire,
			with(mrcBase(43, NotECT, EndpointHeader(OpMRCEndpointRequest, 0xbeef)), func(p *MRC) {
				p.ERTH = ERTH{Ports: 0x8000001e}
			}),
		},
		{
			"endpoint response: EV probe",
			"6ac02345 003c 11 40" + mrcAddresses + "c123 12b7 003c 0000" + "d9 00 ffff 00 000002 00 00beef" +
				eethWire,
			with(mrcBase(43, NotECT, EndpointHeader(OpMRCEndpointResponse, 0xbeef)), func(p *MRC) {
				p.EETH = EETH{Op: EndpointEVProbe, Timestamp: 0xbeef}
			}),
		},
	}
}

// mrcDerived returns p without the fields derived by Append and filled in by ParseMRC. Append does
// not derive the UDP length of a NACK.
func mrcDerived(p MRC) MRC {
	p.Outer.PayloadLength, p.Outer.NextHeader, p.SRH.NextHeader = 0, 0, 0
	p.IPv6.PayloadLength, p.IPv6.NextHeader = 0, 0
	if p.BTH.Opcode != OpMRCNACK {
		p.UDP.Length = 0
	}
	p.UDP.Checksum = 0
	p.BTH.PadCount = 0
	p.ICRC, p.Datagram, p.Headers = 0, nil, 0
	if len(p.Payload) == 0 {
		p.Payload = nil
	}
	return p
}

// tunnelled returns p in a uSID tunnel, as a sender of mode usid-srh builds the tunnel.
func tunnelled(t testing.TB, p MRC) MRC {
	t.Helper()
	containers, err := F3216.Containers(block32, sequence(8)...)
	if err != nil {
		t.Fatal(err)
	}
	p.SRH, err = NewReducedSRH(NextHeaderIPv6, containers, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Encapsulated, p.Routed = true, true
	p.Outer = IPv6{TrafficClass: p.IPv6.TrafficClass, HopLimit: 63, Src: p.IPv6.Src,
		Dst: containers[0]}
	return p
}

func withICRC(packet []byte) []byte {
	return binary.LittleEndian.AppendUint32(bytes.Clone(packet), naiveICRC(packet))
}

func TestMRCByteExact(t *testing.T) {
	seen := make(map[Opcode]bool)
	for _, c := range mrcCases(t) {
		t.Run(c.name, func(t *testing.T) {
			seen[c.want.BTH.Opcode] = true
			packet := withICRC(unhex(t, c.wire))
			frame := append(unhex(t, mrcEthernet), packet...)
			if got := c.want.Append([]byte{9})[1:]; !bytes.Equal(got, frame) {
				t.Errorf("append:\n got % x\nwant % x", got, frame)
			}
			if c.want.Len() != len(frame) {
				t.Errorf("Len = %d, want %d", c.want.Len(), len(frame))
			}
			// with Ethernet padding
			got, n, err := ParseMRC(append(bytes.Clone(frame), 0, 0, 0), mrcSettings)
			if err != nil || n != len(frame) {
				t.Fatalf("parse took %d, %v; want %d", n, err, len(frame))
			}
			if !reflect.DeepEqual(mrcDerived(got), mrcDerived(c.want)) {
				t.Errorf("parse:\n got %+v\nwant %+v", mrcDerived(got), mrcDerived(c.want))
			}
			ext, _ := c.want.BTH.Extensions()
			if got.Headers != ext || got.Trim != NotTrimmed || !bytes.Equal(got.Datagram, packet) {
				t.Errorf("headers %b, trim %d, datagram % x", got.Headers, got.Trim, got.Datagram)
			}
			if err := CheckICRC(got.Datagram); err != nil {
				t.Error(err)
			}
			if got.ICRC != naiveICRC(packet[:len(packet)-ICRCLen]) {
				t.Errorf("ICRC %#08x", got.ICRC)
			}
			for n := range frame {
				_, took, err := ParseMRC(frame[:n:n], mrcSettings)
				if wantError(t, err, ErrTruncated); took > n {
					t.Errorf("the first %d octets took %d", n, took)
				}
			}
		})
	}
	for o := range 256 {
		if _, assigned := (MRCBTH{Opcode: Opcode(o)}).Extensions(); assigned != seen[Opcode(o)] {
			t.Errorf("%v: assigned %v, tested %v", Opcode(o), assigned, seen[Opcode(o)])
		}
	}
}

// In both forms of OCP MRC 1.0, §9.3.5.1, and between them with the SRH gone.
func TestMRCInATunnel(t *testing.T) {
	for _, c := range mrcCases(t) {
		packet := withICRC(unhex(t, c.wire))
		routed := tunnelled(t, c.want)
		bare := routed
		bare.Routed, bare.SRH = false, SRH{}

		outer := func(next string, extra int) []byte {
			b := unhex(t, c.wire)[:4]
			b[2], b[3] = 0, 0 // flow label
			b[1] &= 0xF0
			b = binary.BigEndian.AppendUint16(b, uint16(extra+len(packet)))
			return append(b, unhex(t, next+
				"3f 20010db8000000000000000000000001 fc0000010a000a010a020a030a040a05")...)
		}
		srh := unhex(t, "29 02 04 01 00 00 0000 fc000001 0a06 0a07 0000 0000 0000 0000")
		for _, w := range []struct {
			name string
			p    MRC
			want [][]byte
		}{
			{"SRH", routed, [][]byte{outer("2b", 24), srh, packet}},
			{"tunnel", bare, [][]byte{outer("29", 0), packet}},
		} {
			frame := append(unhex(t, mrcEthernet), bytes.Join(w.want, nil)...)
			if got := w.p.Append(nil); !bytes.Equal(got, frame) || w.p.Len() != len(frame) {
				t.Errorf("%s, %s: Len %d, append:\n got % x\nwant % x", c.name, w.name, w.p.Len(), got, frame)
			}
			got, n, err := ParseMRC(frame, mrcSettings)
			if err != nil || n != len(frame) {
				t.Fatalf("%s, %s: took %d of %d, %v", c.name, w.name, n, len(frame), err)
			}
			got.SRH.TLVList = w.p.SRH.TLVList
			if !reflect.DeepEqual(mrcDerived(got), mrcDerived(w.p)) || !bytes.Equal(got.Datagram, packet) {
				t.Errorf("%s, %s:\n got %+v\nwant %+v", c.name, w.name, mrcDerived(got), mrcDerived(w.p))
			}
			for n := range frame {
				_, _, err := ParseMRC(frame[:n:n], mrcSettings)
				wantError(t, err, ErrTruncated)
			}
		}
	}
}

func TestMRCPayloadSizes(t *testing.T) {
	for size := range 9 {
		p := mrcCases(t)[0].want
		p.Payload = bytes.Repeat([]byte{0xEE}, size)
		got, _, err := ParseMRCPacket(p.AppendPacket(nil), mrcSettings)
		if err != nil || !bytes.Equal(got.Payload, p.Payload) || (size+int(got.BTH.PadCount))%4 != 0 {
			t.Errorf("%d octets: payload % x, Pad Count %d, %v", size, got.Payload, got.BTH.PadCount, err)
		}
	}
}

// Headers that the opcode lacks are not written.
func TestMRCAppendLeavesOut(t *testing.T) {
	for _, c := range mrcCases(t) {
		full := mrcCases(t)[0].want
		full.IPv6, full.UDP, full.BTH = c.want.IPv6, c.want.UDP, c.want.BTH
		full.METH, full.RETH, full.ImmDt = c.want.METH, c.want.RETH, c.want.ImmDt
		full.AETH, full.SETH, full.NETH, full.PETH, full.ERTH, full.EETH = c.want.AETH, c.want.SETH,
			c.want.NETH, c.want.PETH, c.want.ERTH, c.want.EETH
		full.UDP.Checksum, full.BTH.PadCount, full.Trim, full.Headers = 0x1234, 1, Trimmed, ExtAETH
		if ext, _ := c.want.BTH.Extensions(); ext.Is(ExtMETH) {
			full.Payload = c.want.Payload
		}
		if got, want := full.Append(nil), c.want.Append(nil); !bytes.Equal(got, want) {
			t.Errorf("%s:\n got % x\nwant % x", c.name, got, want)
		}
	}
}

// Cutting a packet and correcting the lengths of IP and UDP leaves a transport header that is too
// short for its opcode, or a payload that is not padded.
func TestParseMRCShortTransport(t *testing.T) {
	for _, c := range mrcCases(t) {
		ext, _ := c.want.BTH.Extensions()
		headers := icrcMin + ext.Len() + ICRCLen
		whole := withICRC(unhex(t, c.wire))
		for n := IPv6Len + UDPLen; n < len(whole); n++ {
			b := bytes.Clone(whole[:n])
			binary.BigEndian.PutUint16(b[ipv6PayloadLength:], uint16(n-IPv6Len))
			binary.BigEndian.PutUint16(b[IPv6Len+udpLength:], uint16(n-IPv6Len))
			_, _, err := ParseMRCPacket(b, mrcSettings)
			switch pad := int(whole[icrcMin-BTHLen+bthFlags] >> 4 & 3); {
			case n < headers:
				wantError(t, err, ErrTruncated)
			case n-headers < pad || (n-headers)%4 != 0:
				wantError(t, err, ErrMalformed, "Pad Count")
			case err != nil:
				t.Errorf("%s, %d octets: %v", c.name, n, err)
			}
		}
	}
}

func TestParseMRCRefuses(t *testing.T) {
	const ip, udp, bth = EthernetLen, EthernetLen + IPv6Len, EthernetLen + IPv6Len + UDPLen
	cases := mrcCases(t)
	write, sack, nack := cases[0].want, cases[7].want, cases[8].want
	longer := func(b []byte) []byte { // with four more octets before the ICRC
		b = append(b, 0, 0, 0, 0)
		b[ip+5] += 4
		b[udp+5] += 4
		return b
	}
	for _, c := range []struct {
		name   string
		p      MRC
		change func(b []byte) []byte
		want   error
		words  []string
	}{
		{"EtherType", write, func(b []byte) []byte {
			b[12], b[13] = 0x08, 0x06
			return b
		}, ErrUnsupported, []string{"EtherType 0x0806", "0x86dd", "0x0800"}},
		{"EtherType of IPv4 before IPv6", write, func(b []byte) []byte {
			b[12], b[13] = 0x08, 0x00
			return b
		}, ErrMalformed, []string{"version 6, want 4"}},
		{"IP version", write, func(b []byte) []byte {
			b[ip] = 0x45
			return b
		}, ErrMalformed, []string{"version 4"}},
		{"TCP", write, func(b []byte) []byte { b[ip+6] = 6; return b }, ErrUnsupported,
			[]string{"Next Header 6", "17 (UDP)"}},
		{"UDP port", write, func(b []byte) []byte {
			b[udp+3]++
			return b
		}, ErrUnsupported, []string{"port 4792", "want 4791"}},
		{"UDP length", write, func(b []byte) []byte {
			b[udp+5]--
			return b
		}, ErrMalformed, []string{"Length 59", "Payload Length 60"}},
		{"UDP length of a SACK", sack, func(b []byte) []byte {
			b[udp+4]++
			return b
		}, ErrMalformed, []string{"Length 316", "Payload Length 60"}},
		{"UDP length without UDP", nack, func(b []byte) []byte {
			b[udp+4], b[udp+5] = 0, 7
			return b
		}, ErrMalformed, []string{"Length 7", "at least 8"}},
		{"RoCEv2", write, func(b []byte) []byte { b[bth] = byte(OpWriteOnly); return b }, ErrUnsupported,
			[]string{"RDMA WRITE Only", "opcode of MRC"}},
		{"opcode", write, func(b []byte) []byte { b[bth] = 0xc0; return b }, ErrUnsupported,
			[]string{"opcode 0xc0", "assigned"}},
		{"padding", cases[5].want, func(b []byte) []byte { b[bth+1] = 0x10; return b }, ErrMalformed,
			[]string{"Pad Count 1", "at most the 0"}},
		{"octets after a SETH", sack, longer, ErrMalformed, []string{"MRC SACK", "4 octets", "none"}},
		{"octets after a NETH", nack, longer, ErrMalformed, []string{"MRC NACK", "4 octets", "none"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := ParseMRC(c.change(c.p.Append(nil)), mrcSettings)
			wantError(t, err, c.want, c.words...)
		})
	}
}

// Its sender learns of an unassigned opcode by its queue pair and PSN.
func TestParseMRCUnassignedOpcodeKeepsBTH(t *testing.T) {
	p := mrcCases(t)[7].want
	frame := p.Append(nil)
	frame[EthernetLen+IPv6Len+UDPLen] = 0xc0
	got, n, err := ParseMRC(frame, mrcSettings)
	if wantError(t, err, ErrUnsupported, "opcode 0xc0"); n != len(frame) || got.BTH.Opcode != 0xc0 ||
		got.BTH.DestQPN != 0x109 || got.BTH.PSN != 405 {
		t.Errorf("%d octets, BTH %+v", n, got.BTH)
	}
	if len(got.Datagram) != len(frame)-EthernetLen {
		t.Errorf("Datagram of %d octets", len(got.Datagram))
	}
}

// What MRC says to ignore changes nothing but itself.
func TestParseMRCIgnores(t *testing.T) {
	const udp, bth = IPv6Len, IPv6Len + UDPLen
	sack := mrcCases(t)[7].want
	b := sack.AppendPacket(nil)
	b[udp+udpChecksum], b[bth+bthFlags], b[bth+bthResv8a] = 0x12, 0xF0, 0xFF // se, m, pad; var-res
	b[bth+bthAckReq] |= 0x4F                                                 // R, inv-res
	got, _, err := ParseMRCPacket(b, mrcSettings)
	if err != nil || got.SETH != sack.SETH || got.BTH.PSN != 405 || got.BTH.Retransmission ||
		got.BTH.Timestamped {
		t.Errorf("%+v, %v", got, err)
	}
}

// The bit ts is of requests only: it does not put a TSETH into a control packet.
func TestMRCTimestampedControl(t *testing.T) {
	p := mrcCases(t)[7].want
	p.BTH.Timestamped = true
	got, _, err := ParseMRC(p.Append(nil), mrcSettings)
	if err != nil || got.SETH != p.SETH || !got.BTH.Timestamped {
		t.Errorf("%+v, %v", got.BTH, err)
	}
}

// A NACK of an untrimmed packet carries its own length.
func TestMRCNACKLength(t *testing.T) {
	p := mrcCases(t)[8].want
	for given, want := range map[uint16]uint16{0: 44, 8: 8, 44: 44, 65535: 65535} {
		p.UDP.Length = given
		b := p.AppendPacket(nil)
		if got := binary.BigEndian.Uint16(b[IPv6Len+udpLength:]); got != want {
			t.Errorf("UDP length %d is written %d, want %d", given, got, want)
		}
		got, n, err := ParseMRCPacket(b, mrcSettings)
		if err != nil || n != len(b) || got.UDP.Length != want || got.IPv6.PayloadLength != 44 ||
			got.NETH != p.NETH {
			t.Errorf("UDP length %d: took %d of %d, %+v, %v", want, n, len(b), got.UDP, err)
		}
		if err := CheckICRC(got.Datagram); err != nil {
			t.Errorf("UDP length %d: %v", want, err)
		}
		b[IPv6Len+udpLength]++
		if err := CheckICRC(b); err == nil {
			t.Errorf("UDP length %d: the ICRC does not cover it", want)
		}
	}
}

func TestMRCPort(t *testing.T) {
	p := mrcCases(t)[0].want
	p.UDP.DstPort = 4971
	frame := p.Append(nil)
	_, _, err := ParseMRC(frame, mrcSettings)
	wantError(t, err, ErrUnsupported, "port 4971", "want 4791")
	other := mrcSettings
	other.Port = 4971
	if _, _, err := ParseMRC(frame, other); err != nil {
		t.Error(err)
	}
}

func TestMRCSettings(t *testing.T) {
	s := DefaultMRCSettings()
	if s.Port != 4791 {
		t.Errorf("port %d, want 4791", s.Port)
	}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	s.Port = 0
	wantError(t, s.Validate(), ErrMalformed, "UDP port 0", "1 to 65535")
	s = DefaultMRCSettings()
	s.DSCP.Control = 64
	wantError(t, s.Validate(), ErrMalformed, "DSCP Control: 64")
}

func TestMRCEV(t *testing.T) {
	p := mrcCases(t)[0].want
	if p.EV() != 0xC1232345 {
		t.Errorf("EV = %#08x, want 0xc1232345", uint32(p.EV()))
	}
	inner := tunnelled(t, p)
	inner.Outer.FlowLabel = 0x99999
	if inner.EV() != 0xC1232345 {
		t.Errorf("in a tunnel: EV = %#08x, want the inner 0xc1232345", uint32(inner.EV()))
	}
	p.SetEV(0xAAB31800)
	got, _, err := ParseMRC(p.Append(nil), mrcSettings)
	if err != nil || got.EV() != 0xAAB31800 || got.UDP.SrcPort != 0xAAB3 ||
		got.IPv6.FlowLabel != 0x1800 {
		t.Errorf("EV %#08x, source port %#04x, flow label %#05x, %v", uint32(got.EV()), got.UDP.SrcPort,
			got.IPv6.FlowLabel, err)
	}
}

func TestParseRoCERefusesMRC(t *testing.T) {
	for _, c := range mrcCases(t) {
		_, _, err := ParseRoCE(append(unhex(t, mrcEthernet), withICRC(unhex(t, c.wire))...))
		if c.want.BTH.Opcode == OpMRCNACK {
			wantError(t, err, ErrMalformed, "Length 4196")
			continue
		}
		wantError(t, err, ErrUnsupported, c.want.BTH.Opcode.String())
	}
}

func TestMRCDoesNotAllocate(t *testing.T) {
	for _, c := range mrcCases(t) {
		for _, p := range []MRC{c.want, tunnelled(t, c.want)} {
			frame := p.Append(nil)
			if n := testing.AllocsPerRun(100, func() {
				if _, _, err := ParseMRC(frame, mrcSettings); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("%s: ParseMRC allocates %v times, want 0", c.name, n)
			}
			buf := make([]byte, 0, len(frame))
			if n := testing.AllocsPerRun(100, func() { buf = p.Append(buf[:0]) }); n != 0 {
				t.Errorf("%s: Append allocates %v times, want 0", c.name, n)
			}
		}
	}
	var h SETH
	if n := testing.AllocsPerRun(100, func() {
		h.SetNSCC(NSCC{RcvdBytes: 1})
		if s, err := h.NSCC(); err != nil || s.RcvdBytes != 1 {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("CC_STATE allocates %v times, want 0", n)
	}
}

func FuzzParseMRC(f *testing.F) {
	trimmer := Trimmer{DSCP: mrcSettings.DSCP, Size: MinTrimLen + 20}
	for _, c := range mrcCases(f) {
		for _, p := range []MRC{c.want, tunnelled(f, c.want)} {
			f.Add(p.Append(nil))
			if frame, err := trimmer.Trim(p.Append(nil), true); err == nil {
				f.Add(frame)
			}
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		p, n, err := ParseMRC(frame, mrcSettings)
		if n < 0 || n > len(frame) {
			t.Fatalf("took %d of %d octets", n, len(frame))
		}
		if err != nil {
			if !isSentinel(err) {
				t.Fatalf("error %v wraps no sentinel", err)
			}
			return
		}
		if p.Trim != NotTrimmed {
			if p.Payload != nil || p.ICRC != 0 {
				t.Fatalf("a trimmed packet has payload % x, ICRC %#x", p.Payload, p.ICRC)
			}
			return
		}
		if n > 1<<15 {
			return // written with other padding it might no longer fit its length fields
		}
		out := p.Append(nil)
		again, m, err := ParseMRC(out, mrcSettings)
		if err != nil || m != len(out) || m != p.Len() ||
			!reflect.DeepEqual(mrcDerived(again), mrcDerived(p)) || again.Headers != p.Headers {
			t.Fatalf("second parse of %d octets took %d, %v\n got %+v\nwant %+v", len(out), m, err,
				mrcDerived(again), mrcDerived(p))
		}
		if err := CheckICRC(again.Datagram); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.Append(nil), out) {
			t.Fatal("the second encoding differs from the first")
		}
	})
}

func BenchmarkParseMRC(b *testing.B) {
	p := mrcCases(b)[0].want
	p.Payload = make([]byte, 4096)
	frame := p.Append(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := ParseMRC(frame, mrcSettings); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendMRC(b *testing.B) {
	p := mrcCases(b)[0].want
	p.Payload = make([]byte, 4096)
	buf := make([]byte, 0, p.Len())
	b.ReportAllocs()
	for b.Loop() {
		buf = p.Append(buf[:0])
	}
}

// TestMRCOverIPv4: a SACK over IPv4, put together by hand. Its own entropy value is the source
// port, and what it reflects has no flow label.
func TestMRCOverIPv4(t *testing.T) {
	want := unhex(t, "020000000002 020000000001 0800"+
		"45ac 0050 0000 4000 40 11 0000 c0000201 c0000202"+ // DSCP 43
		"c123 12b7 003c 0000"+"dc 00 ffff 00 000118 00 000007"+
		"00000003 c9870000 0118 0119 00 000007 10 08 0000 0000000000000001 0000000000000000")
	sum := Checksum(ChecksumAdd(0, want[14:34]))
	want[24], want[25] = byte(sum>>8), byte(sum)
	want = binary.LittleEndian.AppendUint32(want, icrc(want[14:]))
	got, n, err := ParseMRC(want, mrcSettings)
	if err != nil || n != len(want) {
		t.Fatalf("%d of %d octets: %v", n, len(want), err)
	}
	if err := CheckICRC(got.Datagram); err != nil {
		t.Error(err)
	}
	if !got.IPv6.IsIPv4() || got.IPv6.Src != addr("192.0.2.1") || got.EV() != 0xc1230000 ||
		got.SETH.Entropy != 0xc9870000 || got.SETH.CackPSN != 7 || got.Len() != len(want) {
		t.Errorf("%+v", got)
	}
	got.IPv6.FlowLabel = 0x54321 // has no place
	if b := got.Append(nil); !bytes.Equal(b, want) {
		t.Errorf("appended\n%x, want\n%x", b, want)
	}
	if got.SetEV(0xd234abcd); got.UDP.SrcPort != 0xd234 || got.IPv6.FlowLabel != 0 {
		t.Errorf("the source port is %#x, the flow label %#x: want the upper 16 bits of the value alone",
			got.UDP.SrcPort, got.IPv6.FlowLabel)
	}
	want[14] = 0x65
	if _, _, err := ParseMRC(want, mrcSettings); !errors.Is(err, ErrMalformed) {
		t.Errorf("EtherType IPv4 with version 6: %v", err)
	}
}
