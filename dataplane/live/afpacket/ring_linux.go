package afpacket

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	ringSlots   = 2048      // frames that may wait for this process, unless that takes more than
	ringOctets  = 16 << 20  // of all slots
	blockOctets = 256 << 10 // of slots that lie together; the kernel wants them in one piece
	// octets of a slot in front of its frame: the kernel's headers, room for a tag
	slotExtra   = 128
	macs        = 12 // octets of the two addresses, which a VLAN tag follows
	etherHeader = 14
	tagSize     = 4
)

// ring is slots of frames shared with the kernel, which fills them in turn. A
// slot has a header (tpacket2_hdr), an offload header and the frame.
type ring struct {
	memory   []byte
	slot     int // octets of a slot
	perBlock int // slots
	slots    int
	head     int // the slot that is filled next
	longest  int // MTU that the slots have room for
	joins    bool
}

// newRing gives a socket its first ring, for frames of an MTU and, where frames are joined, for
// those.
func newRing(fd, mtu int, joins bool) (*ring, error) {
	octets := etherHeader + 2*tagSize + mtu
	if joins {
		octets = max(octets, joinedOctets)
	}
	r := &ring{slot: align(slotExtra+octets, unix.TPACKET_ALIGNMENT), longest: mtu, joins: joins}
	block := align(max(blockOctets, r.slot), os.Getpagesize())
	r.perBlock = block / r.slot
	blocks := max(1, min(ringSlots/r.perBlock, ringOctets/block))
	r.slots = r.perBlock * blocks
	err := unix.SetsockoptTpacketReq(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &unix.TpacketReq{
		Block_size: uint32(block), Block_nr: uint32(blocks), Frame_size: uint32(r.slot),
		Frame_nr: uint32(r.slots),
	})
	if err != nil {
		return nil, os.NewSyscallError("setsockopt PACKET_RX_RING", err)
	}
	if r.memory, err = unix.Mmap(fd, 0, block*blocks, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED); err != nil {
		return nil, errors.Join(os.NewSyscallError("mmap", err), removeRing(fd))
	}
	return r, nil
}

// removeRing takes the ring that is not mapped any more off its socket, with the
// frames in it.
func removeRing(fd int) error {
	return os.NewSyscallError("setsockopt PACKET_RX_RING",
		unix.SetsockoptTpacketReq(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &unix.TpacketReq{}))
}

func (r *ring) unmap() error {
	memory := r.memory
	r.memory = nil
	return os.NewSyscallError("munmap", unix.Munmap(memory))
}

func align(n, to int) int { return (n + to - 1) / to * to }

// mtu is the MTU that the slots have room for.
func (r *ring) mtu() int { return r.longest }

// at returns the header and the octets of the i-th slot from the head.
func (r *ring) at(i int) (*unix.Tpacket2Hdr, []byte) {
	n := (r.head + i) % r.slots
	block := len(r.memory) / (r.slots / r.perBlock)
	start := n/r.perBlock*block + n%r.perBlock*r.slot
	b := r.memory[start : start+r.slot]
	return (*unix.Tpacket2Hdr)(unsafe.Pointer(&b[0])), b
}

// take appends the frames that have arrived, at most readBatch and the frames of one slot more, and
// reports how many slots hold them and frames that were too long. The frames are valid until
// release.
func (r *ring) take(frames [][]byte) (_ [][]byte, slots, oversize int) {
	for len(frames)+oversize < readBatch && slots < r.slots && r.memory != nil {
		header, b := r.at(slots)
		status := atomic.LoadUint32(&header.Status)
		if status&unix.TP_STATUS_USER == 0 {
			break
		}
		slots++
		frame, o, ok := r.frame(header, status, b)
		if ok && o.segments {
			frames, ok = r.split(frames, frame, o)
		} else if ok {
			frames = append(frames, frame)
		}
		if !ok {
			oversize++
		}
	}
	return frames, slots, oversize
}

// frame returns a frame as it was on the wire; false: it is not whole, or segments that nobody
// joined for this ring.
func (r *ring) frame(header *unix.Tpacket2Hdr, status uint32, b []byte) ([]byte, offload, bool) {
	mac := int(header.Mac)
	o := parseOffload(b[mac-offloadSize:])
	tagged := status&unix.TP_STATUS_VLAN_VALID != 0
	if header.Snaplen < header.Len || o.segments && (!r.joins || tagged) {
		return nil, o, false
	}
	frame := b[mac : mac+int(header.Len)]
	if o.segments {
		return frame, o, true
	}
	o.completeSum(frame)
	if !tagged || len(frame) < macs {
		return frame, o, true
	}
	// The kernel takes a VLAN tag out and hands it over beside the frame.
	tpid := uint16(unix.ETH_P_8021Q)
	if status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
		tpid = header.Vlan_tpid
	}
	frame = b[mac-tagSize : mac+int(header.Len)]
	copy(frame, frame[tagSize:tagSize+macs])
	binary.BigEndian.PutUint16(frame[macs:], tpid)
	binary.BigEndian.PutUint16(frame[macs+2:], header.Vlan_tci)
	return frame, o, true
}

// split appends the frames that were joined; false: these are others' segments.
func (r *ring) split(frames [][]byte, joined []byte, o offload) (_ [][]byte, ok bool) {
	if !o.isJoined(joined) || len(joined)%o.size != 0 || o.size <= joinedHeaders {
		return frames, false
	}
	first := joined[:o.size]
	setLengths(first, o.size-joinedHeaders)
	before := len(frames)
	for ; len(joined) > 0; joined = joined[o.size:] {
		if !bytes.Equal(joined[:joinedHeaders], first[:joinedHeaders]) {
			return frames[:before], false
		}
		frames = append(frames, joined[:o.size])
	}
	return frames, true
}

// release gives slots back to the kernel.
func (r *ring) release(slots int) {
	for i := range slots {
		header, _ := r.at(i)
		atomic.StoreUint32(&header.Status, unix.TP_STATUS_KERNEL)
	}
	r.head = (r.head + slots) % r.slots
}
