package packet

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
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
const (
	icrcUDPChecksum = IPv6Len + udpChecksum
	icrcBTH         = IPv6Len + UDPLen
	icrcResv8a      = icrcBTH + bthResv8a
)

var icrcOnes = []byte{0xFF, 0xFF}

// icrcStart is the CRC after the eight octets of ones and the IPv6 version, traffic class and flow
// label.
var icrcStart = crc32.ChecksumIEEE([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x6F,
	0xFF, 0xFF, 0xFF})

// icrcStart4 is the equivalent of icrcStart for IPv4, after the type of service.
var icrcStart4 = crc32.ChecksumIEEE([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
	ipv4NoOptions, 0xFF})

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

// icrc is ICRC over a packet that is long enough. It works on slices of the packet and of package
// variables, because what is handed to crc32.Update escapes to the heap.
func icrc(p []byte) uint32 {
	if p[0]>>4 == 4 {
		return icrc4(p)
	}
	crc := crc32.Update(icrcStart, crc32.IEEETable, p[ipv6PayloadLength:ipv6HopLimit])
	crc = crc32.Update(crc, crc32.IEEETable, icrcOnes[:1])
	crc = crc32.Update(crc, crc32.IEEETable, p[ipv6Src:icrcUDPChecksum])
	crc = crc32.Update(crc, crc32.IEEETable, icrcOnes[:2])
	crc = crc32.Update(crc, crc32.IEEETable, p[icrcBTH:icrcResv8a])
	crc = crc32.Update(crc, crc32.IEEETable, icrcOnes[:1])
	return crc32.Update(crc, crc32.IEEETable, p[icrcResv8a+1:])
}

// icrc4 is icrc of IPv4.
func icrc4(p []byte) uint32 {
	const bth = IPv4Len + UDPLen
	crc := crc32.Update(icrcStart4, crc32.IEEETable, p[ipv4TotalLength:ipv4TTL])
	crc = crc32.Update(crc, crc32.IEEETable, icrcOnes[:1])
	crc = crc32.Update(crc, crc32.IEEETable, p[ipv4Protocol:ipv4Checksum])
	crc = crc32.Update(crc, crc32.IEEETable, icrcOnes[:2])
	crc = crc32.Update(crc, crc32.IEEETable, p[ipv4Src:IPv4Len+udpChecksum])
	crc = crc32.Update(crc, crc32.IEEETable, icrcOnes[:2])
	crc = crc32.Update(crc, crc32.IEEETable, p[bth:bth+bthResv8a])
	crc = crc32.Update(crc, crc32.IEEETable, icrcOnes[:1])
	return crc32.Update(crc, crc32.IEEETable, p[bth+bthResv8a+1:])
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
