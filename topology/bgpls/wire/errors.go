package wire

import "errors"

var (
	// ErrTruncated reports that a length goes past the end of what holds it.
	ErrTruncated = errors.New("bgpls: truncated")
	// ErrMalformed reports that a field has a value, or a TLV a length, that its
	// definition excludes, or that a mandatory TLV is missing.
	ErrMalformed = errors.New("bgpls: malformed")
)
