package engine

import (
	"fmt"
	"iter"
	"maps"
	"slices"
)

func (s *State) profileAt(i int) (*profile, *profileState, error) {
	if s.prog == nil {
		return nil, nil, ErrNoProgram
	}
	if i < 0 || i >= len(s.prog.profiles) {
		return nil, nil, fmt.Errorf("action profile %d: %w", i, ErrNotFound)
	}
	return s.prog.profiles[i], &s.profiles[i], nil
}

// InsertMember adds a member; see dataplane.Controls.
func (s *State) InsertMember(profile int, m Member) error {
	s.changed()
	p, ps, err := s.profileAt(profile)
	if err != nil {
		return err
	}
	if ps.members[m.ID] != nil {
		return fmt.Errorf("profile %s: member %d: %w", p.name, m.ID, ErrExists)
	}
	if p.size > 0 && len(ps.members) >= p.size {
		return fmt.Errorf("profile %s of %d members: %w", p.name, p.size, ErrFull)
	}
	a, args, err := s.resolveAction("profile "+p.name, p.actions, &m.Action, 0)
	if err != nil {
		return err
	}
	if ps.members == nil {
		ps.members = map[uint32]*member{}
	}
	ps.members[m.ID] = &member{id: m.ID, action: a, args: args}
	return nil
}

func (s *State) memberAt(profile int, id uint32) (*profile, *member, error) {
	p, ps, err := s.profileAt(profile)
	if err != nil {
		return nil, nil, err
	}
	m := ps.members[id]
	if m == nil {
		return nil, nil, fmt.Errorf("profile %s: member %d: %w", p.name, id, ErrNotFound)
	}
	return p, m, nil
}

// ModifyMember replaces a member's action; see dataplane.Controls.
func (s *State) ModifyMember(profile int, m Member) error {
	s.changed()
	p, old, err := s.memberAt(profile, m.ID)
	if err != nil {
		return err
	}
	a, args, err := s.resolveAction("profile "+p.name, p.actions, &m.Action, 0)
	if err != nil {
		return err
	}
	old.action, old.args = a, args
	return nil
}

// DeleteMember removes a member; see dataplane.Controls.
func (s *State) DeleteMember(profile int, id uint32) error {
	s.changed()
	p, m, err := s.memberAt(profile, id)
	if err != nil {
		return err
	}
	if m.users > 0 {
		return fmt.Errorf("profile %s: member %d: %w", p.name, id, ErrInUse)
	}
	delete(s.profiles[profile].members, id)
	return nil
}

func (m *member) export() Member {
	return Member{ID: m.id, Action: ActionCall{Action: m.action.index,
		Args: exportArgs(m.action, m.args)}}
}

// Member reads one member; see dataplane.Controls.
func (s *State) Member(profile int, id uint32) (Member, error) {
	_, m, err := s.memberAt(profile, id)
	if err != nil {
		return Member{}, err
	}
	return m.export(), nil
}

// Members yields the members by id; see dataplane.Controls.
func (s *State) Members(profile int) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		_, ps, err := s.profileAt(profile)
		if err != nil {
			return
		}
		for _, id := range slices.Sorted(maps.Keys(ps.members)) {
			if !yield(ps.members[id].export()) {
				return
			}
		}
	}
}

// groupItems checks a group's members.
func (s *State) groupItems(p *profile, ps *profileState, g *Group) ([]groupItem, error) {
	if !p.selector {
		return nil, fmt.Errorf("profile %s has no selector: %w", p.name, ErrBadValue)
	}
	var items []groupItem
	total := 0
	limit := MaxGroupSize
	if g.MaxSize > 0 {
		limit = min(limit, g.MaxSize)
	}
	for _, gm := range g.Members {
		m := ps.members[gm.Member]
		if m == nil {
			return nil, fmt.Errorf("profile %s, group %d: member %d: %w", p.name, g.ID, gm.Member,
				ErrNotFound)
		}
		if gm.Weight < 1 || gm.Weight > MaxGroupSize {
			return nil, fmt.Errorf("profile %s, group %d: weight %d: %w", p.name, g.ID, gm.Weight,
				ErrBadValue)
		}
		if total += gm.Weight; total > limit {
			return nil, fmt.Errorf("profile %s, group %d: more than %d members: %w", p.name, g.ID, limit,
				ErrFull)
		}
		items = append(items, groupItem{m: m, weight: gm.Weight, watch: gm.WatchPort})
	}
	// A packet's hash chooses by position: fix it, whatever the order of input.
	slices.SortStableFunc(items, func(a, b groupItem) int {
		return int(int64(a.m.id) - int64(b.m.id))
	})
	for i := 1; i < len(items); i++ {
		if items[i].m == items[i-1].m {
			return nil, fmt.Errorf("profile %s, group %d: member %d twice: %w", p.name, g.ID, items[i].m.id,
				ErrBadValue)
		}
	}
	return items, nil
}

// InsertGroup adds a group; see dataplane.Controls.
func (s *State) InsertGroup(profile int, g Group) error {
	s.changed()
	p, ps, err := s.profileAt(profile)
	if err != nil {
		return err
	}
	if ps.groups[g.ID] != nil {
		return fmt.Errorf("profile %s: group %d: %w", p.name, g.ID, ErrExists)
	}
	items, err := s.groupItems(p, ps, &g)
	if err != nil {
		return err
	}
	if ps.groups == nil {
		ps.groups = map[uint32]*group{}
	}
	n := &group{id: g.ID, max: g.MaxSize}
	n.replace(s, items)
	ps.groups[g.ID] = n
	return nil
}

// replace exchanges a group's members.
func (g *group) replace(s *State, items []groupItem) {
	for _, it := range items {
		it.m.users++
	}
	for _, it := range g.items {
		it.m.users--
	}
	g.items = items
	g.refresh(s)
}

func (s *State) groupAt(profile int, id uint32) (*profile, *group, error) {
	p, ps, err := s.profileAt(profile)
	if err != nil {
		return nil, nil, err
	}
	g := ps.groups[id]
	if g == nil {
		return nil, nil, fmt.Errorf("profile %s: group %d: %w", p.name, id, ErrNotFound)
	}
	return p, g, nil
}

// ModifyGroup replaces a group's members; see dataplane.Controls.
func (s *State) ModifyGroup(profile int, g Group) error {
	s.changed()
	p, old, err := s.groupAt(profile, g.ID)
	if err != nil {
		return err
	}
	if g.MaxSize == 0 {
		g.MaxSize = old.max
	}
	items, err := s.groupItems(p, &s.profiles[profile], &g)
	if err != nil {
		return err
	}
	old.max = g.MaxSize
	old.replace(s, items)
	return nil
}

// DeleteGroup removes a group; see dataplane.Controls.
func (s *State) DeleteGroup(profile int, id uint32) error {
	s.changed()
	p, g, err := s.groupAt(profile, id)
	if err != nil {
		return err
	}
	if g.users > 0 {
		return fmt.Errorf("profile %s: group %d: %w", p.name, id, ErrInUse)
	}
	g.replace(s, nil)
	delete(s.profiles[profile].groups, id)
	return nil
}

func (g *group) export() Group {
	out := Group{ID: g.id, MaxSize: g.max}
	for _, it := range g.items {
		out.Members = append(out.Members, GroupMember{Member: it.m.id, Weight: it.weight,
			WatchPort: it.watch})
	}
	return out
}

// Group reads one group; see dataplane.Controls.
func (s *State) Group(profile int, id uint32) (Group, error) {
	_, g, err := s.groupAt(profile, id)
	if err != nil {
		return Group{}, err
	}
	return g.export(), nil
}

// Groups yields the groups by id; see dataplane.Controls.
func (s *State) Groups(profile int) iter.Seq[Group] {
	return func(yield func(Group) bool) {
		_, ps, err := s.profileAt(profile)
		if err != nil {
			return
		}
		for _, id := range slices.Sorted(maps.Keys(ps.groups)) {
			if !yield(ps.groups[id].export()) {
				return
			}
		}
	}
}
