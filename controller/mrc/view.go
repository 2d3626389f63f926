package mrc

import (
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/topology"
)

// LinkStatus is what the core knows of one direction of a link.
type LinkStatus struct {
	ID       topology.LinkID
	From, To topology.NodeID
	Plane    int
	// FromPort and ToPort are what the switches at its ends say of their ports: "up",
	// "down", or "" when nothing is known.
	FromPort, ToPort string
	// Phase is "up", "down", "held" or "trying"; Cause says why it is not up, Until
	// how long it is held.
	Phase        string
	Cause        string
	Since, Until time.Duration
	// Drained says that it is not to be used, whatever its phase.
	Drained bool
	// Denied says that EVs over it are denied.
	Denied bool
	// Drains are those that take it out of use, if any.
	Drains []DrainStatus
}

func (c *Core) linkStatus(l *link) LinkStatus {
	s := LinkStatus{
		ID: l.ID, From: l.Local, To: l.Remote, Plane: c.fabric.clos.LinkPlane(l.ID), Phase: l.phase.String(), Cause: l.cause, Since: l.since,
		Drained: l.drained, Denied: l.out(), Drains: c.drains.statuses(func(d *drain) bool { return c.fabric.covers(d.Target, l.edge) }),
	}
	local, remote := c.ports.ofLink(l.Link)
	s.FromPort, s.ToPort = c.ports.state(local), c.ports.state(remote)
	if l.phase == held {
		s.Until = l.until
	}
	return s
}

// Links returns the links of the fabric in its order, as far as paths cross them.
func (c *Core) Links() []LinkStatus {
	if c.fabric == nil {
		return nil
	}
	var out []LinkStatus
	for i := range c.links.all {
		l := &c.links.all[i]
		if len(l.leaves) == 0 {
			continue
		}
		out = append(out, c.linkStatus(l))
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
}

// Profiles returns the profiles by name.
func (c *Core) Profiles() []ProfileStatus {
	c.settle()
	out := make([]ProfileStatus, 0, len(c.profiles.all))
	for _, p := range c.profiles.all {
		out = append(out, c.statusOf(p))
	}
	return out
}

// Profile returns the profile of a name.
func (c *Core) Profile(name string) (ProfileStatus, bool) {
	c.settle()
	p := c.profiles.byName[name]
	if p == nil {
		return ProfileStatus{}, false
	}
	s := c.statusOf(p)
	s.Lost = c.lostTo(p)
	return s, true
}

// lostTo are the denied links that paths of a profile would cross.
func (c *Core) lostTo(p *profile) (out []topology.LinkID) {
	if p.err != nil {
		return nil
	}
	for i := range c.links.all {
		l := &c.links.all[i]
		if !l.out() || len(l.leaves) == 0 {
			continue
		}
		lost := c.fabric.clos.Lost(topology.Losses{OneWay: []topology.LinkID{l.ID}})
		for port := range p.from.rack.at {
			if set, ok := c.profiles.paths(p, uint8(port+1)); ok && lost.Touches(set) {
				out = append(out, l.ID)
				break
			}
		}
	}
	return out
}

func (c *Core) statusOf(p *profile) ProfileStatus {
	s := ProfileStatus{Name: p.name, Source: p.from.rack.at, Destination: p.to.at, Outcome: p.outcome, Since: p.since}
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
		for k := range h.assumed {
			if k.profile == p.name {
				if s.AssumedBad == nil {
					s.AssumedBad = make(map[hostapi.EV]int)
				}
				s.AssumedBad[k.ev]++
			}
		}
	}
	if c.mode == ev.ModeECMP {
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
	// Hello is the last, zero before the first.
	Hello hostapi.Hello
	// Ports are its ports from 1 on.
	Ports []PortStatus
	// Drains are those of its ports.
	Drains []DrainStatus
}

// PortStatus is what the core knows of a port of a host.
type PortStatus struct {
	Port     uint8
	Attached bool
	// Usable: peers may send to it. Otherwise its leaf or the host says that the link
	// is down, it is held because it was, or it is drained.
	Usable, LinkDown, AgentDown, Held, Drained bool
}

// Hosts returns the hosts by name.
func (c *Core) Hosts() []HostStatus {
	c.settle()
	out := make([]HostStatus, 0, len(c.hosts.byName))
	for _, name := range slices.SortedFunc(maps.Keys(c.hosts.byName), natural.Compare) {
		out = append(out, c.hostStatus(c.hosts.byName[name]))
	}
	return out
}

func (c *Core) hostStatus(h *host) HostStatus {
	s := HostStatus{
		Host: h.Host, Connected: h.connected, Usable: h.ports.usable, Denied: h.ports.denied, Set: h.seq, Applied: h.applied, Refusal: h.refusal, State: h.state,
		Hello: h.hello, Drains: c.drains.statuses(func(d *drain) bool { return d.Host == h.Name }),
	}
	for i := 1; i < len(h.ports.list); i++ {
		p := &h.ports.list[i]
		s.Ports = append(s.Ports, PortStatus{
			Port: uint8(i), Attached: p.attached, Usable: h.ports.usable.Has(i), LinkDown: p.linkDown, AgentDown: p.agentDown, Held: p.held, Drained: p.drained,
		})
	}
	return s
}
