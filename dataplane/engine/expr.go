package engine

import (
	"bytes"
	"encoding/json"
	"math/big"

	"github.com/weft-sdn/weft/dataplane/bmv2json"
)

// exprKind is the type of an expression's value.
type exprKind uint8

const (
	kindData exprKind = iota // an integer of unbounded precision
	kindBool
	kindHeader
	kindStack
	kindUnion
	kindUnionStack
	kindString
	kindList
	kindObject // register, counter, meter or calculation
)

type exprOp uint8

const (
	opConst exprOp = iota
	opField
	opStackField // field idx of the last element of a stack
	opDynField   // field idx of an element chosen at run time
	opUnionField // field of a member of the last element of a union stack
	opLocal      // action parameter idx
	opRegister   // element a of register idx
	opLookahead  // bits ahead of the parser
	opBool       // constant
	opHeader     // static header
	opDynHeader  // element a of a stack
	opStack
	opUnion
	opDynUnion    // element a of a union stack
	opUnionMember // member idx of a union chosen at run time
	opUnionStack
	opString
	opList
	opObject
	opLast // index of the last element of a stack
	opSize // elements in a stack

	opAdd
	opSub
	opMul
	opDiv
	opMod
	opShl
	opShr
	opAnd
	opOr
	opXor
	opNot
	opTwoComp
	opSat
	opUSat
	opCond
	opB2D

	opLAnd
	opLOr
	opLNot
	opEq
	opNe
	opLt
	opLe
	opGt
	opGe
	opD2B
	opValid
	opValidUnion
)

// expr is a typed expression. Data expressions carry the interval their value
// lies in, which decides how they are compiled; nil bounds mean unknown.
type expr struct {
	op      exprOp
	kind    exprKind
	a, b, c *expr
	n       *big.Int // constant
	f       *field
	hdr     *header
	stk     *stack
	un      *union
	ustk    *unionStack
	idx     int
	off     int // lookahead: offset in bits
	bits    int // lookahead, constant with a width: bits
	str     string
	list    []*expr
	lo, hi  *big.Int
}

// param is a parameter of an action: its place in the entry's argument words.
type param struct {
	name  string
	width int
	off   int
	// signed: the program's own entries give it negative values. JSON does
	// not say what is signed, and values from elsewhere never are.
	signed bool
}

var binaryOps = map[string]exprOp{
	"+": opAdd, "-": opSub, "*": opMul, "/": opDiv, "%": opMod,
	"<<": opShl, ">>": opShr, "&": opAnd, "|": opOr, "^": opXor,
	"two_comp_mod": opTwoComp, "sat_cast": opSat, "usat_cast": opUSat,
	"==": opEq, "!=": opNe, "<": opLt, "<=": opLe, ">": opGt, ">=": opGe,
	"and": opLAnd, "or": opLOr,
}

// raw decodes a type value object given as raw JSON.
func (l *loader) raw(src *bmv2json.Source, raw json.RawMessage) *expr {
	v, err := bmv2json.DecodeValue(raw)
	if err != nil {
		l.bad(src, "expression: %s", bmv2json.Describe(err, nil))
	}
	return l.value(src, v)
}

// value decodes a type value object.
func (l *loader) value(src *bmv2json.Source, v bmv2json.Value) *expr {
	switch v.Type {
	case "field":
		f := l.fieldValue(src, v.Value)
		if e := l.subst[f]; e != nil {
			return e
		}
		return fieldExpr(f)
	case "hexstr":
		var s string
		l.decode(src, v.Value, &s, "hexstr")
		n, ok := bmv2json.ParseHex(s)
		if !ok {
			l.bad(src, "hexstr %q", s)
		}
		e := constExpr(n)
		e.bits = v.Bitwidth
		return e
	case "bool":
		var b bool
		l.decode(src, v.Value, &b, "bool")
		e := &expr{op: opBool, kind: kindBool}
		if b {
			e.idx = 1
		}
		return e
	case "local", "runtime_data":
		var i int
		l.decode(src, v.Value, &i, v.Type)
		if i < 0 || i >= len(l.rt) {
			l.bad(src, "%s %d of %d", v.Type, i, len(l.rt))
		}
		e := unsignedExpr(&expr{op: opLocal, idx: l.rt[i].off, bits: l.rt[i].width}, l.rt[i].width)
		if l.rt[i].signed {
			e.lo = new(big.Int).Neg(pow2(l.rt[i].width - 1))
		}
		return e
	case "header":
		return &expr{op: opHeader, kind: kindHeader, hdr: l.headerNamed(src, v.Value)}
	case "header_stack":
		return &expr{op: opStack, kind: kindStack, stk: l.stackNamed(src, l.name(src, v.Value))}
	case "header_union":
		u := l.unionsByName[l.name(src, v.Value)]
		if u == nil {
			l.bad(src, "unknown header union %s", v.Value)
		}
		return &expr{op: opUnion, kind: kindUnion, un: u}
	case "header_union_stack":
		return &expr{op: opUnionStack, kind: kindUnionStack, ustk: l.unionStackNamed(src, l.name(src, v.Value))}
	case "stack_field":
		return l.stackField(src, v.Value)
	case "union_stack_field":
		return l.unionStackField(src, v.Value)
	case "lookahead":
		var at []int
		l.decode(src, v.Value, &at, "lookahead")
		if len(at) != 2 || at[0] < 0 || at[1] < 1 || at[0] > maxFieldBits || at[1] > maxFieldBits {
			l.bad(src, "lookahead %s", v.Value)
		}
		return unsignedExpr(&expr{op: opLookahead, off: at[0], bits: at[1]}, at[1])
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
		return unsignedExpr(&expr{op: opRegister, idx: r, a: idx}, l.prog.info.registers[r].Width)
	case "string":
		return &expr{op: opString, kind: kindString, str: l.name(src, v.Value)}
	case "parameters_vector":
		var items []bmv2json.Value
		if string(bytes.Trim(v.Value, "{} \t\r\n")) != "" { // p4c writes {} for an empty one
			l.decode(src, v.Value, &items, "parameters_vector")
		}
		e := &expr{op: opList, kind: kindList}
		for _, it := range items {
			e.list = append(e.list, l.value(src, it))
		}
		return e
	case "register_array":
		return l.object(src, l.registers, v, "register")
	case "counter_array":
		return l.object(src, l.counters, v, "counter")
	case "meter_array":
		return l.object(src, l.meters, v, "meter")
	case "calculation":
		return &expr{op: opObject, kind: kindObject, str: l.name(src, v.Value)}
	case "expression":
		return l.operation(src, v.Value)
	}
	l.unsupported(src, "value of type %q", v.Type)
	return nil
}

func (l *loader) object(src *bmv2json.Source, names map[string]int, v bmv2json.Value, what string) *expr {
	name := l.name(src, v.Value)
	i, ok := names[name]
	if !ok {
		l.bad(src, "unknown %s %q", what, name)
	}
	return &expr{op: opObject, kind: kindObject, str: v.Type, idx: i}
}

func (l *loader) name(src *bmv2json.Source, raw json.RawMessage) string {
	var s string
	l.decode(src, raw, &s, "name")
	return s
}

func (l *loader) headerNamed(src *bmv2json.Source, raw json.RawMessage) *header {
	name := l.name(src, raw)
	h := l.headersByName[name]
	if h == nil {
		l.bad(src, "unknown header %q", name)
	}
	l.namedHeaders[h] = true
	return h
}

func (l *loader) stackNamed(src *bmv2json.Source, name string) *stack {
	s := l.stacksByName[name]
	if s == nil {
		l.bad(src, "unknown header stack %q", name)
	}
	return s
}

func (l *loader) unionStackNamed(src *bmv2json.Source, name string) *unionStack {
	s := l.unionStacksByName[name]
	if s == nil {
		l.bad(src, "unknown header union stack %q", name)
	}
	return s
}

func (l *loader) stackField(src *bmv2json.Source, raw json.RawMessage) *expr {
	var ref []string
	l.decode(src, raw, &ref, "stack_field")
	if len(ref) != 2 {
		l.bad(src, "stack_field %s", raw)
	}
	s := l.stackNamed(src, ref[0])
	i, ok := s.typ.index[ref[1]]
	if !ok || i == s.typ.vl {
		l.bad(src, "stack %q has no plain field %q", s.name, ref[1])
	}
	ft := s.typ.fields[i]
	return intervalOf(&expr{op: opStackField, stk: s, idx: i}, ft.width, ft.signed)
}

func (l *loader) unionStackField(src *bmv2json.Source, raw json.RawMessage) *expr {
	var ref []string
	l.decode(src, raw, &ref, "union_stack_field")
	if len(ref) != 3 {
		l.bad(src, "union_stack_field %s", raw)
	}
	s := l.unionStackNamed(src, ref[0])
	m := l.unionStackMember(src, s, ref[1])
	typ := s.unions[0].hdrs[m].typ
	i, ok := typ.index[ref[2]]
	if !ok || i == typ.vl {
		l.bad(src, "union stack %q has no plain field %q", s.name, ref[2])
	}
	ft := typ.fields[i]
	return intervalOf(&expr{op: opUnionField, ustk: s, off: m, idx: i}, ft.width, ft.signed)
}

func (l *loader) unionStackMember(src *bmv2json.Source, s *unionStack, name string) int {
	for m, n := range s.names {
		if n == name {
			return m
		}
	}
	l.bad(src, "union stack %q has no member %q", s.name, name)
	return 0
}

// operation decodes the value of an "expression".
func (l *loader) operation(src *bmv2json.Source, raw json.RawMessage) *expr {
	if l.depth++; l.depth > maxDepth {
		l.unsupported(src, "expression nested more than %d deep", maxDepth)
	}
	e := l.operator(src, raw)
	l.depth--
	if e.kind == kindData && e.lo != nil && max(e.lo.BitLen(), e.hi.BitLen()) > maxValueBits {
		l.unsupported(src, "integer of more than %d bits in an expression", maxValueBits)
	}
	return e
}

// An expression of a compiled program is small: these bound the time that one
// takes to load which is not.
const (
	maxDepth     = 512
	maxValueBits = 1 << 18
)

func (l *loader) operator(src *bmv2json.Source, raw json.RawMessage) *expr {
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
		case x.Op == "dereference_header_stack" && a.kind == kindStack:
			return &expr{op: opDynHeader, kind: kindHeader, stk: a.stk, a: i}
		case x.Op == "dereference_union_stack" && a.kind == kindUnionStack:
			return &expr{op: opDynUnion, kind: kindUnion, ustk: a.ustk, a: i}
		}
		l.bad(src, "%s of something else", x.Op)
	case "?":
		c, a, b := l.boolExpr(src, l.raw(src, x.Cond)), l.raw(src, x.Left), l.raw(src, x.Right)
		if a.kind != b.kind || a.kind != kindData && a.kind != kindBool {
			l.unsupported(src, "?: of these operands")
		}
		return withInterval(&expr{op: opCond, kind: a.kind, a: a, b: b, c: c})
	case "+":
		if bmv2json.IsNull(x.Left) {
			return l.dataExpr(src, l.raw(src, x.Right))
		}
	case "-":
		if bmv2json.IsNull(x.Left) {
			return withInterval(&expr{op: opSub, a: constExpr(new(big.Int)), b: l.dataExpr(src, l.raw(src, x.Right))})
		}
	}
	op, ok := binaryOps[x.Op]
	if !ok {
		l.unsupported(src, "operation %q", x.Op)
	}
	a, b := l.raw(src, x.Left), l.raw(src, x.Right)
	switch op {
	case opLAnd, opLOr:
		return &expr{op: op, kind: kindBool, a: l.boolExpr(src, a), b: l.boolExpr(src, b)}
	case opEq, opNe:
		if a.kind != b.kind || a.kind > kindUnion || a.kind == kindStack {
			l.bad(src, "%q of different or incomparable kinds", x.Op)
		}
		return simplify(&expr{op: op, kind: kindBool, a: a, b: b})
	case opLt, opLe, opGt, opGe:
		return &expr{op: op, kind: kindBool, a: l.dataExpr(src, a), b: l.dataExpr(src, b)}
	case opTwoComp, opSat, opUSat:
		if b.op != opConst || !b.n.IsInt64() || b.n.Int64() < 1 || b.n.Int64() > maxFieldBits {
			l.bad(src, "%s to a width that is not a constant", x.Op)
		}
		return withInterval(&expr{op: op, a: l.dataExpr(src, a), bits: int(b.n.Int64())})
	}
	return simplify(withInterval(&expr{op: op, a: l.dataExpr(src, a), b: l.dataExpr(src, b)}))
}

func (l *loader) unary(src *bmv2json.Source, op string, a *expr) *expr {
	switch op {
	case "valid":
		if a.kind == kindHeader {
			return &expr{op: opValid, kind: kindBool, a: a}
		}
	case "valid_union":
		if a.kind == kindUnion {
			return &expr{op: opValidUnion, kind: kindBool, a: a}
		}
	case "not":
		return &expr{op: opLNot, kind: kindBool, a: l.boolExpr(src, a)}
	case "~":
		return withInterval(&expr{op: opNot, a: l.dataExpr(src, a)})
	case "d2b":
		return &expr{op: opD2B, kind: kindBool, a: l.dataExpr(src, a)}
	case "b2d":
		return withInterval(&expr{op: opB2D, a: l.boolExpr(src, a)})
	case "last_stack_index", "size_stack":
		o := opSize
		if op == "last_stack_index" {
			o = opLast
		}
		switch a.kind {
		case kindStack:
			return withInterval(&expr{op: o, idx: a.stk.idx, bits: len(a.stk.hdrs)})
		case kindUnionStack:
			return withInterval(&expr{op: o, idx: a.ustk.idx, bits: len(a.ustk.unions)})
		}
	}
	l.bad(src, "%s of something else", op)
	return nil
}

func (l *loader) access(src *bmv2json.Source, x *bmv2json.Expr) *expr {
	a := l.raw(src, x.Left)
	var i int
	l.decode(src, x.Right, &i, x.Op)
	if x.Op == "access_union_header" {
		switch {
		case a.op == opUnion && i >= 0 && i < len(a.un.hdrs):
			return &expr{op: opHeader, kind: kindHeader, hdr: a.un.hdrs[i]}
		case a.op == opDynUnion && i >= 0 && i < len(a.ustk.names):
			return &expr{op: opUnionMember, kind: kindHeader, ustk: a.ustk, a: a.a, idx: i}
		}
		l.bad(src, "access_union_header %d", i)
	}
	t := l.typeOf(src, a)
	if i == len(t.fields) { // the hidden $valid$ field is the last
		return withInterval(&expr{op: opB2D, a: &expr{op: opValid, kind: kindBool, a: a}})
	}
	if i < 0 || i > len(t.fields) {
		l.bad(src, "access_field %d of header type %q", i, t.name)
	}
	if a.op == opHeader {
		return fieldExpr(&a.hdr.fields[i])
	}
	if i == t.vl {
		l.unsupported(src, "varbit field of a header chosen at run time")
	}
	return intervalOf(&expr{op: opDynField, a: a, idx: i}, t.fields[i].width, t.fields[i].signed)
}

func (l *loader) typeOf(src *bmv2json.Source, a *expr) *headerType {
	switch a.op {
	case opHeader:
		return a.hdr.typ
	case opDynHeader:
		return a.stk.typ
	case opUnionMember:
		return a.ustk.unions[0].hdrs[a.idx].typ
	}
	l.bad(src, "a header is wanted")
	return nil
}

// dataExpr insists on an integer.
func (l *loader) dataExpr(src *bmv2json.Source, e *expr) *expr {
	if e.kind == kindBool { // p4c omits b2d in places
		return withInterval(&expr{op: opB2D, a: e})
	}
	if e.kind != kindData || e.varbit() {
		l.bad(src, "an integer is wanted")
	}
	return e
}

// boolExpr insists on a boolean.
func (l *loader) boolExpr(src *bmv2json.Source, e *expr) *expr {
	if e.kind == kindData && !e.varbit() { // p4c omits d2b in places
		return &expr{op: opD2B, kind: kindBool, a: e}
	}
	if e.kind != kindBool {
		l.bad(src, "a boolean is wanted")
	}
	return e
}

// varbit tells that an expression is a variable-length field.
func (e *expr) varbit() bool { return e.op == opField && e.f.vl }
