package ir

import (
	"math/bits"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// The state of a packet is one flat array of octets. A header instance occupies consecutive octets
// in wire order, without its variable-length field, so extracting and deparsing are copies. A
// metadata field occupies whole 8-octet words, big-endian and right-aligned, so a read takes one
// load, as wide as the store.

// Limits of a program. Loading refuses a program beyond a limit, so the length of a program bounds
// the cost of loading and running.
const (
	MaxStateBytes = 1 << 17 // octets of the state of a packet
	MaxFieldBits  = 1 << 16 // bits of a field, parameter, register entry or constant
	MaxStack      = 1 << 15 // elements of a header stack
)

// StateSlack is the number of octets beyond the last field in the state of a packet, so that an
// 8-octet window over any field stays inside.
const StateSlack = 8

// HeaderType is a header type: fields in wire order.
type HeaderType struct {
	Name   string
	Fields []FieldType
	Index  map[string]int
	Bits   int // of the fixed part
	VL     int // index of the variable-length field, or -1
	MaxLen int // octets, fixed part included; 0 when not given
}

// FieldType is a field of a header type.
type FieldType struct {
	Name   string
	Width  int // bits; 0 for the variable-length field
	Signed bool
	Bit    int // offset in the fixed part, from the most significant bit
}

// Header is a header or metadata instance.
type Header struct {
	Name   string
	Type   *HeaderType
	Meta   bool
	Off    int // octets into the state of a packet
	Size   int // octets of the fixed part
	Word   int // word of the validity bit
	Mask   uint64
	VL     int // number among the variable-length fields, or -1
	VLBit  int // bits of the fixed part before the variable-length field
	Union  int // union it is a member of, or -1
	Fields []Field
}

// Field is a field of a header instance.
type Field struct {
	Header *Header
	Index  int
	Width  int
	Bit    int // absolute offset of the most significant bit in the state
	Signed bool
	VL     bool
	Valid  bool // the hidden field $valid$
}

// Name returns the name of the field, "header.field".
func (f *Field) Name() string {
	if f.Valid {
		return f.Header.Name + ".$valid$"
	}
	return f.Header.Name + "." + f.Header.Type.Fields[f.Index].Name
}

// Stack is a header stack: elements of one type, laid out consecutively.
type Stack struct {
	Name    string
	Index   int // number among the stacks
	Type    *HeaderType
	Headers []*Header
}

// Union is a header union: at most one member is valid.
type Union struct {
	Name    string
	Index   int
	Headers []*Header
}

// UnionStack is a stack of header unions.
type UnionStack struct {
	Name   string
	Index  int // number among the stacks, after the header stacks
	Unions []*Union
	Names  []string // of the members of one element
}

// Layout is everything about headers that a program needs at run time.
type Layout struct {
	Headers []*Header // in validity-bit order
	// Deparsed is how many headers the deparser emits: the first ones of Headers, in the deparser's
	// order.
	Deparsed    int
	Size        int // octets of the state of a packet, slack included
	MetaOff     int // octets before the metadata
	MetaSize    int // octets of the metadata
	ValidWords  int
	NumVL       int
	NumNext     int
	Unions      []*Union
	Stacks      []*Stack
	UnionStacks []*UnionStack
}

// BitNumber returns the number of the header's validity bit.
func (h *Header) BitNumber() int16 { return int16(64*h.Word + bits.TrailingZeros64(h.Mask)) }

// Slot returns the offset of a metadata field's octets.
func (f *Field) Slot() int { return (f.Bit+f.Width)/8 - SlotSize(f.Width) }

// SlotSize returns how many octets a metadata field of n bits occupies.
func SlotSize(n int) int {
	return 8 * bitfield.Words(n)
}
