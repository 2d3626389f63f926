package packet

import (
	"errors"
	"fmt"
)

var (
	// ErrTruncated: the input ends before the end of the header, or before the end given by a length
	// field.
	ErrTruncated = errors.New("truncated")
	// ErrMalformed: a field has a value its specification forbids, or two fields contradict each
	// other.
	ErrMalformed = errors.New("malformed")
	// ErrUnsupported: well formed as far as one can tell, but a protocol or opcode this package does
	// not decode.
	ErrUnsupported = errors.New("unsupported")
	// ErrTooLong: something to be encoded does not fit the length field that would have to describe
	// it.
	ErrTooLong = errors.New("too long")
	// ErrICRC: the invariant CRC at the end of a RoCEv2 packet is not the one its octets give.
	ErrICRC = errors.New("wrong ICRC")
	// ErrChecksum: the UDP checksum is not the one the datagram and its pseudo-header give.
	ErrChecksum = errors.New("wrong UDP checksum")
	// ErrHMAC: a segment routing header has no HMAC that verifies.
	ErrHMAC = errors.New("HMAC verification failed")
)

func truncated(what string, have, need int) error {
	return fmt.Errorf("%s: %d octets, need %d: %w", what, have, need, ErrTruncated)
}
