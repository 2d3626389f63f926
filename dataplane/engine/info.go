package engine

import (
	"github.com/weft-sdn/weft/dataplane/extern"
	"github.com/weft-sdn/weft/dataplane/table"
)

// MatchKind is how one key field of a table is matched.
type MatchKind = table.Kind

// Match kinds. P4's optional is a Ternary key whose mask is all ones or all zeroes: BMv2 JSON does
// not tell them apart, P4Info does.
const (
	Exact   = table.Exact
	LPM     = table.LPM
	Ternary = table.Ternary
	Range   = table.Range
)

// KeyInfo describes one key field of a table.
type KeyInfo struct {
	Name  string // as in P4Info: the @name, or the source text of the field
	Match MatchKind
	Width int // bits
}

// ParamInfo describes one parameter of an action.
type ParamInfo struct {
	Name  string
	Width int // bits
}

// ActionInfo describes an action. Its index in Program.Actions is the
// action index the control methods use. p4c copies an action for every table
// that uses it: several indices may share a name, and any of them stands for
// the copy of the table or profile concerned.
type ActionInfo struct {
	Name   string // fully qualified, as in P4Info ("IngressImpl.forward")
	Params []ParamInfo
}

// TableInfo describes a table. Its index in Program.Tables is the table index
// the control methods use.
type TableInfo struct {
	Name    string // fully qualified, as in P4Info
	Keys    []KeyInfo
	Actions []int // action indices an entry may use
	Size    int   // entries; more are refused with ErrFull

	ConstDefault bool // the default action cannot be changed
	ConstEntries bool // the entries come with the program and cannot be changed; see ReleaseEntries
	IdleTimeout  bool // entries may carry an idle timeout

	Profile       int // action profile index, or -1 when entries hold actions
	Selector      bool
	DirectCounter int // counter index, or -1
	DirectMeter   int // meter index, or -1

	// Hidden is set for the tables the compiler makes for statements in a
	// control's apply block; P4Info does not list them.
	Hidden bool
}

// ProfileInfo describes an action profile or action selector.
type ProfileInfo struct {
	Name     string
	Size     int  // members
	Selector bool // it has groups
	Tables   []int
	Actions  []int // action indices a member may use
}

// CounterInfo describes a counter array. Counters count packets and bytes.
type CounterInfo struct {
	Name  string
	Size  int // entries; 0 for a direct counter
	Table int // the table of a direct counter, or -1
}

// MeterUnit is the unit of a meter's tokens.
type MeterUnit = extern.MeterUnit

// Units of a meter.
const (
	MeterPackets = extern.MeterPackets
	MeterBytes   = extern.MeterBytes
)

// MeterInfo describes a meter array.
type MeterInfo struct {
	Name  string
	Unit  MeterUnit
	Size  int // entries; 0 for a direct meter
	Table int // the table of a direct meter, or -1
}

// HeaderInfo describes a header of the program, or an element of a header stack.
type HeaderInfo struct {
	Name   string
	Fields []ParamInfo // in wire order; Width 0 for one of variable length
}

// RegisterInfo describes a register array.
type RegisterInfo struct {
	Name  string
	Size  int // entries
	Width int // bits an entry
}

// ValueSetInfo describes a parser value set.
type ValueSetInfo struct {
	Name  string
	Width int // bits of one value: the sum of the key fields' widths
}

// DigestInfo describes a digest (BMv2's learn list).
type DigestInfo struct {
	Name   string
	Fields []ParamInfo
}
