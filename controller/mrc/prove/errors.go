package prove

import "errors"

var (
	// ErrUnknownEV reports that a host names a profile or an EV that the controller never gave to the
	// host.
	ErrUnknownEV = errors.New("no such EV")
	// ErrUnknownProbe reports that a result answers no probe that is under way.
	ErrUnknownProbe = errors.New("no such probe")
)
