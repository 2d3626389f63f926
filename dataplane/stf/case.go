package stf

import "math/big"

// Case is a parsed case.
type Case struct {
	Statements []Statement
}

// Statement is a statement and its line, from 1.
type Statement struct {
	Line int
	Do   any // one of the types below
}

// Packet has a frame arrive.
type Packet struct {
	Port  uint32
	Frame []byte
}

// Expect is a frame that must leave.
type Expect struct {
	Port    uint32
	Pattern Pattern
}

// Pattern is a pattern of a frame: lower-case hexadecimal digits, * for any.
type Pattern struct {
	Digits string
	Exact  bool // nothing follows
	Any    bool // whatever it holds; Digits is empty
}

// NoPacket reports that nothing has left since the last packet came in.
type NoPacket struct{}

// Wait lets time pass.
type Wait struct{}

// RemoveAll empties all tables.
type RemoveAll struct{}

// Add inserts an entry.
type Add struct {
	Table    string
	Priority int
	Keys     []Key
	Action   Action
	ID       string // what check_counter calls the entry; may be empty
}

// Key is the match of an entry for one key.
type Key struct {
	Name  string
	Value Number
	// At most one of these is set.
	Prefix *big.Int
	Mask   *big.Int
	High   *big.Int
}

// Action is an action with its arguments.
type Action struct {
	Name string
	Args []Arg
}

// Arg is an argument of an action.
type Arg struct {
	Name  string
	Value *big.Int
}

// SetDefault sets the default action of a table.
type SetDefault struct {
	Table  string
	Action Action
}

// CheckCounter compares a counter.
type CheckCounter struct {
	Counter string
	Index   *big.Int // nil: ID is an entry
	ID      string
	Unit    string // "packets", "bytes", or empty: nothing is compared
	Op      string
	Value   *big.Int
}

// Group makes a multicast group.
type Group struct{ ID uint16 }

// Node makes a multicast node: copies with a replication id to ports.
type Node struct {
	RID   uint16
	Ports []uint32
}

// UpdateNode changes the ports of the node with a number, counted from 0.
type UpdateNode struct {
	Node  int
	Ports []uint32
}

// Associate adds a node to a group.
type Associate struct {
	Group uint16
	Node  int
}

// Mirror makes, changes, removes or looks at a clone session.
type Mirror struct {
	Session uint16
	Port    *uint32
	Group   *uint16
	Delete  bool // else, without Port and Group: look
}

// Array is a statement about a register, counter or meter: verb is the part of its name behind the
// _.
type Array struct {
	Kind   string // "register", "counter", "meter", "meter_array"
	Verb   string // "read", "write", "reset", "get_rates", "set_rates"
	Name   string
	Index  int
	Values []*big.Int // of a write
	Rates  []Rate     // of set_rates
}

// Rate is a rate of a meter, in units a microsecond, and its burst.
type Rate struct {
	PerMicrosecond float64
	Burst          uint64
}
