package prove

import (
	"slices"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/topology"
)

// A Group is the hosts of a rack that hold the same profiles: they take turns in probing.
type Group struct {
	rack     *fabric.Rack
	hosts    []*Host
	profiles []*Profile
	turn     int // among the hosts
	cursor   int // in profiles
}

// NewGroup returns a group without hosts and profiles.
func NewGroup(rack *fabric.Rack) *Group { return &Group{rack: rack} }

// SetHosts replaces the hosts of the group. The new hosts were in no group or in this group; former
// hosts that are not among them leave the group.
func (g *Group) SetHosts(hosts []*Host) {
	for _, h := range g.hosts {
		h.group = nil
	}
	for _, h := range hosts {
		h.group = g
	}
	g.hosts = hosts
}

// SetProfiles replaces the profiles that the group probes in turn.
func (g *Group) SetProfiles(all []*Profile) { g.profiles = all }

// EVs gives the present versions of a profile.
type EVs interface {
	// Built returns the profile without losses; nil: it cannot be made.
	Built() *hostapi.Profile
	// Held returns the profile that hosts are to hold; nil: no profile.
	Held() *hostapi.Profile
	// With returns the profile that contains an EV: Held, or another profile that hosts had or may
	// have; nil: no profile contains the EV.
	With(v hostapi.EV) *hostapi.Profile
}

// A Profile is a probed EV profile, with the paths, probe results and counts of its EVs.
type Profile struct {
	from *Group
	to   *fabric.Rack
	evs  EVs

	paths map[hostapi.EV]pathOf // of EVs that hosts spoke of
	cells map[hostapi.EV]*cell
	// roundTrips has the mean round trip of the last probe that was answered, by port.
	roundTrips map[uint8]time.Duration
	next       int // of the round of probes
	// carried counts the packets that its EVs carried and lost since the controller began to decide,
	// as counted by the hosts.
	carried suspect.Counts
}

// pathOf describes the path of an EV.
type pathOf struct {
	links []topology.LinkID // nil: a switch chooses
	id    map[string]suspect.PathID
}

// NewProfile returns a profile from the hosts of a group to the hosts of a rack.
func NewProfile(from *Group, to *fabric.Rack, evs EVs) *Profile {
	return &Profile{from: from, to: to, evs: evs}
}

// Rebuilt forgets the paths of the EVs, which were made anew.
func (p *Profile) Rebuilt() { p.paths = nil }

// Carried returns what the EVs carried and lost since the controller began to decide, in packets,
// as hosts count it. A packet that a switch trimmed is not lost.
func (p *Profile) Carried() suspect.Counts { return p.carried }

// crossing returns the leaves of the profiles with EVs that may cross a link. If paths climb by the
// link, senders are below it, and profiles begin at the leaves (sending); else receivers are below
// it, and profiles end at the leaves.
func crossing(e *fabric.Edge) (leaves []topology.NodeID, sending bool) {
	return e.Leaves(), e.Rises()
}

// othersCross reports whether hosts other than one have EVs across a link.
func (e *env) othersCross(edge *fabric.Edge, host string) bool {
	leaves, sending := crossing(edge)
	for _, leaf := range leaves {
		for n := range e.Profiles.Count(leaf, sending) {
			p := e.Profiles.At(leaf, sending, n)
			if slices.ContainsFunc(p.from.hosts, func(h *Host) bool { return h.Name != host }) {
				return true
			}
		}
	}
	return false
}

// pathsOf returns the paths of a port of a profile; ok is false when there is none.
func (e *env) pathsOf(p *Profile, port uint8) (set topology.PathSet, ok bool) {
	return e.State.Fabric().PathSet(p.from.rack.At(), p.to.At(), port)
}

// linksOf returns the links of an EV, nil when a switch chooses some.
func (e *env) linksOf(p *Profile, v hostapi.EV) []topology.LinkID {
	held := p.evs.With(v)
	set, ok := e.pathsOf(p, v.Port)
	if held == nil || !ok {
		return nil
	}
	wire, err := held.Expand(v)
	if err != nil {
		return nil
	}
	route, err := e.State.Assignment().Decode(set.Source().ID, set.Destination().ID, wire.Value)
	if err != nil {
		return nil
	}
	links := make([]topology.LinkID, 0, len(route.Hops))
	for _, hop := range route.Hops {
		if len(hop.Links) != 1 {
			return nil
		}
		links = append(links, hop.Links[0].ID)
	}
	return links
}
