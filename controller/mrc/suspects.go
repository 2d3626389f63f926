package mrc

import (
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/topology"
)

// Suspect is a link, in one direction, that loses packets.
type Suspect struct {
	suspect.Suspect
	// From and To are the ends of a link of the fabric; empty when the suspect is
	// the link of a host, or several that cannot be told apart.
	From, To topology.NodeID
	Since    time.Duration
	// Denied says that EVs over it are denied; else Why says why not.
	Denied bool
	Why    string
}

// runSuspects asks now and then which links lose packets.
func (c *Core) runSuspects() {
	if c.now < c.suspectAt {
		return
	}
	c.suspectAt = (c.now/c.cfg.SuspectEvery + 1) * c.cfg.SuspectEvery
	found := c.locator.Suspects(c.now)
	before := c.suspects
	c.suspects = nil
	for _, f := range found {
		s := Suspect{Suspect: f, Since: c.now}
		named := func(o Suspect) bool { return slices.Equal(o.Links, s.Links) }
		known := slices.IndexFunc(before, named)
		if known >= 0 {
			s.Since = before[known].Since
		}
		if len(s.Links) == 1 && c.fabric.snap.Link(s.Links[0]) != nil {
			l := c.fabric.snap.Link(s.Links[0])
			s.From, s.To = l.Local, l.Remote
		}
		switch s.Why = c.spare(&s); {
		case s.Why == "":
			c.denySuspect(&s)
		case known >= 0 && before[known].Denied && c.fabric.links[c.fabric.place[first(s.Links)]].phase != up:
			continue // hosts have not applied it yet
		}
		if known < 0 {
			c.event(api.EventSuspectChanged, fmt.Sprint(s.Links), fmt.Sprintf("loses %.2g of its packets, confidence %.4f", s.Loss, s.Confidence))
		}
		c.suspects = append(c.suspects, s)
	}
	// What is denied carries no packets that could accuse it: it stays on the
	// list until it is in use again.
	for _, s := range before {
		if i, ok := c.fabric.place[first(s.Links)]; ok && s.Denied && c.fabric.links[i].phase != up {
			c.suspects = append(c.suspects, s)
		}
	}
}

func first(links []topology.LinkID) topology.LinkID {
	if len(links) != 1 {
		return ""
	}
	return links[0]
}

// spare says why a suspect is not denied; empty: it is.
func (c *Core) spare(s *Suspect) string {
	i, ok := c.fabric.place[first(s.Links)]
	switch {
	case c.cfg.Format.Mode == ev.ModeECMP:
		return "mode ecmp: EVs have no known path, nothing is denied by link"
	case len(s.Links) > 1:
		return "several links that the evidence does not tell apart"
	case !ok:
		return "not a link of the fabric"
	case !c.cfg.DenySuspects:
		return "suspects are not denied (suspects.deny)"
	case s.Loss < c.cfg.DenyLoss:
		return fmt.Sprintf("it loses %.2g, less than %.2g", s.Loss, c.cfg.DenyLoss)
	case c.fabric.links[i].phase != up:
		return "it is not in use"
	}
	lost := c.losses()
	lost.OneWay = append(lost.OneWay, s.Links[0])
	before, after := c.fabric.clos.Lost(c.losses()), c.fabric.clos.Lost(lost)
	at, leaves := c.crossing(&c.fabric.links[i])
	for _, leaf := range leaves {
		for _, p := range at[leaf] {
			now, then := c.waysLeft(p, before), c.waysLeft(p, after)
			if now == then {
				continue
			}
			for _, a := range p.from.rack.hosts {
				for _, b := range p.to.hosts {
					if a != b && now&a.usable&b.usable != 0 && then&a.usable&b.usable == 0 {
						return fmt.Sprintf("it is the last path from host %s to host %s", a.Name, b.Name)
					}
				}
			}
		}
	}
	return ""
}

// denySuspect takes a link out of use.
func (c *Core) denySuspect(s *Suspect) {
	i := c.fabric.place[s.Links[0]]
	l := &c.fabric.links[i]
	l.bad.failed(c.now, 2*c.cfg.SuspectMaxHold)
	c.hold(i, fmt.Sprintf("loses %.2g of its packets", s.Loss), l.bad.hold(c.cfg.SuspectHold, c.cfg.SuspectMaxHold), c.cfg.SuspectProbes)
	s.Denied = true
}
