package multicast

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-sdn/weft/api"
)

// A queue pair belongs to one group, as the queue pair of the source or of a receiver, until the
// group has left the switches with the queue pair. Records from before this rule may break the
// rule: the groups continue, and are Degraded.

// takePairs notes the queue pairs of a group: the queue pairs in the spec, and the queue pairs of
// trees that may still carry data.
func (f *Feature) takePairs(g *group) {
	now := make(map[api.QueuePair]struct{})
	for _, p := range g.specPairs() {
		now[p] = struct{}{}
	}
	for _, p := range g.placements() {
		if p.Source.QPN != 0 {
			now[api.QueuePair{Address: p.Source.Address, QPN: p.Source.QPN}] = struct{}{}
		}
		for i := range p.Nodes {
			for _, b := range p.Nodes[i].Branches {
				if b.Receiver != nil {
					now[api.QueuePair{Address: b.Receiver.Address, QPN: b.Receiver.QPN}] = struct{}{}
				}
			}
		}
	}
	f.leavePairs(g)
	g.pairs = slices.Collect(maps.Keys(now))
	for _, p := range g.pairs {
		f.pairs[p] = append(f.pairs[p], g)
		f.notePair(p)
	}
}

// leavePairs forgets the queue pairs of a group.
func (f *Feature) leavePairs(g *group) {
	for _, p := range g.pairs {
		f.notePair(p)
		if f.pairs[p] = slices.DeleteFunc(f.pairs[p],
			func(o *group) bool { return o == g }); len(f.pairs[p]) == 0 {
			delete(f.pairs, p)
		}
	}
	g.pairs = nil
}

// notePair has the status of groups looked at that share a queue pair.
func (f *Feature) notePair(p api.QueuePair) {
	if len(f.pairs[p]) > 1 {
		for _, g := range f.pairs[p] {
			f.status.add(g.index)
		}
	}
}

// specPairs returns the queue pairs of the spec and of the connections of a group. A deleted group
// returns no queue pairs.
func (g *group) specPairs() []api.QueuePair {
	if g.item == nil {
		return nil
	}
	s, _ := g.Fill(&g.item.Spec, nil)
	out := []api.QueuePair{{Address: s.Source.Address, QPN: s.Source.QPN}}
	for i := range s.Receivers {
		out = append(out, api.QueuePair{Address: s.Receivers[i].Address, QPN: s.Receivers[i].QPN})
	}
	out = append(out, g.Pairs()...)
	return slices.DeleteFunc(out, func(p api.QueuePair) bool { return p.QPN == 0 })
}

// shared describes a queue pair of a group that another group uses too; "" means no shared queue
// pair. The text does not name the other group, because clients of this group may not see the other
// group.
func (f *Feature) shared(g *group) string {
	for _, p := range g.specPairs() {
		others := slices.ContainsFunc(f.pairs[p],
			func(o *group) bool { return o != g && slices.Contains(o.specPairs(), p) })
		if others {
			return fmt.Sprintf("queue pair %d of %s is another group's too", p.QPN, p.Address)
		}
	}
	return ""
}
