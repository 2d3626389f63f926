package causes

import (
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// Known is what the API says of a network, or of the part of it that somebody may see. Lists may be
// empty. Nothing in it is changed.
type Known struct {
	Checks   []api.ReadinessCheck
	Switches []api.SwitchStatus
	Peers    []api.BGPPeer
	// Links are those that are not up, drained, or over which EVs are denied.
	Links    []api.Link
	Nodes    []api.Node
	Planes   []api.Plane
	Hosts    []api.Host
	Suspects []api.Suspect
	// Profiles are those that are degraded.
	Profiles     []api.EVProfile
	Groups       []api.MulticastGroup
	SRv6Policies []api.SRv6Policy
	Tenants      []api.Tenant
	PFCPolicies  []api.PFCPolicy
	Balance      []api.PlaneBalance
	Silences     []api.Silence
	// Fabric is the MRC fabric as a whole; nil: there is none.
	Fabric *api.Fabric
	// Loopbacks are the addresses that stand for nodes.
	Loopbacks map[topology.NodeID]string
	// Attached has the switches that hosts of the inventory are attached to, by their addresses.
	Attached map[string]string
	// Jobs returns the jobs that depend on a part of the network, the most important first; nil: none
	// are known.
	Jobs func(api.Part) []api.JobDependent
}

// finding is a finding with the ids of those that it follows from.
type finding struct {
	api.Finding
	because []string
	at      []api.Part // what it is about, where jobs may depend on that
}

// onPart returns the part of the network of a kind and a name.
func onPart(kind api.PartKind, name string) []api.Part {
	return []api.Part{{Kind: kind, Name: name}}
}

// view is what is known, with what several rules look up in it.
type view struct {
	*Known
	// lostNodes and lostNames are the switches that are not connected: names by node, and all.
	lostNodes map[topology.NodeID]string
	lostNames map[string]bool
	links     []finding // what is wrong with links
	drains    []finding // what operators have taken out of use
	below     below
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
