package api

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/weft-sdn/weft/topology"
)

// Bounds of leases.
const (
	// MaxLeases bounds the leases of a controller, including ended leases that the controller keeps.
	MaxLeases = 4096
	// MaxLeasePairs bounds the pairs of endpoints of a lease, MaxLeasePaths the paths of each.
	MaxLeasePairs = 256
	MaxLeasePaths = 16
	// DefaultLeaseDuration is the longest lease duration for a project without a setting.
	DefaultLeaseDuration = 24 * time.Hour
	// MaxLeaseBandwidth bounds the bandwidth of a path, in bit/s.
	MaxLeaseBandwidth = 1 << 50
)

// PathLease is the resource of paths in an MRC fabric held for a client: the lease holds a
// bandwidth of each link, or each link alone.
type PathLease struct {
	Name    string          `json:"name" doc:"Name of the lease."`
	Version uint64          `json:"version" doc:"Changes with every change of the spec; also the ETag."`
	Created time.Time       `json:"created,omitzero" doc:"When it was created."`
	Spec    PathLeaseSpec   `json:"spec" doc:"Which paths are wanted, and for how long."`
	Status  PathLeaseStatus `json:"status" doc:"The paths that it has."`
	Takes   []Taken         `json:"takes,omitempty" doc:"In the answer to a dry run: what other resources would lose, at most 100."`
}

// Intent implements [Intended].
func (r PathLease) Intent() (version uint64, spec any) { return r.Version, r.Spec }

// Alone returns the links that a lease has for itself, each once: the links of its present and
// former paths while an exclusive lease holds paths, and none otherwise.
func (r *PathLease) Alone() (links []Part) {
	if r.Spec.Sharing != LeaseExclusive ||
		r.Status.Phase != LeaseActive && r.Status.Phase != LeaseMoving {
		return nil
	}
	seen := make(map[topology.LinkID]bool)
	for _, p := range slices.Concat(r.Status.Paths, r.Status.Former) {
		for _, id := range p.Links {
			if !seen[id] {
				seen[id] = true
				links = append(links, Part{Kind: PartLink, Name: string(id)})
			}
		}
	}
	return links
}

// PathLeaseSpec defines the wanted paths and the duration of the lease. A lease keeps its granted
// paths when the spec changes: fields other than job, duration and heartbeat keep their values from
// the grant.
type PathLeaseSpec struct {
	Pairs        []LeasePair       `json:"pairs" minItems:"1" maxItems:"256" doc:"Between which NICs paths are wanted, in one direction each."`
	Paths        int               `json:"paths,omitempty" minimum:"0" maximum:"16" names:"-" doc:"Paths of each pair. Default 1."`
	Disjointness LeaseDisjointness `json:"disjointness,omitempty" enum:"none,link,node,plane" names:"-" doc:"What the paths of one pair must not have in common: none (they are other paths), link, node (between the first and last leaf, or a link), or plane. Default none."`
	Sharing      LeaseSharing      `json:"sharing,omitempty" enum:"shared,exclusive" names:"-" doc:"exclusive: no other lease has any of its links. Default shared."`
	Bandwidth    uint64            `json:"bandwidth,omitempty" names:"-" doc:"Bit/s of each path, which are reserved on each of its links. Default 0: none."`
	Priority     int               `json:"priority,omitempty" minimum:"0" maximum:"1000" names:"-" doc:"Where there is no room, it takes links from leases of lower priorities. A project has at most the one that is assigned to it (leasePriority). Default 0."`
	Duration     Duration          `json:"duration,omitempty" names:"-" doc:"It ends so long after it was granted, or this was changed. Default: of a project, the longest that it may have (quotas.leaseDuration); else when a client deletes it."`
	Heartbeat    Duration          `json:"heartbeat,omitempty" names:"-" doc:"It ends when no client has renewed it for so long. Default: it need not be renewed."`
	Job          string            `json:"job,omitempty" maxLength:"63" names:"-" doc:"Job of the lease: the lease does not block this job."`
}

// LeasePair is two NICs, of which the first sends to the second.
type LeasePair struct {
	From string `json:"from" minLength:"1" maxLength:"253" names:"host" doc:"Name of the NIC that sends, a host of the inventory."`
	To   string `json:"to" minLength:"1" maxLength:"253" names:"host" doc:"Name of the NIC that receives."`
}

// LeaseDisjointness names the objects that paths of one pair must not share.
type LeaseDisjointness string

// The kinds of disjointness.
const (
	DisjointNone  LeaseDisjointness = "none"
	DisjointLink  LeaseDisjointness = "link"
	DisjointNode  LeaseDisjointness = "node"
	DisjointPlane LeaseDisjointness = "plane"
)

// LeaseSharing is whether others may have the links of a lease too.
type LeaseSharing string

// The kinds of sharing.
const (
	LeaseShared    LeaseSharing = "shared"
	LeaseExclusive LeaseSharing = "exclusive"
)

// LeasePhase is how a lease stands.
type LeasePhase string

// The phases.
const (
	LeaseActive LeasePhase = "Active" // its paths are held for it
	LeaseMoving LeasePhase = "Moving" // and so are those that it had before
	LeaseBroken LeasePhase = "Broken" // it holds nothing, and is tried again when the network changes
	LeaseEnded  LeasePhase = "Ended"  // it holds nothing any more
)

// PathLeaseStatus is the state of a lease as the controller reports it.
type PathLeaseStatus struct {
	Conditions Conditions   `json:"conditions,omitempty" doc:"Accepted, and Ready: it has its paths."`
	Phase      LeasePhase   `json:"phase,omitempty" enum:"Active,Moving,Broken,Ended" doc:"Phase of the lease."`
	Granted    time.Time    `json:"granted,omitzero" doc:"When it was granted."`
	Ends       time.Time    `json:"ends,omitzero" doc:"When it ends unless it is renewed before."`
	Reason     string       `json:"reason,omitempty" doc:"Why it moves, is broken, or has ended."`
	Took       int          `json:"took,omitempty" doc:"From how many leases of lower priorities it took links when it took some last; of a dry run, would take."`
	TookFrom   []string     `json:"tookFrom,omitempty" doc:"Names of these leases; absent for members of projects."`
	Paths      []LeasedPath `json:"paths,omitempty" doc:"The paths that are held for it, those of the first pair first."`
	Former     []LeasedPath `json:"former,omitempty" doc:"While it moves: the paths that it had and that still work. They are held until the client says that it has moved."`
}

// LeasedPath is a path that is held for a lease.
type LeasedPath struct {
	From  string            `json:"from" doc:"Name of the NIC that sends."`
	To    string            `json:"to" doc:"Name of the NIC that receives."`
	Plane int               `json:"plane,omitempty" doc:"Plane of its links; absent when it crosses none."`
	EV    LeaseEV           `json:"ev" doc:"Header fields of packets on the path."`
	Nodes []string          `json:"nodes,omitempty" doc:"Its switches between the first and the last leaf; absent for members of projects."`
	Links []topology.LinkID `json:"links,omitempty" doc:"Its links, all that packets of the EV may cross; absent for members of projects."`
}

// LeaseEV has the header fields of packets on a leased path.
type LeaseEV struct {
	Value  string   `json:"value" doc:"Value in hexadecimal and port, as in packets."`
	Port   uint8    `json:"port" doc:"Port of the NIC that packets leave by."`
	Packet EVPacket `json:"packet" doc:"The outer destination address and the SRH, or the UDP source port and the flow label."`
}

// Complete returns a spec with its defaults.
func (s PathLeaseSpec) Complete() PathLeaseSpec {
	if s.Paths == 0 {
		s.Paths = 1
	}
	if s.Disjointness == "" {
		s.Disjointness = DisjointNone
	}
	if s.Sharing == "" {
		s.Sharing = LeaseShared
	}
	return s
}

// Equal reports whether two specs say the same.
func (s *PathLeaseSpec) Equal(o *PathLeaseSpec) bool {
	return slices.Equal(s.Pairs, o.Pairs) && s.Paths == o.Paths && s.Disjointness == o.Disjointness &&
		s.Sharing == o.Sharing && s.Bandwidth == o.Bandwidth && s.Priority == o.Priority &&
		s.Duration == o.Duration && s.Heartbeat == o.Heartbeat && s.Job == o.Job
}

// Reserves returns the bit/s of all its paths.
func (s *PathLeaseSpec) Reserves() uint64 {
	return uint64(len(s.Pairs)*max(1, s.Paths)) * s.Bandwidth
}

// Fixed returns the fields that a lease granted by one spec must not change in another spec.
func (s *PathLeaseSpec) Fixed(o *PathLeaseSpec) []FieldError {
	var v validator
	fixed := func(same bool, field string, value any, was any) {
		if !same {
			v.found = append(v.found, FieldError{Field: "spec." + field, Code: CodeConflict,
				Value: fmt.Sprint(value), Want: fmt.Sprintf("%v, as it was granted: delete the lease, or "+
					"make another one", was)})
		}
	}
	fixed(slices.Equal(s.Pairs, o.Pairs), "pairs", fmt.Sprintf("%d pairs", len(o.Pairs)),
		fmt.Sprintf("the %d pairs", len(s.Pairs)))
	fixed(s.Paths == o.Paths, "paths", o.Paths, s.Paths)
	fixed(s.Disjointness == o.Disjointness, "disjointness", o.Disjointness, s.Disjointness)
	fixed(s.Sharing == o.Sharing, "sharing", o.Sharing, s.Sharing)
	fixed(s.Bandwidth == o.Bandwidth, "bandwidth", o.Bandwidth, s.Bandwidth)
	fixed(s.Priority == o.Priority, "priority", o.Priority, s.Priority)
	return v.found
}

// Validate returns everything that is wrong with a complete spec, or nil. hasNIC reports whether
// the inventory has a host of a name.
func (s *PathLeaseSpec) Validate(hasNIC func(name string) bool) error {
	var v validator
	v.count("spec.pairs", len(s.Pairs), 1, MaxLeasePairs, "number of pairs")
	for i, p := range s.Pairs {
		at := fmt.Sprintf("spec.pairs[%d].", i)
		for _, end := range [...]struct{ field, name string }{{"from", p.From}, {"to", p.To}} {
			if !hasNIC(end.name) {
				v.bad(at+end.field, strconv.Quote(end.name), "a NIC that the inventory has as a host")
			}
		}
		if p.From == p.To {
			v.bad(at+"to", strconv.Quote(p.To), "another NIC than that of from")
		}
		if slices.Contains(s.Pairs[:i], p) {
			v.bad(at+"to", strconv.Quote(p.To), "a pair that is not in the list before; paths is how "+
				"many paths a pair has")
		}
	}
	v.count("spec.paths", s.Paths, 1, MaxLeasePaths, "number of paths")
	if !slices.Contains([]LeaseDisjointness{DisjointNone, DisjointLink, DisjointNode, DisjointPlane},
		s.Disjointness) {
		v.bad("spec.disjointness", strconv.Quote(string(s.Disjointness)),
			`"none", "link", "node" or "plane"`)
	}
	if s.Sharing != LeaseShared && s.Sharing != LeaseExclusive {
		v.bad("spec.sharing", strconv.Quote(string(s.Sharing)), `"shared" or "exclusive"`)
	}
	if s.Bandwidth > MaxLeaseBandwidth {
		v.bad("spec.bandwidth", fmt.Sprint(s.Bandwidth),
			fmt.Sprintf("at most %d bit/s", uint64(MaxLeaseBandwidth)))
	}
	v.count("spec.priority", s.Priority, 0, MaxJobPriority, "priority")
	v.lasting("spec.duration", s.Duration)
	v.lasting("spec.heartbeat", s.Heartbeat)
	if s.Job != "" && ValidateName(s.Job) != nil {
		v.bad("spec.job", strconv.Quote(s.Job), "the name of a job")
	}
	return Refuse(v.found)
}

// lasting checks a duration that may be missing.
func (v *validator) lasting(field string, d Duration) {
	if d != 0 && (d.D() < time.Second || d.D() > maxLease) {
		v.bad(field, d.String(), fmt.Sprintf("a duration from %v to %v", time.Second, maxLease))
	}
}
