package engine

import (
	"bytes"
	"hash/crc32"
	"math/bits"
	"slices"
)

// source is where an octet of a packet comes from: octet n-1 of the received frame for n from 1 on,
// or of a slot from slotSource on, eight each. A fixed one is the same in all packets of the path.
type source int32

const (
	fixed      source = 0
	unsettled  source = -1 // the time, or the depth of a queue
	slotSource source = 1 << 20
)

func (s source) ofSlot() bool { return s >= slotSource }

// slot returns the number of a slot and how far right the octet lies in it.
func (s source) slot() (n, shift int) {
	return int(s-slotSource) / 8, 56 - 8*int((s-slotSource)%8)
}

// slotOctet is the source of the octet that lies shift bits right in a slot.
func slotOctet(n, shift int) source { return slotSource + source(8*n+(56-shift)/8) }

// patch puts octets of the received frame among other octets; slotPatch puts an octet of a slot
// there.
type (
	patch     struct{ to, from, n int }
	slotPatch struct{ to, slot, shift int }
)

// patches are the octets that are not fixed.
func patches(src []source) (frame []patch, slots []slotPatch) {
	for i, s := range src {
		switch last := len(frame) - 1; {
		case s == fixed, s == unsettled:
		case s.ofSlot():
			n, shift := s.slot()
			slots = append(slots, slotPatch{i, n, shift})
		case last >= 0 && frame[last].to+frame[last].n == i && frame[last].from+frame[last].n == int(s)-1:
			frame[last].n++
		default:
			frame = append(frame, patch{i, int(s) - 1, 1})
		}
	}
	return frame, slots
}

// unpatch is the opposite.
func unpatch(src []source, frame []patch, slots []slotPatch) {
	clear(src)
	for _, p := range frame {
		for i := range p.n {
			src[p.to+i] = source(p.from + i + 1)
		}
	}
	for _, p := range slots {
		src[p.to] = slotOctet(p.slot, p.shift)
	}
}

// outline is a frame that leaves, in pieces: each piece consists of fixed octets, patched with
// octets from elsewhere, and of a run of the received frame.
type outline struct {
	pieces []piece
	octets int
}

type piece struct {
	fixed    []byte
	frame    []patch
	slots    []slotPatch
	from, to int
}

// longRun is how many octets of the received frame make a run of their own.
const longRun = 64

// outlineOf is the frame b, whose octets come from src.
func outlineOf(src []source, b []byte) *outline {
	o := &outline{octets: len(b)}
	for len(b) > 0 {
		from, n := len(b), 0 // the next long run
		for i := 0; i < len(b) && n < longRun; i++ {
			if n > 0 && src[i] == src[from]+source(n) {
				n++
				continue
			}
			if from, n = len(b), 0; src[i] > 0 && !src[i].ofSlot() {
				from, n = i, 1
			}
		}
		if n < longRun {
			from, n = len(b), 0
		}
		for n > 0 && from+n < len(b) && src[from+n] == src[from]+source(n) {
			n++
		}
		p := piece{fixed: append([]byte(nil), b[:from]...)}
		p.frame, p.slots = patches(src[:from])
		if n > 0 {
			p.from = int(src[from]) - 1
			p.to = p.from + n
		}
		o.pieces = append(o.pieces, p)
		src, b = src[from+n:], b[from+n:]
	}
	return o
}

// append appends the frame, of a received frame and slots.
func (o *outline) append(b []byte, f *Frame, slots []uint64) []byte {
	for i := range o.pieces {
		k, at := &o.pieces[i], len(b)
		b = append(b, k.fixed...)
		fill(b[at:], k.frame, k.slots, f, slots)
		b = append(b, f.b[k.from:k.to]...)
	}
	return b
}

// keepsPlace reports whether the frame has the run of the received frame where it was.
func (o *outline) keepsPlace() bool {
	return len(o.pieces) == 1 && o.pieces[0].from == len(o.pieces[0].fixed)
}

// fill puts octets of a received frame, and of slots, into others.
func fill(b []byte, frame []patch, of []slotPatch, f *Frame, slots []uint64) {
	for i := range frame {
		x := &frame[i]
		copy(b[x.to:x.to+x.n], f.b[x.from:])
	}
	for i := range of {
		x := &of[i]
		b[x.to] = byte(slots[x.slot] >> (x.shift & 63))
	}
}

// sum is the CRC-32 over fixed octets, patched with octets from the received frame and slots, and
// then over a run of the received frame.
type sum struct {
	fixed    []byte
	frame    []patch
	slots    []slotPatch
	from, to int
	shift    *crcShift // by the octets of the run
}

// of computes the sum; buf is scratch space, which is returned.
func (s *sum) of(f *Frame, slots []uint64, buf []byte) (uint32, []byte) {
	buf = append(buf[:0], s.fixed...)
	fill(buf, s.frame, s.slots, f, slots)
	crc := crc32.ChecksumIEEE(buf)
	if s.from < s.to {
		crc = s.shift.by(crc) ^ f.crcOf(s.from, s.to)
	}
	return crc, buf
}

// same reports whether two sums are of the same octets.
func (s *sum) same(o *sum) bool {
	return bytes.Equal(s.fixed, o.fixed) && slices.Equal(s.frame, o.frame) &&
		slices.Equal(s.slots, o.slots) && s.from == o.from && s.to == o.to
}

// crcOf returns the CRC-32 of a run of the frame, and keeps the CRC for the next sum over the same
// run.
func (f *Frame) crcOf(from, to int) uint32 {
	if f.crcFrom != from || f.crcTo != to {
		f.crcFrom, f.crcTo, f.crc = from, to, crc32.ChecksumIEEE(f.b[from:to])
	}
	return f.crc
}

// crcShift maps the CRC-32 of some octets to its part in the CRC-32 after n further octets: the CRC
// of all is by(CRC of the first octets) ^ (CRC of the further octets). A CRC is linear, so each of
// its four octets has a table.
type crcShift [4][256]uint32

func newCRCShift(octets int) *crcShift {
	// x^(8n) modulo the polynomial, whose coefficients are bits from the uppermost down.
	power, square := uint32(1)<<31, uint32(1)<<23 // 1, x^8
	for n := uint(octets); n != 0; n >>= 1 {
		if n&1 != 0 {
			power = crcTimes(power, square)
		}
		square = crcTimes(square, square)
	}
	t := &crcShift{}
	for k := range t {
		for b := range t[k] {
			t[k][b] = crcTimes(power, uint32(b)<<(8*k))
		}
	}
	return t
}

// crcTimes multiplies polynomials.
func crcTimes(a, b uint32) uint32 {
	var p uint32
	for ; a != 0; a &^= 1 << 31 >> bits.LeadingZeros32(a) {
		n := bits.LeadingZeros32(a)
		x := b
		for range n {
			x = x>>1 ^ -(x&1)&crc32.IEEE
		}
		p ^= x
	}
	return p
}

func (t *crcShift) by(crc uint32) uint32 {
	return t[0][byte(crc)] ^ t[1][byte(crc>>8)] ^ t[2][byte(crc>>16)] ^ t[3][crc>>24]
}

// octet is one of a packet while a pass is recorded; val is its value.
type octet struct {
	from source
	val  byte
}
