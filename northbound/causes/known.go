package causes

import (
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// Known holds the API's view of a network, or of the part visible to a principal. Lists may be
// empty. Nobody changes a Known.
type Known struct {
	Checks   []api.ReadinessCheck
	Switches []api.SwitchStatus
	Peers    []api.BGPPeer
	// Links holds the links that are not up, the drained links, and the links with denied EVs.
	Links    []api.Link
	Nodes    []api.Node
	Planes   []api.Plane
	Hosts    []api.Host
	Suspects []api.Suspect
	// Profiles holds the degraded EV profiles.
	Profiles     []api.EVProfile
	Groups       []api.MulticastGroup
	SRv6Policies []api.SRv6Policy
	Tenants      []api.Tenant
	PFCPolicies  []api.PFCPolicy
	Balance      []api.PlaneBalance
	Silences     []api.Silence
	// Ports holds the ports with a spec.
	Ports         []api.Port
	Networks      []api.Network
	Jobs          []api.Job
	Leases        []api.PathLease
	Maintenances  []api.Maintenance
	Notifications []api.Notification
	// Fabric is the MRC fabric as a whole; nil without an MRC fabric.
	Fabric *api.Fabric
	// Loopbacks maps nodes to their loopback addresses.
	Loopbacks map[topology.NodeID]string
	// Attached maps the addresses of inventory hosts to the ports at which the hosts attach.
	Attached map[string]api.SwitchPort
	// Who returns who has written a resource last, by its path below /v1, and when; "": that is not
	// known. nil: nobody knows.
	Who func(object string) (by string, at time.Time)
	// Dependents returns the jobs that depend on a part of the network, the most important job first;
	// nil if no jobs are known.
	Dependents func(api.Part) []api.JobDependent
	// Project returns the project of a resource by its name; "": it is of none. nil: there are none.
	Project func(name string) string
}

// finding is a finding with the ids of its causes.
type finding struct {
	api.Finding
	because []string
	at      []api.Part     // what it is about, where jobs may depend on that
	by      string         // the resource whose write has made it so; "": none has
	jobs    *api.CauseJobs // that it hurts, where at does not say
}

// onPart returns the part of the network of a kind and a name.
func onPart(kind api.PartKind, name string) []api.Part {
	return []api.Part{{Kind: kind, Name: name}}
}

// jobNames names jobs with their projects.
func (v *view) jobNames(jobs []api.JobDependent) string {
	var names []string
	for i := range jobs {
		name := jobs[i].Name
		if v.Project != nil && v.Project(name) != "" {
			name += " (project " + v.Project(name) + ")"
		}
		names = append(names, name)
	}
	return named(names)
}

// view is the known state, with indexes that several rules share.
type view struct {
	*Known
	// lostNodes and lostNames are the switches that are not connected: names by node, and all.
	lostNodes map[topology.NodeID]string
	lostNames map[string]bool
	links     []finding // what is wrong with links
	// away names the finding of the maintenance that has taken a part out of use, by part.
	away   map[string]string
	drains []finding // what operators have taken out of use
	below  below
}

func newView(k *Known) *view {
	v := &view{Known: k, lostNodes: make(map[topology.NodeID]string), lostNames: make(map[string]bool)}
	for i := range k.Switches {
		if s := &k.Switches[i]; s.Managed && !s.Connected {
			v.lostNames[s.Name] = true
			if s.Node != "" {
				v.lostNodes[topology.NodeID(s.Node)] = s.Name
			}
		}
	}
	v.away = v.outOfUse()
	v.links, v.drains = v.linkFindings(), v.drainFindings()
	v.below = newBelow(v)
	return v
}

// named lists names, at most three of them.
func named(all []string) string {
	if len(all) <= 3 {
		return strings.Join(all, ", ")
	}
	return strings.Join(all[:3], ", ") + " and " + Count(len(all)-3, "more")
}
