package leases

import (
	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
)

// Kind is the kind of path leases. The record of a lease keeps paths and end beside the spec.
var Kind = kind.Hiding(kind.New[api.PathLeaseSpec, api.PathLease](kind.About{
	Names: kind.Names{One: "lease", Noun: "lease"}, Prefix: "leases/", Creates: true,
	Heading: kind.HeadingJobs, Reads: access.TenantRead, Writes: access.TenantWrite,
	Refusals: []int{503},
	Example:  map[string]any{"heartbeat": "30s"},
	Created: "Refused when there are no such paths with room: the refusal has the link that is " +
		"full, and when it is free. status.paths has what packets carry.",
	Deleted: "The paths of the lease are free at once: this is how a client completes a lease.",
	Help:    "leases of paths of the MRC fabric, with what packets on them carry",
	Events:  []string{"lease"},
}), hide)

// hide takes out of a lease what members of projects may not know: switches and links of the
// network by their names.
func hide(r *api.PathLease) {
	s := &r.Status
	s.TookFrom, s.Reason = nil, ""
	if s.Phase == api.LeaseMoving || s.Phase == api.LeaseBroken {
		s.Reason = "part of the network was lost: the administrators see which"
		if c := s.Conditions.Find(api.Ready); c != nil && c.Reason == api.ReasonPreempted {
			s.Reason = c.Message + ": the administrators see which"
		}
	}
	for _, paths := range []*[]api.LeasedPath{&s.Paths, &s.Former} {
		hidden := make([]api.LeasedPath, 0, len(*paths))
		for _, p := range *paths {
			p.Nodes, p.Links = nil, nil
			hidden = append(hidden, p)
		}
		if len(hidden) > 0 {
			*paths = hidden
		}
	}
}
