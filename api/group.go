package api

import (
	"cmp"
	"net/netip"
	"slices"
	"time"
)

// MulticastGroup is the resource of an RDMA multicast group.
type MulticastGroup struct {
	Name string `json:"name" doc:"Name of the group."`
	// Version changes with every change of the spec; a conditional update gives
	// the one it expects.
	Version uint64               `json:"version" doc:"Changes with every change of the spec; also the ETag."`
	Created time.Time            `json:"created,omitzero" doc:"When the group was created."`
	Job     string               `json:"job,omitempty" doc:"The job that it was made for: it changes and goes with that, and clients do not write it."`
	Spec    MulticastGroupSpec   `json:"spec" doc:"Spec of the client, with defaults filled in."`
	Status  MulticastGroupStatus `json:"status" doc:"Status, which the controller writes."`
	// Changes are the changes of a dry run; nil otherwise.
	Changes []SwitchChange `json:"changes,omitempty" doc:"In the answer to a dry run: the updates of switches."`
	Takes   []Taken        `json:"takes,omitempty" doc:"In the answer to a dry run: what other resources would lose, at most 100."`
}

// Intent implements [Intended].
func (r MulticastGroup) Intent() (version uint64, spec any) { return r.Version, r.Spec }

// MulticastGroupSpec is what a client wants of a multicast group.
type MulticastGroupSpec struct {
	// ProxyAddress stands for the group: source and receivers connect their
	// queue pairs to it.
	ProxyAddress netip.Addr `json:"proxyAddress" names:"proxy" format:"ip" doc:"Stands for the group: source and receivers connect their queue pairs to it. A global unicast address of IPv6 or IPv4 that nothing else has; source and receivers have addresses of the same family."`
	// DesignatedQPN is the destination queue pair of everything sent to the
	// proxy address, 24 bits.
	DesignatedQPN uint32          `json:"designatedQpn" names:"designatedQpn" minimum:"2" maximum:"16777215" doc:"Destination queue pair of everything sent to the proxy address."`
	Source        GroupSource     `json:"source,omitzero" doc:"Absent with connect.source any alone."`
	Receivers     []GroupReceiver `json:"receivers,omitempty" doc:"No address twice, and not the source's. At least one, but for connect.receivers."`
	// Connect has source and receivers connect by RDMA CM, in the place of typed queue pairs.
	Connect *GroupConnect `json:"connect,omitempty" names:"-" doc:"Source and receivers connect by RDMA CM: they have addresses here, and no qpn, psn, va and rkey."`
	// InitialPSN is the first PSN of the source, 24 bits.
	InitialPSN uint32 `json:"initialPsn" names:"-" required:"false" maximum:"16777215" doc:"First PSN of the source. Default 0."`
	// CNPWindow is the window in which congestion notifications become one.
	// Default: the controller's.
	CNPWindow Duration `json:"cnpWindow,omitzero" names:"-" pattern:"^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$" patternDescription:"a duration such as 50us or 1.5ms" example:"1ms" doc:"Window in which congestion notifications become one, such as 50us or 1ms. Default: the controller's."`
	// CNPLimit is how many CNPs a branch may report in a window; those over it
	// are dropped. Default: the controller's.
	CNPLimit uint32 `json:"cnpLimit,omitempty" names:"-" maximum:"16777215" doc:"CNPs a branch may report in a window; those over it are dropped. Default: the controller's."`
	// NackHoldoff is the time before a switch repeats a NAK upstream. Default: one round trip of the
	// tree if the controller knows the tree's delays, otherwise the controller's default.
	NackHoldoff Duration      `json:"nackHoldoff,omitzero" names:"-" pattern:"^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$" patternDescription:"a duration such as 50us or 1.5ms" example:"100us" doc:"How long the same NAK is not repeated upstream. Default: one round trip of the tree where its delays are known."`
	Mode        GroupMode     `json:"mode,omitempty" names:"-" enum:"provisioned,inband" doc:"provisioned, the default: hosts send plain RoCEv2 and switches hold the receivers. inband: the source encapsulates and lists the receivers in End.MT TLVs."`
	Objective   TreeObjective `json:"objective,omitempty" names:"-" enum:"delay,cost" doc:"delay, the default: every receiver gets a shortest path. cost: few links, never more than with delay."`
	// RewriteSource makes the proxy address the source address of what the
	// receivers get. Default true.
	RewriteSource *bool `json:"rewriteSource,omitempty" names:"-" doc:"Receivers see the proxy address as source, as an unmodified queue pair connected to it expects. Default true."`
	// BaseVA is the virtual address at which the source takes the receivers'
	// memory to begin. A receiver's VA replaces it.
	BaseVA uint64 `json:"baseVa,omitempty" names:"-" format:"uint64" doc:"Virtual address at which the source takes the receivers' memory to begin; a receiver's va replaces it."`
	// EvictAfter removes a receiver that has stalled the group for so long.
	// Default: never.
	EvictAfter Duration `json:"evictAfter,omitzero" names:"-" pattern:"^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$" patternDescription:"a duration such as 50us or 1.5ms" example:"5s" doc:"Removes a receiver that has stalled the group for so long. Default: never."`
}

// GroupSource is the sending queue pair.
type GroupSource struct {
	Address netip.Addr `json:"address,omitzero" names:"host" format:"ip" doc:"Address of a host of the inventory."`
	QPN     uint32     `json:"qpn,omitempty" names:"queuePair" minimum:"2" maximum:"16777215" doc:"The sending queue pair. Without one with spec.connect alone."`
}

// GroupReceiver is a receiving queue pair.
type GroupReceiver struct {
	Address netip.Addr `json:"address" names:"host" format:"ip" doc:"Address of a host of the inventory."`
	QPN     uint32     `json:"qpn,omitempty" names:"queuePair" minimum:"2" maximum:"16777215" doc:"The receiving queue pair. Without one with spec.connect alone."`
	// StartPSN is the first PSN for a receiver that joins a sending group: the first PSN of a message
	// not sent yet. Default: the group's initial PSN.
	StartPSN *uint32 `json:"startPsn,omitempty" names:"-" maximum:"16777215" doc:"For a receiver that joins a group which is sending: first PSN of a message not yet sent. The source sends nothing from there on before the receiver is Programmed. Default: initialPsn."`
	// StartMSN is the group's MSN at StartPSN.
	StartMSN uint32 `json:"startMsn,omitempty" names:"-" maximum:"16777215" doc:"The group's MSN at startPsn."`
	// PSN is the first PSN expected by the queue pair, if different from the group's.
	PSN *uint32 `json:"psn,omitempty" names:"-" maximum:"16777215" doc:"First PSN that the queue pair expects, where that is another than startPsn: the edge counts the difference to the PSN of each packet, and from that of each response. In provisioned mode only."`
	// VA and RKey replace those of the source where receivers registered their
	// memory differently; both or neither.
	VA   *uint64 `json:"va,omitempty" names:"-" format:"uint64" doc:"Virtual address of the receiver's memory, where it differs from the source's idea of it; with rkey."`
	RKey *uint32 `json:"rkey,omitempty" names:"-" format:"uint32" maximum:"4294967295" doc:"R_Key of the receiver's memory; with va."`
}

// GroupConnect is how source and receivers of a group connect by RDMA CM (docs/multicast.md,
// Connections).
type GroupConnect struct {
	// Port is the one that the source connects to at the proxy address, and that receivers listen
	// on; a receiver may connect to Port + 1 in the place of listening.
	Port uint16 `json:"port" names:"-" minimum:"1" maximum:"65534" doc:"The source connects to it at the proxy address. Receivers listen on it at their addresses, or connect to the port after it at the proxy address."`
	// Source is SourceSpec, the default, or SourceAny.
	Source ConnectSource `json:"source,omitempty" names:"-" enum:"spec,any" doc:"Who may be the source: spec, the default, the address of spec.source; any, the host that connects first, until it leaves."`
	// Receivers are prefixes whose hosts may join, beside the receivers of the spec.
	Receivers []netip.Prefix `json:"receivers,omitempty" names:"-" doc:"Prefixes whose hosts may join beside spec.receivers: they connect by themselves."`
	// AtLeast is how many receivers a source waits for. Default 1.
	AtLeast uint16 `json:"atLeast,omitempty" names:"-" minimum:"1" doc:"How many receivers the source waits for, beside all of spec.receivers. Default 1."`
	// MTU is the path MTU, in octets of payload. Default 4096.
	MTU uint16 `json:"mtu,omitempty" names:"-" enum:"256,512,1024,2048,4096" doc:"Largest path MTU, in octets of payload. A queue pair with a larger one, or than the ports of the tree carry, is refused. Default 4096."`
	// Token is the secret in the private data of applications; "" for none. The controller keeps it
	// apart from the spec.
	Token string `json:"token,omitempty" names:"-" writeOnly:"true" maxLength:"32" doc:"What applications need in their private data, 1 to 32 octets. It is never read back: a write without one keeps the one that there is."`
}

// ConnectSource names the hosts that may be the source of a group with connect.
type ConnectSource string

// The sources.
const (
	// SourceSpec: the host of spec.source.
	SourceSpec ConnectSource = "spec"
	// SourceAny: the host that connects first.
	SourceAny ConnectSource = "any"
)

// Equal compares all but the tokens.
func (c *GroupConnect) Equal(o *GroupConnect) bool {
	if c == nil || o == nil {
		return c == o
	}
	return c.Port == o.Port && c.MTU == o.MTU && c.Source == o.Source && c.AtLeast == o.AtLeast &&
		slices.Equal(c.Receivers, o.Receivers)
}

// HasReceiver reports whether the spec names an address as a receiver's.
func (s *MulticastGroupSpec) HasReceiver(a netip.Addr) bool {
	return slices.ContainsFunc(s.Receivers, func(r GroupReceiver) bool { return r.Address == a })
}

// Admits reports whether a host may join as a receiver that the spec does not name.
func (c *GroupConnect) Admits(a netip.Addr) bool {
	return slices.ContainsFunc(c.Receivers, func(p netip.Prefix) bool { return p.Contains(a) })
}

// GroupMode defines who encapsulates and who lists the receivers.
type GroupMode string

// The modes (docs/multicast.md, Two ways in).
const (
	// ModeProvisioned: hosts send plain RoCEv2; switches hold the receivers.
	ModeProvisioned GroupMode = "provisioned"
	// ModeInband: the source encapsulates, and lists the receivers in End.MT TLVs.
	ModeInband GroupMode = "inband"
)

// TreeObjective defines what the tree minimizes.
type TreeObjective string

// The objectives.
const (
	// ObjectiveDelay gives every receiver a shortest path.
	ObjectiveDelay TreeObjective = "delay"
	// ObjectiveCost uses few links; it is never dearer than the tree of shortest paths.
	ObjectiveCost TreeObjective = "cost"
)

// RewritesSource returns RewriteSource or its default.
func (s *MulticastGroupSpec) RewritesSource() bool {
	return s.RewriteSource == nil || *s.RewriteSource
}

// Start returns the first PSN of a receiver of a group with an initial PSN.
func (r *GroupReceiver) Start(initial uint32) uint32 {
	if r.StartPSN != nil {
		return *r.StartPSN
	}
	return initial
}

// PSNOffset returns what is added to the PSN of a packet to the receiver, modulo 2^24, in a group
// with an initial PSN.
func (r *GroupReceiver) PSNOffset(initial uint32) uint32 {
	if r.PSN == nil {
		return 0
	}
	return (*r.PSN - r.Start(initial)) & maxPSN
}

// Equal compares two receivers.
func (r *GroupReceiver) Equal(o *GroupReceiver) bool {
	return r.Address == o.Address && r.QPN == o.QPN && r.StartMSN == o.StartMSN &&
		same(r.StartPSN, o.StartPSN) && same(r.PSN, o.PSN) && same(r.VA, o.VA) && same(r.RKey, o.RKey)
}

func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// Equal compares two specs; the order of receivers counts.
func (s *MulticastGroupSpec) Equal(o *MulticastGroupSpec) bool {
	a, b := *s, *o
	equal := slices.EqualFunc(a.Receivers, b.Receivers,
		func(x, y GroupReceiver) bool { return x.Equal(&y) }) &&
		same(a.RewriteSource, b.RewriteSource) && a.Connect.Equal(b.Connect)
	a.Receivers, b.Receivers, a.RewriteSource, b.RewriteSource = nil, nil, nil, nil
	return equal && a.equalScalars(&b)
}

func (s *MulticastGroupSpec) equalScalars(o *MulticastGroupSpec) bool {
	return s.ProxyAddress == o.ProxyAddress && s.DesignatedQPN == o.DesignatedQPN &&
		s.Source == o.Source &&
		s.InitialPSN == o.InitialPSN && s.CNPWindow == o.CNPWindow && s.CNPLimit == o.CNPLimit &&
		s.NackHoldoff == o.NackHoldoff && s.Mode == o.Mode && s.Objective == o.Objective &&
		s.BaseVA == o.BaseVA && s.EvictAfter == o.EvictAfter
}

// Clone returns a copy that shares nothing with s.
func (s *MulticastGroupSpec) Clone() MulticastGroupSpec {
	c := *s
	c.RewriteSource, c.Connect = clone(s.RewriteSource), clone(s.Connect)
	if c.Connect != nil {
		c.Connect.Receivers = slices.Clone(c.Connect.Receivers)
	}
	c.Receivers = slices.Clone(s.Receivers)
	for i := range c.Receivers {
		r := &c.Receivers[i]
		r.StartPSN, r.PSN, r.VA, r.RKey = clone(r.StartPSN), clone(r.PSN), clone(r.VA), clone(r.RKey)
	}
	return c
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// GroupDefaults are what a spec that leaves fields out means.
type GroupDefaults struct {
	CNPWindow   Duration `yaml:"cnpWindow" json:"cnpWindow" doc:"window in which congestion notifications are merged"`
	CNPLimit    uint32   `yaml:"cnpLimit" json:"cnpLimit" doc:"CNPs of a branch in a window; more are dropped"`
	NackHoldoff Duration `yaml:"nackHoldoff" json:"nackHoldoff" doc:"time before the same NAK is repeated upstream, where the delays of the tree's links are unknown"`
}

// StandardGroupDefaults returns the defaults of the defaults.
func StandardGroupDefaults() GroupDefaults {
	return GroupDefaults{CNPWindow: Duration(time.Millisecond), CNPLimit: 256,
		NackHoldoff: Duration(time.Millisecond)}
}

// Complete returns the spec with defaults filled in; NackHoldoff stays zero,
// because its default depends on the tree. Receivers keep their order.
func (d GroupDefaults) Complete(s MulticastGroupSpec) MulticastGroupSpec {
	s = s.Clone()
	if s.CNPWindow == 0 {
		s.CNPWindow = d.CNPWindow
	}
	if s.CNPLimit == 0 {
		s.CNPLimit = d.CNPLimit
	}
	if s.Mode == "" {
		s.Mode = ModeProvisioned
	}
	if s.Objective == "" {
		s.Objective = ObjectiveDelay
	}
	if s.Connect != nil {
		s.Connect.MTU = cmp.Or(s.Connect.MTU, 4096)
		s.Connect.Source = cmp.Or(s.Connect.Source, SourceSpec)
		s.Connect.AtLeast = cmp.Or(s.Connect.AtLeast, 1)
	}
	if s.RewriteSource == nil {
		yes := true
		s.RewriteSource = &yes
	}
	return s
}

// PlannedTree is the tree of a group.
type PlannedTree struct {
	Name    string    `json:"name"`
	Version uint64    `json:"version" doc:"Version of the spec that the tree is for."`
	Index   uint16    `json:"index" doc:"Number of the group on every switch."`
	Epoch   uint32    `json:"epoch"`
	Tree    GroupTree `json:"tree" doc:"As planned."`
}
