package afpacket

import (
	"bytes"
	"encoding/binary"
)

// Joined frames pass the kernel as one packet of UDP segmentation offload: all frames with their
// headers, which are equal, one behind the other, so that the receiver need not copy them. The
// lengths of the first frame are those of the packet, and a segment is as long as a frame. Such a
// packet costs the kernel little more than one frame. The frames have no UDP checksum (0), and
// nothing on a veth cuts the packet up and writes one.
const (
	// joinedHeaders is the octets of Ethernet, IPv6 and UDP.
	joinedHeaders = etherHeader + ipv6Header + udpHeader
	// joinedOctets is the size of a joined packet at most: eight MRC packets of 4 KiB.
	joinedOctets = 36 << 10

	ipv6Header, udpHeader = 40, 8
	udpSum                = 6 // offset in the UDP header

	atEtherType, etherTypeIPv6 = 12, 0x86dd
	atLength, atNextHeader     = etherHeader + 4, etherHeader + 6
	nextHeaderUDP              = 17
	atUDPLength                = etherHeader + ipv6Header + 4
	atUDPSum                   = etherHeader + ipv6Header + udpSum
)

// joinable reports whether a frame is a UDP datagram over IPv6 without a checksum.
func joinable(frame []byte) bool {
	return len(frame) > joinedHeaders &&
		binary.BigEndian.Uint16(frame[atEtherType:]) == etherTypeIPv6 &&
		frame[atNextHeader] == nextHeaderUDP && binary.BigEndian.Uint16(frame[atUDPSum:]) == 0 &&
		int(binary.BigEndian.Uint16(frame[atUDPLength:])) == len(frame)-joinedHeaders+udpHeader
}

// alike returns how many frames from the first on can be one packet.
func alike(frames [][]byte) int {
	first := frames[0]
	if !joinable(first) {
		return 1
	}
	n := 1
	for n < len(frames) && len(frames[n]) == len(first) && (n+1)*len(first) <= joinedOctets &&
		bytes.Equal(frames[n][:joinedHeaders], first[:joinedHeaders]) {
		n++
	}
	return n
}

// setLengths writes the lengths of IPv6 and UDP for octets of payload.
func setLengths(frame []byte, payload int) {
	binary.BigEndian.PutUint16(frame[atLength:], uint16(udpHeader+payload))
	binary.BigEndian.PutUint16(frame[atUDPLength:], uint16(udpHeader+payload))
}

// putOffload writes the header of a packet with segments of a size; b has offloadSize octets.
func putOffload(b []byte, size int) {
	b[0], b[1] = flagNeedsSum, segmentUDP
	for i, v := range [...]uint16{joinedHeaders, uint16(size), etherHeader + ipv6Header, udpSum} {
		binary.NativeEndian.PutUint16(b[2+2*i:], v)
	}
}

// isJoined reports whether a packet is joined frames.
func (o offload) isJoined(frame []byte) bool {
	return o.datagrams && o.size > 0 && o.needsSum && o.start == etherHeader+ipv6Header &&
		o.next == udpSum && joinable(frame)
}
