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
	// End is the link of a host; nil when the suspect is none.
	End   *HostEnd
	Since time.Duration
	// Denied says that EVs over it are denied; else Why says why not.
	Denied bool
	Why    string
}

// suspected returns the link of the fabric that a suspect is; ok is false when it is none.
func (f *fabric) suspected(s *Suspect) (int32, bool) {
	if len(s.Links) != 1 {
		return 0, false
	}
	i, ok := f.place[s.Links[0]]
	return i, ok
}

// suspectSet finds the links that lose packets, by what hosts and switches have counted.
type suspectSet struct {
	*env
	cfg     *SuspectConfig
	links   *linkSet
	hosts   *hostSet
	locator *suspect.Locator

	witnesses witnesses

	list   []Suspect
	looks  map[topology.LinkID]*closerLook
	at     time.Duration // when the locator is asked again
	counts map[topology.LinkID]linkCount
}

// linkCount is the last count of a link, and how many were missing then.
type linkCount struct{ sent, received, missing uint64 }

// observe says what became of packets on a path.
func (s *suspectSet) observe(path suspect.PathID, n suspect.Counts) {
	s.locator.Observe(s.now, path, n)
}

// accuse notes who has reported what became of packets across links.
func (s *suspectSet) accuse(who string, links []topology.LinkID, n suspect.Counts) {
	s.witnesses.note(s.now, who, links, n)
}

// counted takes the counters of the two ends of a link.
func (s *suspectSet) counted(id topology.LinkID, sent, received uint64) {
	before, known := s.counts[id]
	// Both ends are not read at the same time: packets on the way are missing
	// once, and what came in between is there too early.
	missing := max(sent, received) - received
	if !known || sent < before.sent || received < before.received { // one end has started again
		s.counts[id] = linkCount{sent, received, missing}
		return
	}
	s.counts[id] = linkCount{sent, received, max(missing, before.missing)}
	if sent == before.sent {
		return
	}
	lost := max(missing, before.missing) - before.missing
	s.observe(s.locator.Path([]topology.LinkID{id}), suspect.Counts{Sent: sent - before.sent, Lost: min(lost, sent-before.sent)})
}

// run asks the locator now and then which links lose packets. spare says why one is
// not denied; empty: it is.
func (s *suspectSet) run(spare func(*Suspect) string) {
	if s.now < s.at {
		return
	}
	s.at = (s.now/s.cfg.Every + 1) * s.cfg.Every
	found := s.closer(s.locator.Suspects(s.now))
	before := s.list
	s.list = nil
	for _, f := range found {
		x := Suspect{Suspect: f, Since: s.now}
		known := slices.IndexFunc(before, func(o Suspect) bool { return slices.Equal(o.Links, x.Links) })
		if known >= 0 {
			x.Since = before[known].Since
		}
		i, ok := s.fabric.suspected(&x)
		if ok {
			x.From, x.To = s.fabric.edges[i].Local, s.fabric.edges[i].Remote
		}
		if end, ok := s.endOf(&x.Suspect); ok {
			x.End = &end.HostEnd
		}
		switch x.Why = spare(&x); {
		case x.Why == "":
			s.links.deny(i, fmt.Sprintf("loses %.2g of its packets", x.Loss))
			x.Denied = true
		case known >= 0 && before[known].Denied && s.links.all[i].phase != up:
			continue // hosts have not applied it yet
		}
		if known < 0 {
			s.event(api.EventSuspectChanged, fmt.Sprint(x.Links), fmt.Sprintf("loses %.2g of its packets, confidence %.4f", x.Loss, x.Confidence))
		}
		s.list = append(s.list, x)
	}
	// What is denied carries no packets that could accuse it: it stays on the
	// list until it is in use again.
	for _, x := range before {
		if i, ok := s.fabric.suspected(&x); ok && x.Denied && s.links.all[i].phase != up {
			s.list = append(s.list, x)
		}
	}
}

// endOf returns the link of a host that a suspect is.
func (s *suspectSet) endOf(x *suspect.Suspect) (hostEnd, bool) {
	if len(x.Links) != 1 {
		return hostEnd{}, false
	}
	end, ok := s.hosts.named[x.Links[0]]
	return end, ok
}

// spare says why a suspect is not denied; empty: it is. Paths that hosts have beside it
// are the core's to know.
func (s *suspectSet) spare(x *Suspect) string {
	i, ok := s.fabric.suspected(x)
	switch {
	case s.mode == ev.ModeECMP:
		return "mode ecmp: EVs have no known path, nothing is denied by link"
	case len(x.Links) > 1:
		return "several links that the evidence does not tell apart"
	case x.End != nil && x.End.Host == "":
		return "the link of a host of the rack, and not known which"
	case x.End != nil:
		return "the link of a host: drain the host's port to keep packets from it"
	case !ok:
		return "not a link of the fabric"
	case !s.cfg.Deny:
		return "suspects are not denied (suspects.deny)"
	case x.Loss < s.cfg.DenyLoss:
		return fmt.Sprintf("it loses %.2g, less than %.2g", x.Loss, s.cfg.DenyLoss)
	case s.links.all[i].phase != up:
		return "it is not in use"
	}
	return ""
}

// spare says why a suspect is not denied; empty: it is.
func (c *Core) spare(s *Suspect) string {
	if why := c.suspects.spare(s); why != "" {
		return why
	}
	i, _ := c.fabric.suspected(s)
	if why := c.suspects.unproven(s, func(host string) bool { return c.othersCross(&c.fabric.edges[i], host) }); why != "" {
		return why
	}
	lost := c.losses()
	lost.OneWay = append(lost.OneWay, s.Links[0])
	before, after := c.fabric.clos.Lost(c.losses()), c.fabric.clos.Lost(lost)
	at, leaves := c.profiles.crossing(&c.fabric.edges[i])
	for _, leaf := range leaves {
		for _, p := range at[leaf] {
			if a, b := c.profiles.severed(p, before, after, nil); a != nil {
				return fmt.Sprintf("it is the last path from host %s to host %s", a.Name, b.Name)
			}
		}
	}
	return ""
}

// Suspects returns the links that lose packets, the surest first, and after them
// those that are denied for it.
func (c *Core) Suspects() []Suspect { return slices.Clone(c.suspects.list) }
