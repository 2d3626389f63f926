package gnmi

import "errors"

var (
	// ErrMalformed is a message of a switch that makes no sense, or has too much.
	ErrMalformed = errors.New("malformed")
	// ErrUnsupported is what the dialect of a switch has no path for.
	ErrUnsupported = errors.New("unsupported")
	// ErrNotConnected is a request while there is no connection to the switch.
	ErrNotConnected = errors.New("not connected")
	// ErrDead is a switch that no longer answers.
	ErrDead = errors.New("the switch does not answer")
	// ErrEnded is a subscription that the switch ended without a reason.
	ErrEnded = errors.New("the switch ended the subscription to its ports")
)
