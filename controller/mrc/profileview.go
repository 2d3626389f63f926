package mrc

import (
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// ProfileState is an EV profile and what it has come to.
type ProfileState struct {
	Name                string
	Source, Destination ev.Attachment
	Hosts               []string // that hold it
	// Built is the profile when nothing is lost, Outcome what hosts hold now.
	// Built is nil when there is none, and Outcome.Degraded says why.
	Built   *ev.Built
	Outcome ev.Outcome
	// Note reports whether the paths of its EVs are not known.
	Note string
	// Since is when Outcome.Degraded began or ended.
	Since time.Duration
	// Explicit is what has taken the place of a generated profile, nil: nothing.
	Explicit *ev.Built
	// Behind are those of Hosts that do not hold all that they are to hold: they have
	// not answered yet, refuse it, or are not connected.
	Behind []string
	// Lost are the links that its paths would cross, and over which EVs are denied;
	// of [Core.Profile] alone.
	Lost []topology.LinkID
	// AssumedBad are the EVs that hosts have found bad, with how many hosts.
	AssumedBad map[hostapi.EV]int

	began    time.Time          // of the core's time
	topology *topology.Snapshot // that names are of
}

// Profiles returns the profiles by name.
func (c *Core) Profiles() []ProfileState {
	c.settle()
	out := make([]ProfileState, 0, len(c.profiles.all))
	for _, p := range c.profiles.all {
		out = append(out, c.stateOf(p))
	}
	return out
}

// Profile returns the profile of a name.
func (c *Core) Profile(name string) (ProfileState, bool) {
	c.settle()
	p := c.profiles.byName[name]
	if p == nil {
		return ProfileState{}, false
	}
	s := c.stateOf(p)
	s.Lost = c.lostTo(p)
	return s, true
}

// lostTo are the denied links that paths of a profile would cross.
func (c *Core) lostTo(p *profile) (out []topology.LinkID) {
	if p.err != nil {
		return nil
	}
	links := c.state.Links()
	for i := range int32(links.Len()) {
		l := links.At(i)
		if !l.Denied() || len(l.Leaves()) == 0 {
			continue
		}
		lost := c.state.Fabric().Clos().Lost(topology.Losses{OneWay: []topology.LinkID{l.ID}})
		for port := range p.from.rack.At() {
			if set, ok := c.profiles.paths(p, uint8(port+1)); ok && lost.Touches(set) {
				out = append(out, l.ID)
				break
			}
		}
	}
	return out
}

func (c *Core) stateOf(p *profile) ProfileState {
	s := ProfileState{Name: p.name, Source: p.from.rack.At(), Destination: p.to.At(), Outcome: p.outcome, Since: p.since, began: c.start, topology: c.state.Advertised()}
	if p.err == nil {
		s.Built = p.built
	}
	if p.explicit != nil && p.outcome.Profile != nil && p.outcome.Profile.Mode == hostapi.ModeExplicit && p.err == nil && p.built.Profile.Mode != hostapi.ModeExplicit {
		s.Explicit = p.explicit
	}
	for _, h := range p.from.hosts {
		s.Hosts = append(s.Hosts, h.Name)
		if !h.current() {
			s.Behind = append(s.Behind, h.Name)
		}
		for profile, e := range h.AssumedBad() {
			if profile == p.name {
				if s.AssumedBad == nil {
					s.AssumedBad = make(map[hostapi.EV]int)
				}
				s.AssumedBad[e]++
			}
		}
	}
	if c.mode == ev.ModeECMP {
		s.Note = "mode ecmp: EVs have no known path, nothing is denied by link"
	}
	return s
}

// ProfilePage returns profiles by name, and whether there are more.
func (c *Core) ProfilePage(f api.EVProfileFilter, page Page) (out []ProfileState, more bool) {
	c.settle()
	out = []ProfileState{}
	for _, p := range c.profiles.all[c.profiles.after(page.After):] {
		if !c.wantsProfile(f, p) {
			continue
		}
		if page.full(len(out)) {
			return out, true
		}
		out = append(out, c.stateOf(p))
	}
	return out, false
}

func (c *Core) wantsProfile(f api.EVProfileFilter, p *profile) bool {
	if f.Degraded && p.outcome.Degraded == "" || f.Source != "" && !c.hasLeaf(p.from.rack, f.Source) || f.Destination != "" && !c.hasLeaf(p.to, f.Destination) {
		return false
	}
	return f.Host == "" || slices.ContainsFunc(p.from.hosts, func(h *host) bool { return h.Name == f.Host })
}

func (c *Core) hasLeaf(r *fabric.Rack, name string) bool {
	return slices.ContainsFunc(r.At(), func(leaf topology.NodeID) bool { return leaf != "" && c.isCalled(leaf, name) })
}
