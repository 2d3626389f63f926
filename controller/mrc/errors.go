package mrc

import "errors"

var (
	// ErrConfig says that a Config cannot be used.
	ErrConfig = errors.New("multipath")
	// ErrMalformed says that an input is not what it may be.
	ErrMalformed = errors.New("malformed")
	// ErrUnknownHost says that no host has the name.
	ErrUnknownHost = errors.New("no such host")
	// ErrUnknownEV says that a host speaks of a profile or an EV that it was not given.
	ErrUnknownEV = errors.New("no such EV")
	// ErrUnknownTarget says that there is no such link, node, plane or port.
	ErrUnknownTarget = errors.New("no such target")
	// ErrUnknownProbe says that a result answers no probe that is under way.
	ErrUnknownProbe = errors.New("no such probe")
	// ErrLastPath says that what is to be drained is the last way between two ends.
	ErrLastPath = errors.New("last path")
)
