package engine

import (
	"encoding/binary"

	"github.com/weft-sdn/weft/dataplane/ir"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// span is a piece of the frame a packet was parsed from: the value of a
// variable-length field, or the payload. Frames are never changed while a
// packet refers to them. With shifted set in both ends it is a piece of
// frame.shifted.
type span struct{ off, end uint32 }

const shifted = 1 << 31

func (s span) len() int { return int(s.end - s.off) }

// PHV is the state of one packet between parser and deparser (its packet header vector): headers,
// metadata and payload.
type PHV struct {
	data  []byte
	valid []uint64
	dirty []uint64 // headers whose octets may not be zero
	vl    []span
	next  []uint16 // header stacks, then header union stacks

	frame   *Frame
	payload span
	refs    int // holders of this state

	// Length is the packet length register of BMv2: the length received, plus
	// the headers added, less the headers removed.
	Length int
	// IngressLen is the length received, which counters and meters use.
	IngressLen int
	Trunc      int    // octets the packet is cut to on its way out
	Port       uint32 // by which the packet was received
	Arrived    uint64 // microseconds

	// path is what makes the packet of the received frame, frame: until then headers, metadata and
	// payload are not there. nil: it is made.
	path *Path
	kept []uint64 // slots of the path
	dest uint64   // the port or the group that it goes to
}

// Whole is a Trunc that cuts nothing off.
const Whole = int(^uint(0) >> 1)

func newPHV(l *ir.Layout) *PHV {
	p := &PHV{
		data:  make([]byte, l.Size),
		valid: make([]uint64, l.ValidWords),
		dirty: make([]uint64, l.ValidWords),
		vl:    make([]span, l.NumVL),
		next:  make([]uint16, l.NumNext),
	}
	return p
}

// clearHeaders makes every header invalid and its octets zero.
func (p *PHV) clearHeaders(l *ir.Layout) {
	for w, d := range p.dirty {
		for d != 0 {
			var b int
			b, d = bitfield.Next(d)
			h := l.Headers[w*64+b]
			clear(p.data[h.Off : h.Off+h.Size])
		}
		p.dirty[w] = 0
		p.valid[w] = 0
	}
	clear(p.vl)
	clear(p.next)
}

// clearMeta makes all metadata zero.
func (p *PHV) clearMeta(l *ir.Layout) {
	clear(p.data[l.MetaOff : l.MetaOff+l.MetaSize])
}

// copyFrom makes p a copy of q: metadata and valid headers, as BMv2 does;
// invalid headers of the copy are zero. carry copies the metadata; nil: all of it.
func (p *PHV) copyFrom(q *PHV, l *ir.Layout, carry func(to, from []byte)) {
	for w := range p.dirty {
		stale := p.dirty[w] &^ q.valid[w]
		for stale != 0 {
			var b int
			b, stale = bitfield.Next(stale)
			h := l.Headers[w*64+b]
			clear(p.data[h.Off : h.Off+h.Size])
		}
		v := q.valid[w]
		p.valid[w], p.dirty[w] = v, v
		for v != 0 {
			var b int
			b, v = bitfield.Next(v)
			h := l.Headers[w*64+b]
			copy(p.data[h.Off:h.Off+h.Size], q.data[h.Off:])
		}
	}
	if carry != nil {
		carry(p.data, q.data)
	} else {
		copy(p.data[l.MetaOff:l.MetaOff+l.MetaSize], q.data[l.MetaOff:])
	}
	copy(p.vl, q.vl)
	copy(p.next, q.next)
	p.frame = q.frame
	p.payload = q.payload
	p.Length, p.IngressLen, p.Trunc = q.Length, q.IngressLen, q.Trunc
	p.Port, p.Arrived = q.Port, q.Arrived
}

func (p *PHV) isValid(h *ir.Header) bool { return p.valid[h.Word]&h.Mask != 0 }

// setValid makes a header valid and, in a union, the others invalid.
func (p *PHV) setValid(h *ir.Header, l *ir.Layout) {
	if h.Union >= 0 {
		for _, o := range l.Unions[h.Union].Headers {
			p.valid[o.Word] &^= o.Mask
		}
	}
	p.valid[h.Word] |= h.Mask
	p.dirty[h.Word] |= h.Mask
}

func (p *PHV) setInvalid(h *ir.Header) { p.valid[h.Word] &^= h.Mask }

// headerLen is the length of a header on the wire.
func (p *PHV) headerLen(h *ir.Header) int {
	if h.VL >= 0 {
		return h.Size + p.vl[h.VL].len()
	}
	return h.Size
}

// bytes returns the octets of a span.
func (p *PHV) bytes(s span) []byte {
	if p.frame == nil {
		return nil
	}
	if s.off&shifted != 0 {
		return p.frame.shifted[s.off&^shifted : s.end&^shifted]
	}
	return p.frame.b[s.off:s.end]
}

// appendHeader appends a header's wire form.
func (p *PHV) appendHeader(b []byte, h *ir.Header) []byte {
	d := p.data[h.Off : h.Off+h.Size]
	if h.VL < 0 {
		return append(b, d...)
	}
	v := p.bytes(p.vl[h.VL])
	if h.VLBit%8 != 0 {
		return appendShifted(b, d, v, h.VLBit)
	}
	b = append(b, d[:h.VLBit/8]...)
	b = append(b, v...)
	return append(b, d[h.VLBit/8:]...)
}

// appendShifted appends a header whose variable-length field v starts within
// an octet, at a bit of its fixed part d.
func appendShifted(b, d, v []byte, bit int) []byte {
	from := len(b)
	b = append(append(b, d...), v...)
	out := b[from:]
	bitfield.Copy(out, bit, v, 0, 8*len(v))
	bitfield.Copy(out, bit+8*len(v), d, bit, 8*len(d)-bit)
	return b
}

// meta64 reads a metadata field of at most 64 bits.
func (p *PHV) meta64(f *ir.Field) uint64 {
	if f.Width == 0 {
		return 0
	}
	return binary.BigEndian.Uint64(p.data[f.Slot():])
}

// setMeta64 writes a metadata field of at most 64 bits, cut to its width.
func (p *PHV) setMeta64(f *ir.Field, v uint64) {
	if f.Width != 0 {
		binary.BigEndian.PutUint64(p.data[f.Slot():], v&bitfield.Mask(f.Width))
	}
}

// std reads a standard field, 0 where there is none.
func (p *PHV) std(f *stdField) uint64 {
	if f.off < 0 {
		return 0
	}
	return binary.BigEndian.Uint64(p.data[f.off:])
}

// setStd writes a standard field, where there is one.
func (p *PHV) setStd(f *stdField, v uint64) {
	if f.off >= 0 {
		binary.BigEndian.PutUint64(p.data[f.off:], v<<(f.cut&63)>>(f.cut&63))
	}
}

// Frame is the octets of a received or recirculated packet, shared by its copies.
type Frame struct {
	b    []byte
	refs int
	// shifted holds the octets of variable-length fields that start within an octet of b.
	shifted []byte

	crcFrom, crcTo int // octets of which crc is the CRC-32
	crc            uint32
}
