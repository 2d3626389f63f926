package southbound

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// ElectionID is a P4Runtime election id, 128 bits.
type ElectionID struct{ High, Low uint64 }

// String returns "High:Low", or Low alone if High is 0.
func (e ElectionID) String() string {
	if e.High == 0 {
		return strconv.FormatUint(e.Low, 10)
	}
	return fmt.Sprintf("%d:%d", e.High, e.Low)
}

// ParseElectionID is the inverse of String. It refuses 0, which P4Runtime has not
// (specification, "Election ID").
func ParseElectionID(s string) (e ElectionID, err error) {
	low := s
	if high, rest, ok := strings.Cut(s, ":"); ok {
		low = rest
		e.High, err = strconv.ParseUint(high, 10, 64)
	}
	if err == nil {
		e.Low, err = strconv.ParseUint(low, 10, 64)
	}
	if err != nil || e == (ElectionID{}) {
		return ElectionID{}, fmt.Errorf(
			"election id %q: want LOW or HIGH:LOW, each from 0 to 18446744073709551615, and not both 0", s)
	}
	return e, nil
}

// Compare orders election ids.
func (e ElectionID) Compare(o ElectionID) int {
	return cmp.Or(cmp.Compare(e.High, o.High), cmp.Compare(e.Low, o.Low))
}

// An ElectionID that [NewElectionID] makes has the generation in the upper half of Low and the
// identity in the lower half.
const identityBits = 32

// NewElectionID returns the election id of a controller in a generation; generations grow with each
// start. High is 1, so the id is above every id made from a time or a small number. An identity of
// 0 means no identity.
func NewElectionID(generation, identity uint32) ElectionID {
	return ElectionID{High: 1, Low: uint64(generation)<<identityBits | uint64(identity)}
}

// identity returns the controller's identity from an id, including an id that above has raised.
func (e ElectionID) identity() uint32 { return uint32(e.Low) }

// sameController reports whether two ids belong to generations of the same controller.
func (e ElectionID) sameController(o ElectionID) bool {
	return e.identity() == o.identity() && e.identity() != 0
}

// above returns e if e is above o, and otherwise an id of the same controller above o. If no id is
// above o, above returns o: P4Runtime lets a client take the highest id again once the previous
// client with that id has gone.
func (e ElectionID) above(o ElectionID) ElectionID {
	if e.Compare(o) > 0 {
		return e
	}
	next := ElectionID{High: o.High, Low: (o.Low>>identityBits+1)<<identityBits | uint64(e.identity())}
	switch {
	case next.Compare(o) > 0:
		return next
	case o.High < math.MaxUint64:
		return ElectionID{High: o.High + 1, Low: e.Low}
	case o.Low < math.MaxUint64:
		return ElectionID{High: o.High, Low: o.Low + 1}
	}
	return o
}

func (e ElectionID) proto() *p4v1.Uint128 { return &p4v1.Uint128{High: e.High, Low: e.Low} }

func electionFromProto(u *p4v1.Uint128) ElectionID {
	return ElectionID{High: u.GetHigh(), Low: u.GetLow()}
}

// Claim defines when a session becomes primary of its switch.
type Claim uint8

const (
	// ClaimFixed uses Config.Election, whoever is primary: the highest id
	// wins.
	ClaimFixed Claim = iota
	// ClaimVacant leaves a switch to a living primary, unless the primary is an earlier generation of
	// this controller, and becomes primary if the switch has none. ClaimVacant raises the id above the
	// id that the switch remembers.
	ClaimVacant
	// ClaimAnyway takes the switch from any primary, once per connection, and then acts like
	// ClaimVacant.
	ClaimAnyway
)
