package southbound

import (
	"context"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"github.com/weft-sdn/weft/southbound/entry"
)

// Handler takes the events of a session, one at a time and in order. While it
// runs nothing more is taken from the switch's stream, so it should hand over
// and return; ctx ends when the session does. It must not call Close.
type Handler func(ctx context.Context, e Event)

// Event is one of [Ready], [Backup], [Down], [PacketIn], [Digest],
// [StreamError] and [Ports].
type Event interface{ event() }

// Ready: this controller is primary and the switch runs the pipeline. Whoever
// programs the switch reads back and repairs now.
type Ready struct {
	// Installed says that the pipeline was installed just now, so that the
	// switch holds nothing.
	Installed bool
}

// Backup: the switch answers, but another controller is primary, or none.
type Backup struct {
	// Primary is the highest election id the switch knows.
	Primary ElectionID
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

// Ports are the ports of which the switch says, by gNMI, whether they are up: all
// of them, at first and after every change. What an earlier event said and this
// one does not is no longer known.
type Ports struct {
	// Up says of P4Runtime ports whether they are up; it is the receiver's. Nil:
	// nothing is known.
	Up map[uint32]bool
	// Err says why the switch does not tell now. Up is then what it said last; nil,
	// if it has no port state (any more). That the whole connection is lost is no
	// such event but Down: what was known stays so until the switch is back.
	Err error
	// Ignored counts what it said, since the subscription began, that made no sense.
	Ignored uint64
}

func (Ready) event()       {}
func (Backup) event()      {}
func (Down) event()        {}
func (PacketIn) event()    {}
func (Digest) event()      {}
func (StreamError) event() {}
func (Ports) event()       {}

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

func (e ElectionID) proto() *p4v1.Uint128 { return &p4v1.Uint128{High: e.High, Low: e.Low} }

func electionFromProto(u *p4v1.Uint128) ElectionID {
	return ElectionID{High: u.GetHigh(), Low: u.GetLow()}
}
