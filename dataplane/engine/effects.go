package engine

import (
	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/bmv2json"
	"github.com/weft-sdn/weft/dataplane/ir"
)

// effect is a primitive's effect on the inputs of conditions: metadata fields of at most 64 bits,
// and the validity of headers.
type effect struct {
	kind effectKind
	f    *ir.Field  // setField, loseField
	n    uint64     // setField
	hdr  *ir.Header // validity changes
}

type effectKind uint8

const (
	setField     effectKind = iota // f has the value n
	loseField                      // f has an unknown value
	setValid                       // hdr is valid
	setInvalid                     // hdr is not
	loseValidity                   // of all headers
	loseAll                        // nothing is known any more
)

// effectsOf lists the effects of a primitive. A primitive without an entry may have any effect.
func (l *loader) effectsOf(p *bmv2json.Primitive) []effect {
	switch p.Op {
	case "no_op", "count", "log_msg", "truncate", "register_write", "generate_digest", "exit",
		"assert", "assume",
		"clone_ingress_pkt_to_egress", "clone_egress_pkt_to_egress", "resubmit", "recirculate",
		"assign_VL", "_jump", "_jump_if_zero":
		return nil
	case "assign", "modify_field":
		if len(p.Parameters) != 2 {
			break
		}
		if v := l.value(p.Source, p.Parameters[1]); v.Op == ir.OpConst {
			return l.storeEffect(p, 0, v)
		}
		return l.storeEffect(p, 0, nil)
	case "add", "subtract", "bit_xor", "bit_or", "bit_and", "shift_left", "shift_right",
		"add_to_field", "subtract_from_field",
		"register_read", "modify_field_rng_uniform", "modify_field_with_hash_based_offset":
		return l.storeEffect(p, 0, nil)
	case "execute_meter":
		return l.storeEffect(p, 2, nil)
	case "mark_to_drop", "drop":
		es := []effect{{kind: loseField, f: l.prog.std.egressSpec.field}}
		if g := l.prog.std.mcastGroup.field; g != nil {
			es = append(es, effect{kind: loseField, f: g})
		}
		return es
	case "add_header", "remove_header":
		if len(p.Parameters) != 1 {
			break
		}
		e := l.value(p.Source, p.Parameters[0])
		switch {
		case e.Op != ir.OpHeader || e.Header.Union >= 0:
			return []effect{{kind: loseValidity}}
		case e.Header.Meta:
			return nil
		case p.Op == "add_header":
			return []effect{{kind: setValid, hdr: e.Header}}
		}
		return []effect{{kind: setInvalid, hdr: e.Header}}
	case "push", "pop":
		return []effect{{kind: loseValidity}}
	}
	return []effect{{kind: loseAll}}
}

// storeEffect is that of storing to parameter i: a constant, or nil for
// anything.
func (l *loader) storeEffect(p *bmv2json.Primitive, i int, v *ir.Expr) []effect {
	if i >= len(p.Parameters) {
		return []effect{{kind: loseAll}}
	}
	dst := l.value(p.Source, p.Parameters[i])
	switch {
	case dst.Op == ir.OpRegister, dst.Op == ir.OpField && !dst.Field.Header.Meta,
		dst.Op == ir.OpStackField, dst.Op == ir.OpUnionField, dst.Op == ir.OpDynField:
		return nil
	case dst.Op != ir.OpField:
		return []effect{{kind: loseAll}}
	case v != nil && dst.Field.Width > 0 && dst.Field.Width <= 64 && !dst.Field.Signed:
		return []effect{{kind: setField, f: dst.Field, n: ir.Low64(v.N) & bitfield.Mask(dst.Field.Width)}}
	}
	return []effect{{kind: loseField, f: dst.Field}}
}

// unordered returns the effects in no order: each loses the knowledge of its field or validity.
func unordered(es []effect) []effect {
	out := make([]effect, 0, len(es))
	for _, e := range es {
		switch e.kind {
		case setField:
			e = effect{kind: loseField, f: e.f}
		case setValid, setInvalid:
			e = effect{kind: loseValidity}
		}
		out = append(out, e)
	}
	return out
}
