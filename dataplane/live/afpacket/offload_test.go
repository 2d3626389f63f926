package afpacket

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// slowSum is RFC 1071 by the letter.
func slowSum(b []byte) uint16 {
	sum := uint32(0)
	for i, x := range b {
		sum += uint32(x) << (8 * (1 - i%2))
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}

// TestCompleteSum: a completed checksum, together with the pseudo header in its place before, makes
// the sum of the covered octets all ones.
func TestCompleteSum(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		frame := make([]byte, 60+rng.IntN(9000))
		for i := range frame {
			frame[i] = byte(rng.Uint32())
		}
		o := offload{needsSum: true, start: 34, next: 6}
		pseudo := binary.BigEndian.Uint16(frame[40:])
		o.completeSum(frame)
		frame = append(frame, make([]byte, len(frame)%2)...)
		if sum := slowSum(binary.BigEndian.AppendUint16(frame[34:], pseudo)); sum != 0xffff {
			t.Fatalf("%d octets: the sum is %#04x, want 0xffff", len(frame), sum)
		}
	}
}

func TestCompleteSumEdges(t *testing.T) {
	zero := make([]byte, 60)
	binary.BigEndian.PutUint16(zero[40:], 0xffff)
	offload{needsSum: true, start: 34, next: 6}.completeSum(zero)
	if got := binary.BigEndian.Uint16(zero[40:]); got != 0xffff {
		t.Errorf("a sum of zero is sent as %#04x, want 0xffff", got)
	}
	short := make([]byte, 41)
	for _, o := range []offload{{needsSum: true, start: 34, next: 6}, {needsSum: true, start: 50},
		{start: 34}} {
		o.completeSum(short) // must not panic
	}
	for i, b := range short {
		if b != 0 {
			t.Errorf("octet %d of a frame without room for a checksum is %#02x", i, b)
		}
	}
}

func TestParseOffload(t *testing.T) {
	b := make([]byte, offloadSize)
	b[0], b[1] = flagNeedsSum, 4
	binary.NativeEndian.PutUint16(b[6:], 34)
	binary.NativeEndian.PutUint16(b[8:], 16)
	if o := parseOffload(b); o != (offload{segments: true, needsSum: true, start: 34, next: 16}) {
		t.Errorf("%+v", o)
	}
	if o := parseOffload(make([]byte, offloadSize)); o != (offload{}) {
		t.Errorf("%+v", o)
	}
}
