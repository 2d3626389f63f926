package api

import (
	"github.com/weft-sdn/weft/topology"
	"time"
)

// FabricCounters count inputs that changed nothing.
type FabricCounters struct {
	UnknownHosts  uint64 `json:"unknownHosts" doc:"Messages of hosts that are not in the inventory."`
	UnknownEVs    uint64 `json:"unknownEvs" doc:"Events and counts of EVs that the host does not hold."`
	BadCounts     uint64 `json:"badCounts" doc:"Counts that cannot be."`
	BadEvents     uint64 `json:"badEvents" doc:"States that no host reports."`
	LostEvents    uint64 `json:"lostEvents" doc:"Events that hosts say they lost."`
	UnknownPaths  uint64 `json:"unknownPaths" doc:"Events and counts of EVs whose path is unknown."`
	UnknownProbes uint64 `json:"unknownProbes" doc:"Results of unknown probes."`
	LostProbes    uint64 `json:"lostProbes" doc:"Probes whose result did not come."`
	BadPorts      uint64 `json:"badPorts" doc:"Ports that a host does not have."`
}

// Fabric is the fabric as a whole.
type Fabric struct {
	Mode     string         `json:"mode" doc:"How packets say their path: ecmp, stev, usid-f3216, usid-f1616, usid-srh or usid-structured."`
	InSync   bool           `json:"inSync" doc:"Every BGP-LS peer has sent all it has. Before that, the controller sends hosts nothing."`
	Failure  string         `json:"failure,omitempty" doc:"Why there is no fabric of the present topology."`
	Planes   int            `json:"planes"`
	Tiers    int            `json:"tiers"`
	Leaves   int            `json:"leaves"`
	Links    FabricCount    `json:"links" doc:"Each direction counted; bad are those over which EVs are denied."`
	Hosts    HostCount      `json:"hosts"`
	Ports    HostPortCount  `json:"hostPorts"`
	Profiles FabricCount    `json:"evProfiles" doc:"Bad are the degraded ones."`
	QPs      QueuePairCount `json:"queuePairs" doc:"What applications have made on the hosts."`
	Probes   ProbeCount     `json:"probes" doc:"EV probes that hosts reported since the controller began to decide."`
	Counters FabricCounters `json:"counters" doc:"Inputs that changed nothing."`
}

// FabricCount counts links or EV profiles.
type FabricCount struct {
	All int `json:"all"`
	Bad int `json:"bad"`
}

// HostCount counts hosts.
type HostCount struct {
	All       int `json:"all"`
	Connected int `json:"connected"`
	Current   int `json:"current" doc:"They hold the state that the controller sent last."`
}

// HostPortCount counts ports of hosts.
type HostPortCount struct {
	All    int    `json:"all"`
	Usable int    `json:"usable" doc:"Peers may send to them."`
	Errors uint64 `json:"errors" doc:"What the counters of errors and losses of NICs and interfaces add up to, as agents of hosts report."`
}

// QueuePairCount counts queue pairs of applications.
type QueuePairCount struct {
	All        int `json:"all"`
	Failed     int `json:"failed" doc:"In the error state."`
	Controller int `json:"controller" doc:"They spray over EV profiles of the controller."`
	Local      int `json:"local" doc:"Over profiles that a program on the host has made."`
	Hinted     int `json:"hinted" doc:"Their programs have said what to expect (mrc_create_qp_hint)."`
}

// ProbeCount counts EV probes.
type ProbeCount struct {
	Sent     uint64 `json:"sent"`
	Answered uint64 `json:"answered"`
}

// Node is a switch of the fabric.
type Node struct {
	ID      topology.NodeID `json:"id" doc:"AS:router-id, as in the topology."`
	Version uint64          `json:"version" doc:"Changes with every change of the spec; also the ETag. 0: no client has written the spec."`
	Changed time.Time       `json:"changed,omitzero" doc:"When the spec changed last."`
	Spec    AdminSpec       `json:"spec"`
	Status  NodeStatus      `json:"status"`
	Takes   []Taken         `json:"takes,omitempty" doc:"In the answer to a dry run: what other resources would lose, at most 100."`
}

// Intent implements [Intended].
func (n Node) Intent() (version uint64, spec any) { return n.Version, n.Spec }

// NodeStatus is what the controller reports about a switch of the fabric.
type NodeStatus struct {
	Name        string  `json:"name,omitempty"`
	Tier        *int    `json:"tier,omitempty" doc:"0 is a leaf. Absent without an MRC fabric."`
	Planes      []int   `json:"planes"`
	Present     bool    `json:"present" doc:"It is advertised now."`
	Links       int     `json:"links" doc:"Links of the fabric from and to it, each direction counted."`
	DeniedLinks int     `json:"deniedLinks" doc:"Number of these links over which EVs are denied."`
	Drains      []Drain `json:"drains,omitempty" doc:"What takes it out of use."`
}

// Plane is a plane of the fabric.
type Plane struct {
	Plane   int         `json:"plane" doc:"From 1."`
	Version uint64      `json:"version" doc:"Changes with every change of the spec; also the ETag. 0: no client has written the spec."`
	Changed time.Time   `json:"changed,omitzero" doc:"When the spec changed last."`
	Spec    AdminSpec   `json:"spec"`
	Status  PlaneStatus `json:"status"`
	Takes   []Taken     `json:"takes,omitempty" doc:"In the answer to a dry run: what other resources would lose, at most 100."`
}

// Intent implements [Intended].
func (p Plane) Intent() (version uint64, spec any) { return p.Version, p.Spec }

// PlaneStatus is what the controller reports about a plane.
type PlaneStatus struct {
	Links       int     `json:"links" doc:"Links of the plane, each direction counted."`
	DeniedLinks int     `json:"deniedLinks" doc:"Number of these links over which EVs are denied."`
	Drains      []Drain `json:"drains,omitempty" doc:"What takes it out of use."`
}
