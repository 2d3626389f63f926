package bmv2hash

import (
	"encoding/binary"
	"hash/crc32"
	"hash/crc64"
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"github.com/weft-sdn/weft/packet"
)

// Func computes a hash over octets that come in pieces.
type Func func(segs [][]byte) uint64

// Algorithms are the hash functions by the names BMv2 JSON uses. The custom ones have
// BMv2's default parameters. BMv2's round_robin and round_robin_consistent are
// not here, as their result depends on the packets before; nor is random,
// which p4c accepts and BMv2 does not.
var Algorithms = map[string]Func{
	"crc8_custom":  crc8,
	"crc16":        crc16,
	"crc16_custom": crc16,
	"crc32":        crc32IEEE,
	"crc32_custom": crc32IEEE,
	"crc64_custom": crc64ISO,
	"xxh64":        xxh64,
	"crcCCITT":     crcCCITT,
	"csum16":       csum16,
	"cksum16":      csum16,
	"identity":     identity,
	"xor16":        func(s [][]byte) uint64 { return xorFold(s, 2) },
	"xor32":        func(s [][]byte) uint64 { return xorFold(s, 4) },
}

func crc32IEEE(segs [][]byte) uint64 {
	var crc uint32
	for _, s := range segs {
		crc = crc32.Update(crc, crc32.IEEETable, s)
	}
	return uint64(crc)
}

// crc64ISO has the polynomial of ISO 3309 but, unlike hash/crc64, neither an
// initial remainder nor a final complement.
func crc64ISO(segs [][]byte) uint64 {
	crc := ^uint64(0)
	for _, s := range segs {
		crc = crc64.Update(crc, isoTable, s)
	}
	return ^crc
}

var isoTable = crc64.MakeTable(crc64.ISO)

func xxh64(segs [][]byte) uint64 {
	var d xxhash.Digest
	d.Reset()
	for _, s := range segs {
		_, _ = d.Write(s) // never fails
	}
	return d.Sum64()
}

// crc8Table is of polynomial 0x07, most significant bit first.
var crc8Table = func() (t [256]uint8) {
	for i := range t {
		v := uint8(i)
		for range 8 {
			if v&0x80 != 0 {
				v = v<<1 ^ 0x07
			} else {
				v <<= 1
			}
		}
		t[i] = v
	}
	return t
}()

func crc8(segs [][]byte) uint64 {
	var crc uint8
	for _, s := range segs {
		for _, b := range s {
			crc = crc8Table[crc^b]
		}
	}
	return uint64(crc)
}

// crc16Table is of the reflected polynomial of CRC-16/ARC.
var crc16Table = func() (t [256]uint16) {
	for i := range t {
		v := uint16(i)
		for range 8 {
			if v&1 != 0 {
				v = v>>1 ^ 0xa001
			} else {
				v >>= 1
			}
		}
		t[i] = v
	}
	return t
}()

func crc16(segs [][]byte) uint64 {
	var crc uint16
	for _, s := range segs {
		for _, b := range s {
			crc = crc>>8 ^ crc16Table[byte(crc)^b]
		}
	}
	return uint64(crc)
}

// ccittTable is of polynomial 0x1021, most significant bit first.
var ccittTable = func() (t [256]uint16) {
	for i := range t {
		v := uint16(i) << 8
		for range 8 {
			if v&0x8000 != 0 {
				v = v<<1 ^ 0x1021
			} else {
				v <<= 1
			}
		}
		t[i] = v
	}
	return t
}()

func crcCCITT(segs [][]byte) uint64 {
	crc := uint16(0xffff)
	for _, s := range segs {
		for _, b := range s {
			crc = crc<<8 ^ ccittTable[byte(crc>>8)^b]
		}
	}
	return uint64(crc)
}

// csum16 is the Internet checksum (RFC 1071).
func csum16(segs [][]byte) uint64 {
	var sum, carry uint64
	odd := false
	for _, s := range segs {
		if odd && len(s) > 0 {
			sum, carry = bits.Add64(sum, uint64(s[0]), 0)
			sum += carry
			s, odd = s[1:], false
		}
		for len(s) >= 8 {
			sum, carry = bits.Add64(sum, binary.BigEndian.Uint64(s), 0)
			sum += carry
			s = s[8:]
		}
		for len(s) >= 2 {
			sum, carry = bits.Add64(sum, uint64(s[0])<<8|uint64(s[1]), 0)
			sum += carry
			s = s[2:]
		}
		if len(s) == 1 {
			sum, carry = bits.Add64(sum, uint64(s[0])<<8, 0)
			sum += carry
			odd = true
		}
	}
	return uint64(packet.Checksum(sum))
}

// identity is the first eight octets, as a number.
func identity(segs [][]byte) uint64 {
	var v uint64
	n := 0
	for _, s := range segs {
		for _, b := range s {
			if n == 8 {
				return v
			}
			v = v<<8 | uint64(b)
			n++
		}
	}
	return v
}

// xorFold returns the exclusive or of consecutive words of n octets, the last word padded with
// zeroes.
func xorFold(segs [][]byte, n int) uint64 {
	var v uint64
	i := 0
	for _, s := range segs {
		for _, b := range s {
			v ^= uint64(b) << (8 * (n - 1 - i))
			i = (i + 1) % n
		}
	}
	return v
}
