package engine

import (
	"fmt"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/ir"
)

// primitive writes a primitive; false where it needs a closure.
func (w *translator) primitive(n *note) bool {
	return n.op != nil && n.op.translate != nil && n.op.translate(w, n)
}

func (w *translator) nothing(*note) bool { return true }

func (w *translator) count(n *note) bool {
	at, ok := w.index(n.args[1])
	if ok {
		w.line("c.Count(%d, %s)", n.args[0].Index, at)
	}
	return ok
}

func (w *translator) registerWrite(n *note) bool {
	if w.p.info.registers[n.args[0].Index].Width > 64 || n.args[2].Kind != ir.KindData {
		return false
	}
	at, ok1 := w.index(n.args[1])
	x, ok2 := w.value(n.args[2])
	if ok1 && ok2 {
		w.line("c.SetRegister(%d, %s, %s)", n.args[0].Index, at, x)
	}
	return ok1 && ok2
}

func (w *translator) assign(n *note) bool {
	dst, v := n.args[0], n.args[1]
	if dst.Op != ir.OpField || dst.Field.Signed || dst.Field.Width <= 64 || dst.Field.Width%8 != 0 ||
		!wholeOctets(dst, dst.Field.Width) || !wholeOctets(v, dst.Field.Width) {
		return false
	}
	w.mark(dst.Field.Header)
	to, from, size := dst.Field.Bit/8, v.Field.Bit/8, dst.Field.Width/8
	w.line("copy(d[%d:%d], d[%d:%d])", to, to+size, from, from+size)
	return true
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

func (w *translator) registerRead(n *note) bool {
	dst, register := n.args[0], n.args[1].Index
	at, ok := w.index(n.args[2])
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
func validity(write func(*translator, *ir.Header)) func(*translator, *note) bool {
	return func(w *translator, n *note) bool {
		h := n.args[0].Header
		if n.args[0].Op != ir.OpHeader || !h.Meta && (h.Union >= 0 || h.VL >= 0) {
			return false
		}
		if !h.Meta {
			write(w, h)
		}
		return true
	}
}

func (w *translator) removeHeader(h *ir.Header) {
	w.line("if %s {\nv[%d] &^= %#x\nc.Grow(-%d)\n}", w.valid(h), h.Word, h.Mask, h.Size)
}

func (w *translator) addHeader(h *ir.Header) {
	w.line("if v[%d]&%#x == 0 {", h.Word, h.Mask)
	w.line("clear(d[%d:%d])", h.Off, h.Off+h.Size)
	w.line("v[%d] |= %#x", h.Word, h.Mask)
	w.mark(h)
	w.line("c.Grow(%d)\n}", h.Size)
}

// copyHeader writes the assignment of a header.
func (w *translator) copyHeader(n *note) bool {
	if n.args[0].Op != ir.OpHeader || n.args[1].Op != ir.OpHeader {
		return false
	}
	to, from := n.args[0].Header, n.args[1].Header
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
