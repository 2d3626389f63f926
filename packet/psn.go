package packet

// PSNMask covers the 24 bits of packet sequence numbers, queue pair numbers and message sequence
// numbers.
const PSNMask = 1<<24 - 1

const psnHalf = 1 << 23

// PSNAdd is a + n modulo 2^24; n may be negative.
func PSNAdd(a uint32, n int) uint32 { return (a + uint32(n)) & PSNMask }

// PSNDiff is the signed distance from b to a: the d in -2^23..2^23-1 for which PSNAdd(b, d) is a.
func PSNDiff(a, b uint32) int {
	d := int((a - b) & PSNMask)
	if d >= psnHalf {
		d -= 1 << 24
	}
	return d
}

// PSNBefore reports whether a comes before b: whether (b - a) mod 2^24 is in 1..2^23-1. Of two
// numbers exactly 2^23 apart neither comes before the other.
func PSNBefore(a, b uint32) bool {
	d := (b - a) & PSNMask
	return d != 0 && d < psnHalf
}
