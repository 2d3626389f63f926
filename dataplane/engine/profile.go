package engine

import (
	"slices"

	"github.com/weft-sdn/weft/dataplane/bmv2json"
)

// target is what an entry or a default points at, resolved. action and args end the first cache
// line of an entry.
type target struct {
	action *action // TargetAction; nil is none
	args   []uint64
	kind   TargetKind
	member *member // TargetMember
	group  *group  // TargetGroup, TargetActionSet
}

// extendSigns gives the arguments of one of the program's own entries their
// signs back.
func (g *target) extendSigns() {
	if g.action == nil {
		return
	}
	for _, p := range g.action.params {
		if p.Signed {
			signExtend(g.args[p.Off:p.Off+1], p.Width)
		}
	}
}

// pick chooses the member of an indirect target; nil when there is none.
func (g *target) pick(c *Context, t *matchTable) *member {
	if g.kind == TargetMember {
		return g.member
	}
	live := g.group.live
	switch len(live) {
	case 0:
		return nil
	case 1:
		return live[0]
	}
	var h uint64
	if g.group.random {
		h = c.st.rng.Uint64()
	} else if k := c.st.prog.profiles[t.profile].hash; k != nil {
		h = k.compute(c)
	}
	return live[h%uint64(len(live))]
}

// profile is a compiled action profile or selector.
type profile struct {
	name     string
	size     int
	selector bool
	hash     *calculation
	actions  []int // of the tables that use it
}

// profileState is a profile's members and groups in one switch.
type profileState struct {
	members map[uint32]*member
	groups  map[uint32]*group
	sets    map[*group]bool // the anonymous groups of one-shot entries
}

type member struct {
	id     uint32
	action *action
	args   []uint64
	users  int // entries and group places
}

// group is a selector group. live is what a packet's hash chooses from: every
// member whose watched port is up, as often as its weight.
type group struct {
	id    uint32
	max   int
	items []groupItem
	live  []*member
	users int
	// random reports whether a packet's choice is not made by its hash.
	random bool
}

type groupItem struct {
	m      *member
	weight int
	watch  uint32
}

// refresh recomputes what can be chosen.
func (g *group) refresh(s *State) {
	g.live = g.live[:0]
	for _, it := range g.items {
		if it.watch != NoPort && !s.PortUp(it.watch) {
			continue
		}
		for range it.weight {
			g.live = append(g.live, it.m)
		}
	}
}

func (l *loader) loadProfiles(jp *bmv2json.Pipeline) {
	for i := range jp.ActionProfiles {
		ja := &jp.ActionProfiles[i]
		if slices.ContainsFunc(l.prog.profiles, func(p *profile) bool { return p.name == ja.Name }) {
			continue // shared between the pipelines
		}
		p := &profile{name: ja.Name, size: ja.MaxSize}
		if ja.Selector != nil {
			p.selector = true
			p.hash = l.calculation(ja.Source, ja.Name, ja.Selector.Algo, ja.Selector.Input)
		}
		l.prog.profiles = append(l.prog.profiles, p)
		l.prog.info.profiles = append(l.prog.info.profiles, ProfileInfo{Name: p.name, Size: p.size,
			Selector: p.selector})
	}
}

func (l *loader) tableProfile(t *matchTable, jt *bmv2json.Table, info *TableInfo) {
	switch jt.Type {
	case "simple":
		return
	case "indirect", "indirect_ws":
	default:
		l.unsupported(jt.Source, "table type %q", jt.Type)
	}
	t.profile = slices.IndexFunc(l.prog.profiles, func(p *profile) bool {
		return p.name == jt.ActionProfile
	})
	if t.profile < 0 {
		l.bad(jt.Source, "unknown action profile %q", jt.ActionProfile)
	}
	p := l.prog.profiles[t.profile]
	if jt.Type == "indirect_ws" && !p.selector {
		l.bad(jt.Source, "action profile %q has no selector", p.name)
	}
	for _, a := range t.actions {
		if !slices.Contains(p.actions, a) {
			p.actions = append(p.actions, a)
		}
	}
	info.Profile, info.Selector = t.profile, jt.Type == "indirect_ws"
	pi := &l.prog.info.profiles[t.profile]
	pi.Tables = append(pi.Tables, t.idx)
	pi.Actions = p.actions
}
