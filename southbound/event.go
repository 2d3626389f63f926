package southbound

import (
	"context"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
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
type PacketIn struct {
	Payload  []byte
	Metadata []Field
}

// Field is one field of a packet-in or packet-out header.
type Field struct {
	ID    uint32 // metadata id of the P4Info
	Value Value
}

// Value returns the value of a metadata field, "" when there is none.
func (p PacketIn) Value(id uint32) Value {
	for _, f := range p.Metadata {
		if f.ID == id {
			return f.Value
		}
	}
	return ""
}

// PacketOut is a packet for the switch to process or send.
type PacketOut struct {
	Payload  []byte
	Metadata []Field
}

// Digest is a list of reports. It is acknowledged when the handler returns.
type Digest struct {
	ID   uint32
	List uint64
	// Reports holds the leaves of each report in the order of the P4 struct.
	Reports [][]Value
	// Timestamp is the switch's, in nanoseconds since the epoch.
	Timestamp int64
}

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

func packetInFromProto(p *p4v1.PacketIn) PacketIn {
	out := PacketIn{Payload: p.GetPayload()}
	for _, m := range p.GetMetadata() {
		out.Metadata = append(out.Metadata, Field{ID: m.GetMetadataId(), Value: ValueOf(m.GetValue())})
	}
	return out
}

func packetOutToProto(p PacketOut) *p4v1.StreamMessageRequest {
	out := &p4v1.PacketOut{Payload: p.Payload}
	for _, m := range p.Metadata {
		v := m.Value
		if v == "" {
			v = Uint(0)
		}
		out.Metadata = append(out.Metadata, &p4v1.PacketMetadata{MetadataId: m.ID, Value: []byte(v)})
	}
	return &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Packet{Packet: out}}
}

func digestFromProto(d *p4v1.DigestList) Digest {
	out := Digest{ID: d.GetDigestId(), List: d.GetListId(), Timestamp: d.GetTimestamp()}
	for _, data := range d.GetData() {
		out.Reports = append(out.Reports, leaves(nil, data, 0))
	}
	return out
}

// maxDepth bounds the nesting of digest data from the switch.
const maxDepth = 16

// leaves appends the bit strings, Booleans and enum values of d in order.
func leaves(out []Value, d *p4v1.P4Data, depth int) []Value {
	if depth > maxDepth {
		return out
	}
	switch d := d.GetData().(type) {
	case *p4v1.P4Data_Bitstring:
		out = append(out, ValueOf(d.Bitstring))
	case *p4v1.P4Data_Bool:
		out = append(out, Bool(d.Bool))
	case *p4v1.P4Data_EnumValue:
		out = append(out, ValueOf(d.EnumValue))
	case *p4v1.P4Data_Struct:
		for _, m := range d.Struct.GetMembers() {
			out = leaves(out, m, depth+1)
		}
	case *p4v1.P4Data_Tuple:
		for _, m := range d.Tuple.GetMembers() {
			out = leaves(out, m, depth+1)
		}
	}
	return out
}
