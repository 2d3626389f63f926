package topology

import (
	"hash/maphash"
	"iter"
	"maps"
	"math/bits"
	"slices"
)

// A linkSet holds links by id. A builder and its snapshots share the common part of the set, so a
// change in a network of a million links needs no new index.
type linkSet struct {
	base linkIndex // never written
	// changed holds the links that differ from base; nil: the set lacks the link. A shared map is
	// copied before a write.
	changed map[LinkID]*Link
	shared  bool
}

// A linkIndex finds links by their ids. A map of a million links would be a million objects more
// for the garbage collector to look at, in an order that no cache likes.
type linkIndex struct {
	links []*Link // in order
	seed  maphash.Seed
	// slots has the places of links, from 1; 0 is empty. A link is at the first free slot from its
	// hash on. The number of slots is a power of two; at least a third are empty.
	slots []uint32
}

func newLinkIndex(links []*Link) linkIndex {
	x := linkIndex{links: links, seed: maphash.MakeSeed()}
	x.slots = make([]uint32, 1<<bits.Len(uint(len(links)*3/2)))
	for i, l := range links {
		*x.slot(l.ID) = uint32(i + 1)
	}
	return x
}

// slot returns the slot of the link with an id, or the empty one where it would be.
func (x *linkIndex) slot(id LinkID) *uint32 {
	mask := uint64(len(x.slots) - 1)
	for i := maphash.String(x.seed, string(id)); ; i++ {
		at := &x.slots[i&mask]
		if *at == 0 || x.links[*at-1].ID == id {
			return at
		}
	}
}

// get returns the link with an id, nil when there is none.
func (x *linkIndex) get(id LinkID) *Link {
	if len(x.links) == 0 {
		return nil
	}
	if at := *x.slot(id); at != 0 {
		return x.links[at-1]
	}
	return nil
}

func (s *linkSet) get(id LinkID) *Link {
	if l, ok := s.changed[id]; ok {
		return l
	}
	return s.base.get(id)
}

func (s *linkSet) set(l *Link) {
	s.own()
	s.changed[l.ID] = l
}

func (s *linkSet) remove(id LinkID) {
	s.own()
	if s.base.get(id) != nil {
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

// all returns the links in any order, and an upper bound of their number.
func (s *linkSet) all() (links iter.Seq[*Link], most int) {
	return func(yield func(*Link) bool) {
		for _, l := range s.changed {
			if l != nil && !yield(l) {
				return
			}
		}
		for _, l := range s.base.links {
			if _, other := s.changed[l.ID]; !other && !yield(l) {
				return
			}
		}
	}, len(s.base.links) + len(s.changed)
}

// ordered returns the links in order; the caller must not write the slice. After few changes,
// ordered costs about as much as a copy of the slice.
func (s *linkSet) ordered() []*Link {
	before := s.base.links
	if len(s.changed) == 0 {
		return before
	}
	type edit struct {
		at   int // the place of the link that goes, or before which one comes
		link *Link
	}
	edits := make([]edit, 0, 2*len(s.changed))
	for id, now := range s.changed {
		if l := s.base.get(id); l != nil {
			edits = append(edits, edit{at: placeOf(before, l)})
		}
		if now != nil {
			i, _ := slices.BinarySearchFunc(before, now, compareLinks)
			edits = append(edits, edit{i, now})
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
	out := make([]*Link, 0, len(before)+len(edits))
	from := 0
	for _, e := range edits {
		out = append(out, before[from:e.at]...)
		if from = e.at; e.link != nil {
			out = append(out, e.link)
		} else {
			from++
		}
	}
	return append(out, before[from:]...)
}

// share returns the present state of the set, which never changes.
func (s *linkSet) share() linkSet {
	if len(s.changed) > min(mostChanged, 64+len(s.base.links)/8) {
		s.base, s.changed = newLinkIndex(s.ordered()), nil
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
