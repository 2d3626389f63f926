package engine

import (
	"encoding/binary"

	"github.com/weft-sdn/weft/dataplane/ir"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

func (l *loader) count(n *note) func(*Context) {
	k := l.arrayOf(n, 0, "counter_array")
	n.index = l.index(l.dataExpr(n.source, n.args[1]))
	idx := n.index
	return func(c *Context) {
		if i, n := c.eval(&idx), &c.st.counters[k]; c.st.within(i, n.Size) {
			n.Add(i, c.IngressLen)
		}
	}
}

func (l *loader) meter(n *note) func(*Context) {
	m, idx := l.arrayOf(n, 0, "meter_array"), l.index(l.dataExpr(n.source, n.args[1]))
	set := l.store(n.source, n.args[2])
	return func(c *Context) {
		ms := &c.st.meters[m]
		i := c.eval(&idx)
		if c.st.within(i, ms.Size) {
			set(c, ms.Execute(i, c.st.now, c.IngressLen))
		}
	}
}

func (l *loader) sendDigest(n *note) func(*Context) {
	d, ok := l.digests[l.constant(n, 1)]
	if !ok {
		l.bad(n.source, "generate_digest of an unknown list")
	}
	return func(c *Context) { c.digest = int32(d) }
}

func (l *loader) clone(n *note) func(*Context) {
	session, fl := l.u64(l.dataExpr(n.source, n.args[0])), l.fieldListOf(n, 1)
	return func(c *Context) {
		c.clone, c.cloneList = int32(session(c)&MaxCloneSession), fl
	}
}

func (l *loader) exit(*note) func(*Context) { return func(c *Context) { c.exit = true } }

func (l *loader) truncate(n *note) func(*Context) {
	size := l.u64(l.dataExpr(n.source, n.args[0]))
	return func(c *Context) { c.Trunc = min(c.Trunc, int(min(size(c), 1<<31))) }
}

// MaxCloneSession is the largest clone session id; a session chosen by a
// packet is cut to it, as in BMv2.
const MaxCloneSession = 0x7fff

// within reports whether an array of a size has an element i, and counts the access if not.
func (s *State) within(i uint64, size int) bool {
	if i < uint64(size) {
		return true
	}
	s.outOfRange++
	return false
}

// arrayOf insists that a parameter is an object of a kind and returns its index.
func (l *loader) arrayOf(n *note, i int, kind string) int {
	if e := n.args[i]; e.Kind != ir.KindObject || e.Str != kind {
		l.bad(n.source, "%s wants a %s", n.op.name, kind)
	}
	return n.args[i].Index
}

func (l *loader) constant(n *note, i int) int {
	e := n.args[i]
	if e.Op != ir.OpConst || !e.N.IsInt64() || int64(int32(e.N.Int64())) != e.N.Int64() {
		l.bad(n.source, "%s wants a constant", n.op.name)
	}
	return int(e.N.Int64())
}

func (l *loader) fieldListOf(n *note, i int) *fieldList {
	id := l.constant(n, i)
	fl := l.fieldLists[id]
	if fl == nil {
		l.bad(n.source, "%s of unknown field list %d", n.op.name, id)
	}
	return fl
}

func (l *loader) registerRead(n *note) func(*Context) {
	src, dst, r := n.source, n.args[0], l.arrayOf(n, 1, "register_array")
	n.index = l.index(l.dataExpr(src, n.args[2]))
	idx := n.index
	if w := l.prog.info.registers[r].Width; w > 64 {
		if dst.Op != ir.OpField || dst.Field.Valid || dst.Field.VL {
			l.unsupported(src, "register_read of %d bits into something that is not a field", w)
		}
		f, n := dst.Field, bitfield.Words(max(w, dst.Field.Width))
		return func(c *Context) {
			i, reg := c.eval(&idx), &c.st.regs[r]
			if !c.st.within(i, reg.Size) {
				return
			}
			t := c.push(n)
			clear(t)
			copy(t, reg.Words(i))
			c.storeField(f, t)
			c.pop(n)
		}
	}
	if f := dst.Field; dst.Op == ir.OpField && f.Header.Meta && !f.Valid && !f.VL && f.Width > 0 &&
		f.Width <= 64 {
		off, m := f.Slot(), bitfield.Mask(f.Width)
		return func(c *Context) {
			i, reg := c.eval(&idx), &c.st.regs[r]
			if c.st.within(i, reg.Size) {
				binary.BigEndian.PutUint64(c.data[off:], reg.Get(i)&m)
			}
		}
	}
	set := l.store(src, dst)
	return func(c *Context) {
		i, reg := c.eval(&idx), &c.st.regs[r]
		if c.st.within(i, reg.Size) {
			set(c, reg.Get(i))
		}
	}
}

func (l *loader) registerWrite(n *note) func(*Context) {
	r := l.arrayOf(n, 0, "register_array")
	n.index = l.index(l.dataExpr(n.source, n.args[1]))
	idx, value := n.index, l.dataExpr(n.source, n.args[2])
	w := l.prog.info.registers[r].Width
	if w > 64 {
		n := bitfield.Words(w)
		get := l.wide(value, n)
		return func(c *Context) {
			t := c.push(n)
			get(c, t)
			if i, reg := c.eval(&idx), &c.st.regs[r]; c.st.within(i, reg.Size) {
				reg.SetWords(i, t)
			}
			c.pop(n)
		}
	}
	v := l.term(stripMask(value, w))
	return func(c *Context) {
		if i, reg := c.eval(&idx), &c.st.regs[r]; c.st.within(i, reg.Size) {
			reg.Set(i, c.eval(&v))
		}
	}
}

// hash compiles hash(dst, base, calculation, max): base + H % max in 64 bits,
// with a max of 0 taken as 1.
func (l *loader) hash(n *note) func(*Context) {
	e := n.args
	set := l.store(n.source, e[0])
	k := l.calcNamed(e[2].Str)
	if e[2].Kind != ir.KindObject || k == nil {
		l.bad(n.source, "%s of an unknown calculation", n.op.name)
	}
	n.calc = k
	base, size := l.dataExpr(n.source, e[1]), l.dataExpr(n.source, e[3])
	if base.Op == ir.OpConst && size.Op == ir.OpConst && base.N.Sign() == 0 && size.N.BitLen() > 32 &&
		size.N.IsUint64() {
		m := size.N.Uint64()
		return func(c *Context) { set(c, k.compute(c)%m) }
	}
	b, most := l.u64(base), l.u64(size)
	return func(c *Context) {
		m := max(most(c), 1)
		x := b(c)
		set(c, k.compute(c)%m+x)
	}
}
