package multipath

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/ev"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// LinkStatus is what the core knows of one direction of a link.
type LinkStatus struct {
	ID       topology.LinkID
	From, To topology.NodeID
	Plane    int
	// Phase is "up", "down", "held" or "trying"; Cause says why it is not up, Until
	// how long it is held.
	Phase        string
	Cause        string
	Since, Until time.Duration
	// Drained says that it is not to be used, whatever its phase.
	Drained bool
	// Denied says that EVs over it are denied.
	Denied bool
}

// Links returns the links of the fabric in its order, as far as paths cross them.
func (c *Core) Links() []LinkStatus {
	if c.fabric == nil {
		return nil
	}
	var out []LinkStatus
	for i := range c.fabric.links {
		l := &c.fabric.links[i]
		if len(l.leaves) == 0 {
			continue
		}
		s := LinkStatus{
			ID: l.ID, From: l.Local, To: l.Remote, Plane: c.fabric.clos.LinkPlane(l.ID), Phase: l.phase.String(), Cause: l.cause, Since: l.since,
			Drained: l.drained, Denied: l.out(),
		}
		if l.phase == held {
			s.Until = l.until
		}
		out = append(out, s)
	}
	return out
}

// ProfileStatus is an EV profile and what it has come to.
type ProfileStatus struct {
	Name                string
	Source, Destination ev.Attachment
	Hosts               []string // that hold it
	// Built is the profile when nothing is lost, Outcome what hosts hold now.
	// Built is nil when there is none, and Outcome.Degraded says why.
	Built   *ev.Built
	Outcome ev.Outcome
	// Note says that the paths of its EVs are not known.
	Note string
}

// Profiles returns the profiles by name.
func (c *Core) Profiles() []ProfileStatus {
	c.settle()
	out := make([]ProfileStatus, 0, len(c.profiles))
	for _, p := range c.profiles {
		out = append(out, c.statusOf(p))
	}
	return out
}

// Profile returns the profile of a name.
func (c *Core) Profile(name string) (ProfileStatus, bool) {
	c.settle()
	p := c.byName[name]
	if p == nil {
		return ProfileStatus{}, false
	}
	return c.statusOf(p), true
}

func (c *Core) statusOf(p *profile) ProfileStatus {
	s := ProfileStatus{Name: p.name, Source: p.from.rack.at, Destination: p.to.at, Outcome: p.outcome}
	if p.err == nil {
		s.Built = p.built
	}
	for _, h := range p.from.hosts {
		s.Hosts = append(s.Hosts, h.Name)
	}
	if c.cfg.Format.Mode == ev.ModeECMP {
		s.Note = "mode ecmp: EVs have no known path, nothing is denied by link"
	}
	return s
}

// HostStatus is what the core knows of a host.
type HostStatus struct {
	Host
	Connected bool
	// Usable are the ports that peers may send to, Denied those that the host must
	// not send by.
	Usable, Denied hostapi.PortMask
	// Set is the number of the last Set, Applied of the last that the host holds.
	Set, Applied uint64
	// Refusal is why it does not hold all that it is to hold.
	Refusal string
	State   *hostapi.State
}

// Hosts returns the hosts by name.
func (c *Core) Hosts() []HostStatus {
	c.settle()
	out := make([]HostStatus, 0, len(c.hosts))
	for _, name := range slices.Sorted(maps.Keys(c.hosts)) {
		h := c.hosts[name]
		out = append(out, HostStatus{
			Host: h.Host, Connected: h.connected, Usable: h.usable, Denied: h.denied, Set: h.seq, Applied: h.applied, Refusal: h.refusal, State: h.state,
		})
	}
	return out
}

// DrainStatus is a target that is not to be used.
type DrainStatus struct {
	Target
	// Drained says that no host uses it any more; else Awaits are the hosts that
	// have not said so.
	Drained bool
	Awaits  []string
}

// Drains returns what is drained, in the order in which it was asked for.
func (c *Core) Drains() []DrainStatus {
	out := make([]DrainStatus, 0, len(c.drains))
	for _, d := range c.drains {
		out = append(out, DrainStatus{Target: d.Target, Drained: d.done, Awaits: slices.Sorted(maps.Keys(d.waits))})
	}
	return out
}

// Suspects returns the links that lose packets, the surest first, and after them
// those that are denied for it.
func (c *Core) Suspects() []Suspect { return slices.Clone(c.suspects) }

// Matrix returns what probes have shown, by profile and EV.
func (c *Core) Matrix() []Cell {
	var out []Cell
	for _, p := range c.profiles {
		from := len(out)
		for _, cell := range p.cells {
			out = append(out, *cell)
		}
		slices.SortFunc(out[from:], func(a, b Cell) int { return cmp.Or(cmp.Compare(a.Profile, b.Profile), a.EV.Compare(b.EV)) })
	}
	return out
}

// Counters returns the counts so far.
func (c *Core) Counters() Counters { return c.counters }

// Failure is why there is no fabric, or none of the present topology.
func (c *Core) Failure() error { return c.failure }

// Assignment returns the numbers of links that EVs are made of, which switches
// must be programmed with; nil before the topology is in sync.
func (c *Core) Assignment() *ev.Assignment {
	if c.fabric == nil {
		return nil
	}
	return c.fabric.assign
}
