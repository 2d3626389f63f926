package northbound

import (
	"reflect"
	"time"

	"github.com/weft-sdn/weft/controller/intent"
)

// These describe types of package intent, as those of schema.go do.

type srv6PolicySpec struct {
	Headend  string          `json:"headend" doc:"Name of the switch that packets enter the policy at."`
	Endpoint string          `json:"endpoint" doc:"Name of the switch that it leads to."`
	Segments []policySegment `json:"segments,omitempty" doc:"The way, at most 16; both ends may be left out, and what lies between two is crossed by the shortest path. Default: computed."`
	Metric   string          `json:"metric,omitempty" doc:"What a computed way is the shortest by: igp, the default, or delay."`
	Mode     string          `json:"mode,omitempty" doc:"policy, the default: an SRH with the whole segment list. best-effort: the last SID as destination, and no SRH."`
}

type policySegment struct {
	Node string `json:"node,omitempty" doc:"Name of a switch; or sid."`
	SID  string `json:"sid,omitempty" format:"ipv6" doc:"A SID of a node, or of a link, over which the way then leads. Of several End.X.PFC SIDs of a link this one is taken."`
}

type srv6PolicyStatus struct {
	Conditions      []groupCondition `json:"conditions,omitempty" doc:"Accepted, Programmed and Degraded."`
	ObservedVersion uint64           `json:"observedVersion" doc:"Version of the spec that the conditions speak of."`
	SegmentList     []segmentStatus  `json:"segmentList,omitempty" doc:"The list in force, the headend's own SID first where it has one."`
	Path            []string         `json:"path,omitempty" doc:"Switches that it crosses, both ends included."`
	PFCNodes        []string         `json:"pfcNodes,omitempty" doc:"Those of the path that handle PFC."`
	UsedBy          []string         `json:"usedBy,omitempty" doc:"Tenants and PFC policies that refer to it: tenants/ or pfc-policies/ and the name."`
}

type segmentStatus struct {
	Node     string `json:"node" doc:"Name of the switch."`
	SID      string `json:"sid" format:"ipv6"`
	Behavior string `json:"behavior" doc:"SRv6 endpoint behavior, with flavors."`
}

type tenantSpec struct {
	Slice    uint32       `json:"slice" doc:"Id of its slice (NRP), no other tenant's; from 1 to what pfc.sliceBits of the configuration allows. It travels in the low bits of the outer flow label."`
	Priority uint8        `json:"priority" doc:"Queue of its packets at every switch, 0 to 7."`
	Rate     uint64       `json:"rate,omitempty" doc:"Bit/s of its queue at PFC-capable nodes. Default: what other queues leave."`
	Sites    []tenantSite `json:"sites" doc:"Where it is attached."`
	Policies []string     `json:"policies,omitempty" doc:"SRv6 policies that carry it between the sites at their ends. Elsewhere packets take the shortest path."`
}

type tenantSite struct {
	Switch   string   `json:"switch" doc:"Name of the switch."`
	Port     uint32   `json:"port" doc:"Port with hosts of the inventory, of no other tenant."`
	Prefixes []string `json:"prefixes,omitempty" doc:"IPv6 prefixes behind the port. Default: those of its hosts in the inventory."`
}

type tenantStatus struct {
	Conditions      []groupCondition `json:"conditions,omitempty" doc:"Accepted, Programmed and Degraded."`
	ObservedVersion uint64           `json:"observedVersion" doc:"Version of the spec that the conditions speak of."`
	VRF             uint16           `json:"vrf" doc:"Number of its routing tables on every switch."`
	Sites           []siteStatus     `json:"sites,omitempty" doc:"In the order of the spec."`
	UsedBy          []string         `json:"usedBy,omitempty" doc:"PFC policies that refer to it: pfc-policies/ and the name."`
}

type siteStatus struct {
	Switch   string   `json:"switch"`
	Port     uint32   `json:"port"`
	SID      string   `json:"sid" format:"ipv6" doc:"The tenant's End.DT6 SID at the switch."`
	Prefixes []string `json:"prefixes" doc:"What is reached there."`
}

type pfcPolicySpec struct {
	SRv6Policy string `json:"srv6Policy" doc:"The SRv6 policy that carries the tenant."`
	Tenant     string `json:"tenant" doc:"The tenant whose priority is paused."`
	Scenario   int    `json:"scenario,omitempty" doc:"1, the default: tunnels are there before the first packet. 2: they are made when a switch reports it."`
	Tunnel     string `json:"tunnel,omitempty" doc:"How reverse tunnels are encapsulated: policy, the default, or best-effort."`
	Buffer     uint64 `json:"buffer,omitempty" doc:"Octets that the tenant's queue may hold at each node. Default: the configuration's."`
	XOFF       uint64 `json:"xoff,omitempty" doc:"Octets in a queue above which it stops its upstream, at most buffer. Default: computed from the measured round trip."`
	XON        uint64 `json:"xon,omitempty" doc:"Octets at which it lets it go on, fewer than xoff. Default: three quarters of it."`
	AllowCycle bool   `json:"allowCycle,omitempty" doc:"Accepts a policy that closes a circle of queues which wait for each other; it is then Degraded."`
	MaxPause   string `json:"maxPause,omitempty" doc:"How long a queue may be paused without sending before it is taken for a storm, 1ms to 1h; those upstream may longer. Default: the configuration's."`
}

type pfcPolicyStatus struct {
	Conditions      []groupCondition `json:"conditions,omitempty" doc:"Accepted, Programmed and Degraded."`
	ObservedVersion uint64           `json:"observedVersion" doc:"Version of the spec that the conditions speak of."`
	Nodes           []pfcNode        `json:"nodes,omitempty" doc:"Queues by which the tenant leaves the PFC-capable nodes of the path, upstream first."`
	Tunnels         []pfcTunnel      `json:"tunnels,omitempty" doc:"Carry PFC frames: two for each pair of neighbors among the nodes."`
	Cycle           []string         `json:"cycle,omitempty" doc:"Queues that wait for each other in a circle through this policy, as switch/port/priority."`
}

type pfcNode struct {
	Switch     string     `json:"switch"`
	Port       uint32     `json:"port" doc:"Port by which packets leave."`
	Priority   uint8      `json:"priority"`
	SID        string     `json:"sid,omitempty" format:"ipv6" doc:"What the node is told to pause this port by; absent where nobody downstream does."`
	Upstream   string     `json:"upstream,omitempty" doc:"The node that this queue stops; absent at the first, which stops the tenant's hosts."`
	Watermarks watermarks `json:"watermarks"`
	Queue      *pfcQueue  `json:"queue,omitempty" doc:"What the switch said last; absent before it did."`
}

type watermarks struct {
	Buffer   uint64 `json:"buffer" doc:"Octets that may wait."`
	Headroom uint64 `json:"headroom" doc:"Octets that arrive at worst after XOFF was sent."`
	XOFF     uint64 `json:"xoff" doc:"Octets above which the upstream is stopped."`
	XON      uint64 `json:"xon" doc:"Octets at which it may go on."`
	RTT      string `json:"rtt" doc:"Round trip that headroom is computed from."`
	Rate     uint64 `json:"rate" doc:"Bit/s that headroom is computed from."`
	Measured bool   `json:"measured" doc:"False while rtt is an assumption."`
}

type pfcQueue struct {
	Paused         bool      `json:"paused" doc:"A pause is in force."`
	PausedFor      string    `json:"pausedFor,omitempty" doc:"For how long it is."`
	Held           uint64    `json:"held" doc:"Octets that wait."`
	MaxHeld        uint64    `json:"maxHeld" doc:"The most there have been."`
	PausesReceived uint64    `json:"pausesReceived" doc:"Commands to pause."`
	XOFFSent       uint64    `json:"xoffSent" doc:"XOFFs sent upstream."`
	XONSent        uint64    `json:"xonSent" doc:"XONs sent upstream."`
	Dropped        uint64    `json:"dropped" doc:"Packets that found the queue full."`
	Storms         uint64    `json:"storms" doc:"Pauses that the watchdog took for a storm."`
	LastXOFF       time.Time `json:"lastXoff,omitzero" doc:"When the upstream was stopped last."`
	LastXON        time.Time `json:"lastXon,omitzero" doc:"When it was let go on last."`
	At             time.Time `json:"at" doc:"When the switch said so."`
}

type pfcTunnel struct {
	ID       uint16          `json:"id" doc:"Number of its segment list at the switch it starts from."`
	From     string          `json:"from" doc:"The switch it starts from."`
	To       string          `json:"to" doc:"The switch whose port PFC frames in it pause."`
	Segments []segmentStatus `json:"segments" doc:"The first is where it starts, and is not on the wire."`
	Slice    uint32          `json:"slice" doc:"Slice id that it carries."`
	Mode     string          `json:"mode" doc:"policy or best-effort."`
	State    string          `json:"state" enum:"unknown,up,down" doc:"What probes say: unknown before the first."`
	RTT      string          `json:"rtt,omitempty" doc:"The last measured."`
	MinRTT   string          `json:"minRtt,omitempty" doc:"The least of the recent past."`
	MaxRTT   string          `json:"maxRtt,omitempty" doc:"The longest of the recent past."`
	Sent     uint64          `json:"sent" doc:"Probes."`
	Lost     uint64          `json:"lost" doc:"Those that did not come back."`
}

var losslessMirrors = []mirror{
	{reflect.TypeFor[intent.SRv6PolicySpec](), reflect.TypeFor[srv6PolicySpec]()},
	{reflect.TypeFor[intent.Segment](), reflect.TypeFor[policySegment]()},
	{reflect.TypeFor[intent.SRv6PolicyStatus](), reflect.TypeFor[srv6PolicyStatus]()},
	{reflect.TypeFor[intent.SegmentStatus](), reflect.TypeFor[segmentStatus]()},
	{reflect.TypeFor[intent.TenantSpec](), reflect.TypeFor[tenantSpec]()},
	{reflect.TypeFor[intent.Site](), reflect.TypeFor[tenantSite]()},
	{reflect.TypeFor[intent.TenantStatus](), reflect.TypeFor[tenantStatus]()},
	{reflect.TypeFor[intent.SiteStatus](), reflect.TypeFor[siteStatus]()},
	{reflect.TypeFor[intent.PFCPolicySpec](), reflect.TypeFor[pfcPolicySpec]()},
	{reflect.TypeFor[intent.PFCPolicyStatus](), reflect.TypeFor[pfcPolicyStatus]()},
	{reflect.TypeFor[intent.PFCNode](), reflect.TypeFor[pfcNode]()},
	{reflect.TypeFor[intent.Watermarks](), reflect.TypeFor[watermarks]()},
	{reflect.TypeFor[intent.PFCQueue](), reflect.TypeFor[pfcQueue]()},
	{reflect.TypeFor[intent.PFCTunnel](), reflect.TypeFor[pfcTunnel]()},
}
