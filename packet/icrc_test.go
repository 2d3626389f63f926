package packet

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// naiveICRC is the dumb twin of ICRC: it builds the masked pseudo-packet octet by octet and divides it bit by bit.
func naiveICRC(p []byte) uint32 {
	text := make([]byte, 0, 8+len(p))
	for range 8 {
		text = append(text, 0xFF)
	}
	text = append(text, p...)
	ip := text[8:]
	ip[0] |= 0x0F // traffic class, high half
	ip[1] = 0xFF  // traffic class, low half; flow label
	ip[2] = 0xFF
	ip[3] = 0xFF
	ip[7] = 0xFF      // hop limit
	ip[40+6] = 0xFF   // UDP checksum
	ip[40+7] = 0xFF   //
	ip[40+8+4] = 0xFF // BTH reserved, FECN, BECN
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
			t.Fatalf("payload of %d octets, bit %d flipped: CheckICRC = %v, want error: %v", size, bit, err, !invariant)
		}
	}
}

// icrcVariant says whether the bit-th bit of a packet may change without changing the ICRC.
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
