package engine

import (
	"fmt"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/ir"
)

// primitive writes a primitive; false where it needs a closure.
func (w *translator) primitive(n *note) bool {
	switch n.op {
	case "no_op":
		return true
	case "count":
		at, ok := w.index(n.args[1])
		if ok {
			w.line("c.Count(%d, %s)", n.args[0].Index, at)
		}
		return ok
	case "register_read":
		return w.registerRead(n.args[0], n.args[1].Index, n.args[2])
	case "register_write":
		width := w.p.info.registers[n.args[0].Index].Width
		if width > 64 || n.args[2].Kind != ir.KindData {
			return false
		}
		at, ok1 := w.index(n.args[1])
		x, ok2 := w.value(n.args[2])
		if ok1 && ok2 {
			w.line("c.SetRegister(%d, %s, %s)", n.args[0].Index, at, x)
		}
		return ok1 && ok2
	case "add_header", "remove_header":
		if len(n.args) != 1 || n.args[0].Op != ir.OpHeader {
			return false
		}
		return w.validity(n.op, n.args[0].Header)
	case "assign":
		if dst, v := n.args[0], n.args[1]; dst.Op == ir.OpField && !dst.Field.Signed &&
			wholeOctets(dst, dst.Field.Width) && dst.Field.Width%8 == 0 && wholeOctets(v, dst.Field.Width) &&
			dst.Field.Width > 64 {
			w.mark(dst.Field.Header)
			to, from, size := dst.Field.Bit/8, v.Field.Bit/8, dst.Field.Width/8
			w.line("copy(d[%d:%d], d[%d:%d])", to, to+size, from, from+size)
			return true
		}
	case "assign_header":
		if n.args[0].Op != ir.OpHeader || n.args[1].Op != ir.OpHeader {
			return false
		}
		return w.copyHeader(n.args[0].Header, n.args[1].Header)
	}
	return false
}

// index returns the index of a register or a counter; BMv2 uses the low 32 bits.
func (w *translator) index(e *ir.Expr) (string, bool) {
	if e.Kind != ir.KindData {
		return "", false
	}
	x, ok := w.value(e)
	if !e.Nonneg() || e.Hi.BitLen() > 32 {
		x = "(" + x + ")&0xffffffff"
	}
	return x, ok
}

func (w *translator) registerRead(dst *ir.Expr, register int, index *ir.Expr) bool {
	at, ok := w.index(index)
	if f := dst.Field; !ok || dst.Op != ir.OpField || !f.Header.Meta || f.Valid || f.VL ||
		f.Width == 0 || f.Width > 64 || w.p.info.registers[register].Width > 64 {
		return false
	}
	w.line("if x, ok := c.Register(%d, %s); ok {", register, at)
	x := "x"
	if dst.Field.Width < 64 {
		x = fmt.Sprintf("x&%#x", bitfield.Mask(dst.Field.Width))
	}
	w.put(dst.Field.Slot(), 64, x)
	w.line("}")
	return true
}

// mark notes that a header's octets may not be zero.
func (w *translator) mark(h *ir.Header) {
	if !h.Meta {
		w.line("c.Mark(%d, %#x)", h.Word, h.Mask)
	}
}

// validity writes the change of a header's validity.
func (w *translator) validity(op string, h *ir.Header) bool {
	if h.Meta || h.Union >= 0 || h.VL >= 0 {
		return h.Meta
	}
	if op == "remove_header" {
		w.line("if %s {\nv[%d] &^= %#x\nc.Grow(-%d)\n}", w.valid(h), h.Word, h.Mask, h.Size)
		return true
	}
	w.line("if v[%d]&%#x == 0 {", h.Word, h.Mask)
	w.line("clear(d[%d:%d])", h.Off, h.Off+h.Size)
	w.line("v[%d] |= %#x", h.Word, h.Mask)
	w.mark(h)
	w.line("c.Grow(%d)\n}", h.Size)
	return true
}

// copyHeader writes the assignment of a header.
func (w *translator) copyHeader(to, from *ir.Header) bool {
	for _, h := range []*ir.Header{to, from} {
		if h.Meta || h.Union >= 0 || h.VL >= 0 {
			return false
		}
	}
	if to == from {
		return true
	}
	w.line("if %s {", w.valid(from))
	w.line("v[%d] |= %#x", to.Word, to.Mask)
	w.mark(to)
	w.line("copy(d[%d:%d], d[%d:%d])", to.Off, to.Off+to.Size, from.Off, from.Off+from.Size)
	w.line("} else {\nv[%d] &^= %#x\n}", to.Word, to.Mask)
	return true
}
