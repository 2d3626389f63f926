package dataplane

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/weft-sdn/weft/dataplane/engine"
)

func cloneReplicas(rs []Replica) []Replica {
	out := slices.Clone(rs)
	for i := range out {
		out[i].Backups = slices.Clone(out[i].Backups)
	}
	return out
}

// checkReplicas refuses two copies that could not be told apart.
func checkReplicas(what string, rs []Replica) error {
	type place struct {
		port uint32
		rid  uint16
	}
	seen := make(map[place]bool, len(rs))
	for _, r := range rs {
		p := place{r.Port, r.Instance}
		if seen[p] {
			return fmt.Errorf("%s: replica (port %d, instance %d) twice: %w", what, r.Port, r.Instance,
				engine.ErrBadValue)
		}
		seen[p] = true
	}
	return nil
}

func (g *MulticastGroup) clone() MulticastGroup {
	return MulticastGroup{ID: g.ID, Replicas: cloneReplicas(g.Replicas),
		Metadata: slices.Clone(g.Metadata)}
}

// InsertMulticastGroup adds a multicast group; see Controls.
func (s *Switch) InsertMulticastGroup(g MulticastGroup) error {
	switch {
	case g.ID == 0:
		return fmt.Errorf("multicast group %d: %w", g.ID, engine.ErrBadValue)
	case s.groups[g.ID] != nil:
		return fmt.Errorf("multicast group %d: %w", g.ID, engine.ErrExists)
	}
	return s.setGroup(g)
}

// ModifyMulticastGroup replaces a group's replicas; see Controls.
func (s *Switch) ModifyMulticastGroup(g MulticastGroup) error {
	if s.groups[g.ID] == nil {
		return fmt.Errorf("multicast group %d: %w", g.ID, engine.ErrNotFound)
	}
	return s.setGroup(g)
}

func (s *Switch) setGroup(g MulticastGroup) error {
	if err := checkReplicas(fmt.Sprintf("multicast group %d", g.ID), g.Replicas); err != nil {
		return err
	}
	n := g.clone()
	s.groups[g.ID] = &n
	return nil
}

// DeleteMulticastGroup removes a group; see Controls.
func (s *Switch) DeleteMulticastGroup(id uint16) error {
	if s.groups[id] == nil {
		return fmt.Errorf("multicast group %d: %w", id, engine.ErrNotFound)
	}
	delete(s.groups, id)
	return nil
}

// MulticastGroup reads one group; see Controls.
func (s *Switch) MulticastGroup(id uint16) (MulticastGroup, error) {
	g := s.groups[id]
	if g == nil {
		return MulticastGroup{}, fmt.Errorf("multicast group %d: %w", id, engine.ErrNotFound)
	}
	return g.clone(), nil
}

// MulticastGroups yields all groups by id; see Controls.
func (s *Switch) MulticastGroups() iter.Seq[MulticastGroup] {
	return func(yield func(MulticastGroup) bool) {
		for _, id := range slices.Sorted(maps.Keys(s.groups)) {
			if !yield(s.groups[id].clone()) {
				return
			}
		}
	}
}

func (c *CloneSession) clone() CloneSession {
	out := *c
	out.Replicas = cloneReplicas(c.Replicas)
	return out
}

func (s *Switch) checkSession(c *CloneSession) error {
	what := fmt.Sprintf("clone session %d", c.ID)
	switch {
	case c.ID > engine.MaxCloneSession:
		return fmt.Errorf("%s: more than %d: %w", what, engine.MaxCloneSession, engine.ErrBadValue)
	case int(c.ClassOfService) >= s.cfg.Priorities:
		return fmt.Errorf("%s: class of service %d of %d: %w", what, c.ClassOfService, s.cfg.Priorities,
			engine.ErrBadValue)
	case c.PacketLength < 0:
		return fmt.Errorf("%s: packet length %d: %w", what, c.PacketLength, engine.ErrBadValue)
	}
	return checkReplicas(what, c.Replicas)
}

// InsertCloneSession adds a clone session; see Controls.
func (s *Switch) InsertCloneSession(c CloneSession) error {
	if s.sessions[c.ID] != nil {
		return fmt.Errorf("clone session %d: %w", c.ID, engine.ErrExists)
	}
	return s.setSession(c)
}

// ModifyCloneSession replaces a clone session; see Controls.
func (s *Switch) ModifyCloneSession(c CloneSession) error {
	if s.sessions[c.ID] == nil {
		return fmt.Errorf("clone session %d: %w", c.ID, engine.ErrNotFound)
	}
	return s.setSession(c)
}

func (s *Switch) setSession(c CloneSession) error {
	if err := s.checkSession(&c); err != nil {
		return err
	}
	n := c.clone()
	s.sessions[c.ID] = &n
	return nil
}

// DeleteCloneSession removes a clone session; see Controls.
func (s *Switch) DeleteCloneSession(id uint16) error {
	if s.sessions[id] == nil {
		return fmt.Errorf("clone session %d: %w", id, engine.ErrNotFound)
	}
	delete(s.sessions, id)
	return nil
}

// CloneSession reads one clone session; see Controls.
func (s *Switch) CloneSession(id uint16) (CloneSession, error) {
	c := s.sessions[id]
	if c == nil {
		return CloneSession{}, fmt.Errorf("clone session %d: %w", id, engine.ErrNotFound)
	}
	return c.clone(), nil
}

// CloneSessions yields all clone sessions by id; see Controls.
func (s *Switch) CloneSessions() iter.Seq[CloneSession] {
	return func(yield func(CloneSession) bool) {
		for _, id := range slices.Sorted(maps.Keys(s.sessions)) {
			if !yield(s.sessions[id].clone()) {
				return
			}
		}
	}
}
