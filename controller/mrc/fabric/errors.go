package fabric

import "errors"

var (
	// ErrMalformed reports that an input breaks a rule of its format.
	ErrMalformed = errors.New("malformed")
	// ErrUnknownHost reports that no host has the name.
	ErrUnknownHost = errors.New("no such host")
)
