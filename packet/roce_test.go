package packet

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"reflect"
	"testing"
)

var (
	srcMAC = MAC{2, 0, 0, 0, 0, 1}
	dstMAC = MAC{2, 0, 0, 0, 0, 2}
)

// writeOnly is a frame with everything a write can have; tests change what they are about.
func writeOnly() RoCE {
	return RoCE{
		Ethernet: Ethernet{Dst: dstMAC, Src: srcMAC, EtherType: EtherTypeIPv6},
		IPv6: IPv6{TrafficClass: TrafficClass(26, ECT0), FlowLabel: 0x12345, HopLimit: 64,
			Src: addr("2001:db8::1"), Dst: proxy},
		UDP: UDP{SrcPort: 0xc123, DstPort: RoCEPort},
		BTH: BTH{Opcode: OpWriteOnlyImmediate, PKey: DefaultPKey, DestQPN: 0x11, AckReq: true,
			PSN: 0xfffffe},
		RETH:    RETH{VA: 0x7f0000001000, RKey: 0xabcd, DMALength: 5},
		ImmDt:   0xdeadbeef,
		Payload: []byte{1, 2, 3, 4, 5},
	}
}

func inband(t testing.TB, p RoCE) RoCE {
	t.Helper()
	list, err := EndMTList(TLVEndMTDefault, 2, []EdgeReceivers{{edge, receivers(13)}})
	if err != nil {
		t.Fatal(err)
	}
	p.SRH, err = NewSRH(NextHeaderIPv6, []netip.Addr{sid, proxy}, list)
	if err != nil {
		t.Fatal(err)
	}
	p.Encapsulated, p.Routed = true, true
	p.Outer = IPv6{TrafficClass: p.IPv6.TrafficClass, HopLimit: 63, Src: addr("fc00::1"), Dst: sid}
	return p
}

func TestRoCEAppendByteExact(t *testing.T) {
	p := writeOnly()
	want := unhex(t, "020000000002 020000000001 86dd"+
		"66a12345 0034 11 40 20010db8000000000000000000000001"+proxyHex+
		"c123 12b7 0034 0000"+
		"0b 30 ffff 00 000011 80 fffffe"+
		"00007f0000001000 0000abcd 00000005"+
		"deadbeef"+
		"0102030405 000000")
	crc := naiveICRC(want[EthernetLen:])
	want = append(want, byte(crc), byte(crc>>8), byte(crc>>16), byte(crc>>24))
	got := p.Append([]byte{9})[1:]
	if !bytes.Equal(got, want) {
		t.Errorf("append:\n got % x\nwant % x", got, want)
	}
	if p.Len() != len(want) {
		t.Errorf("Len = %d, want %d", p.Len(), len(want))
	}
}

func TestRoCEEncapsulatedByteExact(t *testing.T) {
	plain := writeOnly()
	inner := plain.AppendPacket(nil)

	routed := inband(t, writeOnly())
	srh := routed.SRH.Append(nil)
	want := routed.Ethernet.Append(nil)
	outer := routed.Outer
	outer.NextHeader = NextHeaderRouting
	outer.PayloadLength = uint16(len(srh) + len(inner))
	want = append(append(outer.Append(want), srh...), inner...)
	if got := routed.Append(nil); !bytes.Equal(got, want) {
		t.Errorf("with SRH:\n got % x\nwant % x", got, want)
	}
	if routed.Len() != len(want) {
		t.Errorf("with SRH: Len = %d, want %d", routed.Len(), len(want))
	}

	tunnel := routed
	tunnel.Routed = false
	outer.NextHeader = NextHeaderIPv6
	outer.PayloadLength = uint16(len(inner))
	want = append(outer.Append(routed.Ethernet.Append(nil)), inner...)
	if got := tunnel.Append(nil); !bytes.Equal(got, want) {
		t.Errorf("without SRH:\n got % x\nwant % x", got, want)
	}
	if tunnel.Len() != len(want) {
		t.Errorf("without SRH: Len = %d, want %d", tunnel.Len(), len(want))
	}
}

// derived is p with the fields Append derives taken out, for comparing what went in with what came
// out.
func derived(p RoCE) RoCE {
	p.Outer.PayloadLength, p.Outer.NextHeader = 0, 0
	p.IPv6.PayloadLength, p.IPv6.NextHeader = 0, 0
	p.UDP.Length, p.UDP.Checksum = 0, 0
	p.BTH.PadCount = 0
	p.ICRC, p.Datagram = 0, nil
	p.Ethernet.EtherType = EtherTypeIPv6
	if len(p.Payload) == 0 {
		p.Payload = nil
	}
	return p
}

func TestRoCERoundTripOfEveryOpcode(t *testing.T) {
	for o := range 256 {
		op := Opcode(o)
		ext, ok := op.Extensions()
		if !ok {
			continue
		}
		for size := range 9 {
			for _, wrap := range []string{"plain", "checksum", "SRH", "tunnel"} {
				p := writeOnly()
				p.BTH.Opcode = op
				p.RETH, p.AETH, p.ImmDt = RETH{}, AETH{}, 0
				if ext.Is(ExtRETH) {
					p.RETH = RETH{1, 2, 3}
				}
				if ext.Is(ExtAETH) {
					p.AETH = AETH{NAKSyndrome(NAKSequence), 77}
				}
				if ext.Is(ExtImmDt) {
					p.ImmDt = 4
				}
				p.Payload = bytes.Repeat([]byte{0xEE}, size)
				p.Checksummed = wrap == "checksum"
				if wrap == "SRH" || wrap == "tunnel" {
					p = inband(t, p)
				}
				if wrap == "tunnel" {
					p.Routed, p.SRH = false, SRH{}
				}
				frame := p.Append(nil)
				got, n, err := ParseRoCE(append(bytes.Clone(frame), 0, 0, 0)) // with Ethernet padding
				if err != nil || n != len(frame) {
					t.Fatalf("%v, %d octets, %s: %d, %v", op, size, wrap, n, err)
				}
				if !reflect.DeepEqual(derived(got), derived(p)) {
					t.Fatalf("%v, %d octets, %s:\n got %+v\nwant %+v", op, size, wrap, derived(got), derived(p))
				}
				if (size+int(got.BTH.PadCount))%4 != 0 {
					t.Errorf("%d octets with Pad Count %d", size, got.BTH.PadCount)
				}
				if err := CheckICRC(got.Datagram); err != nil {
					t.Errorf("%v, %d octets, %s: %v", op, size, wrap, err)
				}
				if got.ICRC != naiveICRC(got.Datagram[:len(got.Datagram)-ICRCLen]) {
					t.Errorf("%v, %d octets, %s: ICRC %#08x", op, size, wrap, got.ICRC)
				}
				if err := CheckUDPChecksum(got.IPv6.Src, got.IPv6.Dst, got.Datagram[IPv6Len:]); err != nil {
					t.Errorf("%v, %d octets, %s: %v", op, size, wrap, err)
				}
				if again := got.Append(nil); !bytes.Equal(again, frame) {
					t.Fatalf("%v, %d octets, %s: written again\n got % x\nwant % x", op, size, wrap, again, frame)
				}
			}
		}
	}
}

func TestParseRoCETruncated(t *testing.T) {
	for name, p := range map[string]RoCE{"plain": writeOnly(), "SRH": inband(t, writeOnly())} {
		frame := p.Append(nil)
		for n := range frame {
			if _, took, err := ParseRoCE(frame[:n:n]); err == nil || took > n {
				t.Errorf("%s: the first %d octets took %d, %v", name, n, took, err)
			} else {
				wantError(t, err, ErrTruncated)
			}
		}
	}
}

// Cutting a packet and correcting the lengths of IP and UDP leaves a transport header that is too
// short for its opcode.
func TestParseRoCEShortTransport(t *testing.T) {
	p := writeOnly()
	whole := p.AppendPacket(nil)
	payload := IPv6Len + UDPLen + BTHLen + RETHLen + ImmDtLen
	for n := IPv6Len + UDPLen; n < payload+3+ICRCLen; n++ { // 3 octets of padding
		b := bytes.Clone(whole[:n])
		binary.BigEndian.PutUint16(b[4:], uint16(n-IPv6Len))
		binary.BigEndian.PutUint16(b[IPv6Len+4:], uint16(n-IPv6Len))
		_, _, err := ParseRoCEPacket(b)
		if n < payload+ICRCLen {
			wantError(t, err, ErrTruncated)
		} else {
			wantError(t, err, ErrMalformed, "Pad Count 3")
		}
	}
}

func TestParseRoCEShortExtension(t *testing.T) {
	for _, op := range []Opcode{OpWriteOnly, OpAcknowledge, OpSendOnlyImmediate,
		OpCongestionNotification} {
		ext, _ := op.Extensions()
		for n := range ext.Len() {
			p := writeOnly()
			p.BTH.Opcode = OpSendOnly
			p.Payload = make([]byte, n/4*4)
			b := p.AppendPacket(nil)
			b[IPv6Len+UDPLen] = byte(op)
			_, _, err := ParseRoCEPacket(b)
			wantError(t, err, ErrTruncated)
		}
	}
}

func TestParseRoCERefuses(t *testing.T) {
	const ip, udp, bth = EthernetLen, EthernetLen + IPv6Len, EthernetLen + IPv6Len + UDPLen
	for _, c := range []struct {
		name   string
		change func(b []byte)
		want   error
		words  []string
	}{
		{"EtherType", func(b []byte) { b[12], b[13] = 0x08, 0x06 }, ErrUnsupported,
			[]string{"EtherType 0x0806", "0x86dd"}},
		{"IP version", func(b []byte) { b[ip] = 0x45 }, ErrMalformed, []string{"version 4"}},
		{"TCP", func(b []byte) { b[ip+6] = 6 }, ErrUnsupported, []string{"Next Header 6", "17 (UDP)"}},
		{"UDP port", func(b []byte) { b[udp+3]++ }, ErrUnsupported, []string{"port 4792", "want 4791"}},
		{"UDP length", func(b []byte) {
			b[udp+5]--
		}, ErrMalformed, []string{"Length 51", "Payload Length 52"}},
		{"opcode", func(b []byte) { b[bth] = byte(OpFetchAdd) }, ErrUnsupported, []string{"FetchAdd"}},
		{"service", func(b []byte) { b[bth] = 0x24 }, ErrUnsupported, []string{"opcode 0x24"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := writeOnly()
			b := p.Append(nil)
			c.change(b)
			_, _, err := ParseRoCE(b)
			wantError(t, err, c.want, c.words...)
		})
	}
	encapsulated := inband(t, writeOnly())
	srh := ip + IPv6Len
	inner := srh + encapsulated.SRH.Len()
	for _, c := range []struct {
		name   string
		change func(b []byte)
		want   error
		words  []string
	}{
		{"SRH then UDP", func(b []byte) { b[srh] = NextHeaderUDP }, ErrUnsupported,
			[]string{"Next Header 17", "41 (IPv6)"}},
		{"routing type", func(b []byte) { b[srh+2] = 0 }, ErrUnsupported, []string{"Routing Type 0"}},
		{"Segments Left", func(b []byte) { b[srh+3] = 3 }, ErrMalformed, []string{"Segments Left 3"}},
		{"inner length", func(b []byte) {
			b[inner+5]++
		}, ErrMalformed, []string{"Payload Length 53", "want 52"}},
		{"inner version", func(b []byte) { b[inner] = 0 }, ErrMalformed, []string{"version 0"}},
		{"a third IPv6 header", func(b []byte) { b[inner+6] = NextHeaderIPv6 }, ErrUnsupported,
			[]string{"Next Header 41", "17 (UDP)"}},
	} {
		t.Run("inner/"+c.name, func(t *testing.T) {
			b := encapsulated.Append(nil)
			c.change(b)
			_, _, err := ParseRoCE(b)
			wantError(t, err, c.want, c.words...)
		})
	}
}

func TestParseRoCEUnknownOpcodeKeepsBTH(t *testing.T) {
	p := writeOnly()
	p.BTH.Opcode = OpCompareSwap
	got, n, err := ParseRoCE(p.Append(nil))
	wantError(t, err, ErrUnsupported, "CmpSwap")
	if n != p.Len() || got.BTH.Opcode != OpCompareSwap || got.BTH.PSN != p.BTH.PSN ||
		got.IPv6.Dst != proxy {
		t.Errorf("%d octets, BTH %+v", n, got.BTH)
	}
	if err := CheckICRC(got.Datagram); err != nil {
		t.Error(err)
	}
}

// The fields and both checksums come from the test "RoCE over IPv6" of Scapy (secdev/scapy,
// test/contrib/roce.uts). The opcode belongs to unreliable connection, so Append writes a BTH and
// no extension header.
func TestRoCEPublishedVector(t *testing.T) {
	p := RoCE{
		IPv6: IPv6{TrafficClass: 226, FlowLabel: 0x1face, HopLimit: 255, Src: addr("2022::1023"),
			Dst: addr("2023::1024")},
		UDP:         UDP{SrcPort: 49152, DstPort: RoCEPort},
		Checksummed: true,
		BTH:         BTH{Opcode: 0x24, MigReq: true, PKey: DefaultPKey, DestQPN: 211, PSN: 13571856},
		// 18 octets, so 2 of padding
		Payload: []byte("F0\x81\x8b\xe2\x895\xd9\x0e\x9a\x95PT\x01\xbe\x88^P"),
	}
	b := p.AppendPacket(nil)
	if got := b[len(b)-ICRCLen:]; !bytes.Equal(got, []byte{0x3e, 0x5b, 0x74, 0x3b}) {
		t.Errorf("ICRC on the wire % x, want 3e 5b 74 3b", got)
	}
	if got := binary.BigEndian.Uint16(b[IPv6Len+6:]); got != 0xe7c5 {
		t.Errorf("UDP checksum %#04x, want 0xe7c5", got)
	}
}

func TestRoCEDoesNotAllocate(t *testing.T) {
	plain, routed := writeOnly(), inband(t, writeOnly())
	plain.Payload = make([]byte, 4096)
	for name, p := range map[string]*RoCE{"plain": &plain, "SRH": &routed} {
		frame := p.Append(nil)
		if n := testing.AllocsPerRun(100, func() {
			if _, _, err := ParseRoCE(frame); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: ParseRoCE allocates %v times, want 0", name, n)
		}
		buf := make([]byte, 0, len(frame))
		p.Checksummed = true
		if n := testing.AllocsPerRun(100, func() { buf = p.Append(buf[:0]) }); n != 0 {
			t.Errorf("%s: Append allocates %v times, want 0", name, n)
		}
	}
}

func FuzzParseRoCE(f *testing.F) {
	plain, routed := writeOnly(), inband(f, writeOnly())
	ack := writeOnly()
	ack.BTH.Opcode, ack.Payload, ack.Checksummed = OpAcknowledge, nil, true
	cnp := ack
	cnp.BTH = CNPHeader(0x11)
	for _, p := range []RoCE{plain, routed, ack, cnp} {
		f.Add(p.Append(nil))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		p, n, err := ParseRoCE(frame)
		if n < 0 || n > len(frame) {
			t.Fatalf("took %d of %d octets", n, len(frame))
		}
		if err != nil {
			if !isSentinel(err) {
				t.Fatalf("error %v wraps no sentinel", err)
			}
			return
		}
		if n > 1<<15 {
			return // written with other padding it might no longer fit its length fields
		}
		out := p.Append(nil)
		again, m, err := ParseRoCE(out)
		if err != nil || m != len(out) || m != p.Len() || !reflect.DeepEqual(derived(again), derived(p)) {
			t.Fatalf("second parse of %d octets took %d, %v\n got %+v\nwant %+v", len(out), m, err,
				derived(again), derived(p))
		}
		if err := CheckICRC(again.Datagram); err != nil {
			t.Fatal(err)
		}
		if err := CheckUDPChecksum(again.IPv6.Src, again.IPv6.Dst, again.Datagram[IPv6Len:]); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.Append(nil), out) {
			t.Fatal("the second encoding differs from the first")
		}
	})
}

func BenchmarkParseRoCE(b *testing.B) {
	p := writeOnly()
	p.Payload = make([]byte, 4096)
	frame := p.Append(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := ParseRoCE(frame); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendRoCE(b *testing.B) {
	p := writeOnly()
	p.Payload = make([]byte, 4096)
	buf := make([]byte, 0, p.Len())
	b.ReportAllocs()
	for b.Loop() {
		buf = p.Append(buf[:0])
	}
}
