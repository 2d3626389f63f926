package engine

import (
	"hash/crc32"
	"math/bits"
)

// source is where an octet of a packet comes from: octet n-1 of the received frame for n from 1 on,
// or of a sum from sumSource on, four each. A fixed one is the same in all packets of the path.
type source int32

const (
	fixed     source = 0
	unsettled source = -1 // the time, or the depth of a queue
	sumSource source = 1 << 20
)

func (s source) ofSum() bool { return s >= sumSource }

// sum returns the number of a sum and how far right the octet lies in it.
func (s source) sum() (n, shift int) {
	return int(s-sumSource) / 4, 24 - 8*int((s-sumSource)%4)
}

// patch is octets of the received frame within others, sumPatch one of a sum.
type (
	patch    struct{ to, from, n int }
	sumPatch struct{ to, sum, shift int }
)

// patches are the octets that are not fixed.
func patches(src []source) (frame []patch, sums []sumPatch) {
	for i, s := range src {
		switch last := len(frame) - 1; {
		case s == fixed, s == unsettled:
		case s.ofSum():
			n, shift := s.sum()
			sums = append(sums, sumPatch{i, n, shift})
		case last >= 0 && frame[last].to+frame[last].n == i && frame[last].from+frame[last].n == int(s)-1:
			frame[last].n++
		default:
			frame = append(frame, patch{i, int(s) - 1, 1})
		}
	}
	return frame, sums
}

// unpatch is the opposite.
func unpatch(src []source, frame []patch, sums []sumPatch) {
	clear(src)
	for _, p := range frame {
		for i := range p.n {
			src[p.to+i] = source(p.from + i + 1)
		}
	}
	for _, p := range sums {
		src[p.to] = sumSource + source(4*p.sum+(24-p.shift)/8)
	}
}

// outline is a frame that leaves, as pieces of fixed octets, with others put into them, each
// followed by a run of the received frame.
type outline struct {
	pieces []piece
	octets int
}

type piece struct {
	fixed    []byte
	frame    []patch
	sums     []sumPatch
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
			if from, n = len(b), 0; src[i] > 0 && !src[i].ofSum() {
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
		p.frame, p.sums = patches(src[:from])
		if n > 0 {
			p.from = int(src[from]) - 1
			p.to = p.from + n
		}
		o.pieces = append(o.pieces, p)
		src, b = src[from+n:], b[from+n:]
	}
	return o
}

// append appends the frame, of a received frame and the sums of its path.
func (o *outline) append(b []byte, p *Path, v *value) []byte {
	for i := range o.pieces {
		k, at := &o.pieces[i], len(b)
		b = append(b, k.fixed...)
		fill(b[at:], k.frame, k.sums, p, v)
		b = append(b, v.f.b[k.from:k.to]...)
	}
	return b
}

// fill puts octets of a received frame, and of sums over it, into others.
func fill(b []byte, frame []patch, sums []sumPatch, p *Path, v *value) {
	for i := range frame {
		x := &frame[i]
		copy(b[x.to:x.to+x.n], v.f.b[x.from:])
	}
	for i := range sums {
		x := &sums[i]
		b[x.to] = byte(v.sum(p.sums[x.sum]) >> x.shift)
	}
}

// sum is the CRC-32 of octets, with those of the received frame put into them, and a run of that
// frame after them.
type sum struct {
	fixed    []byte
	frame    []patch
	from, to int
	shift    *crcShift // by the octets of the run
}

// value is a received frame, with the sum that was asked for last.
type value struct {
	f    *Frame
	last *sum
	crc  uint32
	buf  []byte
}

// of makes it that of a frame.
func (v *value) of(f *Frame) *value {
	v.f, v.last = f, nil
	return v
}

func (v *value) sum(s *sum) uint32 {
	if v.last == s {
		return v.crc
	}
	v.buf = append(v.buf[:0], s.fixed...)
	fill(v.buf, s.frame, nil, nil, v)
	crc := crc32.ChecksumIEEE(v.buf)
	if s.from < s.to {
		crc = s.shift.by(crc) ^ v.f.crcOf(s.from, s.to)
	}
	v.last, v.crc = s, crc
	return crc
}

// crcOf is the CRC-32 of a run of the frame, which is kept for the next sum over it.
func (f *Frame) crcOf(from, to int) uint32 {
	if f.crcFrom != from || f.crcTo != to {
		f.crcFrom, f.crcTo, f.crc = from, to, crc32.ChecksumIEEE(f.b[from:to])
	}
	return f.crc
}

// crcShift is what n octets after others do to the CRC-32 of those: that of both is
// by(of the first) ^ (of the others). A CRC is linear, so that its four octets go separately.
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

func (o octet) of(p *Path, v *value) byte {
	switch {
	case o.from == fixed:
		return o.val
	case o.from.ofSum():
		n, shift := o.from.sum()
		return byte(v.sum(p.sums[n]) >> shift)
	}
	return v.f.b[o.from-1]
}

// equality is octets that have to be equal, or not, as they were.
type equality struct {
	a, b  []octet
	equal bool
}

func (e *equality) holds(p *Path, v *value) bool {
	equal := true
	for i := range e.a {
		equal = equal && e.a[i].of(p, v) == e.b[i].of(p, v)
	}
	return equal == e.equal
}
