package wire

import (
	"encoding/binary"
	"fmt"
)

// A MessageType is the type of a BGP message (RFC 4271 section 4.1, RFC 2918).
type MessageType uint8

const (
	MessageOpen         MessageType = 1
	MessageUpdate       MessageType = 2
	MessageNotification MessageType = 3
	MessageKeepalive    MessageType = 4
	MessageRouteRefresh MessageType = 5
)

// HeaderLen is the length of the header of a BGP message.
const HeaderLen = 19

const (
	markerLen  = 16
	markerByte = 0xff
)

// ParseHeader reads the header of a BGP message and returns the type and the
// length of the message, header included.
func ParseHeader(b []byte) (t MessageType, n int, err error) {
	if len(b) < HeaderLen {
		return 0, 0, fmt.Errorf("%w: BGP header", ErrTruncated)
	}
	for _, m := range b[:markerLen] {
		if m != markerByte {
			return 0, 0, fmt.Errorf("%w: BGP marker", ErrMalformed)
		}
	}
	n = int(binary.BigEndian.Uint16(b[markerLen:]))
	if n < HeaderLen {
		return 0, 0, fmt.Errorf("%w: BGP message of %d octets", ErrMalformed, n)
	}
	return MessageType(b[HeaderLen-1]), n, nil
}

// AppendMessage appends a BGP message with a body.
func AppendMessage(b []byte, t MessageType, body []byte) []byte {
	for range markerLen {
		b = append(b, markerByte)
	}
	b = binary.BigEndian.AppendUint16(b, uint16(HeaderLen+len(body)))
	b = append(b, byte(t))
	return append(b, body...)
}
