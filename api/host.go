package api

import (
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// Host is a host of the fabric.
type Host struct {
	Name          string            `json:"name"`
	Address       netip.Addr        `json:"address" doc:"Of its queue pairs, in all planes."`
	Prefixes      []netip.Prefix    `json:"prefixes,omitempty" doc:"Others that it is reached by."`
	Ports         []HostPort        `json:"ports"`
	ErrorsLeftOut int               `json:"errorsLeftOut,omitempty" doc:"Counters of errors that no port has: there were too many for the stream."`
	Connected     bool              `json:"connected" doc:"Its stream is open."`
	Since         time.Time         `json:"since,omitzero" doc:"When the stream was opened, or ended."`
	Error         string            `json:"error,omitempty" doc:"Why the last stream ended, when there is none now."`
	Software      string            `json:"software,omitempty" doc:"Name and version of the agent, by its own report."`
	Instance      string            `json:"instance,omitempty" pattern:"^0x[0-9a-f]+$" doc:"Of the agent's start: another one when its counters began anew. 64 bits, which a JSON number would lose some of."`
	Capabilities  *HostCapabilities `json:"capabilities,omitempty" doc:"What its device can hold; absent before it has connected."`
	Versions      HostVersions      `json:"versions"`
	Refusals      []HostRefusal     `json:"refusals,omitempty" doc:"The parts of that state that it does not hold, and why."`
	EVProfiles    int               `json:"evProfiles" doc:"EV profiles that the controller has for it."`
	EVs           int               `json:"evs" doc:"EVs in all of them."`
	QueuePairs    *HostQueuePairs   `json:"queuePairs,omitempty" doc:"What applications have made on it; absent of one that has reported none, or has no stream."`
	QPHints       *QPHints          `json:"qpHints,omitempty" doc:"What the controller has told it of the queue pairs of the jobs on it; absent without a job, and of a host that takes none."`
}

// HostQueuePairs are the queue pairs that applications have made on a host.
type HostQueuePairs struct {
	Count   int                  `json:"count"`
	Failed  int                  `json:"failed" doc:"Of these, in the error state."`
	Peers   int                  `json:"peers" doc:"Number of peers in the groups."`
	LeftOut int                  `json:"leftOut,omitempty" doc:"Queue pairs that no group has: there were too many groups for the stream."`
	Groups  []HostQueuePairGroup `json:"groups" doc:"Queue pairs with the same peer, profiles and hints."`
}

// HostQueuePairGroup is queue pairs that have all but their numbers in common.
type HostQueuePairGroup struct {
	Peer      netip.Addr `json:"peer"`
	PeerName  string     `json:"peerName,omitempty" doc:"Of the host with that address; absent when there is none."`
	EVProfile string     `json:"evProfile,omitempty" doc:"That they spray over; absent: values that they draw. ~N: profile N of mrc_ctl, which a program on the host has made."`
	CCProfile string     `json:"ccProfile,omitempty" doc:"Of congestion control, likewise; absent: the device's own."`
	Count     int        `json:"count"`
	Failed    int        `json:"failed,omitempty" doc:"Of these, in the error state."`
	Hints     *QPHints   `json:"hints,omitempty" doc:"What their program expects (mrc_create_qp_hint); absent: it has said nothing."`
}

// QPHints tell a host what to expect from the queue pairs of its jobs, under the names from
// mrc_create_qp_hint. 0: unknown.
type QPHints struct {
	NumQPsPerPeer      uint32 `json:"numQpsPerPeer" format:"uint32" maximum:"16777216" doc:"Queue pairs to each peer."`
	NumSendPeers       uint32 `json:"numSendPeers" format:"uint32" maximum:"16777216" doc:"Peers that it sends to."`
	NumRemoteRecvPeers uint32 `json:"numRemoteRecvPeers" format:"uint32" maximum:"16777216" doc:"Peers that send to it."`
}

// QPHintsOf returns hints in the form of the REST API, nil for none.
func QPHintsOf(h hostapi.QPHints) *QPHints {
	if h == (hostapi.QPHints{}) {
		return nil
	}
	return &QPHints{NumQPsPerPeer: h.QPsPerPeer, NumSendPeers: h.SendPeers,
		NumRemoteRecvPeers: h.RemotePeers}
}

// HostPort is a port of a host.
type HostPort struct {
	Port    uint8          `json:"port" doc:"From 1."`
	Version uint64         `json:"version" doc:"Changes with every change of the spec; also the ETag. 0: no client has written the spec."`
	Changed time.Time      `json:"changed,omitzero" doc:"When the spec changed last."`
	Spec    AdminSpec      `json:"spec"`
	Status  HostPortStatus `json:"status"`
	Takes   []Taken        `json:"takes,omitempty" doc:"In the answer to a dry run: what other resources would lose, at most 100."`
}

// Intent implements [Intended].
func (p HostPort) Intent() (version uint64, spec any) { return p.Version, p.Spec }

// HostPortStatus is what the controller reports about a port of a host.
type HostPortStatus struct {
	Leaf     topology.NodeID `json:"leaf" doc:"The switch behind it."`
	LeafName string          `json:"leafName,omitempty"`
	LeafPort uint32          `json:"leafPort,omitempty" doc:"Port of the leaf; absent when it is not known."`
	MAC      string          `json:"mac,omitempty" doc:"Ethernet address of the host there; absent while it is not known."`
	FoundBy  string          `json:"foundBy,omitempty" enum:"inventory,neighbor" doc:"How it is known: by the configuration, or because the host used the address (neighbor discovery); absent while it is not."`
	Bound    time.Time       `json:"bound,omitzero" doc:"Since when the address is bound to this port, where neighbor discovery has found it."`
	Seen     time.Time       `json:"seen,omitzero" doc:"When the controller heard of the host by neighbor discovery last; absent since a start until then."`
	Usable   bool            `json:"usable" doc:"Peers may send to it."`
	LinkDown bool            `json:"linkDown" doc:"The leaf says that its port is down."`
	HostDown bool            `json:"hostDown" doc:"The host says that its port is down."`
	Held     bool            `json:"held" doc:"It is up again, and has to stay so for a while."`
	Drained  bool            `json:"drained"`
	Drains   []Drain         `json:"drains,omitempty" doc:"How far the drain is."`
	Errors   []PortError     `json:"errors,omitempty" doc:"Counters of errors and losses at the host's end that are not 0, as the agent of the host reports. A lossy cable shows at the end that receives."`
}

// PortError is a counter of errors or losses of a port of a host.
type PortError struct {
	Source  string `json:"source" doc:"What counts: the interface, or as mlx5_0/1 the port of an RDMA device."`
	Counter string `json:"counter" doc:"As Linux calls it: rx_crc_errors, symbol_error."`
	Count   uint64 `json:"count" doc:"Since the device or its driver started."`
}

// HostVersions compares what a host holds with what it should hold.
type HostVersions struct {
	Held    *HostVersion `json:"held,omitempty" doc:"What the host acknowledged last; absent when it holds nothing that is known."`
	Current bool         `json:"current" doc:"It holds the state that the controller sent last."`
	Wanted  uint64       `json:"wanted" doc:"How many states the controller has sent it; 0: none."`
	Applied uint64       `json:"applied" doc:"Number of the last of these states that the host holds."`
}

// HostVersion numbers what the controller sent to a host.
type HostVersion struct {
	Epoch  string `json:"epoch" doc:"In hexadecimal; another one after every start of the controller."`
	Number uint64 `json:"number" doc:"Grows with every update of the epoch."`
}

// HostRefusal is one thing that a host or the controller refused to configure on a device.
type HostRefusal struct {
	Version *HostVersion `json:"version,omitempty" doc:"The version that the host refused; absent when the controller did not send it, as the device cannot hold it."`
	Code    string       `json:"code" doc:"invalid, unsupported, unknown base, busy or device."`
	Field   string       `json:"field" doc:"In the names of host.proto."`
	Reason  string       `json:"reason"`
}

// HostCapabilities are hostapi.Capabilities, bit sets as lists.
type HostCapabilities struct {
	ProtocolVersions  uint32   `json:"protocolVersions" format:"uint32" doc:"Bit set; 0 is the device's choice."`
	EVMaxFormats      int      `json:"evMaxFormats"`
	EVMaxProfiles     int      `json:"evMaxProfiles"`
	EVMaxCount        int      `json:"evMaxCount" doc:"EVs in all profiles."`
	EVFreeCount       int      `json:"evFreeCount" doc:"Of those, free when the host connected."`
	EVMaxCountProfile int      `json:"evMaxCountProfile"`
	EVCountAlign      int      `json:"evCountAlign" doc:"Profiles have a multiple of so many EVs; 0 is any number."`
	EVMaxWidth        int      `json:"evMaxWidth" doc:"Bits of an EV."`
	EVFormatModes     []string `json:"evFormatModes" doc:"STEV, SRV6, UDP."`
	EVModes           []string `json:"evModes" doc:"AUTO, EXP, GEN."`
	EVOpMaxEntries    int      `json:"evOpMaxEntries" doc:"EVs in a batch; 0 is any number."`
	CCMaxProfiles     int      `json:"ccMaxProfiles"`
	CCAlgorithms      []string `json:"ccAlgorithms"`
	Ports             []int    `json:"ports"`
	Options           []string `json:"options" doc:"evProfileModifyOnline, ccProfileModifyOnline, evEvent, evExplicitRange, evEventPreciseDropCount, evProbe."`
	Transport         []string `json:"transport" doc:"trimNack, dynamicMpr, serviceTime."`
	MaxMPR            int      `json:"maxMpr" doc:"Units of 128 PSNs."`
	MaxWIMM           int      `json:"maxWimm" doc:"WriteIMMs in flight, as requester."`
	MaxWIMMDest       int      `json:"maxWimmDest" doc:"WriteIMMs in flight, as responder."`
	QPHints           bool     `json:"qpHints" doc:"The agent takes hints on queue pairs."`
}
