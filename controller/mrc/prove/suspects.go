package prove

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/selfprobe"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/topology"
)

// An accused is a link, in one direction, that loses packets.
type accused struct {
	suspect.Suspect
	// verdict is about probes of hosts to themselves; nil: the accusation rests on other evidence.
	verdict *selfprobe.Verdict
	end     *hostEnd // the link of a host; nil when it is none
	since   time.Duration
	// denied reports whether EVs over it are denied; else why says why not.
	denied bool
	why    string
}

// place returns the place of the suspected link in a fabric; ok is false when the suspect is not a
// link of the fabric.
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
	locator *suspect.Locator

	witnesses witnesses

	list []accused
	// judgements are by probes of hosts to themselves.
	judgements []accused
	looks      map[topology.LinkID]*closerLook
	at         time.Duration // when the locator is asked again
	counts     map[topology.LinkID]linkCount
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
	// The two ends are read at different times: packets under way are missing once, and packets that
	// arrived in between are counted too early.
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
	s.observe(s.locator.Path([]topology.LinkID{id}),
		suspect.Counts{Sent: sent - before.sent, Lost: lost})
}

// run asks the locator now and then which links lose packets.
func (s *suspectSet) run() {
	if s.now < s.at {
		return
	}
	every := s.cfg.Every.D()
	s.at = (s.now/every + 1) * every
	found := slices.DeleteFunc(s.closer(s.locator.Suspects(s.now)), s.isJudged)
	before := s.list
	s.list = nil
	for _, f := range found {
		x := accused{Suspect: f, since: s.now}
		known := slices.IndexFunc(before, func(o accused) bool { return slices.Equal(o.Links, x.Links) })
		if known >= 0 {
			x.since = before[known].since
		}
		i, _ := x.place(s.State.Fabric())
		if end, ok := s.endOf(&x.Suspect); ok {
			x.end = &end
		}
		switch x.why = s.spare(&x); {
		case x.why == "":
			s.links.Deny(i, fmt.Sprintf("loses %.2g of its packets", x.Loss))
			x.denied = true
		case known >= 0 && before[known].denied && s.links.At(i).Phase() != fabric.Up:
			continue // hosts have not applied it yet
		}
		if known < 0 {
			s.Event(api.EventSuspectChanged, fmt.Sprint(x.Links),
				fmt.Sprintf("loses %.2g of its packets, confidence %.4f", x.Loss, x.Confidence),
				x.says(api.EventNumbers{Loss: &x.Loss, Confidence: &x.Confidence}))
		}
		s.list = append(s.list, x)
	}
	// A denied link carries no packets, so no evidence can accuse it: the link stays on the list until
	// it is back in use.
	for _, x := range before {
		if i, ok := x.place(s.State.Fabric()); ok && x.denied && s.links.At(i).Phase() != fabric.Up {
			s.list = append(s.list, x)
		}
	}
}

// isJudged reports whether a verdict about self-probes covers a suspect.
func (s *suspectSet) isJudged(x suspect.Suspect) bool {
	return slices.ContainsFunc(s.judgements, func(o accused) bool {
		return !slices.ContainsFunc(x.Links, func(id topology.LinkID) bool {
			return !slices.Contains(o.Links, id)
		})
	})
}

// endOf returns the link of a host that a suspect is.
func (s *suspectSet) endOf(x *suspect.Suspect) (hostEnd, bool) {
	if len(x.Links) != 1 {
		return hostEnd{}, false
	}
	end, ok := s.named[x.Links[0]]
	return end, ok
}

// spare reports why a suspect is not denied; empty: it is.
func (s *suspectSet) spare(x *accused) string {
	i, ok := x.place(s.State.Fabric())
	switch {
	case s.mode == ev.ModeECMP:
		return "mode ecmp: EVs have no known path, nothing is denied by link"
	case len(x.Links) > 1:
		return "several links that the evidence does not tell apart"
	case x.end != nil && x.end.host == "":
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
	if why := s.unproven(x, s.State.Fabric().Edge(i)); why != "" {
		return why
	}
	return s.LastPath(i)
}

// viewSuspect describes a suspect.
func (e *env) viewSuspect(
	x *accused, wall func(time.Duration) time.Time,
) api.Suspect {
	v := api.Suspect{
		Links: append([]topology.LinkID{}, x.Links...), Confidence: rounded(x.Confidence),
		Loss:     rounded(x.Loss),
		Evidence: api.SuspectEvidence{Sent: x.Sent, Lost: x.Lost, Paths: x.Paths},
		Since:    wall(x.since), Denied: x.denied, Why: x.why,
	}
	if x.verdict != nil {
		e.viewJudgement(x, &v)
		return v
	}
	now, f := e.State.Advertised(), e.State.Fabric()
	if end := x.end; end != nil {
		v.Host, v.HostPort = end.host, end.port
		host := cmp.Or(end.host, "a host")
		if end.receiving {
			v.From, v.FromName, v.ToName = end.leaf, fabric.NameOf(now, end.leaf), host
		} else {
			v.FromName, v.To, v.ToName = host, end.leaf, fabric.NameOf(now, end.leaf)
		}
	} else if i, ok := x.place(f); ok {
		v.From, v.To = f.Edge(i).Local, f.Edge(i).Remote
		v.FromName, v.ToName = fabric.NameOf(now, v.From), fabric.NameOf(now, v.To)
	}
	return v
}
