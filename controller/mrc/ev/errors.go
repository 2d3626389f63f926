package ev

import "errors"

var (
	// ErrMalformed reports a value outside its range.
	ErrMalformed = errors.New("malformed")
	// ErrNoRoom reports that something does not fit: a number a field, a path the
	// containers, a profile a host.
	ErrNoRoom = errors.New("does not fit")
	// ErrUnknownPath reports that the mode does not tell the path of an EV.
	ErrUnknownPath = errors.New("an EV of mode ecmp has no known path: switches hash it")
	// ErrNoSuchEV reports that an EV leads nowhere in the fabric.
	ErrNoSuchEV = errors.New("EV leads nowhere")
	// ErrNoPath reports that the fabric has no path between two leaves.
	ErrNoPath = errors.New("no path")
)
