package ev

import (
	"github.com/weft-sdn/weft/topology"
)

// DefaultMaxEVs is the number of EVs of a profile at most (section 11.2.1).
const DefaultMaxEVs = 128

// An Attachment says by which leaf each port of a host is attached: that of port
// 1 first, empty for a port that is not. Hosts with the same attachment share
// profiles.
type Attachment []topology.NodeID

// A Profile is the set of EVs from hosts of one attachment to hosts of another,
// shaped after mrc_ctl_ev_profile_attr.
type Profile struct {
	Source, Destination Attachment
	Format              FormatProfile
	Mode                ProfileModes // one of them
	// Fields make EVs as they lie in packets out of values; see [Expand].
	Fields []Field
	// Count is the number of EVs: of an explicit profile as many as EVs, of a
	// generated one as many as the device is to make.
	Count int
	// MinActive is how many EVs a host leaves active when it marks EVs
	// ASSUMED_BAD itself.
	MinActive int
	// EVs of an explicit profile, in the order of the device's array; of a
	// generated one those that its fields can make, in no order that a device
	// would know. An EV may be there more than once, to fill up to Align.
	EVs []Entry
}

// FormatProfile is how the EVs of a profile lie in a packet
// (mrc_ctl_ev_fmt_profile_attr).
type FormatProfile struct {
	Mode FormatModes // one of them
	// Widths of the fields in bits, the most significant first.
	Widths []uint8
}

// An Entry is an EV of a profile.
type Entry struct {
	EV    EV
	State State
}

// A Field makes a part of an EV (mrc_ctl_ev_field): Init, over which the bits of
// Mask are written with the next bits of the value, the most significant first.
// In a generated EV those bits are a number from Min to Max. A field that is the
// same in all EVs has Min, Max and Mask 0.
type Field struct {
	Width                int // bits, 1 to 32
	Init, Min, Max, Mask uint32
}
