package southbound

import (
	"fmt"
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
		return ElectionID{}, fmt.Errorf("election id %q: want LOW or HIGH:LOW, each from 0 to 18446744073709551615, and not both 0", s)
	}
	return e, nil
}

func (e ElectionID) proto() *p4v1.Uint128 { return &p4v1.Uint128{High: e.High, Low: e.Low} }

func electionFromProto(u *p4v1.Uint128) ElectionID {
	return ElectionID{High: u.GetHigh(), Low: u.GetLow()}
}
