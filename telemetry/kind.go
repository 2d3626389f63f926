package telemetry

import (
	"fmt"
	"math/bits"

	"github.com/weft-sdn/weft/southbound/gnmi"
)

// Kind is the kind of an object.
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

// Metric is a metric of a kind's objects.
type Metric struct {
	// Name and Unit are those of the API.
	Name, Unit string
	// Meaning is a phrase about what is counted or measured.
	Meaning string
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

// metrics are the metrics of each kind: the name, the unit, the meaning.
var metrics = [kinds][]Metric{
	Port: append([]Metric{
		{Name: "inBits", Unit: BitsPerSecond, scale: 8, octets: true, Meaning: "received"},
		{Name: "outBits", Unit: BitsPerSecond, scale: 8, octets: true, Meaning: "sent"},
		{Name: "inPackets", Unit: PacketsPerSecond, scale: 1, Meaning: "received"},
		{Name: "outPackets", Unit: PacketsPerSecond, scale: 1, Meaning: "sent"},
		{Name: "inErrors", Unit: PacketsPerSecond, scale: 1, Meaning: "received and damaged"},
		{Name: "outErrors", Unit: PacketsPerSecond, scale: 1, Meaning: "not sent for an error"},
		{Name: "inDiscards", Unit: PacketsPerSecond, scale: 1, Meaning: "received and discarded"},
		{Name: "outDiscards", Unit: PacketsPerSecond, scale: 1, Meaning: "discarded before sending"},
	}, pfcMetrics()...),
	Queue: {
		{Name: "bits", Unit: BitsPerSecond, scale: 8, octets: true, Meaning: "sent from the queue"},
		{Name: "packets", Unit: PacketsPerSecond, scale: 1, Meaning: "sent from the queue"},
		{Name: "droppedPackets", Unit: PacketsPerSecond, scale: 1, Meaning: "that found no room"},
		{Name: "droppedBits", Unit: BitsPerSecond, scale: 8, octets: true, Meaning: "that found no room"},
		{Name: "longest", Unit: Octets, scale: 1, gauge: true,
			Meaning: "the greatest length since the switch began to watch the queue"},
		{Name: "markedPackets", Unit: PacketsPerSecond, scale: 1, Meaning: "marked (ECN CE)"},
		{Name: "trimmedPackets", Unit: PacketsPerSecond, scale: 1, Meaning: "trimmed"},
	},
	Group: {
		{Name: "ackedPackets", Unit: PacketsPerSecond, scale: 1,
			Meaning: "that all receivers have: acknowledged to the source"},
		{Name: "cnps", Unit: PacketsPerSecond, scale: 1, Meaning: "CNPs sent to the source"},
		{Name: "stalledReceivers", Unit: Number, scale: 1, gauge: true,
			Meaning: "receivers that hold the group back"},
	},
	EVProfile: {
		{Name: "sentPackets", Unit: PacketsPerSecond, scale: 1, Meaning: "as its hosts count them"},
		{Name: "lostPackets", Unit: PacketsPerSecond, scale: 1,
			Meaning: "as its hosts count them; trimmed ones are not lost"},
		{Name: "activeEvs", Unit: Number, scale: 1, gauge: true, Meaning: "EVs that may be used"},
		{Name: "deniedEvs", Unit: Number, scale: 1, gauge: true, Meaning: "EVs denied by the controller"},
		{Name: "assumedBadEvs", Unit: Number, scale: 1, gauge: true, Meaning: "EVs that hosts found bad"},
	},
	Tunnel: {
		{Name: "probes", Unit: PacketsPerSecond, scale: 1, Meaning: "sent"},
		{Name: "lostProbes", Unit: PacketsPerSecond, scale: 1, Meaning: "not answered"},
		{Name: "rtt", Unit: Seconds, scale: 1e-9, gauge: true, Meaning: "round trip of a probe"},
		{Name: "down", Unit: Number, scale: 1, gauge: true, Meaning: "1: probes do not come through"},
	},
	Fabric: {
		{Name: "offeredBits", Unit: BitsPerSecond, scale: 8, octets: true,
			Meaning: "come in by ports that lead to no switch; of a plane, what T0s send up; of a job, " +
				"what its NICs send"},
		{Name: "deliveredBits", Unit: BitsPerSecond, scale: 8, octets: true,
			Meaning: "go out by these ports; of a plane, what T0s receive; of a job, what its NICs get"},
		{Name: "lostPackets", Unit: PacketsPerSecond, scale: 1,
			Meaning: "that ports discard or find damaged; of all and of jobs"},
	},
	SID: {
		{Name: "packets", Unit: PacketsPerSecond, scale: 1, Meaning: "that went by the SID"},
		{Name: "bits", Unit: BitsPerSecond, scale: 8, octets: true, Meaning: "that went by the SID"},
	},
}

func pfcMetrics() (out []Metric) {
	for _, pause := range []struct{ name, did string }{{"pfcIn", "received"}, {"pfcOut", "sent"}} {
		for p := range gnmi.Priorities {
			out = append(out, Metric{Name: fmt.Sprint(pause.name, p), Unit: FramesPerSecond, scale: 1,
				Meaning: fmt.Sprintf("PFC frames %s, of priority %d", pause.did, p)})
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
