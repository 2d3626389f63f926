package southbound

import "errors"

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
	// ErrTooMuch: a switch answers with more than it can hold.
	ErrTooMuch = errors.New("southbound: the answer of the switch is too long")
	// ErrUnknownName: the P4Info has no object of that name or id.
	ErrUnknownName = errors.New("southbound: not in the P4Info")
	// ErrRange: a value does not fit the number of bits it has to.
	ErrRange = errors.New("southbound: value out of range")
)
