package causes

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-sdn/weft/api"
)

// Bounds of the kept past. A change costs changeOctets, and its texts.
const (
	pastFor     = 24 * time.Hour
	pastOctets  = 32 << 20
	pastChanges = 10_000 // of one answer

	changeOctets = 96

	// said stands between the severity of a cause and what the cause says.
	said = ": "
)

// subject names a thing with a state.
type subject struct{ kind, id string }

func (t subject) compare(o subject) int {
	return cmp.Or(cmp.Compare(t.kind, o.kind), cmp.Compare(t.id, o.id))
}

// turn is a change of a subject.
type turn struct {
	at time.Time
	subject
	was, is string
}

// past keeps the states of troubled things, and the changes of these states. The memory is bounded:
// the oldest changes go first. The zero value knows nothing.
type past struct {
	mu     sync.Mutex
	now    map[subject]string
	turns  []turn // the oldest first
	octets int
	since  time.Time
}

// take records the states of all things at a time; things absent from found are healthy.
func (p *past) take(at time.Time, found map[subject]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since.IsZero() {
		p.since, p.now = at, map[subject]string{}
	}
	var news []turn
	for t, is := range found {
		if was := p.now[t]; was != is {
			news = append(news, turn{at, t, was, is})
		}
	}
	for t, was := range p.now {
		if _, there := found[t]; !there {
			news = append(news, turn{at, t, was, ""})
		}
	}
	slices.SortFunc(news, func(a, b turn) int { return a.compare(b.subject) })
	for _, n := range news {
		if n.is == "" {
			delete(p.now, n.subject)
		} else {
			p.now[n.subject] = n.is
		}
		p.octets += n.size()
	}
	p.turns = append(p.turns, news...)
	old := 0
	for ; old < len(p.turns) && (p.octets > pastOctets || at.Sub(p.turns[old].at) > pastFor); old++ {
		p.octets -= p.turns[old].size()
		p.since = p.turns[old].at
	}
	p.turns = slices.Delete(p.turns, 0, old)
	if first := at.Add(-pastFor); p.since.Before(first) {
		p.since = first
	}
	if cap(p.turns) > 4*len(p.turns)+64 {
		p.turns = slices.Clip(slices.Clone(p.turns))
	}
}

func (t *turn) size() int {
	return changeOctets + len(t.kind) + len(t.id) + len(t.was) + len(t.is)
}

// view returns how the things that a client sees were at a time, and what changed from another
// time on until then.
func (p *past) view(from, at time.Time, sees func(kind, id string) bool) api.Past {
	p.mu.Lock()
	defer p.mu.Unlock()
	then := maps.Clone(p.now)
	v := api.Past{At: at, Since: p.since, Things: []api.PastThing{}, Changes: []api.PastChange{}}
	for i := len(p.turns) - 1; i >= 0; i-- {
		t := &p.turns[i]
		switch {
		case t.at.After(at) && t.was == "":
			delete(then, t.subject)
		case t.at.After(at):
			then[t.subject] = t.was
		case t.at.Before(from) || len(v.Changes) == pastChanges:
			i = 0
		case sees(t.kind, t.id):
			c := api.PastChange{Time: t.at, Kind: t.kind, ID: t.id}
			c.Was, c.Said, _ = strings.Cut(t.was, said)
			c.Is, c.What, _ = strings.Cut(t.is, said)
			if c.What == "" || c.What == c.Said {
				c.What, c.Said = cmp.Or(c.What, c.Said), ""
			}
			v.Changes = append(v.Changes, c)
		}
	}
	slices.Reverse(v.Changes)
	for _, t := range slices.SortedFunc(maps.Keys(then), subject.compare) {
		if sees(t.kind, t.id) {
			state, what, _ := strings.Cut(then[t], said)
			v.Things = append(v.Things, api.PastThing{Kind: t.kind, ID: t.id, State: state, What: what})
		}
	}
	return v
}

// statesOf returns the states of all troubled things, causes among them.
func statesOf(k *Known, found []api.Cause) map[subject]string {
	out := make(map[subject]string)
	note := func(kind, id, state string) {
		if state != "" {
			out[subject{kind, id}] = state
		}
	}
	when := func(is bool, state string) string {
		if is {
			return state
		}
		return ""
	}
	for i := range k.Switches {
		s := &k.Switches[i]
		note("switch", s.Name, when(s.Managed, cmp.Or(when(!s.Connected, "down"),
			when(!s.Synced, "programming"))))
	}
	for i := range k.Links {
		s := &k.Links[i].Status
		note("link", string(k.Links[i].ID), cmp.Or(when(down(&k.Links[i]), "down"),
			when(s.Drained, "drained"), when(s.Phase != "up", s.Phase), when(s.Denied, "denied")))
	}
	each(k.Nodes, func(n *api.Node) {
		note("node", string(n.ID), when(n.Spec.Admin == api.AdminDrained, "drained"))
	})
	each(k.Hosts, func(h *api.Host) {
		note("host", h.Name, when(k.Fabric != nil && !h.Connected, "away"))
	})
	worst := func(all api.Conditions) string {
		for _, c := range all {
			if c.Type == api.Degraded && c.Status || c.Type == api.Accepted && !c.Status {
				return "degraded"
			}
		}
		for _, c := range all {
			if c.Type == api.Programmed && !c.Status {
				return "programming"
			}
		}
		return ""
	}
	each(k.Profiles, func(p *api.EVProfile) { note("ev-profile", p.Name, worst(p.Status.Conditions)) })
	each(k.Groups, func(g *api.MulticastGroup) {
		note("multicast-group", g.Name, worst(g.Status.Conditions))
	})
	each(k.Jobs, func(j *api.Job) { note("job", j.Name, when(j.Status.Blockers > 0, "blocked")) })
	each(k.Leases, func(l *api.PathLease) {
		note("path-lease", l.Name, when(l.Status.Phase == api.LeaseBroken, "broken"))
	})
	each(found, func(c *api.Cause) { note("cause", c.ID, string(c.Severity)+said+c.What) })
	return out
}

// each calls f for each of all.
func each[T any](all []T, f func(*T)) {
	for i := range all {
		f(&all[i])
	}
}
