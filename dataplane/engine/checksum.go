package engine

import (
	"github.com/weft-sdn/weft/dataplane/bmv2json"
	"github.com/weft-sdn/weft/dataplane/ir"
)

// checksum verifies or updates one field by a calculation.
type checksum struct {
	name string
	f    *ir.Field
	calc *calculation
	cond boolFn // nil: always
	get  u64Fn
	set  func(*Context, uint64)
}

func (l *loader) loadChecksums() {
	for i := range l.in.Checksums {
		jc := &l.in.Checksums[i]
		if jc.Type != "generic" {
			l.unsupported(jc.Source, "checksum %q of type %q", jc.Name, jc.Type)
		}
		k := checksum{name: jc.Name, f: l.lookupField(jc.Source, jc.Target[0], jc.Target[1]),
			calc: l.calcNamed(jc.Calculation)}
		if k.calc == nil {
			l.bad(jc.Source, "checksum %q of unknown calculation %q", jc.Name, jc.Calculation)
		}
		if k.f.VL || k.f.Valid || k.f.Width > 64 {
			l.unsupported(jc.Source, "checksum %q into %s", jc.Name, k.f.Name())
		}
		if !bmv2json.IsNull(jc.IfCond) {
			k.cond = l.boolean(l.boolExpr(jc.Source, l.raw(jc.Source, jc.IfCond)))
		}
		k.get, k.set = getter(k.f.Bit, k.f.Width), fieldSetter(k.f)
		if jc.Verify == nil || *jc.Verify {
			l.prog.parser.verify = append(l.prog.parser.verify, k)
		}
		if jc.Update == nil || *jc.Update {
			l.prog.deparser.updates = append(l.prog.deparser.updates, k)
		}
	}
}

// checks reports whether the checksum of the packet is verified: its header is valid and its
// condition holds.
func (k *checksum) checks(c *Context) bool {
	return (k.f.Header.Meta || c.isValid(k.f.Header)) && (k.cond == nil || k.cond(c))
}

// check reports whether the field holds the checksum, or checks is false.
func (k *checksum) check(c *Context) bool {
	if !k.checks(c) {
		return true
	}
	return k.calc.compute(c) == k.get(c)
}

// update computes the checksum into its field.
func (k *checksum) update(c *Context) {
	if k.cond == nil || k.cond(c) {
		if c.ID != 0 {
			k.traceUpdate(c)
		}
		k.set(c, k.calc.compute(c))
	}
}

// payloadBytes is what follows the parsed headers, as calculations see it.
func (c *Context) payloadBytes() []byte {
	p := c.bytes(c.payload)
	return p[:min(len(p), c.Trunc)]
}
