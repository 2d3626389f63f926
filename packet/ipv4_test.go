package packet

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
)

func addr4(rng *rand.Rand) netip.Addr {
	v := rng.Uint32()
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
}

func TestIPv4RoundTrip(t *testing.T) {
	const seed = 4
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		h := IPv4{TOS: uint8(rng.Uint32()), TotalLength: uint16(IPv4Len + rng.IntN(65000)),
			ID: uint16(rng.Uint32()), DontFragment: rng.IntN(2) == 0, MoreFragments: rng.IntN(2) == 0,
			Offset: uint16(rng.IntN(1 << 13)), TTL: uint8(rng.Uint32()), Protocol: uint8(rng.Uint32()),
			Src: addr4(rng), Dst: addr4(rng)}
		b := h.Append(nil)
		if len(b) != h.Len() {
			t.Fatalf("%d octets, Len %d", len(b), h.Len())
		}
		got, n, err := ParseIPv4(b)
		if err != nil || n != len(b) || got != h {
			t.Fatalf("% x: %+v, %d, %v; want %+v", b, got, n, err, h)
		}
		bit := rng.IntN(8 * len(b))
		b[bit/8] ^= 1 << (bit % 8)
		if err := refused(t, ParseIPv4, b); err == nil {
			t.Fatalf("bit %d flipped: no error", bit)
		}
	}
}

func TestIPv4Refuses(t *testing.T) {
	good := IPv4{TotalLength: 40, TTL: 64, Protocol: NextHeaderUDP,
		Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2")}
	for n := range IPv4Len {
		if err := refused(t, ParseIPv4, good.Append(nil)[:n]); !errors.Is(err, ErrTruncated) {
			t.Errorf("%d octets: %v, want ErrTruncated", n, err)
		}
	}
	options := good.Append(nil)
	options[0] = 0x46
	if err := refused(t, ParseIPv4, options); !errors.Is(err, ErrUnsupported) {
		t.Errorf("options: %v, want ErrUnsupported", err)
	}
	for _, first := range []byte{0x55, 0x65, 0x35, 0x44, 0x40} {
		other := good.Append(nil)
		other[0] = first
		if err := refused(t, ParseIPv4, other); !errors.Is(err, ErrMalformed) {
			t.Errorf("version and length %#x: %v, want ErrMalformed", first, err)
		}
	}
	short := good
	short.TotalLength = IPv4Len - 1
	if err := refused(t, ParseIPv4, short.Append(nil)); !errors.Is(err, ErrMalformed) {
		t.Errorf("Total Length 19: %v, want ErrMalformed", err)
	}
	sum := good.Append(nil)
	sum[ipv4Checksum] ^= 1
	if err := refused(t, ParseIPv4, sum); !errors.Is(err, ErrChecksum) {
		t.Errorf("checksum: %v, want ErrChecksum", err)
	}
	for name, change := range map[string]func(h *IPv4){
		"more fragments": func(h *IPv4) { h.MoreFragments = true },
		"later fragment": func(h *IPv4) { h.Offset = 1 },
	} {
		h := good
		change(&h)
		if _, _, err := ParseIP(h.Append(nil)); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: ParseIP %v, want ErrUnsupported", name, err)
		}
	}
}

func randomRoCE4Packet(rng *rand.Rand, payload int) []byte {
	h := IPv4{TOS: uint8(rng.Uint32()), TotalLength: uint16(icrcMin4 + payload + ICRCLen),
		ID: uint16(rng.Uint32()), DontFragment: true, TTL: uint8(rng.Uint32()), Protocol: NextHeaderUDP,
		Src: addr4(rng), Dst: addr4(rng)}
	p := h.Append(nil)
	for range UDPLen + BTHLen + payload {
		p = append(p, byte(rng.Uint32()))
	}
	return p
}

// icrc4Variant reports whether the bit-th bit of a packet over IPv4 may change without changing the
// ICRC (IBTA annex A17): type of service, time to live, both checksums, and the octet of the BTH
// with FECN and BECN.
func icrc4Variant(bit int) bool {
	switch bit / 8 {
	case 1, 8, 10, 11, 26, 27, 32:
		return true
	}
	return false
}

// naiveICRC4 is the dumb twin of ICRC over IPv4.
func naiveICRC4(p []byte) uint32 {
	text := append([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, p...)
	for i := range p {
		if icrc4Variant(8 * i) {
			text[8+i] = 0xFF
		}
	}
	return naiveCRC(text)
}

func TestICRCOverIPv4(t *testing.T) {
	const seed = 5
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for size := range 100 {
		p := randomRoCE4Packet(rng, size)
		if got, err := ICRC(p); err != nil || got != naiveICRC4(p) {
			t.Fatalf("payload of %d octets: ICRC = %#08x, %v; want %#08x", size, got, err, naiveICRC4(p))
		}
		whole := AppendICRC(p)
		if err := CheckICRC(whole); err != nil {
			t.Fatal(err)
		}
		for bit := 8; bit < 8*len(whole); bit++ {
			if bit/8 == ipv4Protocol {
				continue
			}
			whole[bit/8] ^= 1 << (bit % 8)
			if err := CheckICRC(whole); (err == nil) != icrc4Variant(bit) {
				t.Fatalf("octet %d bit %d flipped: CheckICRC = %v", bit/8, bit%8, err)
			}
			whole[bit/8] ^= 1 << (bit % 8)
		}
		for n := range icrcMin4 {
			if _, err := ICRC(p[:n]); !errors.Is(err, ErrTruncated) {
				t.Fatalf("%d octets: %v, want ErrTruncated", n, err)
			}
		}
	}
}

// TestICRCOfCNPOfCard has the fields of a CNP that a ConnectX-4 Lx sent over IPv4, and its ICRC
// (secdev/scapy, test/contrib/roce.uts).
func TestICRCOfCNPOfCard(t *testing.T) {
	p := RoCE{
		IPv6: IPv6{TrafficClass: 0xC2, HopLimit: 64, Src: netip.MustParseAddr("10.0.17.1"),
			Dst: netip.MustParseAddr("10.0.18.1")},
		ID:  0x718C,
		UDP: UDP{DstPort: RoCEPort},
		BTH: BTH{Opcode: OpCongestionNotification, PKey: DefaultPKey, BECN: true, DestQPN: 0x118},
	}
	frame := p.Append(nil)
	if sum := frame[EthernetLen+ipv4Checksum:][:2]; !bytes.Equal(sum, []byte{0x91, 0x61}) {
		t.Errorf("header checksum % x, want 91 61", sum)
	}
	if crc := frame[len(frame)-ICRCLen:]; !bytes.Equal(crc, []byte{0x82, 0xFD, 0x00, 0x2A}) {
		t.Errorf("ICRC % x, want 82 fd 00 2a", crc)
	}
}

func TestRoCEOverIPv4(t *testing.T) {
	for _, encapsulated := range []bool{false, true} {
		p := RoCE{
			IPv6: IPv6{TrafficClass: 0x68, HopLimit: 64, Src: netip.MustParseAddr("10.0.0.1"),
				Dst: netip.MustParseAddr("10.9.9.9")},
			ID:  7,
			UDP: UDP{SrcPort: 0xC001, DstPort: RoCEPort}, Checksummed: true,
			BTH:     BTH{Opcode: OpWriteOnly, PKey: DefaultPKey, DestQPN: 9, PSN: 3},
			RETH:    RETH{VA: 1, RKey: 2, DMALength: 5},
			Payload: []byte("hello"),
		}
		if encapsulated {
			p.Encapsulated, p.Routed = true, true
			p.Outer = IPv6{HopLimit: 64, Src: netip.MustParseAddr("2001:db8::1"),
				Dst: netip.MustParseAddr("2001:db8::2")}
			var err error
			if p.SRH, err = NewSRH(NextHeaderIPv4, []netip.Addr{p.Outer.Dst,
				netip.MustParseAddr("::ffff:10.9.9.9")}, nil); err != nil {
				t.Fatal(err)
			}
		}
		frame := p.Append(nil)
		if len(frame) != p.Len() {
			t.Errorf("%d octets, Len %d", len(frame), p.Len())
		}
		got, n, err := ParseRoCE(append(frame, 0, 0))
		if err != nil || n != len(frame) {
			t.Fatalf("ParseRoCE: %d of %d octets, %v", n, len(frame), err)
		}
		if err := CheckICRC(got.Datagram); err != nil {
			t.Error(err)
		}
		if err := CheckUDPChecksum(got.IPv6.Src, got.IPv6.Dst, got.Datagram[IPv4Len:]); err != nil {
			t.Error(err)
		}
		if again := got.Append(nil); !bytes.Equal(again, frame) {
			t.Errorf("written again:\n% x\nwant\n% x", again, frame)
		}
		for n := range frame {
			if _, _, err := ParseRoCE(frame[:n]); err == nil {
				t.Fatalf("%d of %d octets: no error", n, len(frame))
			}
		}
	}
}

// TestTunnelsAreOfIPv6: what an IPv4 header carries is UDP: a tunnel has an outer header of IPv6.
func TestTunnelsAreOfIPv6(t *testing.T) {
	p := RoCE{IPv6: IPv6{HopLimit: 64, Src: netip.MustParseAddr("10.0.0.1"),
		Dst: netip.MustParseAddr("10.9.9.9")}, UDP: UDP{SrcPort: 0xC001, DstPort: RoCEPort},
		BTH: BTH{Opcode: OpWriteOnly, PKey: DefaultPKey}}
	inner := p.AppendPacket(nil)
	for _, next := range []uint8{NextHeaderIPv4, NextHeaderIPv6, NextHeaderRouting} {
		outer := IPv4{TTL: 64, Protocol: next, TotalLength: uint16(IPv4Len + len(inner)),
			Src: p.IPv6.Src, Dst: p.IPv6.Dst}
		_, _, err := ParseRoCEPacket(append(outer.Append(nil), inner...))
		wantError(t, err, ErrUnsupported, fmt.Sprintf("Next Header %d, want 17 (UDP)", next))
	}
}

// TestIsIPv4: Append writes an IPv4 header if both addresses are IPv4.
func TestIsIPv4(t *testing.T) {
	four, mapped, six := addr("192.0.2.1"), addr("::ffff:192.0.2.1"), addr("2001:db8::1")
	for _, src := range []netip.Addr{four, mapped, six} {
		for _, dst := range []netip.Addr{four, mapped, six} {
			h := IPv6{Src: src, Dst: dst}
			if want := src == four && dst == four; h.IsIPv4() != want || (h.IPLen() == IPv4Len) != want {
				t.Errorf("%v to %v: %v, %d octets; want %v", src, dst, h.IsIPv4(), h.IPLen(), want)
			}
		}
	}
}
