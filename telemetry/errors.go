package telemetry

import "errors"

var (
	// ErrUnknown: there is no kind or metric of a name; the text has those that there are.
	ErrUnknown = errors.New("unknown")
	// ErrNotFound: there is no object of a name.
	ErrNotFound = errors.New("not found")
)
