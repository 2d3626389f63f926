package engine

import (
	"encoding/binary"
	"strings"

	"github.com/weft-sdn/weft/dataplane/ir"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/trace"

	"github.com/weft-sdn/weft/dataplane/bmv2json"
)

// maxTraceOctets bounds what is shown of a variable-length field.
const maxTraceOctets = 32

// operand reads something by name for the trace; false: there is no such thing
// now.
type operand func(*Context) (trace.Field, bool)

// sourceOf gives a source position its form in the trace, nil for none.
func sourceOf(s *bmv2json.Source) *trace.Source {
	if s == nil || s.Filename == "" {
		return nil
	}
	return &trace.Source{File: s.Filename, Line: s.Line, Column: s.Column, Text: s.Fragment}
}

// value reads a field for the trace; octets is the length of a variable-length
// one.
func (c *Context) value(f *ir.Field) (v trace.Value, octets int) {
	switch {
	case f.Valid:
		v = "0x0"
		if f.Header.Meta || c.isValid(f.Header) {
			v = "0x1"
		}
		return v, 0
	case f.VL:
		b := c.bytes(c.vl[f.Header.VL])
		n := min(len(b), maxTraceOctets)
		return trace.NewValue(b[:n], 8*n), len(b)
	}
	n := (f.Width + 7) / 8
	b := make([]byte, n)
	for at := 0; at < f.Width; {
		k := min(64, f.Width-at)
		bitfield.Store64(b, 8*n-f.Width+at, k, bitfield.Load64(c.data, f.Bit+at, k))
		at += k
	}
	return trace.NewValue(b, f.Width), 0
}

// field reads a field for the trace.
func (c *Context) field(f *ir.Field) trace.Field {
	v, n := c.value(f)
	return trace.Field{Name: f.Name(), Value: v, Octets: n}
}

// wordsValue gives a value of words its form in the trace.
func wordsValue(words []uint64, width int) trace.Value {
	n := (width + 7) / 8
	b := make([]byte, n)
	bitfield.Store(b, 8*n-width, width, words)
	return trace.NewValue(b, width)
}

// intValue gives a value of at most 64 bits its form in the trace.
func intValue(v uint64, width int) trace.Value {
	return trace.NewValue(binary.BigEndian.AppendUint64(nil, v), width)
}

// registerValue reads an entry of a register for the trace; ok: there is one.
func (c *Context) registerValue(r int, i uint64) (v trace.Value, ok bool) {
	reg := &c.st.regs[r]
	if i >= uint64(reg.Size) {
		return "", false
	}
	return trace.NewValue(reg.Octets(i), reg.Width), true
}

// temporary reports whether p4c made a field up for a value that it computes on the way.
func temporary(field string) bool {
	name := strings.TrimPrefix(field, "scalars.")
	if i := strings.LastIndexByte(name, '.'); i >= 0 && !strings.HasPrefix(name, "tmp_") {
		name = name[i+1:]
	}
	name = strings.TrimRight(name, "0123456789.")
	name = strings.TrimSuffix(name, "_")
	return name == "tmp" || strings.HasSuffix(name, "_tmp") || strings.HasPrefix(name, "tmp_") ||
		strings.HasPrefix(name, "key_")
}

// operands lists what an expression reads, each once.
func (l *loader) operands(e *ir.Expr) []operand {
	var all []operand
	seen := map[string]bool{}
	var walk func(e *ir.Expr)
	walk = func(e *ir.Expr) {
		if e == nil {
			return
		}
		if o, name := l.operandOf(e); o != nil {
			if !seen[name] {
				seen[name] = true
				all = append(all, o)
			}
			return
		}
		walk(e.C)
		walk(e.A)
		walk(e.B)
	}
	walk(e)
	return all
}

// operand compiles the reading of one value for the trace, whatever it is.
func (l *loader) operand(e *ir.Expr) operand {
	if o, _ := l.operandOf(e); o != nil {
		return o
	}
	if w := e.Width(); w > 0 && e.Op != ir.OpLookahead {
		get := l.wide(e, bitfield.Words(w))
		return func(c *Context) (trace.Field, bool) {
			t := c.push(bitfield.Words(w))
			get(c, t)
			v := wordsValue(t, w)
			c.pop(bitfield.Words(w))
			return trace.Field{Value: v}, true
		}
	}
	return func(*Context) (trace.Field, bool) { return trace.Field{}, false }
}

// operandOf compiles the reading of a leaf; nil is no leaf that has a name. What
// looks ahead in the packet could fail and is left to the parser itself.
func (l *loader) operandOf(e *ir.Expr) (operand, string) {
	switch e.Op {
	case ir.OpField:
		f := e.Field
		return func(c *Context) (trace.Field, bool) { return c.field(f), true }, f.Name()
	case ir.OpStackField, ir.OpDynField, ir.OpUnionField:
		pick := l.fieldRef(e)
		return func(c *Context) (trace.Field, bool) {
			f := pick(c)
			if f == nil {
				return trace.Field{}, false
			}
			return c.field(f), true
		}, string(rune(e.Op)) + string(rune(e.Index)) // only to tell one from another
	case ir.OpLocal:
		for _, p := range l.rt {
			if p.Off == e.Index {
				return func(c *Context) (trace.Field, bool) {
					return trace.Field{Name: p.Name,
						Value: wordsValue(c.args[p.Off:p.Off+max(1, bitfield.Words(p.Width))], p.Width)}, true
				}, p.Name
			}
		}
	case ir.OpRegister:
		r, idx := e.Index, l.u64(e.A)
		name := l.prog.info.registers[r].Name
		return func(c *Context) (trace.Field, bool) {
			v, ok := c.registerValue(r, idx(c))
			return trace.Field{Name: name, Value: v}, ok
		}, name
	case ir.OpValid:
		if e.A.Op == ir.OpHeader {
			h := e.A.Header
			f := ir.Field{Header: h, Width: 1, Valid: true}
			return func(c *Context) (trace.Field, bool) { return c.field(&f), true }, f.Name()
		}
	case ir.OpLookahead:
		off, n := e.Off, e.Bits
		return func(c *Context) (trace.Field, bool) {
			if 8*c.cur+off+n > 8*len(c.frame.b) {
				return trace.Field{}, false
			}
			t := make([]uint64, bitfield.Words(n))
			bitfield.Load(c.frame.b, 8*c.cur+off, n, t)
			return trace.Field{Name: "lookahead", Value: wordsValue(t, n)}, true
		}, "lookahead"
	}
	return nil, ""
}

// read evaluates operands.
func (c *Context) read(ops []operand) []trace.Field {
	var fs []trace.Field
	for _, o := range ops {
		if f, ok := o(c); ok {
			fs = append(fs, f)
		}
	}
	return fs
}
