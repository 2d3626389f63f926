package engine

import (
	"encoding/binary"

	"github.com/weft-sdn/weft/dataplane/ir"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// getter returns a function that reads n bits (at most 64) of the packet state
// at an absolute bit offset, most significant bit first.
func getter(bit, n int) func(*Context) uint64 {
	off, sh := bit/8, bit%8
	if sh == 0 {
		switch n {
		case 0:
			return func(*Context) uint64 { return 0 }
		case 8:
			return func(c *Context) uint64 { return uint64(c.data[off]) }
		case 16:
			return func(c *Context) uint64 { return uint64(binary.BigEndian.Uint16(c.data[off:])) }
		case 32:
			return func(c *Context) uint64 { return uint64(binary.BigEndian.Uint32(c.data[off:])) }
		case 64:
			return func(c *Context) uint64 { return binary.BigEndian.Uint64(c.data[off:]) }
		}
	}
	if sh+n <= 8 {
		r, m := 8-sh-n, byte(bitfield.Mask(n))
		return func(c *Context) uint64 { return uint64(c.data[off] >> r & m) }
	}
	if sh+n <= 64 {
		r := 64 - n
		return func(c *Context) uint64 { return binary.BigEndian.Uint64(c.data[off:]) << sh >> r }
	}
	last := 8 - (sh + n - 64) // the field reaches into a ninth octet
	m := bitfield.Mask(n)
	return func(c *Context) uint64 {
		hi := binary.BigEndian.Uint64(c.data[off:]) << (8 - last)
		return (hi | uint64(c.data[off+8]>>last)) & m
	}
}

// fieldGetter returns the reader of a field of at most 64 bits; signed fields are
// sign-extended.
func fieldGetter(f *ir.Field) func(*Context) uint64 {
	switch {
	case f.Valid:
		w, m := f.Header.Word, f.Header.Mask
		if f.Header.Meta {
			return func(*Context) uint64 { return 1 }
		}
		return func(c *Context) uint64 {
			if c.valid[w]&m != 0 {
				return 1
			}
			return 0
		}
	case f.Signed && f.Width > 0:
		g, r := getter(f.Bit, f.Width), 64-f.Width
		return func(c *Context) uint64 { return uint64(int64(g(c)<<r) >> r) }
	case f.Header.Meta: // the rest of the slot is zero
		return getter(8*f.Slot(), 8*ir.SlotSize(f.Width))
	}
	return getter(f.Bit, f.Width)
}

// setter returns a function that writes n bits (at most 64) of the packet
// state at an absolute bit offset.
func setter(bit, n int) func(*Context, uint64) {
	off, sh := bit/8, bit%8
	if sh == 0 {
		switch n {
		case 0:
			return func(*Context, uint64) {}
		case 8:
			return func(c *Context, v uint64) { c.data[off] = byte(v) }
		case 16:
			return func(c *Context, v uint64) { binary.BigEndian.PutUint16(c.data[off:], uint16(v)) }
		case 32:
			return func(c *Context, v uint64) { binary.BigEndian.PutUint32(c.data[off:], uint32(v)) }
		case 64:
			return func(c *Context, v uint64) { binary.BigEndian.PutUint64(c.data[off:], v) }
		}
	}
	m := bitfield.Mask(n)
	if sh+n <= 64 {
		l := 64 - sh - n
		keep := ^(m << l)
		return func(c *Context, v uint64) {
			b := c.data[off:]
			binary.BigEndian.PutUint64(b, binary.BigEndian.Uint64(b)&keep|v&m<<l)
		}
	}
	over := sh + n - 64 // bits in a ninth octet
	keep, keep9 := ^(m >> over), byte(0xff)>>over
	return func(c *Context, v uint64) {
		v &= m
		b := c.data[off:]
		binary.BigEndian.PutUint64(b, binary.BigEndian.Uint64(b)&keep|v>>over)
		b[8] = b[8]&keep9 | byte(v<<(8-over))
	}
}

// fieldSetter returns the writer of a field of at most 64 bits; the value is cut to
// the field's width.
func fieldSetter(f *ir.Field) func(*Context, uint64) {
	switch {
	case f.Valid:
		return nil
	case f.Header.Meta:
		return metaSetter(f.Slot(), f.Width)
	}
	s := setter(f.Bit, f.Width)
	w, d := f.Header.Word, f.Header.Mask
	return func(c *Context, v uint64) {
		c.dirty[w] |= d
		s(c, v)
	}
}

// metaSetter returns the writer of a metadata field of n bits.
func metaSetter(off, n int) func(*Context, uint64) {
	if n == 0 {
		return func(*Context, uint64) {}
	}
	m := bitfield.Mask(n)
	return func(c *Context, v uint64) { binary.BigEndian.PutUint64(c.data[off:], v&m) }
}
