package wire

import "errors"

var (
	// ErrTruncated reports a length beyond the end of the field around it.
	ErrTruncated = errors.New("bgpls: truncated")
	// ErrMalformed reports that a field has a value, or a TLV a length, that its
	// definition excludes, or that a mandatory TLV is missing.
	ErrMalformed = errors.New("bgpls: malformed")
)
