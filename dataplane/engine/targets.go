package engine

import (
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/dataplane/ir"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/bmv2json"
	"github.com/weft-sdn/weft/dataplane/table"
)

// ownAction finds an action among the allowed ones: the action itself, or p4c's copy of the action
// for another table under the same name.
func (p *Program) ownAction(allowed []int, index int) (int, bool) {
	if slices.Contains(allowed, index) {
		return index, true
	}
	if index < 0 || index >= len(p.actions) {
		return 0, false
	}
	for _, i := range allowed {
		if p.actions[i].name == p.actions[index].name {
			return i, true
		}
	}
	return 0, false
}

// resolveAction checks an action call against the actions allowed, and makes
// its index the one of the table or profile.
// The arguments come after spare words.
func (s *State) resolveAction(what string, allowed []int, call *ActionCall, spare int) (*action,
	[]uint64, error) {
	index, ok := s.prog.ownAction(allowed, call.Action)
	if !ok {
		return nil, nil, fmt.Errorf("%s: action %d is not one of its actions: %w", what, call.Action,
			ErrBadValue)
	}
	call.Action = index
	a := s.prog.actions[index]
	if len(call.Args) != len(a.params) {
		return nil, nil, fmt.Errorf("%s: action %s with %d arguments, want %d: %w", what, a.name,
			len(call.Args), len(a.params), ErrBadValue)
	}
	words := make([]uint64, spare+a.words)
	for i := range a.params {
		p := &a.params[i]
		if err := fit(call.Args[i], p.Width); err != nil {
			return nil, nil, fmt.Errorf("%s: action %s, argument %s: %w", what, a.name, p.Name, err)
		}
		for w := range max(1, bitfield.Words(p.Width)) {
			words[spare+p.Off+w] = bitfield.Word(call.Args[i], 8*w)
		}
	}
	return a, words, nil
}

// exportArgs is the inverse of resolveAction.
func exportArgs(a *action, words []uint64) [][]byte {
	args := make([][]byte, len(a.params))
	size := 0
	for _, p := range a.params {
		size += (p.Width + 7) / 8
	}
	all := make([]byte, size)
	for i, p := range a.params {
		n := (p.Width + 7) / 8
		args[i], all = all[:n:n], all[n:]
		bitfield.Store(args[i], 8*n-p.Width, p.Width, words[p.Off:p.Off+max(1, bitfield.Words(p.Width))])
	}
	return args
}

// resolve checks a target and finds what it refers to. It also returns spare
// words, in one piece of memory with the arguments.
func (s *State) resolve(t *matchTable, g *Target, spare int) (target, []uint64, error) {
	if (g.Kind == TargetAction) != (t.profile < 0) {
		return target{}, nil, fmt.Errorf("%s: target of a wrong kind for its implementation: %w", t.label,
			ErrBadValue)
	}
	if g.Kind == TargetAction {
		a, words, err := s.resolveAction(t.label, t.actions, &g.Action, spare)
		if err != nil {
			return target{}, nil, err
		}
		return target{kind: TargetAction, action: a, args: words[spare:]}, words[:spare:spare], nil
	}
	n, err := s.resolveIndirect(t, g)
	return n, make([]uint64, spare), err
}

// resolveIndirect is resolve for what is not an action.
func (s *State) resolveIndirect(t *matchTable, g *Target) (target, error) {
	what := t.label
	if g.Kind == TargetMember {
		m := s.profiles[t.profile].members[g.Member]
		if m == nil {
			return target{}, fmt.Errorf("%s: member %d: %w", what, g.Member, ErrNotFound)
		}
		return target{kind: TargetMember, member: m}, nil
	}
	if !s.prog.info.tables[t.idx].Selector {
		return target{}, fmt.Errorf("%s has no selector: %w", what, ErrBadValue)
	}
	if g.Kind == TargetGroup {
		gr := s.profiles[t.profile].groups[g.Group]
		if gr == nil {
			return target{}, fmt.Errorf("%s: group %d: %w", what, g.Group, ErrNotFound)
		}
		return target{kind: TargetGroup, group: gr}, nil
	}
	if g.Kind != TargetActionSet || len(g.Set) == 0 {
		return target{}, fmt.Errorf("%s: empty action set: %w", what, ErrBadValue)
	}
	gr := &group{random: g.Random}
	total := 0
	for i := range g.Set {
		w := &g.Set[i]
		if w.Weight < 1 || w.Weight > MaxGroupSize {
			return target{}, fmt.Errorf("%s: weight %d: %w", what, w.Weight, ErrBadValue)
		}
		if total += w.Weight; total > MaxGroupSize {
			return target{}, fmt.Errorf("%s: weights add up to more than %d: %w", what, MaxGroupSize,
				ErrFull)
		}
		a, args, err := s.resolveAction(what, t.actions, &w.ActionCall, 0)
		if err != nil {
			return target{}, err
		}
		gr.items = append(gr.items, groupItem{m: &member{action: a, args: args}, weight: w.Weight,
			watch: w.WatchPort})
	}
	gr.refresh(s)
	return target{kind: TargetActionSet, group: gr}, nil
}

// MaxGroupSize bounds the sum of the weights of a group or an action set.
const MaxGroupSize = 1 << 16

// retain and release count the users of members and groups.
func (s *State) retain(t *matchTable, g *target) {
	switch g.kind {
	case TargetMember:
		g.member.users++
	case TargetGroup:
		g.group.users++
	case TargetActionSet:
		ps := &s.profiles[t.profile]
		if ps.sets == nil {
			ps.sets = map[*group]bool{}
		}
		ps.sets[g.group] = true
	}
}

func (s *State) release(t *matchTable, g *target) {
	switch g.kind {
	case TargetMember:
		g.member.users--
	case TargetGroup:
		g.group.users--
	case TargetActionSet:
		delete(s.profiles[t.profile].sets, g.group)
	}
}

func (s *State) exportTarget(g *target) Target {
	out := Target{Kind: g.kind}
	switch g.kind {
	case TargetAction:
		if g.action != nil {
			out.Action = ActionCall{Action: g.action.index, Args: exportArgs(g.action, g.args)}
		}
	case TargetMember:
		out.Member = g.member.id
	case TargetGroup:
		out.Group = g.group.id
	case TargetActionSet:
		out.Random = g.group.random
		for _, it := range g.group.items {
			out.Set = append(out.Set, WeightedAction{
				ActionCall: ActionCall{Action: it.m.action.index, Args: exportArgs(it.m.action, it.m.args)},
				Weight:     it.weight, WatchPort: it.watch})
		}
	}
	return out
}

// SetDefaultEntry sets the action of a miss; see dataplane.Controls.
func (s *State) SetDefaultEntry(table int, g Target) error {
	t, ts, err := s.tableAt(table)
	if err != nil {
		return err
	}
	s.changedIn(ts)
	if t.constDefault {
		return fmt.Errorf("table %s: default action: %w", t.name, ErrConst)
	}
	n, _, err := s.resolve(t, &g, 0)
	if err != nil {
		return err
	}
	s.retain(t, &n)
	s.release(t, &ts.def)
	ts.def, ts.defChanged = n, true
	return nil
}

// ResetDefaultEntry restores the program's default; see dataplane.Controls.
func (s *State) ResetDefaultEntry(table int) error {
	t, ts, err := s.tableAt(table)
	if err != nil {
		return err
	}
	s.changedIn(ts)
	if t.constDefault {
		return fmt.Errorf("table %s: default action: %w", t.name, ErrConst)
	}
	s.release(t, &ts.def)
	ts.def, ts.defChanged = t.def, false
	return nil
}

// DefaultEntry returns the action of a miss; see dataplane.Controls.
func (s *State) DefaultEntry(table int) (Target, bool, error) {
	t, ts, err := s.tableAt(table)
	if err != nil {
		return Target{}, false, err
	}
	if ts.def.kind == TargetAction && ts.def.action == nil {
		return Target{}, false, fmt.Errorf("table %s: default entry: %w", t.name, ErrNotFound)
	}
	return s.exportTarget(&ts.def), ts.defChanged, nil
}

// tableEntries decodes the constant entries of a table.
func (l *loader) tableEntries(t *matchTable, jt *bmv2json.Table, info *TableInfo) {
	if len(jt.Entries) == 0 {
		return
	}
	if t.profile >= 0 {
		l.unsupported(jt.Source, "constant entries of a table with an action profile")
	}
	info.ConstEntries, t.constEntries = true, true
	top := 0
	for i := range jt.Entries {
		top = max(top, jt.Entries[i].Priority)
	}
	for i := range jt.Entries {
		je := &jt.Entries[i]
		if len(je.MatchKey) != len(t.key.Fields) {
			l.bad(je.Source, "entry with %d match fields: want %d", len(je.MatchKey), len(t.key.Fields))
		}
		var e Entry
		for k := range je.MatchKey {
			e.Match = append(e.Match, l.jsonMatch(je, k, t))
		}
		if t.key.Prioritised() {
			// BMv2 prefers small numbers, here the largest wins.
			if je.Priority < 0 || je.Priority > 1<<30 {
				l.bad(je.Source, "entry with priority %d", je.Priority)
			}
			e.Priority = int32(top - je.Priority + 1)
		}
		idx := l.actionIndex(je.Source, je.ActionEntry.ActionID)
		g := l.jsonTarget(t, je.Source, idx, je.ActionEntry.ActionData)
		if !slices.Contains(t.actions, idx) {
			l.bad(je.Source, "entry with action %q, which is not the table's", g.action.name)
		}
		e.Target.Action = ActionCall{Action: idx, Args: exportArgs(g.action, g.args)}
		if err := t.key.Pack(e.Match, new(table.Packed)); err != nil {
			l.bad(je.Source, "entry: %v", err)
		}
		t.entries = append(t.entries, e)
	}
}

func (l *loader) jsonMatch(je *bmv2json.Entry, i int, t *matchTable) Match {
	k := &t.key.Fields[i]
	jm := &je.MatchKey[i]
	n := (k.Width + 7) / 8
	val := func(s string) []byte {
		v, ok := bmv2json.ParseHex(s)
		if ok && v.Sign() < 0 { // of a signed key
			v.Add(v, ir.Pow2(k.Width))
		}
		if !ok || v.Sign() < 0 || v.BitLen() > k.Width {
			l.bad(je.Source, "match value %q of %d bits", s, k.Width)
		}
		return v.FillBytes(make([]byte, n))
	}
	key := func() []byte {
		if t.reads[i].Valid && len(jm.Key) > 0 && (jm.Key[0] == 't' || jm.Key[0] == 'f') {
			return []byte{map[bool]byte{true: 1}[jm.Key[0] == 't']}
		}
		return val(l.name(je.Source, jm.Key))
	}
	m := Match{}
	switch k.Kind {
	case Exact:
		m.Value = key()
	case LPM:
		m.Value, m.PrefixLen = key(), jm.PrefixLength
		if m.PrefixLen < 0 || m.PrefixLen > k.Width {
			l.bad(je.Source, "prefix length %d of %d bits", m.PrefixLen, k.Width)
		}
		m.Value = and(m.Value, bitfield.Prefix(k.Width, m.PrefixLen))
	case Ternary:
		m.Mask = val(jm.Mask)
		m.Value = and(key(), m.Mask)
	case Range:
		m.Value, m.High = val(jm.Start), val(jm.End)
	}
	return m
}

// and is the bitwise and of values of equal length.
func and(a, b []byte) []byte {
	c := make([]byte, len(a))
	for i := range a {
		c[i] = a[i] & b[i]
	}
	return c
}
