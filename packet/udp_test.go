package packet

import (
	"math/rand/v2"
	"net/netip"
	"testing"
)

const udpWire = "c000 12b7 002c e7c5"

func TestUDP(t *testing.T) {
	testHeader(t, ParseUDP, []headerCase[UDP]{
		{"RoCEv2", udpWire, UDP{SrcPort: 49152, DstPort: RoCEPort, Length: 44, Checksum: 0xe7c5}},
		{"empty, no checksum", "0001 0002 0008 0000", UDP{SrcPort: 1, DstPort: 2, Length: 8}},
	})
}

func TestUDPShortLength(t *testing.T) {
	err := refused(t, ParseUDP, unhex(t, "c000 12b7 0007 0000"))
	wantError(t, err, ErrMalformed, "Length 7", "at least 8")
}

// naiveChecksum is RFC 1071 over a pseudo-header put together as RFC 8200 §8.1 draws it.
func naiveChecksum(src, dst netip.Addr, datagram []byte) uint16 {
	s, d := src.As16(), dst.As16()
	text := append(s[:], d[:]...)
	n := len(datagram)
	text = append(text, byte(n>>24), byte(n>>16), byte(n>>8), byte(n), 0, 0, 0, 17)
	text = append(text, datagram[:6]...)
	text = append(text, 0, 0)
	text = append(text, datagram[8:]...)
	if len(text)%2 == 1 {
		text = append(text, 0)
	}
	sum := uint16(0)
	for i := 0; i < len(text); i += 2 {
		word := uint16(text[i])<<8 | uint16(text[i+1])
		sum += word
		if sum < word {
			sum++ // end-around carry
		}
	}
	if ^sum == 0 {
		return 0xFFFF
	}
	return ^sum
}

func TestUDPChecksumAgainstNaiveTwin(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for n := 8; n < 300; n++ {
		b := make([]byte, 32+n)
		for i := range b {
			b[i] = byte(rng.Uint32())
			if rng.IntN(4) == 0 {
				b[i] = 0xFF // carries
			}
		}
		src, dst, datagram := netip.AddrFrom16([16]byte(b)), netip.AddrFrom16([16]byte(b[16:])), b[32:]
		got, want := UDPChecksum(src, dst, datagram), naiveChecksum(src, dst, datagram)
		if got != want {
			t.Fatalf("%d octets: checksum %#04x, want %#04x", n, got, want)
		}
		datagram[6], datagram[7] = byte(got>>8), byte(got)
		if err := CheckUDPChecksum(src, dst, datagram); err != nil {
			t.Fatalf("%d octets: %v", n, err)
		}
		datagram[0] ^= 0x10
		wantError(t, CheckUDPChecksum(src, dst, datagram), ErrChecksum)
	}
}

func TestUDPChecksumOfZeroIsSentAsOnes(t *testing.T) {
	// Choose the last word so that the sum of all words is 0xFFFF.
	src, dst := addr("::"), addr("::")
	datagram := []byte{0, 0, 0, 0, 0, 10, 0, 0, 0, 0}
	rest := naiveChecksum(src, dst, datagram)
	datagram[8], datagram[9] = byte(rest>>8), byte(rest)
	if got := UDPChecksum(src, dst, datagram); got != 0xFFFF {
		t.Errorf("checksum %#04x, want 0xffff", got)
	}
}

func TestCheckUDPChecksumAccepts(t *testing.T) {
	if err := CheckUDPChecksum(addr("::1"), addr("::2"), unhex(t, "0001 0002 0008 0000")); err != nil {
		t.Errorf("no checksum: %v", err)
	}
	wantError(t, CheckUDPChecksum(addr("::1"), addr("::2"), make([]byte, 7)), ErrTruncated, "7 octets",
		"need 8")
	if UDPChecksum(addr("::1"), addr("::2"), make([]byte, 3)) == 0 {
		t.Error("checksum of a stub is 0")
	}
}

func FuzzParseUDP(f *testing.F) { fuzzHeader(f, ParseUDP, true, udpWire) }

func FuzzUDPChecksum(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789ABCDEF"), unhex(f, udpWire))
	f.Fuzz(func(t *testing.T, addrs, datagram []byte) {
		if len(addrs) < 32 || len(datagram) < UDPLen {
			return
		}
		src, dst := netip.AddrFrom16([16]byte(addrs)), netip.AddrFrom16([16]byte(addrs[16:]))
		if got, want := UDPChecksum(src, dst, datagram), naiveChecksum(src, dst, datagram); got != want {
			t.Fatalf("checksum %#04x, want %#04x", got, want)
		}
	})
}
