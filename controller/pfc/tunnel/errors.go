package tunnel

import "errors"

// Errors of paths and deployments; callers wrap them with the name of the path or deployment.
var (
	// ErrNoNode: the topology lacks a node.
	ErrNoNode = errors.New("is not in the topology")
	// ErrNoSID: the topology lacks a SID that is asked for.
	ErrNoSID = errors.New("no node advertises the SID")
	// ErrUnreachable: there is no path between two nodes.
	ErrUnreachable = errors.New("there is no path")
	// ErrLoop: the segments lead through a node twice.
	ErrLoop = errors.New("the segments lead through it twice")
	// ErrNotCapable: a node that has to handle PFC advertises no SID for it.
	ErrNotCapable = errors.New("is not PFC-capable")
	// ErrTooLong: a segment list exceeds what a switch writes.
	ErrTooLong = errors.New("too many segments")
)

// ErrNoRoom: a switch holds no more segment lists.
var ErrNoRoom = errors.New("no room for a segment list")

// ErrInUse: another resource refers to the one to remove.
var ErrInUse = errors.New("is in use")

// ErrUnknown: there is nothing of a name.
var ErrUnknown = errors.New("is unknown")

// A CycleError reports that a PFC policy would close a circle of queues that wait
// for each other.
type CycleError struct{ Cycle []Queue }

func (e *CycleError) Error() string {
	s := "queues would wait for each other in a circle: "
	for _, q := range e.Cycle {
		s += q.String() + " -> "
	}
	return s + e.Cycle[0].String()
}
