package mrc

import "errors"

var (
	// ErrConfig reports that a Config cannot be used.
	ErrConfig = errors.New("mrc")
	// ErrUnknownEV reports that a host speaks of a profile or an EV that it was not given.
	ErrUnknownEV = errors.New("no such EV")
	// ErrUnknownTarget reports that there is no such link, node, plane or port.
	ErrUnknownTarget = errors.New("no such target")
	// ErrUnknownProbe reports that a result answers no probe that is under way.
	ErrUnknownProbe = errors.New("no such probe")
	// ErrLastPath reports that a drain would take the last path between two hosts.
	ErrLastPath = errors.New("last path")
)
