package queue

import "testing"

// TestPortSpeedIsKept checks that in the long run the rate is that of the wire to the bit, whatever
// its speed divides into.
func TestPortSpeedIsKept(t *testing.T) {
	for _, speed := range []uint64{399_999_999_997, 100_000_000_000, 7_000_003} {
		l := line[int]{speed: speed}
		const frames, octets = 100_000, 4222
		for range frames {
			l.took(0, octets)
		}
		exact := float64(frames*(octets+frameOverhead)*8) / float64(speed) * 1e9
		if got := float64(l.free); got < exact-2 || got > exact+2 {
			t.Errorf("%d bits a second: %d frames take %v ns, want %v", speed, frames, got, exact)
		}
	}
}
