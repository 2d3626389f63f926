package engine

import (
	"bytes"
	"encoding/json"
	"math/big"

	"github.com/weft-sdn/weft/dataplane/ir"

	"github.com/weft-sdn/weft/dataplane/bmv2json"
)

var binaryOps = map[string]ir.Op{
	"+": ir.OpAdd, "-": ir.OpSub, "*": ir.OpMul, "/": ir.OpDiv, "%": ir.OpMod,
	"<<": ir.OpShl, ">>": ir.OpShr, "&": ir.OpAnd, "|": ir.OpOr, "^": ir.OpXor,
	"two_comp_mod": ir.OpTwoComp, "sat_cast": ir.OpSat, "usat_cast": ir.OpUSat,
	"==": ir.OpEq, "!=": ir.OpNe, "<": ir.OpLt, "<=": ir.OpLe, ">": ir.OpGt, ">=": ir.OpGe,
	"and": ir.OpLAnd, "or": ir.OpLOr,
}

// raw decodes a type value object given as raw JSON.
func (l *loader) raw(src *bmv2json.Source, raw json.RawMessage) *ir.Expr {
	v, err := bmv2json.DecodeValue(raw)
	if err != nil {
		l.bad(src, "expression: %s", bmv2json.Describe(err, nil))
	}
	return l.value(src, v)
}

// value decodes a type value object.
func (l *loader) value(src *bmv2json.Source, v bmv2json.Value) *ir.Expr {
	switch v.Type {
	case "field":
		f := l.fieldValue(src, v.Value)
		if e := l.subst[f]; e != nil {
			return e
		}
		return ir.FieldValue(f)
	case "hexstr":
		var s string
		l.decode(src, v.Value, &s, "hexstr")
		n, ok := bmv2json.ParseHex(s)
		if !ok {
			l.bad(src, "hexstr %q", s)
		}
		e := ir.Constant(n)
		e.Bits = v.Bitwidth
		return e
	case "bool":
		var b bool
		l.decode(src, v.Value, &b, "bool")
		e := &ir.Expr{Op: ir.OpBool, Kind: ir.KindBool}
		if b {
			e.Index = 1
		}
		return e
	case "local", "runtime_data":
		var i int
		l.decode(src, v.Value, &i, v.Type)
		if i < 0 || i >= len(l.rt) {
			l.bad(src, "%s %d of %d", v.Type, i, len(l.rt))
		}
		e := ir.Unsigned(&ir.Expr{Op: ir.OpLocal, Index: l.rt[i].Off, Bits: l.rt[i].Width}, l.rt[i].Width)
		if l.rt[i].Signed {
			e.Lo = new(big.Int).Neg(ir.Pow2(l.rt[i].Width - 1))
		}
		return e
	case "header":
		return &ir.Expr{Op: ir.OpHeader, Kind: ir.KindHeader, Header: l.headerNamed(src, v.Value)}
	case "header_stack":
		return &ir.Expr{Op: ir.OpStack, Kind: ir.KindStack,
			Stack: l.stackNamed(src, l.name(src, v.Value))}
	case "header_union":
		u := l.unionsByName[l.name(src, v.Value)]
		if u == nil {
			l.bad(src, "unknown header union %s", v.Value)
		}
		return &ir.Expr{Op: ir.OpUnion, Kind: ir.KindUnion, Union: u}
	case "header_union_stack":
		return &ir.Expr{Op: ir.OpUnionStack, Kind: ir.KindUnionStack, UnionStack: l.unionStackNamed(src,
			l.name(src, v.Value))}
	case "stack_field":
		return l.stackField(src, v.Value)
	case "union_stack_field":
		return l.unionStackField(src, v.Value)
	case "lookahead":
		var at []int
		l.decode(src, v.Value, &at, "lookahead")
		if len(at) != 2 || at[0] < 0 || at[1] < 1 || at[0] > ir.MaxFieldBits || at[1] > ir.MaxFieldBits {
			l.bad(src, "lookahead %s", v.Value)
		}
		return ir.Unsigned(&ir.Expr{Op: ir.OpLookahead, Off: at[0], Bits: at[1]}, at[1])
	case "register":
		var ref []json.RawMessage
		l.decode(src, v.Value, &ref, "register")
		if len(ref) != 2 {
			l.bad(src, "register reference %s", v.Value)
		}
		r, ok := l.registers[l.name(src, ref[0])]
		if !ok {
			l.bad(src, "unknown register %s", ref[0])
		}
		idx := l.dataExpr(src, l.raw(src, ref[1]))
		return ir.Unsigned(&ir.Expr{Op: ir.OpRegister, Index: r, A: idx}, l.prog.info.registers[r].Width)
	case "string":
		return &ir.Expr{Op: ir.OpString, Kind: ir.KindString, Str: l.name(src, v.Value)}
	case "parameters_vector":
		var items []bmv2json.Value
		if string(bytes.Trim(v.Value, "{} \t\r\n")) != "" { // p4c writes {} for an empty one
			l.decode(src, v.Value, &items, "parameters_vector")
		}
		e := &ir.Expr{Op: ir.OpList, Kind: ir.KindList}
		for _, it := range items {
			e.List = append(e.List, l.value(src, it))
		}
		return e
	case "register_array":
		return l.object(src, l.registers, v, "register")
	case "counter_array":
		return l.object(src, l.counters, v, "counter")
	case "meter_array":
		return l.object(src, l.meters, v, "meter")
	case "calculation":
		return &ir.Expr{Op: ir.OpObject, Kind: ir.KindObject, Str: l.name(src, v.Value)}
	case "expression":
		return l.operation(src, v.Value)
	}
	l.unsupported(src, "value of type %q", v.Type)
	return nil
}

func (l *loader) object(src *bmv2json.Source, names map[string]int, v bmv2json.Value,
	what string) *ir.Expr {
	name := l.name(src, v.Value)
	i, ok := names[name]
	if !ok {
		l.bad(src, "unknown %s %q", what, name)
	}
	return &ir.Expr{Op: ir.OpObject, Kind: ir.KindObject, Str: v.Type, Index: i}
}

func (l *loader) name(src *bmv2json.Source, raw json.RawMessage) string {
	var s string
	l.decode(src, raw, &s, "name")
	return s
}

func (l *loader) headerNamed(src *bmv2json.Source, raw json.RawMessage) *ir.Header {
	name := l.name(src, raw)
	h := l.headersByName[name]
	if h == nil {
		l.bad(src, "unknown header %q", name)
	}
	l.namedHeaders[h] = true
	return h
}

func (l *loader) stackNamed(src *bmv2json.Source, name string) *ir.Stack {
	s := l.stacksByName[name]
	if s == nil {
		l.bad(src, "unknown header stack %q", name)
	}
	return s
}

func (l *loader) unionStackNamed(src *bmv2json.Source, name string) *ir.UnionStack {
	s := l.unionStacksByName[name]
	if s == nil {
		l.bad(src, "unknown header union stack %q", name)
	}
	return s
}

func (l *loader) stackField(src *bmv2json.Source, raw json.RawMessage) *ir.Expr {
	var ref []string
	l.decode(src, raw, &ref, "stack_field")
	if len(ref) != 2 {
		l.bad(src, "stack_field %s", raw)
	}
	s := l.stackNamed(src, ref[0])
	i, ok := s.Type.Index[ref[1]]
	if !ok || i == s.Type.VL {
		l.bad(src, "stack %q has no plain field %q", s.Name, ref[1])
	}
	ft := s.Type.Fields[i]
	return ir.WithWidth(&ir.Expr{Op: ir.OpStackField, Stack: s, Index: i}, ft.Width, ft.Signed)
}

func (l *loader) unionStackField(src *bmv2json.Source, raw json.RawMessage) *ir.Expr {
	var ref []string
	l.decode(src, raw, &ref, "union_stack_field")
	if len(ref) != 3 {
		l.bad(src, "union_stack_field %s", raw)
	}
	s := l.unionStackNamed(src, ref[0])
	m := l.unionStackMember(src, s, ref[1])
	typ := s.Unions[0].Headers[m].Type
	i, ok := typ.Index[ref[2]]
	if !ok || i == typ.VL {
		l.bad(src, "union stack %q has no plain field %q", s.Name, ref[2])
	}
	ft := typ.Fields[i]
	return ir.WithWidth(&ir.Expr{Op: ir.OpUnionField, UnionStack: s, Off: m, Index: i}, ft.Width,
		ft.Signed)
}

func (l *loader) unionStackMember(src *bmv2json.Source, s *ir.UnionStack, name string) int {
	for m, n := range s.Names {
		if n == name {
			return m
		}
	}
	l.bad(src, "union stack %q has no member %q", s.Name, name)
	return 0
}

// operation decodes the value of an "expression".
func (l *loader) operation(src *bmv2json.Source, raw json.RawMessage) *ir.Expr {
	if l.depth++; l.depth > maxDepth {
		l.unsupported(src, "expression nested more than %d deep", maxDepth)
	}
	e := l.operator(src, raw)
	l.depth--
	if e.Kind == ir.KindData && e.Lo != nil && max(e.Lo.BitLen(), e.Hi.BitLen()) > maxValueBits {
		l.unsupported(src, "integer of more than %d bits in an expression", maxValueBits)
	}
	return e
}

// Expressions of compiled programs are small. These bounds limit the time to load a
// large expression.
const (
	maxDepth     = 512
	maxValueBits = 1 << 18
)

func (l *loader) operator(src *bmv2json.Source, raw json.RawMessage) *ir.Expr {
	x, err := bmv2json.DecodeExpr(raw)
	if err != nil {
		l.bad(src, "expression: %s", bmv2json.Describe(err, nil))
	}
	if x.Op == "" {
		return l.value(src, bmv2json.Value{Type: x.Type, Value: x.Value})
	}
	switch x.Op {
	case "access_field", "access_union_header":
		return l.access(src, &x)
	case "valid", "valid_union", "not", "~", "d2b", "b2d", "last_stack_index", "size_stack":
		return l.unary(src, x.Op, l.raw(src, x.Right))
	case "dereference_header_stack", "dereference_union_stack":
		a, i := l.raw(src, x.Left), l.dataExpr(src, l.raw(src, x.Right))
		switch {
		case x.Op == "dereference_header_stack" && a.Kind == ir.KindStack:
			return &ir.Expr{Op: ir.OpDynHeader, Kind: ir.KindHeader, Stack: a.Stack, A: i}
		case x.Op == "dereference_union_stack" && a.Kind == ir.KindUnionStack:
			return &ir.Expr{Op: ir.OpDynUnion, Kind: ir.KindUnion, UnionStack: a.UnionStack, A: i}
		}
		l.bad(src, "%s of something else", x.Op)
	case "?":
		c, a, b := l.boolExpr(src, l.raw(src, x.Cond)), l.raw(src, x.Left), l.raw(src, x.Right)
		if a.Kind != b.Kind || a.Kind != ir.KindData && a.Kind != ir.KindBool {
			l.unsupported(src, "?: of these operands")
		}
		return ir.WithInterval(&ir.Expr{Op: ir.OpCond, Kind: a.Kind, A: a, B: b, C: c})
	case "+":
		if bmv2json.IsNull(x.Left) {
			return l.dataExpr(src, l.raw(src, x.Right))
		}
	case "-":
		if bmv2json.IsNull(x.Left) {
			return ir.WithInterval(&ir.Expr{Op: ir.OpSub, A: ir.Constant(new(big.Int)),
				B: l.dataExpr(src, l.raw(src, x.Right))})
		}
	}
	op, ok := binaryOps[x.Op]
	if !ok {
		l.unsupported(src, "operation %q", x.Op)
	}
	a, b := l.raw(src, x.Left), l.raw(src, x.Right)
	switch op {
	case ir.OpLAnd, ir.OpLOr:
		return &ir.Expr{Op: op, Kind: ir.KindBool, A: l.boolExpr(src, a), B: l.boolExpr(src, b)}
	case ir.OpEq, ir.OpNe:
		if a.Kind != b.Kind || a.Kind > ir.KindUnion || a.Kind == ir.KindStack {
			l.bad(src, "%q of different or incomparable kinds", x.Op)
		}
		return ir.Simplify(&ir.Expr{Op: op, Kind: ir.KindBool, A: a, B: b})
	case ir.OpLt, ir.OpLe, ir.OpGt, ir.OpGe:
		return &ir.Expr{Op: op, Kind: ir.KindBool, A: l.dataExpr(src, a), B: l.dataExpr(src, b)}
	case ir.OpTwoComp, ir.OpSat, ir.OpUSat:
		if b.Op != ir.OpConst || !b.N.IsInt64() || b.N.Int64() < 1 || b.N.Int64() > ir.MaxFieldBits {
			l.bad(src, "%s to a width that is not a constant", x.Op)
		}
		return ir.WithInterval(&ir.Expr{Op: op, A: l.dataExpr(src, a), Bits: int(b.N.Int64())})
	}
	return ir.Simplify(ir.WithInterval(&ir.Expr{Op: op, A: l.dataExpr(src, a), B: l.dataExpr(src, b)}))
}

func (l *loader) unary(src *bmv2json.Source, op string, a *ir.Expr) *ir.Expr {
	switch op {
	case "valid":
		if a.Kind == ir.KindHeader {
			return &ir.Expr{Op: ir.OpValid, Kind: ir.KindBool, A: a}
		}
	case "valid_union":
		if a.Kind == ir.KindUnion {
			return &ir.Expr{Op: ir.OpValidUnion, Kind: ir.KindBool, A: a}
		}
	case "not":
		return &ir.Expr{Op: ir.OpLNot, Kind: ir.KindBool, A: l.boolExpr(src, a)}
	case "~":
		return ir.WithInterval(&ir.Expr{Op: ir.OpNot, A: l.dataExpr(src, a)})
	case "d2b":
		return &ir.Expr{Op: ir.OpD2B, Kind: ir.KindBool, A: l.dataExpr(src, a)}
	case "b2d":
		return ir.WithInterval(&ir.Expr{Op: ir.OpB2D, A: l.boolExpr(src, a)})
	case "last_stack_index", "size_stack":
		o := ir.OpSize
		if op == "last_stack_index" {
			o = ir.OpLast
		}
		switch a.Kind {
		case ir.KindStack:
			return ir.WithInterval(&ir.Expr{Op: o, Index: a.Stack.Index, Bits: len(a.Stack.Headers)})
		case ir.KindUnionStack:
			return ir.WithInterval(&ir.Expr{Op: o, Index: a.UnionStack.Index,
				Bits: len(a.UnionStack.Unions)})
		}
	}
	l.bad(src, "%s of something else", op)
	return nil
}

func (l *loader) access(src *bmv2json.Source, x *bmv2json.Expr) *ir.Expr {
	a := l.raw(src, x.Left)
	var i int
	l.decode(src, x.Right, &i, x.Op)
	if x.Op == "access_union_header" {
		switch {
		case a.Op == ir.OpUnion && i >= 0 && i < len(a.Union.Headers):
			return &ir.Expr{Op: ir.OpHeader, Kind: ir.KindHeader, Header: a.Union.Headers[i]}
		case a.Op == ir.OpDynUnion && i >= 0 && i < len(a.UnionStack.Names):
			return &ir.Expr{Op: ir.OpUnionMember, Kind: ir.KindHeader, UnionStack: a.UnionStack, A: a.A,
				Index: i}
		}
		l.bad(src, "access_union_header %d", i)
	}
	t := l.typeOf(src, a)
	if i == len(t.Fields) { // the hidden $valid$ field is the last
		return ir.WithInterval(&ir.Expr{Op: ir.OpB2D, A: &ir.Expr{Op: ir.OpValid, Kind: ir.KindBool,
			A: a}})
	}
	if i < 0 || i > len(t.Fields) {
		l.bad(src, "access_field %d of header type %q", i, t.Name)
	}
	if a.Op == ir.OpHeader {
		return ir.FieldValue(&a.Header.Fields[i])
	}
	if i == t.VL {
		l.unsupported(src, "varbit field of a header chosen at run time")
	}
	return ir.WithWidth(&ir.Expr{Op: ir.OpDynField, A: a, Index: i}, t.Fields[i].Width,
		t.Fields[i].Signed)
}

func (l *loader) typeOf(src *bmv2json.Source, a *ir.Expr) *ir.HeaderType {
	switch a.Op {
	case ir.OpHeader:
		return a.Header.Type
	case ir.OpDynHeader:
		return a.Stack.Type
	case ir.OpUnionMember:
		return a.UnionStack.Unions[0].Headers[a.Index].Type
	}
	l.bad(src, "a header is wanted")
	return nil
}

// dataExpr insists on an integer.
func (l *loader) dataExpr(src *bmv2json.Source, e *ir.Expr) *ir.Expr {
	if e.Kind == ir.KindBool { // p4c omits b2d in places
		return ir.WithInterval(&ir.Expr{Op: ir.OpB2D, A: e})
	}
	if e.Kind != ir.KindData || e.Varbit() {
		l.bad(src, "an integer is wanted")
	}
	return e
}

// boolExpr insists on a boolean.
func (l *loader) boolExpr(src *bmv2json.Source, e *ir.Expr) *ir.Expr {
	if e.Kind == ir.KindData && !e.Varbit() { // p4c omits d2b in places
		return &ir.Expr{Op: ir.OpD2B, Kind: ir.KindBool, A: e}
	}
	if e.Kind != ir.KindBool {
		l.bad(src, "a boolean is wanted")
	}
	return e
}
