package topology

import (
	"iter"
	"maps"
	"slices"
)

// A linkSet has links by their ids. A builder and its snapshots share what they have in common: a
// change in a network of a million links takes no new map of them.
type linkSet struct {
	base map[LinkID]*Link // never written
	// changed are the links that are not those of base; nil: the set lacks them. Where it is shared,
	// it is copied before it is written.
	changed map[LinkID]*Link
	shared  bool
}

func (s *linkSet) get(id LinkID) *Link {
	if l, ok := s.changed[id]; ok {
		return l
	}
	return s.base[id]
}

func (s *linkSet) set(l *Link) {
	s.own()
	s.changed[l.ID] = l
}

func (s *linkSet) remove(id LinkID) {
	s.own()
	if _, ok := s.base[id]; ok {
		s.changed[id] = nil
	} else {
		delete(s.changed, id)
	}
}

func (s *linkSet) own() {
	switch {
	case s.changed == nil:
		s.changed = make(map[LinkID]*Link)
	case s.shared:
		s.changed = maps.Clone(s.changed)
	}
	s.shared = false
}

// all returns the links in any order, of which there are at most most.
func (s *linkSet) all() (links iter.Seq[*Link], most int) {
	return func(yield func(*Link) bool) {
		for _, l := range s.changed {
			if l != nil && !yield(l) {
				return
			}
		}
		for id, l := range s.base {
			if _, other := s.changed[id]; !other && !yield(l) {
				return
			}
		}
	}, len(s.base) + len(s.changed)
}

// share returns the set as it is now, which never changes.
func (s *linkSet) share() linkSet {
	switch most := min(mostChanged, 64+len(s.base)/8); {
	case len(s.changed) <= most:
	case len(s.base) == 0:
		s.base, s.changed = s.changed, nil
	default:
		links, room := s.all()
		all := make(map[LinkID]*Link, room)
		for l := range links {
			all[l.ID] = l
		}
		s.base, s.changed = all, nil
	}
	s.shared = true
	return *s
}

// placeOf returns the place of a link among links in order, -1 when it is not there.
func placeOf(links []*Link, l *Link) int {
	if i, found := slices.BinarySearchFunc(links, l, compareLinks); found {
		return i
	}
	return -1
}

// amend returns links in order with those of ids as they are in now; before is the set of links.
func amend(links []*Link, before, now *linkSet, ids iter.Seq[LinkID]) []*Link {
	type edit struct {
		at   int // the place of the link that goes, or before which one comes
		link *Link
	}
	var edits []edit
	for id := range ids {
		if l := before.get(id); l != nil {
			edits = append(edits, edit{at: placeOf(links, l)})
		}
		if l := now.get(id); l != nil {
			i, _ := slices.BinarySearchFunc(links, l, compareLinks)
			edits = append(edits, edit{i, l})
		}
	}
	slices.SortFunc(edits, func(a, b edit) int {
		switch {
		case a.at != b.at:
			return a.at - b.at
		case a.link == nil:
			return 1
		case b.link == nil:
			return -1
		}
		return compareLinks(a.link, b.link)
	})
	out := make([]*Link, 0, len(links)+len(edits))
	from := 0
	for _, e := range edits {
		out = append(out, links[from:e.at]...)
		if from = e.at; e.link != nil {
			out = append(out, e.link)
		} else {
			from++
		}
	}
	return append(out, links[from:]...)
}
