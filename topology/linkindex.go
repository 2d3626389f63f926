package topology

import (
	"maps"
	"slices"
	"sync"
)

// A linkIndex finds links by their ids. Snapshots of one builder share what they have in common: a
// change in a network of a million links takes no new map of them.
type linkIndex struct {
	base *linkPlaces
	// changed are the links that are not those of base; nil: the snapshot lacks them.
	changed map[LinkID]*Link
}

// linkPlaces are the links of a snapshot in order.
type linkPlaces struct {
	links []*Link
	of    func() map[LinkID]int32 // made when it is needed
}

func newLinkIndex(links []*Link) linkIndex {
	return linkIndex{base: &linkPlaces{links, sync.OnceValue(func() map[LinkID]int32 {
		of := make(map[LinkID]int32, len(links))
		for i, l := range links {
			of[l.ID] = int32(i)
		}
		return of
	})}}
}

// with returns the index of links, those of x but for a few that have changed.
func (x linkIndex) with(changed map[LinkID]*Link, links []*Link) linkIndex {
	if len(x.changed)+len(changed) > mostChanged {
		return newLinkIndex(links)
	}
	all := make(map[LinkID]*Link, len(x.changed)+len(changed))
	maps.Copy(all, x.changed)
	maps.Copy(all, changed)
	return linkIndex{x.base, all}
}

// place returns the place among links, which are those of the index, of the one with an id; -1 when
// there is none.
func (x linkIndex) place(id LinkID, links []*Link) int {
	l, changed := x.changed[id]
	if !changed && x.base == nil {
		return -1
	}
	if !changed {
		i, ok := x.base.of()[id]
		switch {
		case !ok:
			return -1
		case len(x.changed) == 0:
			return int(i)
		}
		l = x.base.links[i]
	}
	if l == nil {
		return -1
	}
	i, found := slices.BinarySearchFunc(links, l, compareLinks)
	if !found {
		return -1
	}
	return i
}

// amend returns links in order with some that have changed; nil: without it. of is the index of
// links.
func amend(links []*Link, of linkIndex, changed map[LinkID]*Link) []*Link {
	type edit struct {
		at   int // the place of the link that goes, or before which one comes
		link *Link
	}
	var edits []edit
	for id, l := range changed {
		if i := of.place(id, links); i >= 0 {
			edits = append(edits, edit{at: i})
		}
		if l != nil {
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
	out := make([]*Link, 0, len(links)+len(changed))
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
