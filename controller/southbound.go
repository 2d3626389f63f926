package controller

import (
	"context"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Southbound is the seam to the switches.
type Southbound interface {
	// Open starts a lasting relation to a switch, which connects again by itself
	// whenever it is lost, and ends with Close. Events come one at a time and in
	// order; the handler returns soon.
	Open(ctx context.Context, sw inventory.Switch, handler func(SwitchEvent)) (Switch, error)
}

// Switch is one open relation.
type Switch interface {
	// Write carries out one batch of updates in any order, all of them whatever
	// becomes of the others. An error says that nobody knows what became of them.
	Write(ctx context.Context, updates []entry.Update) ([]entry.Refusal, error)
	// Read returns everything the switch holds that a controller can write.
	Read(ctx context.Context) (entry.Contents, error)
	// PacketOut hands the switch a packet. It is not acknowledged.
	PacketOut(ctx context.Context, p entry.PacketOut) error
	// Tables returns the tables of the pipeline.
	Tables() []TableView
	// CounterNames returns the names of the counters of the pipeline, in order.
	CounterNames() []string
	// Inspect returns the entries of a table for people, and Counters all
	// indirect counters that are not zero.
	Inspect(ctx context.Context, table string) ([]EntryView, error)
	Counters(ctx context.Context) ([]CounterView, error)
	// PortCounts returns how many packets the ports have sent or received.
	PortCounts(ctx context.Context, d Direction) (map[uint32]uint64, error)
	Close() error
}

// Direction is which packets of a port are meant.
type Direction uint8

// The directions.
const (
	Sent Direction = iota
	Received
)

// SwitchEvent is what happens to a relation.
type SwitchEvent struct {
	// Up: this controller may write, and the switch runs the pipeline.
	Up bool
	// Err says why it is down; nil when Up, PacketIn, Digest or Ports.
	Err error
	// PacketIn is a packet from the switch, Digest a list of its reports.
	PacketIn *entry.PacketIn
	Digest   *entry.Digest
	// Ports are all ports that the switch tells of.
	Ports *PortStates
}

// TableView describes a table.
type TableView struct {
	Name    string   `json:"name" doc:"Name in the P4 program."`
	Size    int64    `json:"size" doc:"Entries the table has room for."`
	Fields  []string `json:"fields" doc:"What it matches on."`
	Actions []string `json:"actions"`
}

// EntryView is a table entry in names and typed values: numbers are uint64,
// addresses, prefixes, and what exceeds 64 bits are strings.
type EntryView struct {
	Table    string      `json:"table"`
	Match    []FieldView `json:"match" doc:"In the order of the key."`
	Priority int32       `json:"priority,omitempty" doc:"Higher wins; only in tables with ternary, range or optional fields."`
	Default  bool        `json:"default,omitempty" doc:"The table's default action."`
	Action   string      `json:"action,omitempty" doc:"Absent when the entry refers to member or group."`
	Params   []FieldView `json:"params,omitempty"`
	Member   uint32      `json:"member,omitempty" doc:"Member of the table's action profile."`
	Group    uint32      `json:"group,omitempty" doc:"Group of the table's action selector."`
}

// FieldView is a named value.
type FieldView struct {
	Name  string `json:"name"`
	Value any    `json:"value" doc:"A number, or a string: an address, prefix (2001:db8::/32), masked value (256&&&0x1f0), range (1..5), number over 64 bits (0x…), or * for anything."`
}

// CounterView is a cell of a counter. Name is that of the cell where the P4
// program names it (a drop reason), and its index elsewhere.
type CounterView struct {
	Counter string `json:"counter" doc:"Name in the P4 program."`
	Index   int64  `json:"index"`
	Name    string `json:"name" doc:"What the index stands for: a drop reason, an event, a port."`
	Packets int64  `json:"packets"`
	Octets  int64  `json:"octets"`
}
