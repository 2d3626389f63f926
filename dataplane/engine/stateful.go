package engine

import (
	"encoding/binary"

	"github.com/weft-sdn/weft/dataplane/ir"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/bmv2json"
)

// statefulPrimitive compiles the primitives that touch state beyond the packet, or decide the fate
// of the packet.
func (l *loader) statefulPrimitive(p *bmv2json.Primitive) func(*Context) {
	src := p.Source
	switch p.Op {
	case "register_read":
		e := l.args(p, 3)
		return l.registerRead(src, e[0], l.want(p, e[1], "register_array"), e[2])
	case "register_write":
		e := l.args(p, 3)
		return l.registerWrite(l.want(p, e[0], "register_array"), l.dataExpr(src, e[1]),
			l.dataExpr(src, e[2]))
	case "count":
		e := l.args(p, 2)
		k, idx := l.want(p, e[0], "counter_array"), l.index(l.dataExpr(src, e[1]))
		return func(c *Context) {
			if i, n := c.eval(&idx), &c.st.counters[k]; c.st.within(i, n.Size) {
				n.Add(i, c.IngressLen)
			}
		}
	case "execute_meter":
		e := l.args(p, 3)
		m, idx, set := l.want(p, e[0], "meter_array"), l.index(l.dataExpr(src, e[1])), l.store(src, e[2])
		return func(c *Context) {
			ms := &c.st.meters[m]
			i := c.eval(&idx)
			if c.st.within(i, ms.Size) {
				set(c, ms.Execute(i, c.st.now, c.IngressLen))
			}
		}
	case "modify_field_with_hash_based_offset":
		return l.hash(p)
	case "generate_digest":
		e := l.args(p, 2)
		d, ok := l.digests[l.constant(p, e[1])]
		if !ok {
			l.bad(src, "generate_digest of an unknown list")
		}
		return func(c *Context) { c.digest = int32(d) }
	case "clone_ingress_pkt_to_egress", "clone_egress_pkt_to_egress":
		e := l.args(p, 2)
		session, fl := l.u64(l.dataExpr(src, e[0])), l.fieldListOf(p, e[1])
		return func(c *Context) {
			c.clone, c.cloneList = int32(session(c)&MaxCloneSession), fl
		}
	case "resubmit", "recirculate":
		e := l.args(p, 1)
		fl := l.fieldListOf(p, e[0])
		if p.Op == "resubmit" {
			return func(c *Context) { c.resubmit = fl }
		}
		return func(c *Context) { c.recirculate = fl }
	}
	l.unsupported(src, "primitive %q", p.Op)
	return nil
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

// want insists that a parameter is an object of a kind and returns its index.
func (l *loader) want(p *bmv2json.Primitive, e *ir.Expr, kind string) int {
	if e.Kind != ir.KindObject || e.Str != kind {
		l.bad(p.Source, "%s wants a %s", p.Op, kind)
	}
	return e.Index
}

func (l *loader) constant(p *bmv2json.Primitive, e *ir.Expr) int {
	if e.Op != ir.OpConst || !e.N.IsInt64() || int64(int32(e.N.Int64())) != e.N.Int64() {
		l.bad(p.Source, "%s wants a constant", p.Op)
	}
	return int(e.N.Int64())
}

func (l *loader) fieldListOf(p *bmv2json.Primitive, e *ir.Expr) *fieldList {
	id := l.constant(p, e)
	fl := l.fieldLists[id]
	if fl == nil {
		l.bad(p.Source, "%s of unknown field list %d", p.Op, id)
	}
	return fl
}

func (l *loader) registerRead(src *bmv2json.Source, dst *ir.Expr, r int,
	index *ir.Expr) func(*Context) {
	idx := l.index(l.dataExpr(src, index))
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

func (l *loader) registerWrite(r int, index, value *ir.Expr) func(*Context) {
	idx, w := l.index(index), l.prog.info.registers[r].Width
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
func (l *loader) hash(p *bmv2json.Primitive) func(*Context) {
	e := l.args(p, 4)
	set := l.store(p.Source, e[0])
	k := l.calcNamed(e[2].Str)
	if e[2].Kind != ir.KindObject || k == nil {
		l.bad(p.Source, "%s of an unknown calculation", p.Op)
	}
	base, size := l.dataExpr(p.Source, e[1]), l.dataExpr(p.Source, e[3])
	if base.Op == ir.OpConst && size.Op == ir.OpConst && base.N.Sign() == 0 && size.N.BitLen() > 32 &&
		size.N.IsUint64() {
		m := size.N.Uint64()
		return func(c *Context) { set(c, k.compute(c)%m) }
	}
	b, n := l.u64(base), l.u64(size)
	return func(c *Context) {
		m := max(n(c), 1)
		x := b(c)
		set(c, k.compute(c)%m+x)
	}
}
