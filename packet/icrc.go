package packet

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"
)

// ICRCLen is the length of the invariant CRC in octets.
const ICRCLen = 4

// icrcMin is the shortest packet an ICRC is computed over: IPv6, UDP and BTH. icrcMin4 is the same
// for IPv4.
const (
	icrcMin  = IPv6Len + UDPLen + BTHLen
	icrcMin4 = IPv4Len + UDPLen + BTHLen
)

// The ICRC (IBTA annex A17.3) is the Ethernet CRC-32 over eight octets of ones, in place of
// InfiniBand's local route header, and the packet from its IPv6 header on. Fields that may change
// en route count as ones: traffic class, flow label, hop limit, UDP checksum and the reserved octet
// of the BTH with FECN and BECN. In IPv4, type of service, time to live and header checksum count
// as ones.
var icrcMask6 = icrcMask{
	start: crc32.ChecksumIEEE([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x6F, 0xFF, 0xFF,
		0xFF}),
	from: ipv6PayloadLength, end: icrcMin,
	ones: []int{ipv6HopLimit, IPv6Len + udpChecksum, IPv6Len + udpChecksum + 1,
		IPv6Len + UDPLen + bthResv8a},
}

var icrcMask4 = icrcMask{
	start: crc32.ChecksumIEEE([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, ipv4NoOptions,
		0xFF}),
	from: ipv4TotalLength, end: icrcMin4,
	ones: []int{ipv4TTL, ipv4Checksum, ipv4Checksum + 1, IPv4Len + udpChecksum,
		IPv4Len + udpChecksum + 1, IPv4Len + UDPLen + bthResv8a},
}

// icrcMask is what counts as ones in the headers of a packet, which end at an octet.
type icrcMask struct {
	start uint32 // the CRC after the octets before from
	from  int
	end   int
	ones  []int // octets from there on
}

// icrcHeaders has room for headers with their ones, because what is handed to crc32.Update escapes
// to the heap.
var icrcHeaders = sync.Pool{New: func() any { return new([icrcMin]byte) }}

// icrcShape returns the least octets of a packet by its IP version, and where it names UDP.
func icrcShape(p []byte) (least, next int) {
	if len(p) > 0 && p[0]>>4 == 4 {
		return icrcMin4, ipv4Protocol
	}
	return icrcMin, ipv6NextHeader
}

// ICRC computes the invariant CRC of a RoCEv2 packet. p starts with the IP header, which UDP and
// BTH follow at once, and ends before the ICRC; length fields are covered as they stand and not
// compared with len(p). The result goes on the wire least significant octet first.
func ICRC(p []byte) (uint32, error) {
	least, next := icrcShape(p)
	if len(p) < least {
		return 0, truncated("RoCEv2 packet without ICRC", len(p), least)
	}
	if v := p[0]; v>>4 != 6 && v != ipv4NoOptions {
		return 0, fmt.Errorf("ICRC: IP header begins with %#02x, want version 6, or 4 without "+
			"options: %w", v, ErrMalformed)
	}
	if nh := p[next]; nh != NextHeaderUDP {
		return 0, fmt.Errorf("ICRC: Next Header %d, want %d (UDP): %w", nh, NextHeaderUDP,
			ErrMalformed)
	}
	return icrc(p), nil
}

// icrc is ICRC over a packet that is long enough.
func icrc(p []byte) uint32 {
	m := &icrcMask6
	if p[0]>>4 == 4 {
		m = &icrcMask4
	}
	headers := icrcHeaders.Get().(*[icrcMin]byte)
	copy(headers[:m.end], p)
	for _, at := range m.ones {
		headers[at] = 0xFF
	}
	crc := crc32.Update(m.start, crc32.IEEETable, headers[m.from:m.end])
	icrcHeaders.Put(headers)
	return crc32.Update(crc, crc32.IEEETable, p[m.end:])
}

// cutICRC splits the ICRC off the end of a packet.
func cutICRC(b []byte) (rest []byte, icrc uint32, err error) {
	if len(b) < ICRCLen {
		return nil, 0, truncated("ICRC", len(b), ICRCLen)
	}
	end := len(b) - ICRCLen
	return b[:end], binary.LittleEndian.Uint32(b[end:]), nil
}

// AppendICRC appends the ICRC of p to it. p is as for ICRC; a packet that ICRC refuses gets four
// octets of zero.
func AppendICRC(p []byte) []byte {
	crc, _ := ICRC(p)
	return binary.LittleEndian.AppendUint32(p, crc)
}

// CheckICRC reports whether the last four octets of p are the ICRC of the octets before. p is a
// packet from its IP header to its ICRC.
func CheckICRC(p []byte) error {
	least, _ := icrcShape(p)
	if len(p) < least+ICRCLen {
		return truncated("RoCEv2 packet", len(p), least+ICRCLen)
	}
	body, tail := p[:len(p)-ICRCLen], p[len(p)-ICRCLen:]
	want, err := ICRC(body)
	if err != nil {
		return err
	}
	if got := binary.LittleEndian.Uint32(tail); got != want {
		return fmt.Errorf("ICRC %#08x, want %#08x: %w", got, want, ErrICRC)
	}
	return nil
}
