package engine

import (
	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/bmv2json"
)

// effect is what a primitive does to what conditions are made of: metadata
// fields of at most 64 bits and the validity of headers. All else is of no
// interest here.
type effect struct {
	kind effectKind
	f    *field  // setField, loseField
	n    uint64  // setField
	hdr  *header // validity changes
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

// effectsOf lists the effects of a primitive. One that is not known here may
// do anything.
func (l *loader) effectsOf(p *bmv2json.Primitive) []effect {
	switch p.Op {
	case "no_op", "count", "log_msg", "truncate", "register_write", "generate_digest", "exit", "assert", "assume",
		"clone_ingress_pkt_to_egress", "clone_egress_pkt_to_egress", "resubmit", "recirculate", "assign_VL", "_jump", "_jump_if_zero":
		return nil
	case "assign", "modify_field":
		if len(p.Parameters) != 2 {
			break
		}
		if v := l.value(p.Source, p.Parameters[1]); v.op == opConst {
			return l.storeEffect(p, 0, v)
		}
		return l.storeEffect(p, 0, nil)
	case "add", "subtract", "bit_xor", "bit_or", "bit_and", "shift_left", "shift_right", "add_to_field", "subtract_from_field",
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
		case e.op != opHeader || e.hdr.union >= 0:
			return []effect{{kind: loseValidity}}
		case e.hdr.meta:
			return nil
		case p.Op == "add_header":
			return []effect{{kind: setValid, hdr: e.hdr}}
		}
		return []effect{{kind: setInvalid, hdr: e.hdr}}
	case "push", "pop":
		return []effect{{kind: loseValidity}}
	}
	return []effect{{kind: loseAll}}
}

// storeEffect is that of storing to parameter i: a constant, or nil for
// anything.
func (l *loader) storeEffect(p *bmv2json.Primitive, i int, v *expr) []effect {
	if i >= len(p.Parameters) {
		return []effect{{kind: loseAll}}
	}
	dst := l.value(p.Source, p.Parameters[i])
	switch {
	case dst.op == opRegister, dst.op == opField && !dst.f.hdr.meta, dst.op == opStackField, dst.op == opUnionField, dst.op == opDynField:
		return nil
	case dst.op != opField:
		return []effect{{kind: loseAll}}
	case v != nil && dst.f.width > 0 && dst.f.width <= 64 && !dst.f.signed:
		return []effect{{kind: setField, f: dst.f, n: low64(v.n) & bitfield.Mask(dst.f.width)}}
	}
	return []effect{{kind: loseField, f: dst.f}}
}

// unordered is effects of which any may have happened.
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
