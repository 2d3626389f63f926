package ir

import "math/big"

// Kind is the type of an expression's value.
type Kind uint8

// Kinds of values.
const (
	KindData Kind = iota // an integer of unbounded precision
	KindBool
	KindHeader
	KindStack
	KindUnion
	KindUnionStack
	KindString
	KindList
	KindObject // register, counter, meter or calculation
)

// Op is the operation of an expression, or what it refers to.
type Op uint8

// Operations. In comments, idx is Expr.Index and a is Expr.A.
const (
	OpConst Op = iota
	OpField
	OpStackField // field idx of the last element of a stack
	OpDynField   // field idx of an element chosen at run time
	OpUnionField // field of a member of the last element of a union stack
	OpLocal      // action parameter idx
	OpRegister   // element a of register idx
	OpLookahead  // bits ahead of the parser
	OpBool       // constant
	OpHeader     // static header
	OpDynHeader  // element a of a stack
	OpStack
	OpUnion
	OpDynUnion    // element a of a union stack
	OpUnionMember // member idx of a union chosen at run time
	OpUnionStack
	OpString
	OpList
	OpObject
	OpLast // index of the last element of a stack
	OpSize // elements in a stack

	OpAdd
	OpSub
	OpMul
	OpDiv
	OpMod
	OpShl
	OpShr
	OpAnd
	OpOr
	OpXor
	OpNot
	OpTwoComp
	OpSat
	OpUSat
	OpCond
	OpB2D

	OpLAnd
	OpLOr
	OpLNot
	OpEq
	OpNe
	OpLt
	OpLe
	OpGt
	OpGe
	OpD2B
	OpValid
	OpValidUnion
)

// Expr is a typed expression. A data expression carries the interval [Lo, Hi] of its values, and
// the interval decides how to compile the expression; nil bounds are unknown.
type Expr struct {
	Op         Op
	Kind       Kind
	A, B, C    *Expr
	N          *big.Int // constant
	Field      *Field
	Header     *Header
	Stack      *Stack
	Union      *Union
	UnionStack *UnionStack
	Index      int
	Off        int // lookahead: offset in bits
	Bits       int // lookahead, constant with a width: bits
	Str        string
	List       []*Expr
	Lo, Hi     *big.Int
}

// Param is a parameter of an action: its place in the entry's argument words.
type Param struct {
	Name  string
	Width int
	Off   int
	// Signed reports that the program's own entries give it negative values. JSON does not say what is
	// signed, and values from elsewhere never are.
	Signed bool
}

// Varbit reports whether the expression is a variable-length field.
func (e *Expr) Varbit() bool { return e.Op == OpField && e.Field.VL }

// Width64 reports whether an unsigned leaf has at most 64 bits.
func (e *Expr) Width64() bool { return e.Nonneg() && e.Hi.IsUint64() }
