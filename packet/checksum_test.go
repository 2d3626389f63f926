package packet

import (
	"math/rand/v2"
	"testing"
)

// TestChecksum: the checksum matches the example of RFC 1071, §3, and a sum word by word.
func TestChecksum(t *testing.T) {
	if got := Checksum(ChecksumAdd(0, []byte{0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6,
		0xF7})); got != 0x220D {
		t.Errorf("RFC 1071, §3: %#04x, want 0x220d", got)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range 200 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32()) | byte(n) // often 0xFF
		}
		var want uint32
		for i, octet := range b {
			want += uint32(octet) << (8 * (1 - i%2))
			want = want&0xFFFF + want>>16
		}
		half := n / 4 * 2
		if got := Checksum(ChecksumAdd(ChecksumAdd(0, b[:half]), b[half:])); got != ^uint16(want) {
			t.Errorf("%x: %#04x, want %#04x", b, got, ^uint16(want))
		}
	}
}
