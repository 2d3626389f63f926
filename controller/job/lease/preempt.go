package lease

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-sdn/weft/topology"
)

// preempt books paths for a lease that was refused for want of room, over links that leases of
// lower priority give up. It takes from the lowest priorities that suffice, and only from leases
// with needed links. If no paths can be had, nothing changes. preempt returns a refusal only for
// paths that exceed the allowance of the lease.
func (d *Ledger) preempt(l *Lease, why *Refusal) (taken bool, beyond *Refusal) {
	if why == nil || why.Cause != Full || l.Priority == 0 {
		return false, nil
	}
	levels := make(map[int]bool)
	for _, o := range d.leases {
		if o.Priority < l.Priority && o.Phase != Broken {
			levels[o.Priority] = true
		}
	}
	kept := make(map[*Lease]bool)
	for _, level := range slices.Sorted(maps.Keys(levels)) {
		below := func(o *Lease) bool { return o.Priority <= level && !kept[o] }
		for {
			chosen, refusal := d.choose(l, below)
			if refusal != nil {
				break
			}
			if beyond := l.beyond(chosen); beyond != nil {
				return false, beyond
			}
			lacks := d.take(l, chosen, d.givers(l, chosen, below))
			if lacks == nil {
				return true, nil
			}
			kept[lacks] = true
		}
	}
	return false, nil
}

// beyond refuses paths of more links than a lease may have.
func (l *Lease) beyond(paths [][]Path) *Refusal {
	n := len(demand(paths, l.Bandwidth))
	if l.MostLinks == 0 || n <= l.MostLinks {
		return nil
	}
	return &Refusal{Cause: Beyond, Pair: l.Pairs[0], Links: n, MostLinks: l.MostLinks}
}

// givers returns the leases selected by below that hold links needed by the paths of a lease. On
// each link, the lowest priority gives first, and the latest lease of a priority.
func (d *Ledger) givers(l *Lease, paths [][]Path, below func(*Lease) bool) []*Lease {
	gone := make(map[*Lease]bool)
	room := func(id topology.LinkID, need uint64) bool {
		a := d.links[id]
		s := &search{ledger: d, lease: l, gone: func(o *Lease) bool { return gone[o] }}
		reserved, leases, exclusive := s.others(a)
		return exclusive == 0 && (leases == 0 || l.Sharing != Exclusive) && reserved <= a.Capacity-need
	}
	needs := demand(paths, l.Bandwidth)
	links := slices.Sorted(maps.Keys(needs))
	order := func(x, y *Lease) int {
		return cmp.Or(x.Priority-y.Priority, cmp.Compare(y.Number, x.Number))
	}
	for _, id := range links {
		holders := slices.SortedFunc(maps.Keys(d.links[id].held), order)
		for _, o := range holders {
			if room(id, needs[id]) {
				break
			}
			if below(o) {
				gone[o] = true
			}
		}
	}
	// A lease that gave up a link early may fit beside the new lease, now that more leases have given
	// up links.
	found := slices.SortedFunc(maps.Keys(gone), order)
	for _, o := range slices.Backward(found) {
		gone[o] = false
		if slices.ContainsFunc(links, func(id topology.LinkID) bool { return !room(id, needs[id]) }) {
			gone[o] = true
		}
	}
	return slices.DeleteFunc(found, func(o *Lease) bool { return !gone[o] })
}

// take books paths for a lease after the leases in from have given up the required links. The
// leases in from get replacement paths where possible. If a lease in from must keep paths but would
// get none, take changes nothing and returns that lease.
func (d *Ledger) take(l *Lease, paths [][]Path, from []*Lease) (lacks *Lease) {
	before, changes := make([]Lease, len(from)), len(d.changes)
	had, took := l.Paths, l.From
	l.From = nil
	lost := make(map[topology.LinkID]string)
	for id := range demand(paths, l.Bandwidth) {
		lost[id] = fmt.Sprintf("lease %q of priority %d has taken %s", l.Name, l.Priority, d.name(id))
	}
	var hit []*Lease
	for i, o := range from {
		before[i] = o.clone()
		if firstLost(o.Paths, lost) != "" {
			hit = append(hit, o)
		}
		o.Former = working(o.Former, lost)
		d.book(o, working(o.Paths, lost), o.Former)
		o.Taken = &Taker{l.Name, l.Priority}
		l.From = append(l.From, o.Name)
	}
	l.Paths = paths
	d.book(l, paths, l.Former)
	for _, o := range hit {
		d.move(o, lost, false)
		if o.Phase == Broken && lacks == nil && d.Keeps != nil && d.Keeps(o, l) {
			lacks = o
		}
	}
	if lacks == nil {
		return nil
	}
	d.changes, l.Paths, l.From = d.changes[:changes], had, took
	d.book(l, nil, l.Former)
	for _, o := range from { // all give up what they got before one has its own again
		d.book(o, nil, nil)
	}
	for i, o := range from {
		b := &before[i]
		o.Phase, o.Paths, o.Former, o.Reason, o.Taken = b.Phase, b.Paths, b.Former, b.Reason, b.Taken
		d.book(o, o.Paths, o.Former)
	}
	return lacks
}
