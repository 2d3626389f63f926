package engine

import (
	"bytes"
	"slices"

	"github.com/weft-sdn/weft/dataplane/ir"

	"github.com/weft-sdn/weft/dataplane/bmv2json"
)

// p4c first copies every argument of a hash, a register access and much else into a metadata field
// of its own, and nothing else reads the field. Such copies make up most of a compiled program. The
// code below finds these copies, so that the program computes the value at its use and the field
// disappears.

// fieldName is a field reference as the JSON has it.
type fieldName struct{ header, field string }

// findTemporaries selects the assignments to remove. Such an assignment goes to a metadata field
// that occurs in the whole program only there and in one primitive further down the same action.
// Only further assignments of this kind may lie in between.
func (l *loader) findTemporaries(raw []byte) {
	l.folded = map[*bmv2json.Primitive]bool{}
	l.dropped = map[fieldName]bool{}
	meta := map[string]bool{}
	for _, h := range l.in.Headers {
		if h.Metadata {
			meta[h.Name] = true
		}
	}
	uses := map[fieldName]int{}
	bmv2json.FieldReferences(raw, func(h, f string) {
		if meta[h] {
			uses[fieldName{h, f}]++
		}
	})
	for _, a := range l.in.FieldAliases {
		if to, ok := a[1].([]any); ok && len(to) == 2 {
			h, _ := to[0].(string)
			f, _ := to[1].(string)
			uses[fieldName{h, f}] += 3 // the switch itself uses it
		}
	}
	l.unusedFields(meta, uses)
	calcs := map[string]*bmv2json.Calculation{}
	for i := range l.in.Calculations {
		calcs[l.in.Calculations[i].Name] = &l.in.Calculations[i]
	}
	l.calcUses = map[string]int{}
	for i := range l.in.Checksums {
		l.calcUses[l.in.Checksums[i].Calculation] += 2
	}
	for i := range l.in.Actions {
		for _, p := range l.in.Actions[i].Primitives {
			for _, v := range p.Parameters {
				if v.Type == "calculation" {
					l.calcUses[string(bytes.Trim(v.Value, `"`))]++
				}
			}
		}
	}
	for i := range l.in.Actions {
		l.foldAction(l.in.Actions[i].Primitives, uses, calcs)
	}
}

// unusedFields notes the metadata fields nothing refers to; they need no room.
func (l *loader) unusedFields(meta map[string]bool, uses map[fieldName]int) {
	types := map[string]*bmv2json.HeaderType{}
	for i := range l.in.HeaderTypes {
		types[l.in.HeaderTypes[i].Name] = &l.in.HeaderTypes[i]
	}
	for _, h := range l.in.Headers {
		t := types[h.HeaderType]
		if !meta[h.Name] || t == nil || h.Name != "scalars" {
			continue
		}
		for _, f := range t.Fields {
			name, ok := bmv2json.FirstString(f)
			if n := (fieldName{h.Name, name}); ok && uses[n] == 0 {
				l.dropped[n] = true
			}
		}
	}
}

// foldAction marks the assignments of one action that go.
func (l *loader) foldAction(prims []bmv2json.Primitive, uses map[fieldName]int,
	calcs map[string]*bmv2json.Calculation) {
	for i := range prims {
		if o := operations[prims[i].Op]; o == nil || o.jumps != jumpNever {
			return
		}
	}
	// reads lists the fields a primitive reads.
	reads := func(p *bmv2json.Primitive) (names []fieldName) {
		for i, v := range p.Parameters {
			if !operations[p.Op].stores(i) {
				bmv2json.FieldReferences(v.Value, func(h, f string) { names = append(names, fieldName{h, f}) })
			}
			if v.Type == "calculation" {
				if c := calcs[string(bytes.Trim(v.Value, `"`))]; c != nil && l.calcUses[c.Name] == 1 {
					for _, in := range c.Input {
						bmv2json.FieldReferences(in.Value, func(h, f string) {
							names = append(names, fieldName{h, f})
						})
					}
				}
			}
		}
		return names
	}
	for j := len(prims) - 1; j > 0; {
		wanted := reads(&prims[j])
		i := j - 1
		for ; i >= 0; i-- {
			p := &prims[i]
			dst, ok := assigned(p)
			if !ok || uses[dst] != 2 || !slices.Contains(wanted, dst) {
				break
			}
			if !operations[prims[j].Op].folds {
				break
			}
			l.folded[p], l.dropped[dst] = true, true
			wanted = append(wanted, reads(p)...)
		}
		j = i
	}
}

// assigned is the metadata field an assignment sets.
func assigned(p *bmv2json.Primitive) (dst fieldName, ok bool) {
	if !operations[p.Op].assigns || len(p.Parameters) != 2 || p.Parameters[0].Type != "field" {
		return dst, false
	}
	n := 0
	bmv2json.FieldReferences(p.Parameters[0].Value, func(h, f string) {
		dst, n = fieldName{h, f}, n+1
	})
	return dst, n == 1
}

// fold remembers the value of a removed assignment, cut to the width of the assigned field.
func (l *loader) fold(p *bmv2json.Primitive) {
	e := l.noteOf(p).args
	f := e[0].Field
	if e[0].Op != ir.OpField || f.Valid {
		l.bad(p.Source, "assignment to something that is not a field")
	}
	if f.VL {
		if !e[1].Varbit() {
			l.unsupported(p.Source, "assignment between a varbit field and something else")
		}
		l.subst[f] = e[1]
		return
	}
	l.subst[f] = cutTo(l.dataExpr(p.Source, e[1]), f)
}

// cutTo is the value a field would hold after e is assigned to it.
func cutTo(e *ir.Expr, f *ir.Field) *ir.Expr {
	own := ir.FieldValue(f)
	if e.Lo.Cmp(own.Lo) >= 0 && e.Hi.Cmp(own.Hi) <= 0 {
		return e
	}
	if f.Signed {
		return ir.WithInterval(&ir.Expr{Op: ir.OpTwoComp, A: e, Bits: f.Width})
	}
	return ir.Simplify(ir.WithInterval(&ir.Expr{Op: ir.OpAnd, A: e, B: ir.Constant(own.Hi)}))
}
