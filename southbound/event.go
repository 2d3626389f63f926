package southbound

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/southbound/gnmi"
)

// Handler takes the events of a session, one at a time and in order. While it
// runs nothing more is taken from the switch's stream, so it should hand over
// and return; ctx ends when the session does. It must not call Close.
type Handler func(ctx context.Context, e Event)

// Event is one of [Ready], [Backup], [Down], [PacketIn], [Digest],
// [StreamError], [Ports] and [Neighbors].
type Event interface{ event() }

// Ready: this controller is primary and the switch runs the pipeline. Whoever
// programs the switch reads back and repairs now.
type Ready struct {
	// Installed reports that the pipeline was installed just now, so that the
	// switch holds nothing.
	Installed bool
}

// Backup: the switch answers, but another controller is primary, or none.
type Backup struct {
	// Own is the election id of this controller.
	Own ElectionID
	// Highest is the highest election id that the switch has ever taken, also from a
	// controller that has gone; zero when the switch refused a write before it said so.
	Highest ElectionID
	// Vacant reports that no controller is primary: the switch waits for an election id
	// of Highest at least.
	Vacant bool
	// Waiting reports that this controller does not take part in the election as long as the other
	// controller is primary (ClaimVacant).
	Waiting bool
}

// String reports who is primary, and what it takes to become so.
func (b Backup) String() string {
	switch {
	case b.Waiting:
		return fmt.Sprintf("another controller is primary, with election id %s; this one takes over "+
			"when that one has gone, or at once when it is started with --take-over", b.Highest)
	case b.Vacant:
		return fmt.Sprintf("no controller is primary, but the switch remembers election id %s, and "+
			"this controller has %s: start it with --election-id %s or higher, or restart the switch",
			b.Highest, b.Own, b.Highest)
	case b.Highest == (ElectionID{}):
		return fmt.Sprintf("another controller has become primary; this one has election id %s", b.Own)
	}
	return fmt.Sprintf("another controller is primary, with election id %s; this one has %s",
		b.Highest, b.Own)
}

// Down: the connection was lost or could not be made.
type Down struct {
	Err error
	// Retry is the pause before the next attempt.
	Retry time.Duration
}

// PacketIn is a packet the switch sent to the controller.
type PacketIn struct{ entry.PacketIn }

// Digest is a list of reports. It is acknowledged when the handler returns.
type Digest struct{ entry.Digest }

// StreamError is the switch's complaint about a packet-out or acknowledgement.
type StreamError struct {
	Code    codes.Code
	Message string
}

// Ports are the ports of a switch as it reports them by gNMI: all of them, at first and after every
// change. What an earlier event said and this one does not is no longer known.
type Ports struct {
	// Up reports of P4Runtime ports whether they are up; it is the receiver's. Nil: nothing is known.
	Up map[uint32]bool
	// Interfaces are the ports with what else is known of them, by name. They must not be changed.
	Interfaces []gnmi.Interface
	// Report is what the switch answers by gNMI.
	Report gnmi.Report
	// Err reports why the switch says nothing now. Up is then what it said last; nil, if it has no
	// port state (any more). That the whole connection is lost is no such event but Down: what was
	// known stays so until the switch is back.
	Err error
	// Ignored counts what it said, since the subscription began, that made no sense.
	Ignored uint64
}

// Neighbors are what a switch hears by LLDP of its own, by interface: all of them, whenever they
// are others than before.
type Neighbors map[string]Neighbor

// Neighbor is what a switch has heard at an interface, as the neighbor wrote it (IEEE 802.1AB).
type Neighbor struct {
	// System is its system name, Chassis its chassis ID: a MAC, for most.
	System, Chassis string
	// Port is its port ID, and PortText the description of the port. SONiC has the name of the
	// interface there, and an alias in Port.
	Port, PortText string
}

func (Ready) event()       {}
func (Backup) event()      {}
func (Down) event()        {}
func (PacketIn) event()    {}
func (Digest) event()      {}
func (StreamError) event() {}
func (Ports) event()       {}
func (Neighbors) event()   {}

// State is where a session stands.
type State uint8

// The states of a session.
const (
	StateDown       State = iota // waiting for the next attempt
	StateConnecting              // dialing, arbitrating, or installing the pipeline
	StateBackup                  // connected; another controller is primary
	StateReady                   // connected, primary, pipeline in place
	StateClosed
)

var stateNames = [...]string{"down", "connecting", "backup", "ready", "closed"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}
