package trace

import "time"

// ID names a packet of a switch. The received packet and each copy of it get IDs in order of
// creation. 0 is no packet.
type ID uint64

// Tracer takes the events of a switch, from within the calls of the switch: a Tracer must be quick
// and must not call back into the switch, but may have itself removed from within End. The Tracer
// may keep its arguments, except for the frame of Wants and the octets of Packet.Frame and
// Outcome.Frame, which are valid only during the call.
type Tracer interface {
	// Wants reports whether to trace a frame just received, with all packets that come from it. The
	// tracer learns nothing more about any other frame.
	Wants(port uint32, frame []byte) bool
	// Begin reports a new packet. A copy begins before its original has ended.
	Begin(p Packet)
	// Step reports a step of a packet that has begun.
	Step(id ID, s Step)
	// End reports the outcome of a packet. No event of the packet follows.
	End(id ID, o Outcome)
	// Forget reports that no further event follows for any unfinished packet: the switch was given
	// another program.
	Forget()
}

// Origin defines how a packet began.
type Origin string

// Origins of packets.
const (
	Received     Origin = "received"
	Replica      Origin = "replica"       // a copy of a multicast group
	CloneIngress Origin = "clone_ingress" // a copy as it was received
	CloneEgress  Origin = "clone_egress"  // a copy as it was at the end of egress
	Recirculated Origin = "recirculated"
	Resubmitted  Origin = "resubmitted"
)

// Packet describes a packet at its beginning.
type Packet struct {
	ID     ID            `json:"id"`
	Parent ID            `json:"parent,omitempty"` // the packet it was made from
	Origin Origin        `json:"origin"`
	Time   time.Duration `json:"timeNs"` // of the switch
	// Port is the port from which the packet came (received, recirculated, resubmitted), or the port
	// for which the copy was made.
	Port     uint32 `json:"port"`
	Length   int    `json:"length"`             // octets
	Group    uint16 `json:"group,omitempty"`    // replica: multicast group
	Session  uint16 `json:"session,omitempty"`  // clone: session
	Instance uint16 `json:"instance,omitempty"` // replica, clone: egress_rid
	Frame    Octets `json:"frame,omitempty"`    // received: the frame
}

// Result defines how a packet ended.
type Result string

// Results. Clones come in addition: they are copies of a packet that goes on.
const (
	Transmitted   Result = "transmitted"
	Dropped       Result = "dropped"
	Replicated    Result = "replicated"   // only its copies go on
	Recirculating Result = "recirculated" // goes on as another packet
	Resubmitting  Result = "resubmitted"  // goes on as another packet
	Lost          Result = "lost"         // still in the switch when it was given another program
)

// Outcome describes the end of a packet.
type Outcome struct {
	Result Result        `json:"result"`
	Time   time.Duration `json:"timeNs"` // of the switch
	Port   *uint32       `json:"port,omitempty"`
	Length int           `json:"length,omitempty"` // transmitted: octets
	Frame  Octets        `json:"frame,omitempty"`  // transmitted: the frame
	Drop   string        `json:"drop,omitempty"`   // dropped: the name of a drop.Reason
	Reason string        `json:"reason,omitempty"` // dropped: its explanation
	// Action and At are the action and the statement that decided to drop.
	Action string  `json:"action,omitempty"`
	At     *Source `json:"at,omitempty"`
}

// Source is a place in the P4 program.
type Source struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column,omitempty"`
	Text   string `json:"text,omitempty"` // what stands there, as the compiler quotes it
}

// Field is a name and its value: of a header field, a parameter, an operand.
type Field struct {
	Name  string `json:"name"`
	Value Value  `json:"value"`
	// Octets is the length of a variable-length field; Value holds at most the first 32 octets.
	Octets int `json:"octets,omitempty"`
}

// Step is one step of a packet: exactly one of its pointers is set. At is the place in the program,
// where the compiler told the place.
type Step struct {
	Stage *Stage `json:"stage,omitempty"`

	State       *State       `json:"state,omitempty"`
	Extract     *Extract     `json:"extract,omitempty"`
	Advance     *Advance     `json:"advance,omitempty"`
	Verify      *Verify      `json:"verify,omitempty"`
	Select      *Select      `json:"select,omitempty"`
	ParserError *ParserError `json:"parserError,omitempty"`

	Condition *Condition `json:"condition,omitempty"`
	Table     *Table     `json:"table,omitempty"`
	Action    *Action    `json:"action,omitempty"`

	Assign        *Assign        `json:"assign,omitempty"`
	Header        *Header        `json:"header,omitempty"`
	Stack         *Stack         `json:"stack,omitempty"`
	RegisterRead  *RegisterRead  `json:"registerRead,omitempty"`
	RegisterWrite *RegisterWrite `json:"registerWrite,omitempty"`
	Counter       *Counter       `json:"counter,omitempty"`
	Meter         *Meter         `json:"meter,omitempty"`
	Hash          *Hash          `json:"hash,omitempty"`
	Checksum      *Checksum      `json:"checksum,omitempty"`
	Log           *Log           `json:"log,omitempty"`
	Assert        *Assert        `json:"assert,omitempty"`
	Request       *Request       `json:"request,omitempty"`
	Primitive     *Primitive     `json:"primitive,omitempty"`

	Digest    *Digest    `json:"digest,omitempty"`
	Queue     *Queue     `json:"queue,omitempty"`
	Dequeue   *Dequeue   `json:"dequeue,omitempty"`
	Replicate *Replicate `json:"replicate,omitempty"`
	Deparse   *Deparse   `json:"deparse,omitempty"`
	Note      *Note      `json:"note,omitempty"`

	At *Source `json:"at,omitempty"`
	// Steps are, in a Record, the steps inside this step: of a stage, a parser state, a table or an
	// action.
	Steps []Step `json:"steps,omitempty"`
}

// Stage enters a part of the switch.
type Stage struct {
	Name string `json:"name"` // parser, ingress, egress or deparser
}

// State enters a parser state.
type State struct {
	Name   string `json:"name"`
	Offset int    `json:"offset"` // octets of the packet consumed before
}

// Extract takes a header from the packet.
type Extract struct {
	Header string  `json:"header"`
	Offset int     `json:"offset"`
	Octets int     `json:"octets"`
	Fields []Field `json:"fields"`
}

// Advance skips octets of the packet.
type Advance struct {
	Octets int `json:"octets"`
}

// Verify is the verify statement of a parser.
type Verify struct {
	OK    bool    `json:"ok"`
	Error string  `json:"error,omitempty"` // what it raised
	Reads []Field `json:"reads,omitempty"` // operands of its condition
}

// Select is the transition out of a parser state.
type Select struct {
	Key   []Field `json:"key,omitempty"`
	Case  string  `json:"case,omitempty"` // which case it was; empty: there is no choice
	State string  `json:"state"`          // the next; "accept" ends parsing
}

// ParserError ends parsing.
type ParserError struct {
	Name string `json:"name"`
	Code uint64 `json:"code"`
}

// Condition is a branch of a control or an action; its text is that of At.
type Condition struct {
	Name   string  `json:"name,omitempty"` // of the compiler's node
	Result bool    `json:"result"`
	Reads  []Field `json:"reads,omitempty"` // its operands
}

// Table looks a table up. The action that follows from it is in Steps.
type Table struct {
	Name string `json:"name"`
	Key  []Key  `json:"key,omitempty"`
	Hit  bool   `json:"hit"`
	// Priority is the priority of the entry hit, in tables with priorities.
	Priority int32 `json:"priority,omitempty"`
	// Const reports whether the program contains the entry.
	Const bool `json:"const,omitempty"`
	// Group and Member are the choice of an action profile or selector.
	Group  *uint32 `json:"group,omitempty"`
	Member *uint32 `json:"member,omitempty"`
	// NoAction reports whether nothing follows: a miss without a default, an empty
	// group.
	NoAction bool `json:"noAction,omitempty"`
}

// Key is one field of a table's key.
type Key struct {
	Name  string `json:"name"`
	Match string `json:"match"` // exact, lpm, ternary, range
	Value Value  `json:"value"`
	Entry *Match `json:"entry,omitempty"` // of the entry hit
}

// Match is one match field of an entry.
type Match struct {
	Value  Value  `json:"value"`
	Prefix *int   `json:"prefix,omitempty"` // lpm
	Mask   *Value `json:"mask,omitempty"`   // ternary
	High   *Value `json:"high,omitempty"`   // range: Value to High
}

// Action runs an action; what it does is in Steps.
type Action struct {
	Name string  `json:"name"`
	Args []Field `json:"args,omitempty"`
	// Made reports whether the compiler made the action for statements of a
	// control's apply block.
	Made bool `json:"made,omitempty"`
}

// Assign gives a field a value.
type Assign struct {
	Field  string `json:"field"`
	Value  Value  `json:"value"`
	Old    Value  `json:"old"`
	Octets int    `json:"octets,omitempty"` // as of Field
	// Temporary reports whether the field is one of the compiler's.
	Temporary bool `json:"temporary,omitempty"`
}

// Header makes a header valid or invalid.
type Header struct {
	Name  string `json:"name"`
	Valid bool   `json:"valid"`
	From  string `json:"from,omitempty"` // it is now a copy of this one
}

// Stack moves the elements of a header stack.
type Stack struct {
	Name  string `json:"name"`
	Op    string `json:"op"` // push or pop
	Count uint64 `json:"count"`
}

// RegisterRead reads an entry of a register into a field.
type RegisterRead struct {
	Name       string `json:"name"`
	Index      uint64 `json:"index"`
	Value      Value  `json:"value"`
	Into       string `json:"into"`
	OutOfRange bool   `json:"outOfRange,omitempty"` // nothing was read
}

// RegisterWrite writes an entry of a register.
type RegisterWrite struct {
	Name       string `json:"name"`
	Index      uint64 `json:"index"`
	Value      Value  `json:"value"`
	Old        Value  `json:"old"`
	OutOfRange bool   `json:"outOfRange,omitempty"` // nothing was written
}

// Counter counts the packet.
type Counter struct {
	Name       string  `json:"name"`
	Index      *uint64 `json:"index,omitempty"` // none: the counter of a table entry
	Packets    uint64  `json:"packets"`         // with this one
	Octets     uint64  `json:"octets"`
	OutOfRange bool    `json:"outOfRange,omitempty"` // nothing was counted
}

// Meter marks the packet.
type Meter struct {
	Name       string  `json:"name"`
	Index      *uint64 `json:"index,omitempty"` // none: the meter of a table entry
	Color      string  `json:"color"`           // green, yellow, red
	OutOfRange bool    `json:"outOfRange,omitempty"`
	// Unconfigured reports whether the meter was never set, and so gives green.
	Unconfigured bool `json:"unconfigured,omitempty"`
}

// Hash computes a hash into a field.
type Hash struct {
	Name      string `json:"name,omitempty"` // of the calculation
	Algorithm string `json:"algorithm,omitempty"`
	Into      string `json:"into"`
	Value     Value  `json:"value"`
}

// Checksum verifies a field on the way in or updates it on the way out.
type Checksum struct {
	Name   string `json:"name"`
	Field  string `json:"field"`
	Update bool   `json:"update,omitempty"`
	OK     bool   `json:"ok"`    // verified: it is right
	Value  Value  `json:"value"` // computed
	Old    Value  `json:"old"`   // in the field before
}

// Log is a log_msg of the program.
type Log struct {
	Message string `json:"message"`
}

// Assert is an assert or assume; its text is that of At.
type Assert struct {
	Op string `json:"op"`
	OK bool   `json:"ok"`
}

// Request is a call by which the program decides what happens to the packet.
type Request struct {
	What    string   `json:"what"` // drop, exit, clone, resubmit, recirculate, digest, truncate
	Session *uint64  `json:"session,omitempty"`
	Octets  *uint64  `json:"octets,omitempty"` // truncate: to so many
	Keeps   []string `json:"keeps,omitempty"`  // metadata kept
}

// Primitive is any other call.
type Primitive struct {
	Op string `json:"op"`
}

// Digest is a message sent to the control plane.
type Digest struct {
	Name   string  `json:"name"`
	Fields []Field `json:"fields"`
}

// Queue puts the packet into an egress queue.
type Queue struct {
	Port     uint32 `json:"port"`
	Priority int    `json:"priority"`
	Depth    int    `json:"depth"` // packets before it
}

// Dequeue takes the packet out of its queue.
type Dequeue struct {
	Waited time.Duration `json:"waitedNs"`
	Depth  int           `json:"depth"` // packets behind it
}

// Replicate makes the copies of a multicast group or clone session.
type Replicate struct {
	Group   *uint16 `json:"group,omitempty"`
	Session *uint16 `json:"session,omitempty"`
	Copies  int     `json:"copies"`
	// Missing reports whether there is no such group or session.
	Missing bool `json:"missing,omitempty"`
	// Down are ports without a copy, because the port and its backups are down.
	Down []uint32 `json:"down,omitempty"`
}

// Deparse puts the packet together.
type Deparse struct {
	Headers []Emitted `json:"headers"`
	Payload int       `json:"payload"` // octets
	Length  int       `json:"length"`  // octets
}

// Emitted is a header that leaves.
type Emitted struct {
	Name   string `json:"name"`
	Octets int    `json:"octets"`
}

// Note is any other remark.
type Note struct {
	Text string `json:"text"`
}
