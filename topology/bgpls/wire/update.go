package wire

import (
	"encoding/binary"
	"fmt"
)

// An Update is what an UPDATE message says about link-state objects.
type Update struct {
	Reachable   []Received
	Unreachable []Received
	// Attribute is the value of the BGP-LS Attribute, or nil. It is a slice of the parsed message.
	Attribute []byte
	// EndOfRIB reports that the message is the End-of-RIB marker of the family
	// (RFC 4724 section 2).
	EndOfRIB bool
	Skipped  Skipped
}

const (
	afiLinkState  = 16388
	safiLinkState = 71

	attrMPReach   = 14
	attrMPUnreach = 15
	attrLinkState = 29

	attrFlagExtendedLength = 0x10
)

// ParseUpdate reads an UPDATE message, including the header. ParseUpdate skips attributes and
// families that do not belong to BGP-LS.
func ParseUpdate(b []byte) (u Update, err error) {
	typ, n, err := ParseHeader(b)
	if err != nil {
		return u, err
	}
	if n > len(b) {
		return u, fmt.Errorf("%w: BGP message of %d octets in %d", ErrTruncated, n, len(b))
	}
	if typ != MessageUpdate {
		return u, fmt.Errorf("%w: BGP message of type %d", ErrMalformed, typ)
	}
	b = b[HeaderLen:n]
	if _, b, err = sized(b); err != nil { // withdrawn IPv4 routes
		return u, fmt.Errorf("withdrawn routes: %w", err)
	}
	attributes, _, err := sized(b)
	if err != nil {
		return u, fmt.Errorf("path attributes: %w", err)
	}
	seen := 0
	for b = attributes; len(b) > 0; seen++ {
		typ, value, rest, err := nextAttribute(b)
		if err != nil {
			return u, err
		}
		b = rest
		switch typ {
		case attrMPReach:
			err = u.parseReach(value)
		case attrMPUnreach:
			err = u.parseUnreach(value)
		case attrLinkState:
			u.Attribute = value
		}
		if err != nil {
			return u, err
		}
	}
	u.EndOfRIB = u.EndOfRIB && seen == 1
	return u, nil
}

// sized splits a field off that is preceded by its length in two octets.
func sized(b []byte) (field, rest []byte, err error) {
	if len(b) < 2 {
		return nil, nil, ErrTruncated
	}
	n := int(binary.BigEndian.Uint16(b))
	if b = b[2:]; n > len(b) {
		return nil, nil, ErrTruncated
	}
	return b[:n], b[n:], nil
}

func nextAttribute(b []byte) (typ uint8, value, rest []byte, err error) {
	header := 3
	if len(b) >= 1 && b[0]&attrFlagExtendedLength != 0 {
		header = 4
	}
	if len(b) < header {
		return 0, nil, nil, fmt.Errorf("%w: path attribute header", ErrTruncated)
	}
	n := int(b[2])
	if header == 4 {
		n = int(binary.BigEndian.Uint16(b[2:]))
	}
	typ = b[1]
	if b = b[header:]; n > len(b) {
		return 0, nil, nil, fmt.Errorf("%w: path attribute %d", ErrTruncated, typ)
	}
	return typ, b[:n], b[n:], nil
}

func isLinkState(b []byte) bool {
	return binary.BigEndian.Uint16(b) == afiLinkState && b[2] == safiLinkState
}

func (u *Update) parseReach(b []byte) error {
	const fixed = 5 // AFI, SAFI, length of the next hop, reserved
	if len(b) < fixed || len(b) < fixed+int(b[3]) {
		return fmt.Errorf("%w: MP_REACH_NLRI", ErrTruncated)
	}
	if !isLinkState(b) {
		return nil
	}
	nlris, skipped, err := ParseNLRIs(b[fixed+int(b[3]):])
	u.Reachable = append(u.Reachable, nlris...)
	u.Skipped.add(skipped)
	return err
}

func (u *Update) parseUnreach(b []byte) error {
	const fixed = 3 // AFI, SAFI
	if len(b) < fixed {
		return fmt.Errorf("%w: MP_UNREACH_NLRI", ErrTruncated)
	}
	if !isLinkState(b) {
		return nil
	}
	u.EndOfRIB = len(b) == fixed
	nlris, skipped, err := ParseNLRIs(b[fixed:])
	u.Unreachable = append(u.Unreachable, nlris...)
	u.Skipped.add(skipped)
	return err
}

func (s *Skipped) add(o Skipped) {
	if s.MalformedNLRIs == 0 {
		s.Fault = o.Fault
	}
	s.UnknownNLRIs += o.UnknownNLRIs
	s.MalformedNLRIs += o.MalformedNLRIs
	s.UnknownTLVs += o.UnknownTLVs
}
