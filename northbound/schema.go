package northbound

import (
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/controller/multipath"
)

// The types below describe those of packages intent and topology to clients:
// they have the same JSON fields, with texts and ranges for the OpenAPI
// document, and no value of them is ever made. A test holds them to that.

type groupSpec struct {
	ProxyAddress  string          `json:"proxyAddress" format:"ipv6" doc:"Stands for the group: source and receivers connect their queue pairs to it. A global unicast address that nothing else has."`
	DesignatedQPN uint32          `json:"designatedQpn" minimum:"2" maximum:"16777215" doc:"Destination queue pair of everything sent to the proxy address."`
	Source        groupSource     `json:"source"`
	Receivers     []groupReceiver `json:"receivers" minItems:"1" nullable:"false" doc:"No address twice, and not the source's."`
	InitialPSN    uint32          `json:"initialPsn,omitempty" maximum:"16777215" doc:"First PSN of the source. Default 0."`
	CNPWindow     string          `json:"cnpWindow,omitempty" pattern:"^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$" patternDescription:"a duration such as 50us or 1.5ms" example:"1ms" doc:"Window in which congestion notifications become one, such as 50us or 1ms. Default: the controller's."`
	CNPLimit      uint32          `json:"cnpLimit,omitempty" maximum:"16777215" doc:"CNPs a branch may report in a window; those over it are dropped. Default: the controller's."`
	NackHoldoff   string          `json:"nackHoldoff,omitempty" pattern:"^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$" patternDescription:"a duration such as 50us or 1.5ms" example:"100us" doc:"How long the same NAK is not repeated upstream. Default: one round trip of the tree where its delays are known."`
	Mode          string          `json:"mode,omitempty" enum:"provisioned,inband" doc:"provisioned, the default: hosts send plain RoCEv2 and switches hold the receivers. inband: the source encapsulates and lists the receivers in End.MT TLVs."`
	Objective     string          `json:"objective,omitempty" enum:"delay,cost" doc:"delay, the default: every receiver gets a shortest path. cost: few links, never more than with delay."`
	RewriteSource *bool           `json:"rewriteSource,omitempty" doc:"Receivers see the proxy address as source, as an unmodified queue pair connected to it expects. Default true."`
	BaseVA        uint64          `json:"baseVa,omitempty" format:"uint64" doc:"Virtual address at which the source takes the receivers' memory to begin; a receiver's va replaces it."`
	EvictAfter    string          `json:"evictAfter,omitempty" pattern:"^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$" patternDescription:"a duration such as 50us or 1.5ms" example:"5s" doc:"Removes a receiver that has stalled the group for so long. Default: never."`
}

type groupSource struct {
	Address string `json:"address" format:"ipv6" doc:"Address of a host of the inventory."`
	QPN     uint32 `json:"qpn" minimum:"2" maximum:"16777215" doc:"The sending queue pair."`
}

type groupReceiver struct {
	Address  string  `json:"address" format:"ipv6" doc:"Address of a host of the inventory."`
	QPN      uint32  `json:"qpn" minimum:"2" maximum:"16777215" doc:"The receiving queue pair."`
	StartPSN *uint32 `json:"startPsn,omitempty" maximum:"16777215" doc:"For a receiver that joins a group which is sending: first PSN of a message not yet sent. The source sends nothing from there on before the receiver is Programmed. Default: initialPsn."`
	StartMSN uint32  `json:"startMsn,omitempty" maximum:"16777215" doc:"The group's MSN at startPsn."`
	VA       *uint64 `json:"va,omitempty" format:"uint64" doc:"Virtual address of the receiver's memory, where it differs from the source's idea of it; with rkey."`
	RKey     *uint32 `json:"rkey,omitempty" format:"uint32" maximum:"4294967295" doc:"R_Key of the receiver's memory; with va."`
}

type groupStatus struct {
	Conditions       []groupCondition  `json:"conditions,omitempty" doc:"Accepted, Programmed and Degraded."`
	ObservedVersion  uint64            `json:"observedVersion" doc:"Version of the spec that the conditions speak of."`
	Index            uint16            `json:"index" doc:"Number of the group on every switch of its tree."`
	Epoch            uint32            `json:"epoch,omitempty" format:"uint32" doc:"Epoch that the tree is moving to, or has."`
	Tree             *groupTree        `json:"tree,omitempty"`
	Receivers        []receiverStatus  `json:"receivers,omitempty" doc:"In the order of the spec."`
	Limits           groupLimits       `json:"limits" doc:"What exceeds these is refused."`
	StalledReceivers []stalledReceiver `json:"stalledReceivers,omitempty" doc:"Receivers that hold the group up."`
	EvictedReceivers []string          `json:"evictedReceivers,omitempty" doc:"In the spec and no longer in the tree."`
}

type groupCondition struct {
	Type           string    `json:"type" enum:"Accepted,Programmed,Degraded"`
	Status         bool      `json:"status"`
	Reason         string    `json:"reason" doc:"One word, stable."`
	Message        string    `json:"message,omitempty" doc:"The same for people."`
	LastTransition time.Time `json:"lastTransition" doc:"When status changed last."`
}

type groupTree struct {
	Root  string     `json:"root" doc:"The switch next to the source."`
	SID   string     `json:"sid" format:"ipv6" doc:"What the tree starts with. In in-band mode the source puts it into Segment List[1]."`
	Cost  uint64     `json:"cost"`
	Nodes []treeNode `json:"nodes" doc:"Parents before children."`
}

type treeNode struct {
	Switch       string       `json:"switch"`
	Address      string       `json:"address" format:"ipv6" doc:"The node's loopback; the Edge Node Address of End.MT TLVs."`
	SID          string       `json:"sid" format:"ipv6"`
	Behavior     string       `json:"behavior" doc:"End.Replicate or End.MT."`
	BehaviorCode uint16       `json:"behaviorCode" doc:"SRv6 endpoint behavior: 75, or the codepoint that End.MT is configured to have."`
	Parent       string       `json:"parent,omitempty" doc:"Empty at the root."`
	Upstream     uint32       `json:"upstreamPort" doc:"Port toward the parent, or the source."`
	Branches     []treeBranch `json:"branches"`
	TunnelledTo  string       `json:"tunnelledTo,omitempty" doc:"The parent's SID when the parent is not adjacent."`
}

type treeBranch struct {
	Index    uint8  `json:"index"`
	Child    string `json:"child,omitempty" doc:"The child node, when the branch is one."`
	Receiver string `json:"receiver,omitempty" doc:"The receiver, when the branch is one."`
	QPN      uint32 `json:"qpn,omitempty" doc:"The receiver's queue pair."`
	Port     uint32 `json:"port"`
}

type receiverStatus struct {
	Address    string `json:"address"`
	Switch     string `json:"switch,omitempty" doc:"The edge it is attached to."`
	Branch     uint8  `json:"branch" doc:"Its branch there."`
	Programmed bool   `json:"programmed" doc:"Everything it needs is in the switches: it gets all that is sent from now on."`
}

type stalledReceiver struct {
	Address string    `json:"address"`
	Switch  string    `json:"switch"`
	Branch  uint8     `json:"branch"`
	AckPSN  uint32    `json:"ackPsn" doc:"The last PSN it acknowledged."`
	Valid   bool      `json:"valid" doc:"It has acknowledged anything at all."`
	Since   time.Time `json:"since"`
}

type groupLimits struct {
	Groups           int `json:"groups" doc:"Groups of the controller."`
	Branches         int `json:"branches" doc:"Children and receivers of a node and group."`
	ReceiversPerEdge int `json:"receiversPerEdge" doc:"Receivers of a group on one edge."`
	SRHOctets        int `json:"srhOctets" doc:"Octets of the SRH of an in-band group."`
}

type switchStatus struct {
	Name      string    `json:"name" doc:"Name in the inventory."`
	Node      string    `json:"node,omitempty" doc:"Node of the topology that the switch is; absent until it is seen there."`
	Address   string    `json:"address,omitempty" doc:"host:port of the P4Runtime server."`
	DeviceID  uint64    `json:"deviceId,omitempty" doc:"P4Runtime device id."`
	Managed   bool      `json:"managed" doc:"The controller programs the switch."`
	Connected bool      `json:"connected" doc:"Read back, and being kept up."`
	Since     time.Time `json:"since,omitzero" doc:"When connected changed last."`
	Reason    string    `json:"reason,omitempty" doc:"Why it is not connected."`
	Entries   int       `json:"entries" doc:"Entities on the switch."`
	Pending   int       `json:"pending" doc:"Updates that are still to be made."`
	Synced    bool      `json:"synced" doc:"Connected, and nothing is pending."`
	Errors    []string  `json:"errors,omitempty" doc:"Refused updates that are tried again, at most ten."`

	Ports *switchPorts `json:"ports,omitempty" doc:"What the switch says of its ports by gNMI; absent until it was asked."`
}

type switchPorts struct {
	Up    int      `json:"up" doc:"Ports that are up."`
	Down  []uint32 `json:"down,omitempty" doc:"P4Runtime ports that are down, in order."`
	Error string   `json:"error,omitempty" doc:"Why the switch does not tell now: the rest is what it said last."`

	Ignored uint64 `json:"ignored,omitempty" doc:"What it said that made no sense, up to the last change."`
}

type stateReport struct {
	Group    string      `json:"group"`
	Epoch    uint32      `json:"epoch" doc:"Epoch of the tree; a branch of another epoch is not valid."`
	Nodes    []nodeState `json:"nodes" doc:"In the order of the tree."`
	Complete bool        `json:"complete" doc:"Every switch answered in time."`
}

type nodeState struct {
	Switch   string        `json:"switch"`
	Answered bool          `json:"answered" doc:"False when nothing is known of the node."`
	LastPSN  int64         `json:"lastPsn" doc:"Everything before it was acknowledged upstream; -1 when unknown."`
	CNPTotal uint32        `json:"cnpTotal" doc:"CNPs sent upstream."`
	Branches []branchState `json:"branches"`
}

type branchState struct {
	Index      uint8  `json:"index"`
	Child      string `json:"child,omitempty" doc:"The child node, when the branch is one."`
	Receiver   string `json:"receiver,omitempty" doc:"The receiver, when the branch is one."`
	Answered   bool   `json:"answered"`
	Valid      bool   `json:"valid" doc:"The branch has reported in this epoch."`
	AckPSN     int64  `json:"ackPsn" doc:"The branch has everything up to here; -1 when unknown."`
	EPSN       int64  `json:"ePsn" doc:"The PSN the branch expects next: ackPsn + 1 modulo 2^24; -1 when unknown."`
	NAKPending bool   `json:"nakPending" doc:"The branch asked for ePsn again and has not acknowledged it."`
	RNRTimer   *uint8 `json:"rnrTimer,omitempty" doc:"Timer code, when it was not ready."`
	MSN        uint32 `json:"msn"`
	CNPCount   uint32 `json:"cnpCount" doc:"CNPs of the branch in the window that is open, or was last."`
	Epoch      uint32 `json:"epoch" doc:"Epoch of the branch's registers."`
}

type tableView struct {
	Name    string   `json:"name" doc:"Name in the P4 program."`
	Size    int64    `json:"size" doc:"Entries the table has room for."`
	Fields  []string `json:"fields" doc:"What it matches on."`
	Actions []string `json:"actions"`
}

type entryView struct {
	Table    string      `json:"table"`
	Match    []fieldView `json:"match" doc:"In the order of the key."`
	Priority int32       `json:"priority,omitempty" doc:"Higher wins; only in tables with ternary, range or optional fields."`
	Default  bool        `json:"default,omitempty" doc:"The table's default action."`
	Action   string      `json:"action,omitempty" doc:"Absent when the entry refers to member or group."`
	Params   []fieldView `json:"params,omitempty"`
	Member   uint32      `json:"member,omitempty" doc:"Member of the table's action profile."`
	Group    uint32      `json:"group,omitempty" doc:"Group of the table's action selector."`
}

type fieldView struct {
	Name  string `json:"name"`
	Value any    `json:"value" doc:"A number, or a string: an address, prefix (2001:db8::/32), masked value (256&&&0x1f0), range (1..5), number over 64 bits (0x…), or * for anything."`
}

type counterView struct {
	Counter string `json:"counter" doc:"Name in the P4 program."`
	Index   int64  `json:"index"`
	Name    string `json:"name" doc:"What the index stands for: a drop reason, an event, a port."`
	Packets int64  `json:"packets"`
	Octets  int64  `json:"octets"`
}

type event struct {
	Seq     uint64                 `json:"seq" doc:"Grows by one with each event of a controller; 0 in a gap."`
	Time    time.Time              `json:"time"`
	Type    string                 `json:"type" doc:"group.changed, group.deleted, receiver.stalled, receiver.recovered, receiver.evicted, switch.changed, topology.changed, bgp-peer.changed, srv6-policy.changed, srv6-policy.deleted, tenant.changed, tenant.deleted, pfc-policy.changed, pfc-policy.deleted, srv6-policy.path-changed, srv6-policy.path-failed, pfc.tunnel-lost, pfc.tunnel-recovered, pfc.tunnel-learned, pfc.deadlock-risk, pfc.watermarks-changed, pfc.storm, pfc.storm-ended, pfc.overflow, fabric.changed, link.changed, drain.changed, ev-profile.changed, suspect.changed, host.changed, gap."`
	Object  string                 `json:"object,omitempty" doc:"Name of the group, switch, policy, tenant, EV profile or host, the ends of a tunnel, a queue as switch/port/priority, id of the link, or what is drained."`
	Message string                 `json:"message,omitempty"`
	Group   *intent.MulticastGroup `json:"group,omitempty" doc:"The group after the change; absent when it is gone."`
}

type switchChange struct {
	Switch  string         `json:"switch" doc:"Name of the switch."`
	Updates []entityUpdate `json:"updates" doc:"In an order in which they can be made."`
}

type entityUpdate struct {
	Type   string `json:"type" enum:"insert,modify,delete"`
	Entity string `json:"entity" doc:"The entry, group of copies or clone session, in the names of the P4 program."`
}

// A mirror is a type and what describes it.
type mirror struct{ of, by reflect.Type }

// mirrors are all of them.
var mirrors = slices.Concat([]mirror{
	{reflect.TypeFor[intent.Spec](), reflect.TypeFor[groupSpec]()},
	{reflect.TypeFor[intent.Source](), reflect.TypeFor[groupSource]()},
	{reflect.TypeFor[intent.Receiver](), reflect.TypeFor[groupReceiver]()},
	{reflect.TypeFor[intent.Status](), reflect.TypeFor[groupStatus]()},
	{reflect.TypeFor[intent.Condition](), reflect.TypeFor[groupCondition]()},
	{reflect.TypeFor[intent.Tree](), reflect.TypeFor[groupTree]()},
	{reflect.TypeFor[intent.TreeNode](), reflect.TypeFor[treeNode]()},
	{reflect.TypeFor[intent.TreeBranch](), reflect.TypeFor[treeBranch]()},
	{reflect.TypeFor[intent.ReceiverStatus](), reflect.TypeFor[receiverStatus]()},
	{reflect.TypeFor[intent.StalledReceiver](), reflect.TypeFor[stalledReceiver]()},
	{reflect.TypeFor[intent.Limits](), reflect.TypeFor[groupLimits]()},
	{reflect.TypeFor[intent.MulticastGroup](), reflect.TypeFor[group]()},
	{reflect.TypeFor[intent.SwitchChange](), reflect.TypeFor[switchChange]()},
	{reflect.TypeFor[intent.EntityUpdate](), reflect.TypeFor[entityUpdate]()},
	{reflect.TypeFor[controller.SwitchStatus](), reflect.TypeFor[switchStatus]()},
	{reflect.TypeFor[controller.SwitchPorts](), reflect.TypeFor[switchPorts]()},
	{reflect.TypeFor[controller.StateReport](), reflect.TypeFor[stateReport]()},
	{reflect.TypeFor[controller.NodeState](), reflect.TypeFor[nodeState]()},
	{reflect.TypeFor[controller.BranchState](), reflect.TypeFor[branchState]()},
	{reflect.TypeFor[controller.TableView](), reflect.TypeFor[tableView]()},
	{reflect.TypeFor[controller.EntryView](), reflect.TypeFor[entryView]()},
	{reflect.TypeFor[controller.FieldView](), reflect.TypeFor[fieldView]()},
	{reflect.TypeFor[controller.CounterView](), reflect.TypeFor[counterView]()},
	{reflect.TypeFor[controller.Event](), reflect.TypeFor[event]()},
	{reflect.TypeFor[intent.EVProfileSpec](), reflect.TypeFor[evProfileSpec]()},
	{reflect.TypeFor[intent.CCProfileSpec](), reflect.TypeFor[ccProfileSpec]()},
	{reflect.TypeFor[intent.NSCC](), reflect.TypeFor[nscc]()},
	{reflect.TypeFor[intent.AdminSpec](), reflect.TypeFor[adminSpec]()},
	{reflect.TypeFor[multipath.Counters](), reflect.TypeFor[fabricCounters]()},
}, losslessMirrors)

// aliasSchemas makes the registry describe types by their mirrors.
func aliasSchemas(r huma.Registry) {
	for _, m := range mirrors {
		r.RegisterTypeAlias(m.of, m.by)
	}
}

// schemaNames are the names of types that have none of their own.
var schemaNames = map[reflect.Type]string{
	reflect.TypeFor[draftOf[intent.Spec]](): "GroupRequest",
	reflect.TypeFor[pageOf[group]]():        "GroupList",

	reflect.TypeFor[draftOf[intent.EVProfileSpec]]():  "EvProfileRequest",
	reflect.TypeFor[draftOf[intent.CCProfileSpec]]():  "CcProfileRequest",
	reflect.TypeFor[adminDraft]():                     "AdminRequest",
	reflect.TypeFor[draftOf[intent.SRv6PolicySpec]](): "Srv6PolicyRequest",
	reflect.TypeFor[draftOf[intent.TenantSpec]]():     "TenantRequest",
	reflect.TypeFor[draftOf[intent.PFCPolicySpec]]():  "PfcPolicyRequest",
	reflect.TypeFor[pageOf[srv6Policy]]():             "Srv6PolicyList",
	reflect.TypeFor[pageOf[tenant]]():                 "TenantList",
	reflect.TypeFor[pageOf[pfcPolicy]]():              "PfcPolicyList",
	reflect.TypeFor[pageOf[evProfile]]():              "EvProfileList",
	reflect.TypeFor[pageOf[evView]]():                 "EvList",
	reflect.TypeFor[pageOf[ccProfile]]():              "CcProfileList",
	reflect.TypeFor[pageOf[fabricHost]]():             "HostList",
	reflect.TypeFor[pageOf[fabricLink]]():             "LinkList",
	reflect.TypeFor[pageOf[fabricNode]]():             "NodeList",
	reflect.TypeFor[pageOf[evProbeView]]():            "EvProbeList",
}

func schemaName(t reflect.Type, hint string) string {
	if name, ok := schemaNames[t]; ok {
		return name
	}
	return huma.DefaultSchemaNamer(t, hint)
}
