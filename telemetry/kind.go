package telemetry

import (
	"fmt"
	"math/bits"

	"github.com/weft-sdn/weft/southbound/gnmi"
)

// Kind is what an object is.
type Kind uint8

// The kinds.
const (
	Port Kind = iota
	Queue
	Group
	EVProfile
	Tunnel
	Fabric
	SID
	kinds = int(SID) + 1
)

var kindNames = [kinds]string{"port", "queue", "group", "ev-profile", "tunnel",
	"fabric", "sid"}

// onSwitch reports whether a switch samples objects of the kind. Objects of any other kind get
// readings ([Store.TakeReadings]), and their names need no switch.
func (k Kind) onSwitch() bool { return k == Port || k == Queue || k == SID }

func (k Kind) String() string { return kindNames[k] }

// ParseKind returns the kind of a name.
func ParseKind(name string) (Kind, error) {
	for k, n := range kindNames {
		if n == name {
			return Kind(k), nil
		}
	}
	return 0, fmt.Errorf("%w: %q: want one of %v", ErrUnknown, name, kindNames)
}

// Units of metrics.
const (
	BitsPerSecond    = "bit/s"
	PacketsPerSecond = "packets/s"
	FramesPerSecond  = "frames/s"
	Octets           = "octets"
	Seconds          = "s"
	Number           = "1"
)

// Metric is a value that objects of a kind have.
type Metric struct {
	// Name and Unit are those of the API.
	Name, Unit string
	// scale turns what is kept into the unit: octets a second into bit/s.
	scale float64
	// gauge is a value of a moment: a longer step has the greatest. Others are rates, with means.
	gauge bool
	// octets counts octets, whose rate is bounded by the speed of the port. Other counters count
	// packets.
	octets bool
}

// Metrics of ports, by their place among the metrics of the kind.
const (
	InBits = iota
	OutBits
	InPackets
	OutPackets
	InErrors
	OutErrors
	InDiscards
	OutDiscards
	PFCIn                                 // and the priorities after it
	PFCOut      = PFCIn + gnmi.Priorities // and the priorities after it
	portMetrics = PFCOut + gnmi.Priorities
)

// Metrics of queues.
const (
	QueueBits = iota
	QueuePackets
	QueueDroppedPackets
	QueueDroppedBits
	QueueLongest
	QueueMarked
	QueueTrimmed
	queueMetrics
)

// Metrics of multicast groups.
const (
	GroupAcked = iota
	GroupCNPs
	GroupStalled
)

// Metrics of EV profiles.
const (
	ProfileSent = iota
	ProfileLost
	ProfileActive
	ProfileDenied
	ProfileAssumedBad
)

// Metrics of tunnels for PFC frames.
const (
	TunnelSent = iota
	TunnelLost
	TunnelRTT
	TunnelDown
)

// Metrics of fabrics.
const (
	FabricOffered = iota
	FabricDelivered
	FabricLost
)

// Metrics of local SIDs.
const (
	SIDPackets = iota
	SIDBits
)

// maxMetrics is the greatest number of metrics of a kind.
const maxMetrics = portMetrics

var metrics = [kinds][]Metric{
	Port: append([]Metric{
		{Name: "inBits", Unit: BitsPerSecond, scale: 8, octets: true},
		{Name: "outBits", Unit: BitsPerSecond, scale: 8, octets: true},
		{Name: "inPackets", Unit: PacketsPerSecond, scale: 1},
		{Name: "outPackets", Unit: PacketsPerSecond, scale: 1},
		{Name: "inErrors", Unit: PacketsPerSecond, scale: 1}, {Name: "outErrors", Unit: PacketsPerSecond,
			scale: 1},
		{Name: "inDiscards", Unit: PacketsPerSecond, scale: 1},
		{Name: "outDiscards", Unit: PacketsPerSecond, scale: 1},
	}, pfcMetrics()...),
	Queue: {
		{Name: "bits", Unit: BitsPerSecond, scale: 8, octets: true},
		{Name: "packets", Unit: PacketsPerSecond, scale: 1},
		{Name: "droppedPackets", Unit: PacketsPerSecond, scale: 1},
		{Name: "droppedBits", Unit: BitsPerSecond, scale: 8, octets: true},
		{Name: "longest", Unit: Octets, scale: 1, gauge: true},
		{Name: "markedPackets", Unit: PacketsPerSecond, scale: 1},
		{Name: "trimmedPackets", Unit: PacketsPerSecond, scale: 1},
	},
	Group: {
		{Name: "ackedPackets", Unit: PacketsPerSecond, scale: 1}, {Name: "cnps", Unit: PacketsPerSecond,
			scale: 1},
		{Name: "stalledReceivers", Unit: Number, scale: 1, gauge: true},
	},
	EVProfile: {
		{Name: "sentPackets", Unit: PacketsPerSecond, scale: 1},
		{Name: "lostPackets", Unit: PacketsPerSecond, scale: 1},
		{Name: "activeEvs", Unit: Number, scale: 1, gauge: true}, {Name: "deniedEvs", Unit: Number,
			scale: 1, gauge: true},
		{Name: "assumedBadEvs", Unit: Number, scale: 1, gauge: true},
	},
	Tunnel: {
		{Name: "probes", Unit: PacketsPerSecond, scale: 1}, {Name: "lostProbes", Unit: PacketsPerSecond,
			scale: 1},
		{Name: "rtt", Unit: Seconds, scale: 1e-9, gauge: true}, {Name: "down", Unit: Number, scale: 1,
			gauge: true},
	},
	Fabric: {
		{Name: "offeredBits", Unit: BitsPerSecond, scale: 8, octets: true},
		{Name: "deliveredBits", Unit: BitsPerSecond, scale: 8, octets: true},
		{Name: "lostPackets", Unit: PacketsPerSecond, scale: 1},
	},
	SID: {
		{Name: "packets", Unit: PacketsPerSecond, scale: 1},
		{Name: "bits", Unit: BitsPerSecond, scale: 8, octets: true},
	},
}

func pfcMetrics() (out []Metric) {
	for _, pause := range []string{"pfcIn", "pfcOut"} {
		for p := range gnmi.Priorities {
			out = append(out, Metric{Name: fmt.Sprint(pause, p), Unit: FramesPerSecond, scale: 1})
		}
	}
	return out
}

// Metrics returns the metrics of a kind. They must not be changed.
func Metrics(k Kind) []Metric { return metrics[k] }

// metricNames returns the names of the metrics of a kind.
func metricNames(k Kind) (names []string) {
	for _, m := range metrics[k] {
		names = append(names, m.Name)
	}
	return names
}

// mask is a set of metrics of a kind.
type mask uint32

func (m mask) has(i int) bool { return m>>i&1 == 1 }

// each calls do with the members in order.
func (m mask) each(do func(i int)) {
	for ; m != 0; m &= m - 1 {
		do(bits.TrailingZeros32(uint32(m)))
	}
}
