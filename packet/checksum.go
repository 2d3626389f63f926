package packet

import "encoding/binary"

// ChecksumAdd adds the 16-bit words of b to a sum for an Internet checksum (RFC 1071); a last odd
// octet counts as the high half of a word. The sum has room for 2^34 octets.
func ChecksumAdd(sum uint64, b []byte) uint64 {
	for ; len(b) >= 4; b = b[4:] {
		// Four octets at once: 2^16 is 1 modulo 2^16-1, so the high word folds down like a carry.
		sum += uint64(binary.BigEndian.Uint32(b))
	}
	if len(b) >= 2 {
		sum += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	return sum
}

// Checksum is the Internet checksum of words that add up to sum.
func Checksum(sum uint64) uint16 {
	for sum > 0xFFFF {
		sum = sum>>16 + sum&0xFFFF
	}
	return ^uint16(sum)
}
