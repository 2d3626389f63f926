package topology

import (
	"fmt"
	"strings"
)

// A Behavior is an SRv6 endpoint behavior as a codepoint of IANA's registry
// "SRv6 Endpoint Behaviors". The codepoint says the flavors too.
type Behavior uint16

// Behaviors without a flavor (RFC 8986 section 10.2, RFC 9524 section 5,
// RFC 9800 section 12).
const (
	BehaviorEnd          Behavior = 1
	BehaviorEndX         Behavior = 5
	BehaviorEndT         Behavior = 9
	BehaviorEndB6Encaps  Behavior = 14
	BehaviorEndBM        Behavior = 15
	BehaviorEndDX6       Behavior = 16
	BehaviorEndDX4       Behavior = 17
	BehaviorEndDT6       Behavior = 18
	BehaviorEndDT4       Behavior = 19
	BehaviorEndDT46      Behavior = 20
	BehaviorEndDX2       Behavior = 21
	BehaviorEndDX2V      Behavior = 22
	BehaviorEndDT2U      Behavior = 23
	BehaviorEndDT2M      Behavior = 24
	BehaviorEndB6EncRed  Behavior = 27
	BehaviorEndNextCSID  Behavior = 43
	BehaviorEndXNextCSID Behavior = 52
	BehaviorEndReplicate Behavior = 75
	// The private use range (RFC 8986 section 10.2.1).
	BehaviorPrivateFirst Behavior = 0x8000
	BehaviorPrivateLast  Behavior = 0xFFFE
	// BehaviorOpaque is allocated by the headend's own policy.
	BehaviorOpaque Behavior = 0xFFFF
)

// Flavors are the flavors of RFC 8986 section 4.16 and RFC 9800 section 4.1.
type Flavors uint8

const (
	FlavorPSP Flavors = 1 << iota
	FlavorUSP
	FlavorUSD
	FlavorNextCSID
)

// Has reports whether all flavors of o are set.
func (f Flavors) Has(o Flavors) bool { return f&o == o }

func (f Flavors) String() string {
	var names []string
	for i, name := range [...]string{"PSP", "USP", "USD", "NEXT-CSID"} {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// flavored lists the ranges of codepoints that differ in flavors only. The
// bits of a codepoint's distance from the first are PSP, USP and USD.
var flavored = [...]struct {
	first, last, base Behavior
	all               Flavors // what the whole range has
}{
	{1, 4, BehaviorEnd, 0},
	{5, 8, BehaviorEndX, 0},
	{9, 12, BehaviorEndT, 0},
	{28, 31, BehaviorEnd, FlavorUSD},
	{32, 35, BehaviorEndX, FlavorUSD},
	{36, 39, BehaviorEndT, FlavorUSD},
	{43, 50, BehaviorEndNextCSID, FlavorNextCSID},
	{52, 59, BehaviorEndXNextCSID, FlavorNextCSID},
}

// Base returns the behavior without PSP, USP and USD: [BehaviorEnd] for End with PSP and USD,
// [BehaviorEndNextCSID] for every flavor of uN. The base of a behavior without flavors is the
// behavior itself.
func (b Behavior) Base() Behavior {
	for _, r := range flavored {
		if r.first <= b && b <= r.last {
			return r.base
		}
	}
	return b
}

// Flavors returns the flavors that the codepoint includes.
func (b Behavior) Flavors() Flavors {
	for _, r := range flavored {
		if r.first <= b && b <= r.last {
			return r.all | Flavors(b-r.first)
		}
	}
	return 0
}

// IsEndX reports whether the behavior is End.X, compressed or not, of any flavor.
func (b Behavior) IsEndX() bool {
	return b.Base() == BehaviorEndX || b.Base() == BehaviorEndXNextCSID
}

// Private reports whether the codepoint is for private use.
func (b Behavior) Private() bool { return BehaviorPrivateFirst <= b && b <= BehaviorPrivateLast }

var behaviorNames = map[Behavior]string{
	BehaviorEnd: "End", BehaviorEndX: "End.X", BehaviorEndT: "End.T",
	BehaviorEndB6Encaps: "End.B6.Encaps",
	BehaviorEndBM:       "End.BM", BehaviorEndDX6: "End.DX6", BehaviorEndDX4: "End.DX4",
	BehaviorEndDT6: "End.DT6",
	BehaviorEndDT4: "End.DT4", BehaviorEndDT46: "End.DT46", BehaviorEndDX2: "End.DX2",
	BehaviorEndDX2V: "End.DX2V",
	BehaviorEndDT2U: "End.DT2U", BehaviorEndDT2M: "End.DT2M", BehaviorEndB6EncRed: "End.B6.Encaps.Red",
	BehaviorEndNextCSID: "End", BehaviorEndXNextCSID: "End.X", BehaviorEndReplicate: "End.Replicate",
	BehaviorOpaque: "opaque",
}

// String returns the name and the flavors, or the codepoint in hexadecimal
// where the registry has no name that we know.
func (b Behavior) String() string {
	name, ok := behaviorNames[b.Base()]
	if !ok {
		return fmt.Sprintf("0x%04X", uint16(b))
	}
	if f := b.Flavors(); f != 0 {
		return name + " (" + f.String() + ")"
	}
	return name
}
