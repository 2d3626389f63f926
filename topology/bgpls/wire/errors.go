package wire

import "errors"

var (
	// ErrTruncated reports a length beyond the end of the field around it.
	ErrTruncated = errors.New("bgpls: truncated")
	// ErrMalformed reports a field's value or a TLV's length outside the definition, or a missing
	// mandatory TLV.
	ErrMalformed = errors.New("bgpls: malformed")
)
