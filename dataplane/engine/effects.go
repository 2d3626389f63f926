package engine

import (
	"github.com/weft-sdn/weft/dataplane/bitfield"
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

// effectsOf lists the effects of a primitive.
func (l *loader) effectsOf(n *note) []effect {
	switch {
	case n.op.effects != nil:
		return n.op.effects(l, n)
	case n.op.into > 0:
		return l.storeEffect(n.args[n.op.into-1], nil)
	}
	return []effect{{kind: loseAll}}
}

func noEffects(*loader, *note) []effect     { return nil }
func losesValidity(*loader, *note) []effect { return []effect{{kind: loseValidity}} }

func assignEffects(l *loader, n *note) []effect { return l.storeEffect(n.args[0], n.args[1]) }

func dropEffects(l *loader, _ *note) []effect {
	es := []effect{{kind: loseField, f: l.prog.std.egressSpec.field}}
	if g := l.prog.std.mcastGroup.field; g != nil {
		es = append(es, effect{kind: loseField, f: g})
	}
	return es
}

// validityEffects returns those of add_header and remove_header, for which kind is what they do to
// a header that is no member of a union.
func validityEffects(kind effectKind) func(*loader, *note) []effect {
	return func(_ *loader, n *note) []effect {
		switch e := n.args[0]; {
		case e.Op != ir.OpHeader || e.Header.Union >= 0:
			return []effect{{kind: loseValidity}}
		case !e.Header.Meta:
			return []effect{{kind: kind, hdr: e.Header}}
		}
		return nil
	}
}

// storeEffect is that of storing a value in a field; nil is any.
func (l *loader) storeEffect(dst, v *ir.Expr) []effect {
	switch {
	case dst.Op == ir.OpRegister, dst.Op == ir.OpField && !dst.Field.Header.Meta,
		dst.Op == ir.OpStackField, dst.Op == ir.OpUnionField, dst.Op == ir.OpDynField:
		return nil
	case dst.Op != ir.OpField:
		return []effect{{kind: loseAll}}
	case v != nil && v.Op == ir.OpConst && dst.Field.Width > 0 && dst.Field.Width <= 64 &&
		!dst.Field.Signed:
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
