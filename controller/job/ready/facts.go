package ready

import (
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
)

// State reports what is known of a fact.
type State uint8

// The states. The zero state is unknown.
const (
	Unknown State = iota
	Bad
	Good
)

// Fact is one thing that a job depends on.
type Fact struct {
	State State
	// Since is when the state began; zero: not known.
	Since time.Time
	// Why has the reason in words where the state is not Good.
	Why string
}

// IsGood returns a fact that is Good.
func IsGood() Fact { return Fact{State: Good} }

// Need has a job's dependencies in terms of the inventory. A Need is immutable.
type Need struct {
	// NICs are the NICs by rank, as hosts of the inventory. Hosts are the hosts of the job, by rank.
	NICs, Hosts []string
	// Rack is the rack of each NIC, from 0; Racks are their names.
	Rack  []int32
	Racks []string
	// Pairs lists pairs of racks where a NIC in the first rack sends to a NIC in the second.
	Pairs [][2]int32
	// Hints are the queue-pair hints for the hosts of the NICs, by rank; none: no hints.
	Hints []hostapi.QPHints
}

// Facts has the known state of all dependencies of a job.
type Facts struct {
	// At is when the facts were read.
	At   time.Time
	Need *Need
	// Fabric has the state of the MRC fabric.
	Fabric Fabric
	// Switches has the switches that the controller programs, by name: whether they hold all their
	// entries. Other systems program switches that are not in the map.
	Switches map[string]Fact
	// Others are facts of other kinds: windows of maintenance and leases.
	Others []Other
	// Groups are the multicast groups of the job.
	Groups []Other
}

// Other is a fact with the description of its blocker.
type Other struct {
	Kind, Object string
	Fact
	// Want is the remedy.
	Want string
	// NICs reports which ranks are behind it; nil: all are.
	NICs func(rank int) bool
}

// Fabric holds the facts about the MRC fabric that a job depends on.
type Fabric struct {
	// Known reports whether a fabric exists with its topology in sync; else Fact.Why has the reason,
	// and the other fields are empty.
	Known Fact
	// NICs are those of the need, in order.
	NICs []NIC
	// Paths are the paths for the pairs of the need, one for each pair, plane and kind of devices.
	Paths []Path
	// Links has the links that the paths cross, one direction each.
	Links []Link
	// Unprobed has why no link can be proven: no host probes, or paths are not known; "": they can.
	Unprobed string
}

// NIC has the facts about a NIC.
type NIC struct {
	// Stream: its host's stream is there. Holds: the host holds all that it was told.
	Stream, Holds Fact
	Ports         []Port
}

// Port is a port of a NIC.
type Port struct {
	Number uint8
	// Leaf is the name of the port's switch.
	Leaf string
	// Up: peers may send to it.
	Up Fact
}

// Path counts the EVs left to a pair of racks on a plane.
type Path struct {
	// Pair is the place in the pairs of the need.
	Pair  int32
	Plane int32
	// From and To are the names of the leaves.
	From, To string
	// Active EVs of Of are left, and the job needs Want. Of 0: unknown.
	Active, Of, Want int32
	// RoundTrip is the mean round trip of the last probes that were answered; 0: none was.
	RoundTrip time.Duration
	// Since is when the number of EVs of the pair changed last, zero if not known; Why has the reason
	// where the EVs are not known.
	Since time.Time
	Why   string
}

// Link is one direction of a link.
type Link struct {
	// Name is the name of the link in both directions, ID the id of the direction.
	Name, ID string
	Plane    int32
	From, To string // names of switches
	// Use: EVs may cross it.
	Use Fact
	// Probed is when the last probe over it was answered or lost; zero: never. Answered reports
	// which.
	Probed   time.Time
	Answered bool
}

// between returns what people call a link: the switches at its ends.
func (l *Link) between() string { return l.From + " – " + l.To }

// ProbeAge is how old the last probe of a link may be.
const ProbeAge = 2 * time.Second
