package afpacket

import "encoding/binary"

// offload is the kernel's header in front of a frame: Linux's struct
// virtio_net_hdr, in the byte order of the machine.
type offload struct {
	segments    bool // several frames in one
	datagrams   bool // of UDP
	size        int  // of payload of a segment
	needsSum    bool
	start, next int // of the octets summed up, and of the checksum from there
}

const (
	offloadSize = 10

	flagNeedsSum = 1 // VIRTIO_NET_HDR_F_NEEDS_CSUM
	segmentUDP   = 5 // VIRTIO_NET_HDR_GSO_UDP_L4
)

// parseOffload reads the header; b has offloadSize octets.
func parseOffload(b []byte) offload {
	return offload{
		needsSum:  b[0]&flagNeedsSum != 0,
		segments:  b[1] != 0, // gso_type
		datagrams: b[1] == segmentUDP,
		size:      int(binary.NativeEndian.Uint16(b[4:])),
		start:     int(binary.NativeEndian.Uint16(b[6:])),
		next:      int(binary.NativeEndian.Uint16(b[8:])),
	}
}

// completeSum computes the checksum that was left to the interface. Its place
// holds the sum of the pseudo header.
func (o offload) completeSum(frame []byte) {
	at := o.start + o.next
	if !o.needsSum || at+2 > len(frame) {
		return
	}
	sum := ^onesSum(frame[o.start:])
	if sum == 0 {
		sum = 0xffff // the other zero: in UDP 0 is no checksum
	}
	binary.BigEndian.PutUint16(frame[at:], sum)
}

// onesSum is the one's complement sum of RFC 1071.
func onesSum(b []byte) uint16 {
	var sum uint64
	for len(b) >= 4 {
		sum += uint64(binary.BigEndian.Uint32(b))
		b = b[4:]
	}
	if len(b) >= 2 {
		sum += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}
