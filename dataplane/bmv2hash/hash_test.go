package bmv2hash

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// TestHashes compares the algorithms with published check values, those of
// "123456789" in pieces.
func TestHashes(t *testing.T) {
	for _, c := range []struct {
		algo string
		want uint64
	}{
		{"crc8_custom", 0xf4},        // CRC-8/SMBUS
		{"crc16", 0xbb3d},            // CRC-16/ARC
		{"crc16_custom", 0xbb3d},     //
		{"crcCCITT", 0x29b1},         // CRC-16/CCITT-FALSE
		{"crc32", 0xcbf43926},        // CRC-32/ISO-HDLC
		{"crc32_custom", 0xcbf43926}, //
		{"xxh64", 0x8cb841db40e6ae83},
		{"csum16", 0xf62a},
		{"identity", 0x3132333435363738},
		{"xor16", 0x3132 ^ 0x3334 ^ 0x3536 ^ 0x3738 ^ 0x3900},
		{"xor32", 0x31323334 ^ 0x35363738 ^ 0x39000000},
	} {
		for _, segs := range [][][]byte{
			{[]byte("123456789")},
			{[]byte("1"), []byte("23"), nil, []byte("456"), []byte("789")},
		} {
			if got := Algorithms[c.algo](segs); got != c.want {
				t.Errorf("%s of %q: %#x, want %#x", c.algo, segs, got, c.want)
			}
		}
	}
}

// TestCRC64 compares the table-driven form with one that works bit by bit.
func TestCRC64(t *testing.T) {
	const seed = 11
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for n := range 40 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		var crc uint64
		for _, x := range b {
			crc ^= uint64(bits.Reverse8(x)) << 56
			for range 8 {
				top := crc >> 63
				crc <<= 1
				if top != 0 {
					crc ^= 0x1b
				}
			}
		}
		if got, want := crc64ISO([][]byte{b}), bits.Reverse64(crc); got != want {
			t.Fatalf("%x: %#x, want %#x", b, got, want)
		}
	}
}
