package mrc

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/topology"
)

// An accused is a link, in one direction, that loses packets.
type accused struct {
	suspect.Suspect
	end   *HostEnd // the link of a host; nil when it is none
	since time.Duration
	// denied reports whether EVs over it are denied; else why says why not.
	denied bool
	why    string
}

// place returns the place of the link of a fabric that a suspect is; ok is false when it is none.
func (x *accused) place(f *fabric.Fabric) (i int32, ok bool) {
	if len(x.Links) != 1 {
		return 0, false
	}
	return f.Place(x.Links[0])
}

// suspectSet finds the links that lose packets, by what hosts and switches have counted.
type suspectSet struct {
	*env
	cfg     *inventory.Suspects
	links   *fabric.Links
	hosts   *hostSet
	locator *suspect.Locator

	witnesses witnesses

	list   []accused
	looks  map[topology.LinkID]*closerLook
	at     time.Duration // when the locator is asked again
	counts map[topology.LinkID]linkCount
}

// linkCount is the last count of a link, and how many were missing then.
type linkCount struct{ sent, received, missing uint64 }

// observe records what became of packets on a path.
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
func (s *suspectSet) run(spare func(*accused) string) {
	if s.now < s.at {
		return
	}
	every := s.cfg.Every.D()
	s.at = (s.now/every + 1) * every
	found := s.closer(s.locator.Suspects(s.now))
	before := s.list
	s.list = nil
	for _, f := range found {
		x := accused{Suspect: f, since: s.now}
		known := slices.IndexFunc(before, func(o accused) bool { return slices.Equal(o.Links, x.Links) })
		if known >= 0 {
			x.since = before[known].since
		}
		i, _ := x.place(s.state.Fabric())
		if end, ok := s.endOf(&x.Suspect); ok {
			x.end = &end.HostEnd
		}
		switch x.why = spare(&x); {
		case x.why == "":
			s.links.Deny(i, fmt.Sprintf("loses %.2g of its packets", x.Loss))
			x.denied = true
		case known >= 0 && before[known].denied && s.links.At(i).Phase() != fabric.Up:
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
		if i, ok := x.place(s.state.Fabric()); ok && x.denied && s.links.At(i).Phase() != fabric.Up {
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

// spare reports why a suspect is not denied; empty: it is. Paths that hosts have beside it
// are the core's to know.
func (s *suspectSet) spare(x *accused) string {
	i, ok := x.place(s.state.Fabric())
	switch {
	case s.mode == ev.ModeECMP:
		return "mode ecmp: EVs have no known path, nothing is denied by link"
	case len(x.Links) > 1:
		return "several links that the evidence does not tell apart"
	case x.end != nil && x.end.Host == "":
		return "the link of a host of the rack, and not known which"
	case x.end != nil:
		return "the link of a host: drain the host's port to keep packets from it"
	case !ok:
		return "not a link of the fabric"
	case !s.cfg.Deny:
		return "suspects are not denied (suspects.deny)"
	case x.Loss < s.cfg.DenyLoss:
		return fmt.Sprintf("it loses %.2g, less than %.2g", x.Loss, s.cfg.DenyLoss)
	case s.links.At(i).Phase() != fabric.Up:
		return "it is not in use"
	}
	return ""
}

// spare reports why a suspect is not denied; empty: it is.
func (c *Core) spare(s *accused) string {
	if why := c.suspects.spare(s); why != "" {
		return why
	}
	i, _ := s.place(c.state.Fabric())
	edge := c.state.Fabric().Edge(i)
	others := func(host string) bool { return c.othersCross(edge, host) }
	if why := c.suspects.unproven(s, others); why != "" {
		return why
	}
	before := c.state.Denial()
	after := c.state.Denial(topology.Losses{OneWay: s.Links})
	at, leaves := c.profiles.crossing(edge)
	for _, leaf := range leaves {
		for _, p := range at[leaf] {
			if a, b := p.severed(before, after, nil); a != nil {
				return fmt.Sprintf("it is the last path from host %s to host %s", a.Name, b.Name)
			}
		}
	}
	return ""
}

// Suspects returns the links that lose packets, the surest first, and after them
// those that are denied for it.
func (c *Core) Suspects() []api.Suspect {
	out := make([]api.Suspect, 0, len(c.suspects.list))
	for i := range c.suspects.list {
		out = append(out, c.viewSuspect(&c.suspects.list[i]))
	}
	return out
}

func (e *env) viewSuspect(x *accused) api.Suspect {
	v := api.Suspect{
		Links: append([]topology.LinkID{}, x.Links...), Confidence: rounded(x.Confidence), Loss: rounded(x.Loss),
		Evidence: api.SuspectEvidence{Sent: x.Sent, Lost: x.Lost, Paths: x.Paths}, Since: e.wall(x.since), Denied: x.denied, Why: x.why,
	}
	now, f := e.state.Advertised(), e.state.Fabric()
	if end := x.end; end != nil {
		v.Host, v.HostPort = end.Host, end.Port
		host := cmp.Or(end.Host, "a host")
		if end.Receiving {
			v.From, v.FromName, v.ToName = end.Leaf, nameOf(now, end.Leaf), host
		} else {
			v.FromName, v.To, v.ToName = host, end.Leaf, nameOf(now, end.Leaf)
		}
	} else if i, ok := x.place(f); ok {
		v.From, v.To = f.Edge(i).Local, f.Edge(i).Remote
		v.FromName, v.ToName = nameOf(now, v.From), nameOf(now, v.To)
	}
	return v
}
