package api

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// SRv6Policy is the resource of an SRv6 policy (RFC 9256): a way from a headend
// to an endpoint that tenants and PFC policies refer to.
type SRv6Policy struct {
	Name    string           `json:"name" doc:"Name of the SRv6 policy."`
	Version uint64           `json:"version" doc:"Changes with every change of the spec; also the ETag."`
	Created time.Time        `json:"created,omitzero" doc:"When it was created."`
	Spec    SRv6PolicySpec   `json:"spec" doc:"Spec of the client, with defaults filled in."`
	Status  SRv6PolicyStatus `json:"status" doc:"Status, which the controller writes."`
	// Changes are the changes of a dry run; nil otherwise.
	Changes []SwitchChange `json:"changes,omitempty" doc:"In the answer to a dry run: the updates of switches."`
	Takes   []Taken        `json:"takes,omitempty" doc:"In the answer to a dry run: what other resources would lose, at most 100."`
}

// Intent implements [Intended].
func (r SRv6Policy) Intent() (version uint64, spec any) { return r.Version, r.Spec }

// SRv6PolicySpec is what a client wants of an SRv6 policy.
type SRv6PolicySpec struct {
	// Headend and Endpoint are names of switches.
	Headend  string `json:"headend" doc:"Name of the switch that packets enter the policy at."`
	Endpoint string `json:"endpoint" doc:"Name of the switch that it leads to."`
	// Segments lead from the headend to the endpoint; both may be left out of them. Packets take the
	// shortest path between two segments. Default: computed.
	Segments []PolicySegment `json:"segments,omitempty" doc:"The way, at most 16; both ends may be left out, and what lies between two is crossed by the shortest path. Default: computed."`
	// Metric is the metric that a computed path minimizes. Default igp.
	Metric PathMetric `json:"metric,omitempty" doc:"What a computed way is the shortest by: igp, the default, or delay."`
	// Mode defines what is on the wire. Default policy.
	Mode PolicyMode `json:"mode,omitempty" doc:"policy, the default: an SRH with the whole segment list. best-effort: the last SID as destination, and no SRH."`
}

// PolicySegment is a node by the name of its switch, or a SID.
type PolicySegment struct {
	Node string     `json:"node,omitempty" doc:"Name of a switch; or sid."`
	SID  netip.Addr `json:"sid,omitzero" format:"ipv6" doc:"A SID of a node, or of a link, over which the way then leads. End.X.PFC SID to take where a link has several."`
}

func (s PolicySegment) String() string {
	if s.Node != "" {
		return s.Node
	}
	return s.SID.String()
}

// PathMetric is a metric of paths.
type PathMetric string

// The metrics.
const (
	MetricIGP   PathMetric = "igp"
	MetricDelay PathMetric = "delay"
)

// PolicyMode defines how an SRv6 policy, or a reverse tunnel, is encapsulated.
type PolicyMode string

// The modes.
const (
	// PolicyModeSegments: an SRH with the whole segment list.
	PolicyModeSegments PolicyMode = "policy"
	// PolicyModeBestEffort: the last SID as destination address, and no SRH.
	PolicyModeBestEffort PolicyMode = "best-effort"
)

// SRv6PolicyStatus is what the controller reports about an SRv6 policy.
type SRv6PolicyStatus struct {
	Conditions      Conditions `json:"conditions,omitempty" doc:"Accepted, Programmed and Degraded."`
	ObservedVersion uint64     `json:"observedVersion" doc:"Version of the spec that the conditions are about."`
	// SegmentList is the list in force, the headend's first.
	SegmentList []SegmentStatus `json:"segmentList,omitempty" doc:"The list in force, the headend's own SID first where it has one."`
	// Path are the switches it crosses, headend and endpoint included.
	Path []string `json:"path,omitempty" doc:"Switches that it crosses, both ends included."`
	// PFCNodes are the nodes of the path that handle PFC.
	PFCNodes []string `json:"pfcNodes,omitempty" doc:"Those of the path that handle PFC."`
	// UsedBy are the tenants and PFC policies that refer to it, as "tenants/t".
	UsedBy []string `json:"usedBy,omitempty" doc:"Tenants and PFC policies that refer to it: tenants/ or pfc-policies/ and the name."`
}

// SegmentStatus is a segment of a list in force.
type SegmentStatus struct {
	Node     string     `json:"node" doc:"Name of the switch."`
	SID      netip.Addr `json:"sid" format:"ipv6"`
	Behavior string     `json:"behavior" doc:"SRv6 endpoint behavior, with flavors."`
}

// Complete returns the spec with its defaults.
func (s SRv6PolicySpec) Complete() SRv6PolicySpec {
	s.Segments = slices.Clone(s.Segments)
	if s.Metric == "" {
		s.Metric = MetricIGP
	}
	if s.Mode == "" {
		s.Mode = PolicyModeSegments
	}
	return s
}

// Equal compares two specs.
func (s *SRv6PolicySpec) Equal(o *SRv6PolicySpec) bool {
	return s.Headend == o.Headend && s.Endpoint == o.Endpoint && s.Metric == o.Metric &&
		s.Mode == o.Mode && slices.Equal(s.Segments, o.Segments)
}

// maxSegments bounds a list: more than any headend writes.
const maxSegments = 16

// Validate returns everything that is wrong with a completed spec, or nil.
func (s *SRv6PolicySpec) Validate(env PFCEnv) error {
	v := pfcValidator{env: env}
	v.managed("spec.headend", s.Headend)
	v.managed("spec.endpoint", s.Endpoint)
	if s.Headend != "" && s.Headend == s.Endpoint {
		v.bad("spec.endpoint", strconv.Quote(s.Endpoint), "another switch than the headend")
	}
	if len(s.Segments) > maxSegments {
		v.over("spec.segments", fmt.Sprintf("%d segments", len(s.Segments)),
			fmt.Sprintf("at most %d segments", maxSegments), maxSegments)
	}
	for i, g := range s.Segments {
		at := fmt.Sprintf("spec.segments[%d]", i)
		switch {
		case (g.Node == "") == !g.SID.IsValid():
			v.bad(at, strconv.Quote(g.String()), "a node or a SID, and not both")
		case g.Node != "":
			v.known(at+".node", g.Node)
		default:
			v.sid(at+".sid", g.SID)
		}
	}
	if s.Metric != MetricIGP && s.Metric != MetricDelay {
		v.bad("spec.metric", strconv.Quote(string(s.Metric)), `"igp" or "delay"`)
	}
	v.mode("spec.mode", s.Mode)
	return Refuse(v.found)
}
