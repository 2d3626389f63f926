package afpacket

import "errors"

var (
	// ErrInterface: an interface cannot be used; the text reports why.
	ErrInterface = errors.New("afpacket: interface cannot be used")
	// ErrUnsupported: this system has no packet sockets.
	ErrUnsupported = errors.New("afpacket: needs Linux")
)
