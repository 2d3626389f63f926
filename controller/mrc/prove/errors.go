package prove

import "errors"

var (
	// ErrUnknownEV reports that a host speaks of a profile or an EV that it was not given.
	ErrUnknownEV = errors.New("no such EV")
	// ErrUnknownProbe reports that a result answers no probe that is under way.
	ErrUnknownProbe = errors.New("no such probe")
)
