package southbound

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
)

var (
	// ErrClosed: the session was closed by its owner.
	ErrClosed = errors.New("southbound: session is closed")
	// ErrNotConnected: there is no stream to the switch at the moment.
	ErrNotConnected = errors.New("southbound: switch is not connected")
	// ErrNotPrimary: the switch takes writes from another controller.
	ErrNotPrimary = errors.New("southbound: not the primary controller of the switch")
	// ErrNoPipeline: the switch has no forwarding pipeline yet.
	ErrNoPipeline = errors.New("southbound: switch has no forwarding pipeline")
	// ErrUnsupported: the switch does not implement the request.
	ErrUnsupported = errors.New("southbound: not supported by the switch")
	// ErrDeadPeer: the switch stopped answering liveness probes.
	ErrDeadPeer = errors.New("southbound: switch does not answer")
	// ErrArbitration: the switch did not answer, or refused, the arbitration.
	ErrArbitration = errors.New("southbound: arbitration failed")
	// ErrConfig: a Config is not usable; the text names the field.
	ErrConfig = errors.New("southbound: invalid configuration")
	// ErrMalformed: an entity from the switch, or given by the caller, is not well formed.
	ErrMalformed = errors.New("southbound: malformed entity")
	// ErrUnknownName: the P4Info has no object of that name or id.
	ErrUnknownName = errors.New("southbound: not in the P4Info")
	// ErrRange: a value does not fit the number of bits it has to.
	ErrRange = errors.New("southbound: value out of range")
	// ErrNotAttempted: an update was not sent because an earlier batch failed as a whole.
	ErrNotAttempted = errors.New("southbound: not attempted")
)

// Code is a canonical gRPC status code.
type Code = codes.Code

// Codes of updates that say more than that something failed.
const (
	CodeInvalidArgument   = codes.InvalidArgument
	CodeNotFound          = codes.NotFound
	CodeAlreadyExists     = codes.AlreadyExists
	CodeResourceExhausted = codes.ResourceExhausted
	CodeUnimplemented     = codes.Unimplemented
	// CodeAborted: not attempted, because the connection or the role was lost.
	CodeAborted = codes.Aborted
)

// UpdateError is what a switch said about one update of a Write.
type UpdateError struct {
	// Index of the update in the slice given to Write.
	Index int
	// Code is never OK.
	Code Code
	// Message is the switch's own text.
	Message string
}

func (e UpdateError) Error() string {
	return fmt.Sprintf("update %d: %s: %s", e.Index, e.Code, e.Message)
}

// WriteError reports the updates of a Write that did not take effect; every
// other update did. Cause is set when a whole request failed (a lost
// connection, not primary, no pipeline): the updates of that request and of
// those after it are all listed, the latter with codes.Aborted.
type WriteError struct {
	Updates []UpdateError // ascending by Index, never empty
	Cause   error
}

func (e *WriteError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "southbound: %d updates failed", len(e.Updates))
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
		return b.String()
	}
	for i, u := range e.Updates {
		if i == 3 {
			fmt.Fprintf(&b, "; and %d more", len(e.Updates)-i)
			break
		}
		fmt.Fprintf(&b, "; %v", u)
	}
	return b.String()
}

func (e *WriteError) Unwrap() error { return e.Cause }
