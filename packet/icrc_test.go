package packet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
)

// naiveICRC is the dumb twin of ICRC: it builds the masked pseudo-packet octet by octet and divides
// it bit by bit.
func naiveICRC(p []byte) uint32 {
	text := naiveMask(p, IPv6Len+UDPLen)
	text[8+40+6] = 0xFF // UDP checksum
	text[8+40+7] = 0xFF
	return naiveCRC(text)
}

// naiveMask is eight octets of ones and the packet, with ones for what may change in its IPv6
// header and in the BTH at octet bth.
func naiveMask(p []byte, bth int) []byte {
	text := append([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, p...)
	ip := text[8:]
	ip[0] |= 0x0F // traffic class, high half
	ip[1] = 0xFF  // traffic class, low half; flow label
	ip[2] = 0xFF
	ip[3] = 0xFF
	ip[7] = 0xFF     // hop limit
	ip[bth+4] = 0xFF // FECN, BECN, reserved
	return text
}

func naiveCRC(text []byte) uint32 {
	const poly = 0x04C11DB7
	reg := uint32(0xFFFFFFFF)
	for _, octet := range text {
		for bit := range 8 { // least significant bit first
			in := uint32(octet>>bit) & 1
			out := reg >> 31
			reg <<= 1
			if in != out {
				reg ^= poly
			}
		}
	}
	var reflected uint32
	for bit := range 32 {
		reflected |= (reg >> bit & 1) << (31 - bit)
	}
	return ^reflected
}

// TestNaiveTwinAgainstHardware checks the twin itself, with two packets captured from network cards
// (secdev/scapy, test/contrib/roce.uts). They are RoCEv1: a global route header, which is an IPv6
// header, and no UDP; the same fields read as ones.
func TestNaiveTwinAgainstHardware(t *testing.T) {
	for name, s := range map[string]string{
		"RDMA WRITE Only": `6020 0000 0028 1b40 0000 0000 0000 0000 0000 ffff 0f00 0002 0000 0000 0000 0000 0000 ffff 0f00 0002
			0a70 ffff 0000 010a 80a7 88bc 0000 55d4 c072 6000 0000 47b3 0000 0005 0000 0000 0100 0000 e3d8 56bb`,
		"Acknowledge": `6020 0000 0014 1b40 0000 0000 0000 0000 0000 ffff 0f00 0002 0000 0000 0000 0000 0000 ffff 0f00 0002
			1140 ffff 0000 0109 00a7 88c0 0000 0005 25f0 c038`,
	} {
		p := unhex(t, s)
		body, tail := p[:len(p)-ICRCLen], p[len(p)-ICRCLen:]
		if got, want := naiveCRC(naiveMask(body, IPv6Len)),
			binary.LittleEndian.Uint32(tail); got != want {
			t.Errorf("%s: twin gives %#08x, the card %#08x", name, got, want)
		}
	}
}

func randomRoCEPacket(rng *rand.Rand, payload int) []byte {
	p := make([]byte, icrcMin+payload)
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	p[0] = 0x60 | p[0]&0x0F
	p[ipv6NextHeader] = NextHeaderUDP
	return p
}

func TestICRCAgainstNaiveTwin(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for size := range 300 {
		p := randomRoCEPacket(rng, size)
		got, err := ICRC(p)
		if want := naiveICRC(p); err != nil || got != want {
			t.Fatalf("payload of %d octets: ICRC = %#08x, %v; want %#08x\n% x", size, got, err, want, p)
		}
		whole := AppendICRC(p)
		if err := CheckICRC(whole); err != nil {
			t.Fatalf("payload of %d octets: %v", size, err)
		}
		bit := rng.IntN(8 * len(whole))
		whole[bit/8] ^= 1 << (bit % 8)
		invariant := icrcVariant(bit)
		if err := CheckICRC(whole); (err == nil) != invariant {
			t.Fatalf("payload of %d octets, bit %d flipped: CheckICRC = %v, want error: %v", size, bit, err,
				!invariant)
		}
	}
}

// icrcVariant reports whether the bit-th bit of a packet may change without changing the ICRC.
func icrcVariant(bit int) bool {
	switch octet := bit / 8; octet {
	case 0:
		return bit%8 < 4
	case 1, 2, 3, 7, 46, 47, 52:
		return true
	}
	return false
}

func TestICRCCoversAllButVariantBits(t *testing.T) {
	p := AppendICRC(randomRoCEPacket(rand.New(rand.NewPCG(2, 0)), 5))
	for bit := range 8 * len(p) {
		p[bit/8] ^= 1 << (bit % 8)
		err := CheckICRC(p)
		if (err == nil) != icrcVariant(bit) {
			t.Errorf("octet %d bit %d flipped: CheckICRC = %v", bit/8, bit%8, err)
		}
		p[bit/8] ^= 1 << (bit % 8)
	}
}

func TestICRCRefuses(t *testing.T) {
	good := AppendICRC(randomRoCEPacket(rand.New(rand.NewPCG(3, 0)), 0))
	for n := range good {
		if err := CheckICRC(good[:n]); !errors.Is(err, ErrTruncated) {
			t.Errorf("%d octets: CheckICRC = %v, want ErrTruncated", n, err)
		}
		if _, err := ICRC(good[:min(n, icrcMin-1)]); !errors.Is(err, ErrTruncated) {
			t.Errorf("%d octets: ICRC = %v, want ErrTruncated", n, err)
		}
	}
	for name, change := range map[string]func(p []byte){
		"IPv4": func(p []byte) { p[0] = 0x45 },
		"TCP":  func(p []byte) { p[ipv6NextHeader] = 6 },
		"SRH":  func(p []byte) { p[ipv6NextHeader] = NextHeaderRouting },
	} {
		p := append([]byte(nil), good...)
		change(p)
		if _, err := ICRC(p); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: ICRC = %v, want ErrMalformed", name, err)
		}
		if err := CheckICRC(p); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: CheckICRC = %v, want ErrMalformed", name, err)
		}
	}
	good[len(good)-1] ^= 1
	if err := CheckICRC(good); !errors.Is(err, ErrICRC) {
		t.Errorf("changed ICRC: CheckICRC = %v, want ErrICRC", err)
	}
}

func TestAppendICRCOfNoPacket(t *testing.T) {
	if got := AppendICRC([]byte{1, 2}); !bytes.Equal(got, []byte{1, 2, 0, 0, 0, 0}) {
		t.Errorf("% x, want the input and four octets of zero", got)
	}
}

func TestICRCDoesNotAllocate(t *testing.T) {
	p := AppendICRC(randomRoCEPacket(rand.New(rand.NewPCG(4, 0)), 4096))
	if n := testing.AllocsPerRun(100, func() {
		if err := CheckICRC(p); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("CheckICRC allocates %v times, want 0", n)
	}
}

func FuzzICRC(f *testing.F) {
	f.Add(randomRoCEPacket(rand.New(rand.NewPCG(5, 0)), 33))
	f.Fuzz(func(t *testing.T, p []byte) {
		got, err := ICRC(p)
		if err != nil {
			return
		}
		if want := naiveICRC(p); got != want {
			t.Fatalf("ICRC = %#08x, want %#08x", got, want)
		}
		if err := CheckICRC(AppendICRC(p)); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkICRC4096(b *testing.B) {
	p := randomRoCEPacket(rand.New(rand.NewPCG(6, 0)), 4096+RETHLen)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ICRC(p); err != nil {
			b.Fatal(err)
		}
	}
}
