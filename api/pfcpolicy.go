package api

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// PFCPolicy is the resource by which an SRv6 policy becomes lossless for a
// tenant (draft srv6-pfc-sid, section 3).
type PFCPolicy struct {
	Name    string          `json:"name" doc:"Name of the PFC policy."`
	Version uint64          `json:"version" doc:"Changes with every change of the spec; also the ETag."`
	Created time.Time       `json:"created,omitzero" doc:"When it was created."`
	Spec    PFCPolicySpec   `json:"spec" doc:"Spec of the client, with defaults filled in."`
	Status  PFCPolicyStatus `json:"status" doc:"Status, which the controller writes."`
	// Changes are the changes of a dry run; nil otherwise.
	Changes []SwitchChange `json:"changes,omitempty" doc:"In the answer to a dry run: the updates of switches."`
	Takes   []Taken        `json:"takes,omitempty" doc:"In the answer to a dry run: what other resources would lose, at most 100."`
}

// Intent implements [Intended].
func (r PFCPolicy) Intent() (version uint64, spec any) { return r.Version, r.Spec }

// PFCPolicySpec is what a client wants of a PFC policy. Sizes are in octets.
type PFCPolicySpec struct {
	// SRv6Policy carries the tenant's traffic, Tenant is whose priority is paused.
	SRv6Policy string `json:"srv6Policy" names:"srv6Policy" doc:"The SRv6 policy that carries the tenant."`
	Tenant     string `json:"tenant" names:"tenant" doc:"The tenant whose priority is paused."`
	// Scenario is 1, the default: tunnels are there before the first packet; or 2:
	// a switch reports the first packet of the policy, and they are made then.
	Scenario int `json:"scenario,omitempty" names:"-" doc:"1, the default: tunnels are there before the first packet. 2: they are made when a switch reports it."`
	// Tunnel defines how reverse tunnels are encapsulated. Default policy.
	Tunnel PolicyMode `json:"tunnel,omitempty" names:"-" doc:"How reverse tunnels are encapsulated: policy, the default, or best-effort."`
	// Buffer is what the tenant's queue may hold at each node. Default: the
	// controller's.
	Buffer uint64 `json:"buffer,omitempty" names:"-" doc:"Octets that the tenant's queue may hold at each node. Default: the configuration's."`
	// XOFF and XON are the octets in a queue at which the queue stops its upstream, and at which the
	// upstream continues. Default: computed from the measured round trip.
	XOFF uint64 `json:"xoff,omitempty" names:"-" doc:"Octets in a queue above which it stops its upstream, at most buffer. Default: computed from the measured round trip."`
	XON  uint64 `json:"xon,omitempty" names:"-" doc:"Octets at which it lets it go on, fewer than xoff. Default: three quarters of it."`
	// AllowCycle accepts a policy that closes a cycle of queues waiting for each other. The policy is
	// then Degraded.
	AllowCycle bool `json:"allowCycle,omitempty" names:"-" doc:"Accepts a policy that closes a circle of queues which wait for each other; it is then Degraded."`
	// MaxPause is how long a queue may be paused without sending anything before
	// it is taken for a storm. Default: the controller's.
	MaxPause Duration `json:"maxPause,omitzero" names:"-" doc:"How long a queue may be paused without sending before it is taken for a storm, 1ms to 1h; those upstream may longer. Default: the configuration's."`
}

// PFCPolicyStatus is what the controller reports about a PFC policy.
type PFCPolicyStatus struct {
	Conditions      Conditions `json:"conditions,omitempty" doc:"Accepted, Programmed and Degraded."`
	ObservedVersion uint64     `json:"observedVersion" doc:"Version of the spec that the conditions are about."`
	// Nodes are the PFC-capable ones of the path, upstream first.
	Nodes []PFCNode `json:"nodes,omitempty" doc:"Queues by which the tenant leaves the PFC-capable nodes of the path, upstream first."`
	// Tunnels carry PFC frames; each pair of neighbors among Nodes has two.
	Tunnels []PFCTunnel `json:"tunnels,omitempty" doc:"Carry PFC frames: two for each pair of neighbors among the nodes."`
	// Cycle lists the queues in a circle of waiting queues through this policy, as
	// "switch/port/priority"; empty: no cycle.
	Cycle []string `json:"cycle,omitempty" doc:"Queues that wait for each other in a circle through this policy, as switch/port/priority."`
}

// PFCNode is a queue of a PFC policy: the tenant's queue at the port through which the tenant's
// packets leave a node.
type PFCNode struct {
	Switch   string `json:"switch"`
	Port     uint32 `json:"port" doc:"Port by which packets leave."`
	Priority uint8  `json:"priority"`
	// SID is the SID by which PFC frames reach this port; invalid where nobody downstream does.
	SID netip.Addr `json:"sid,omitzero" format:"ipv6" doc:"SID by which nodes downstream pause this port; absent where none does."`
	// Upstream is the node that this queue pauses. The first queue has no upstream node and pauses the
	// ports of the tenant's hosts.
	Upstream   string     `json:"upstream,omitempty" doc:"The node that this queue stops; absent at the first, which stops the tenant's hosts."`
	Watermarks Watermarks `json:"watermarks"`
	// Queue is the last report of the switch, nil before the first report.
	Queue *PFCQueue `json:"queue,omitempty" doc:"What the switch said last; absent before it did."`
}

// Watermarks of a queue, in octets.
type Watermarks struct {
	Buffer uint64 `json:"buffer" doc:"Octets that may wait."`
	// Headroom is the most that can arrive after XOFF was sent.
	Headroom uint64 `json:"headroom" doc:"Octets that arrive at worst after XOFF was sent."`
	XOFF     uint64 `json:"xoff" doc:"Octets above which the upstream is stopped."`
	XON      uint64 `json:"xon" doc:"Octets at which it may go on."`
	// RTT and Rate (bit/s) are what headroom was computed from; Measured is
	// false while RTT is an assumption.
	RTT      Duration `json:"rtt" doc:"Round trip that headroom is computed from."`
	Rate     uint64   `json:"rate" doc:"Bit/s that headroom is computed from."`
	Measured bool     `json:"measured" doc:"False while rtt is an assumption."`
}

// PFCQueue is the state of a queue as its switch reported it.
type PFCQueue struct {
	// Paused: a pause is in force; PausedFor says for how long.
	Paused    bool     `json:"paused" doc:"A pause is in force."`
	PausedFor Duration `json:"pausedFor,omitzero" doc:"For how long it is."`
	// Held octets, and the most there have been.
	Held    uint64 `json:"held" doc:"Octets that wait."`
	MaxHeld uint64 `json:"maxHeld" doc:"The most there have been."`
	// PausesReceived, and the XOFF and XON sent upstream.
	PausesReceived uint64 `json:"pausesReceived" doc:"Commands to pause."`
	XOFFSent       uint64 `json:"xoffSent" doc:"XOFFs sent upstream."`
	XONSent        uint64 `json:"xonSent" doc:"XONs sent upstream."`
	// Dropped packets that found the queue full.
	Dropped uint64 `json:"dropped" doc:"Packets that found the queue full."`
	// Storms are pauses that the watchdog has ended.
	Storms uint64 `json:"storms" doc:"Pauses that the watchdog took for a storm."`
	// LastXOFF and LastXON are when the upstream was told last.
	LastXOFF time.Time `json:"lastXoff,omitzero" doc:"When the upstream was stopped last."`
	LastXON  time.Time `json:"lastXon,omitzero" doc:"When it was let go on last."`
	At       time.Time `json:"at" doc:"When the switch said so."`
}

// PFCTunnel is a tunnel for PFC frames.
type PFCTunnel struct {
	// ID is its number on the switch it starts from.
	ID   uint16 `json:"id" doc:"Number of its segment list at the switch it starts from."`
	From string `json:"from" doc:"The switch it starts from."`
	To   string `json:"to" doc:"The switch whose port PFC frames in it pause."`
	// Segments lists the planned segments. The first segment is the start node and does not appear on
	// the wire.
	Segments []SegmentStatus `json:"segments" doc:"The first is where it starts, and is not on the wire."`
	Slice    uint32          `json:"slice" doc:"Slice id that it carries."`
	Mode     PolicyMode      `json:"mode" doc:"policy or best-effort."`
	State    TunnelState     `json:"state" enum:"unknown,up,down" doc:"What probes say: unknown before the first."`
	// RTT is the last measured, 0 for none; MinRTT and MaxRTT are of the recent
	// past.
	RTT    Duration `json:"rtt,omitzero" doc:"The last measured."`
	MinRTT Duration `json:"minRtt,omitzero" doc:"The least of the recent past."`
	MaxRTT Duration `json:"maxRtt,omitzero" doc:"The longest of the recent past."`
	Sent   uint64   `json:"sent" doc:"Probes."` // probes
	Lost   uint64   `json:"lost" doc:"Probes without an answer."`
}

// TunnelState is the result of the probes of a tunnel.
type TunnelState string

// The states.
const (
	TunnelUnknown TunnelState = "unknown" // not probed yet
	TunnelUp      TunnelState = "up"
	TunnelDown    TunnelState = "down"
)

// Reasons for conditions of PFC policies, in addition to the reasons of groups.
const (
	// Degraded: in a cycle of queues that wait for each other
	ReasonDeadlock   = "DeadlockRisk"
	ReasonTunnelDown = "TunnelDown" // Degraded: probes of a tunnel are lost
	// Degraded: what arrives after XOFF does not fit the buffer
	ReasonHeadroom       = "InsufficientHeadroom"
	ReasonPFCStorm       = "PFCStorm"       // Degraded: the watchdog ended a pause
	ReasonAwaitingPacket = "AwaitingPacket" // not Programmed: scenario 2, and no packet yet
)

// PFCDefaults are what a PFC policy that leaves fields out means.
type PFCDefaults struct {
	Buffer   uint64   `yaml:"buffer" json:"buffer" doc:"buffer of a queue in octets, where the PFC policy has none"`
	MaxPause Duration `yaml:"maxPause" json:"maxPause" doc:"longest pause without a departure before it counts as a storm"`
}

// StandardPFCDefaults returns the defaults of the defaults.
func StandardPFCDefaults() PFCDefaults {
	return PFCDefaults{Buffer: 16 << 20, MaxPause: Duration(500 * time.Millisecond)}
}

// Complete returns the spec with its defaults.
func (d PFCDefaults) Complete(s PFCPolicySpec) PFCPolicySpec {
	if s.Scenario == 0 {
		s.Scenario = 1
	}
	if s.Tunnel == "" {
		s.Tunnel = PolicyModeSegments
	}
	if s.Buffer == 0 {
		s.Buffer = d.Buffer
	}
	if s.MaxPause == 0 {
		s.MaxPause = d.MaxPause
	}
	return s
}

// Bounds of the buffer of a PFC policy: what a packet of RDMA carries at most (IBTA volume 1,
// 9.7.1), and 16 GiB.
const (
	MinPFCBuffer = 4096
	MaxPFCBuffer = 1 << 34
)

// Validate returns all faults of a completed spec, or nil. The planner checks everything that
// depends on the path (PFC-capable nodes, cycles).
func (s *PFCPolicySpec) Validate(env PFCEnv) error {
	v := pfcValidator{env: env}
	policy, ok := env.SRv6Policy(s.SRv6Policy)
	if !ok {
		v.bad("spec.srv6Policy", strconv.Quote(s.SRv6Policy), "the name of an SRv6 policy")
	}
	switch tenant, found := env.Tenant(s.Tenant); {
	case !found:
		v.bad("spec.tenant", strconv.Quote(s.Tenant), "the name of a tenant")
	case ok && !tenant.carriedBy(s.SRv6Policy):
		v.bad("spec.tenant", strconv.Quote(s.Tenant),
			fmt.Sprintf("a tenant that SRv6 policy %s (%s to %s) carries", s.SRv6Policy, policy.Headend,
				policy.Endpoint))
	case found && tenant.Priority == MaxPriority:
		v.bad("spec.tenant", strconv.Quote(s.Tenant),
			fmt.Sprintf("a tenant of another priority than %d, which the PFC frames in tunnels have: "+
				"nobody may pause it", MaxPriority))
	default:
		if other, taken := env.OtherPFC(s.SRv6Policy, s.Tenant); taken {
			v.conflict("spec.tenant", strconv.Quote(s.Tenant),
				"a tenant without a PFC policy on this SRv6 policy; it has "+cmp.Or(other, "another"))
		}
	}
	if s.Scenario != 1 && s.Scenario != 2 {
		v.bad("spec.scenario", strconv.Itoa(s.Scenario),
			"1 (tunnels made in advance) or 2 (made on the first packet)")
	}
	v.mode("spec.tunnel", s.Tunnel)
	if s.Buffer < MinPFCBuffer {
		v.bad("spec.buffer", strconv.FormatUint(s.Buffer, 10),
			fmt.Sprintf("at least %d octets, which a packet of RDMA carries", MinPFCBuffer))
	}
	if s.Buffer > MaxPFCBuffer {
		v.over("spec.buffer", strconv.FormatUint(s.Buffer, 10),
			fmt.Sprintf("at most %d octets", MaxPFCBuffer), MaxPFCBuffer)
	}
	if s.XOFF > s.Buffer {
		v.over("spec.xoff", strconv.FormatUint(s.XOFF, 10), fmt.Sprintf("at most the buffer of %d octets",
			s.Buffer), int(s.Buffer))
	}
	switch {
	case s.XON > s.Buffer:
		v.over("spec.xon", strconv.FormatUint(s.XON, 10), fmt.Sprintf("at most the buffer of %d octets",
			s.Buffer), int(s.Buffer))
	case s.XOFF != 0 && s.XON >= s.XOFF:
		v.bad("spec.xon", strconv.FormatUint(s.XON, 10), fmt.Sprintf("less than xoff, %d octets", s.XOFF))
	}
	if d := s.MaxPause.D(); d < time.Millisecond || d > maxHold {
		v.bad("spec.maxPause", s.MaxPause.String(), fmt.Sprintf("a duration from %v to %v",
			time.Millisecond, maxHold))
	}
	return Refuse(v.found)
}

func (s *TenantSpec) carriedBy(policy string) bool {
	return slices.Contains(s.Policies, policy)
}
