package gnmi

import "errors"

var (
	// ErrMalformed reports a switch's message that makes no sense, or is too large.
	ErrMalformed = errors.New("malformed")
	// ErrUnsupported reports a request for which the switch's dialect has no path.
	ErrUnsupported = errors.New("unsupported")
	// ErrNotConnected reports a request without a connection to the switch.
	ErrNotConnected = errors.New("not connected")
	// ErrDead is a switch that no longer answers.
	ErrDead = errors.New("the switch does not answer")
	// ErrEnded is a subscription that the switch ended without a reason.
	ErrEnded = errors.New("the switch ended the subscription to its ports")
)
