package controller

import (
	"context"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/southbound/gnmi"
)

// Southbound is the seam to the switches.
type Southbound interface {
	// Open starts a lasting relation to a switch, which connects again by itself
	// whenever it is lost, and ends with Close. Events come one at a time and in
	// order; the handler returns soon.
	Open(ctx context.Context, sw inventory.Switch, handler func(SwitchEvent)) (Switch, error)
}

// Switch is an open connection to a switch with any system. The capabilities of the system follow
// from the configuration (target.Device), and the switch reports changes as events.
type Switch interface {
	// Read returns everything the switch holds that a controller can write.
	Read(ctx context.Context) (entry.Contents, error)
	// Write carries out all updates of a batch, in any order, even if some updates fail. An error
	// means an unknown outcome of the batch.
	Write(ctx context.Context, updates []entry.Update) ([]entry.Refusal, error)
	// Confirm reads back what accepted updates wrote, and returns a refusal for each that had no
	// effect. An error reports that this is unknown.
	Confirm(ctx context.Context, updates []entry.Update) ([]entry.Refusal, error)
	// SetPort writes settings of an interface, by the name that the switch gives it. Refusals lists
	// the settings that the switch refuses. An error means an unknown outcome of the remaining
	// settings.
	SetPort(ctx context.Context, iface string, s *gnmi.Settings) ([]gnmi.Refusal, error)
	Close() error
}

// P4Switch is a Switch that runs a P4 program.
type P4Switch interface {
	Switch
	P4Program
}

// P4Program is what only a switch with a P4 program has.
type P4Program interface {
	// PacketOut hands the switch a packet. It is not acknowledged.
	PacketOut(ctx context.Context, p entry.PacketOut) error
	// Tables returns the tables of the pipeline.
	Tables() []api.Table
	// CounterNames returns the names of the counters of the pipeline, in order.
	CounterNames() []string
	// Inspect returns the entries of a table for people, and Counters all
	// indirect counters that are not zero.
	Inspect(ctx context.Context, table string) ([]api.TableEntry, error)
	Counters(ctx context.Context) ([]api.Counter, error)
	// PortCounts returns how many packets the ports have sent or received.
	PortCounts(ctx context.Context, d Direction) (map[uint32]uint64, error)
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
	// Up: this controller may write, and the switch runs what it should. It comes again when the
	// switch holds something else than was read or written.
	Up bool
	// Err reports why it is down; nil when Up, PacketIn, Digest or Ports.
	Err error
	// PacketIn is a packet from the switch, Digest a list of its reports.
	PacketIn *entry.PacketIn
	Digest   *entry.Digest
	// Ports are all ports that the switch tells of.
	Ports *PortStates
	// Neighbors, when not nil, lists everything that the switch hears by its own LLDP.
	Neighbors southbound.Neighbors
}
