package telemetry

import "errors"

var (
	// ErrUnknown: no kind or metric has the name; the text lists the existing names.
	ErrUnknown = errors.New("unknown")
	// ErrNotFound: there is no object of a name.
	ErrNotFound = errors.New("not found")
)
