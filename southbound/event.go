package southbound

import (
	"context"
	"errors"
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

// Ready: this controller is primary and the switch runs the pipeline. The programmer of the switch
// reads back and repairs now.
type Ready struct {
	// Installed reports that the pipeline was installed just now, so that the
	// switch holds nothing.
	Installed bool
}

// Backup: the switch answers, but another controller is primary, or none.
type Backup struct {
	// Own is the election id of this controller.
	Own ElectionID
	// Highest is the highest election id that the switch has ever taken, also from a departed
	// controller; zero if the switch refused a write before it reported the id.
	Highest ElectionID
	// Vacant reports that no controller is primary: the switch waits for an election id
	// of Highest at least.
	Vacant bool
	// Waiting reports that this controller stays out of the election while the other controller is
	// primary (ClaimVacant).
	Waiting bool
	// Foreign reports that the primary client belongs to another installation.
	Foreign bool
	// Pause is the time until this controller claims the switch by itself: to take the switch back
	// (Foreign), or because another installation may come back (Vacant). 0: it does not claim.
	Pause time.Duration
}

// Err returns String as an error, which wraps ErrForeign for a foreign primary.
func (b Backup) Err() error {
	if b.Foreign {
		return foreignError(b.String())
	}
	return errors.New(b.String())
}

// foreignError is the error text of a Foreign Backup.
type foreignError string

func (e foreignError) Error() string { return string(e) }

// Is implements the interface of [errors.Is].
func (e foreignError) Is(target error) bool { return target == ErrForeign }

// String reports the primary, and how to become primary.
func (b Backup) String() string {
	switch {
	case b.Vacant && b.Pause > 0:
		return fmt.Sprintf("no controller is primary: that of another installation, with election id "+
			"%s, has gone; this one takes over when that one is not back in %v", b.Highest, b.Pause)
	case b.Foreign && b.Pause > 0:
		return fmt.Sprintf("%v: its controller is primary, with election id %s; this one, which had the "+
			"switch, takes it back in %v", ErrForeign, b.Highest, b.Pause.Round(time.Second))
	case b.Foreign:
		return fmt.Sprintf("%v: its controller is primary, with election id %s; this one, with %s, "+
			"takes over when that one has gone, or at once when it is started with --take-over", ErrForeign,
			b.Highest, b.Own)
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

// Ports holds all ports of a switch as the switch reports them by gNMI, at first and after every
// change. Information from an earlier event that is missing here is no longer valid.
type Ports struct {
	// Up reports whether each P4Runtime port is up; the receiver owns the map. Nil: nothing is known.
	Up map[uint32]bool
	// Interfaces lists the ports and their other data, by name. The receiver must not change them.
	Interfaces []gnmi.Interface
	// Report holds the switch's answers by gNMI.
	Report gnmi.Report
	// Err reports why the switch sends nothing now. Up is then the last report; nil if the switch has
	// no port state (any more). A lost connection causes Down and no such event: the last known state
	// stays valid until the switch is back.
	Err error
	// Ignored counts what it said, since the subscription began, that made no sense.
	Ignored uint64
}

// Neighbors are what a switch hears by LLDP of its own, by interface: all neighbors, sent on every
// change.
type Neighbors map[string]Neighbor

// Neighbor describes a switch's neighbor at an interface, as the neighbor announced itself (IEEE
// 802.1AB).
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
