package spray

import "time"

// EventKind is a change of state of an entropy value.
type EventKind uint8

// Kinds of events.
const (
	BecameBad EventKind = iota + 1 // it became ASSUMED_BAD
	Recovered                      // it was ASSUMED_BAD, and a probe came back
)

// String is the kind for people to read.
func (k EventKind) String() string {
	switch k {
	case BecameBad:
		return "ASSUMED_BAD"
	case Recovered:
		return "recovered"
	}
	return "unknown event"
}

// Config.Notify receives an Event.
type Event struct {
	At    time.Duration
	Kind  EventKind
	Index int
	EV    EV
}

// Counts are the outcomes of packets sent with an entropy value since it came into the profile,
// for the controller to find faults with.
type Counts struct {
	Sent       uint64 // data packets, retransmissions too
	Arrived    uint64 // named by a SACK, marked or not
	Marked     uint64 // of these
	Lost       uint64 // by a timer, or inferred from SACKs
	Trimmed    uint64 // NACKed as trimmed, but at the last hop
	Probes     uint64 // taken from Probe, and sent as mrc.UseProbe
	ProbesOK   uint64 // answered
	ProbesLost uint64 // not answered in time
}
