package plan

import (
	"math/bits"
	"net/netip"
	"sort"
	"sync"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

const (
	// minAggregate is the length of the shortest aggregate, a prefix for destinations that do not fill
	// it. The SID format with the shortest locator block (F1616) has a block of 16 bits.
	minAggregate = 16
	// maxAggregateGap limits by how many bits an aggregate may be shorter than a prefix below it.
	// Blocks far apart share no aggregate, and addresses between them are not routed.
	maxAggregateGap = 16
	none            = -1
)

// A routeTree holds all prefixes that routes of a switch may have: the prefixes of the
// destinations, and the aggregates, which are the prefixes where two destinations part.
//
// Every switch resolves an address to the same destination, whatever entries the switch needs: the
// longest destination that contains the address, or else the destination that stands for its
// aggregate. So packets to an unused address follow shortest paths to the switch of this
// destination, which has no route for the address; the packets cannot loop. An address outside all
// aggregates has no route anywhere.
type routeTree struct {
	destinations []destination
	nodes        []treeNode // parents before children
	at           []int32    // place in nodes, by destination
	places       map[netip.Prefix]int32
	scratch      *sync.Pool // of *routeScratch
}

type treeNode struct {
	prefix netip.Prefix
	match  []entry.Match
	parent int32 // place, none at the top
	// destination with this prefix, or none.
	destination int32
	// cover is the longest destination that properly contains this prefix, or none.
	cover int32
	// like is the destination whose next hops serve the addresses in this prefix outside the longer
	// prefixes of the tree, or none.
	like int32
	// full: destinations have all addresses below.
	full bool
}

// newRouteTree returns the tree of destinations, ordered by prefix. class gives one number to
// destinations in the same direction from nearly everywhere, and none to destinations that must not
// stand for further destinations.
func newRouteTree(destinations []destination, class []int32) *routeTree {
	classes := int32(0)
	for _, c := range class {
		classes = max(classes, c+1)
	}
	w := routeTreeWork{
		routeTree: routeTree{
			destinations: destinations, at: make([]int32, len(destinations)),
			places: make(map[netip.Prefix]int32, 2*len(destinations)),
		},
		class: class, count: make([]int32, classes),
	}
	if len(destinations) > 0 {
		w.add(0, int32(len(destinations)), none, none)
	}
	places := len(w.nodes)
	w.scratch = &sync.Pool{New: func() any { return newRouteScratch(len(destinations), places) }}
	return &w.routeTree
}

type routeTreeWork struct {
	routeTree
	class []int32 // by destination
	count []int32 // by class, 0 between uses
}

// add adds the tree of the destinations from first to before end, and returns its
// top.
func (w *routeTreeWork) add(first, end, parent, cover int32) int32 {
	low, high := w.destinations[first].prefix, w.destinations[end-1].prefix
	length := min(low.Bits(), commonBits(low.Addr(), high.Addr()))
	p, isDestination := netip.PrefixFrom(low.Addr(), length).Masked(), low.Bits() == length
	at := int32(len(w.nodes))
	n := treeNode{prefix: p, match: routeMatch(p), parent: parent, destination: none, cover: cover,
		like: cover}
	rest, below := first, cover
	if isDestination {
		n.destination, n.like, n.full = first, first, true
		w.at[first] = at
		rest, below = first+1, first
	}
	w.places[p] = at
	w.nodes = append(w.nodes, n)
	split := rest + int32(sort.Search(int(end-rest),
		func(i int) bool { return bit(w.destinations[int(rest)+i].prefix.Addr(), length) }))
	full, gap := true, 0
	for _, part := range [][2]int32{{rest, split}, {split, end}} {
		if part[0] == part[1] {
			continue
		}
		c := &w.nodes[w.add(part[0], part[1], at, below)]
		full = full && c.full && c.prefix.Bits() == length+1
		if c.destination == none {
			gap = max(gap, c.prefix.Bits()-length)
		}
	}
	if n := &w.nodes[at]; !isDestination {
		n.full = full
		if full || cover == none && length >= minAggregate && gap <= maxAggregateGap {
			if d := w.most(first, end); d != none {
				n.like = d
			}
		}
	}
	return at
}

// most returns the first destination of the most frequent class, or none.
func (w *routeTreeWork) most(first, end int32) int32 {
	for _, c := range w.class[first:end] {
		if c != none {
			w.count[c]++
		}
	}
	best := int32(none)
	for d := first; d < end; d++ {
		if c := w.class[d]; c != none && (best == none || w.count[c] > w.count[w.class[best]]) {
			best = d
		}
	}
	for _, c := range w.class[first:end] {
		if c != none {
			w.count[c] = 0
		}
	}
	return best
}

// commonBits returns how many bits two addresses begin with in common.
func commonBits(a, b netip.Addr) int {
	x, y := a.As16(), b.As16()
	for i := range x {
		if d := x[i] ^ y[i]; d != 0 {
			return 8*i + bits.LeadingZeros8(d)
		}
	}
	return 128
}

func bit(a netip.Addr, i int) bool {
	b := a.As16()
	return i < 128 && b[i/8]&(0x80>>(i%8)) != 0
}

func routeMatch(p netip.Prefix) []entry.Match {
	return entry.In(p4.TableIpv6Route, entry.Action{}, entry.Exact("vrf", entry.Uint(0)),
		entry.LPM("dst_addr", p)).Match
}

// A hopSetID numbers what a switch does with packets, in its [hopSets].
type hopSetID = int32

// noHops drops packets for want of a route.
const noHops hopSetID = 0

// aggregate calls emit for each tree entry that a switch needs to give every destination its next
// hops. s.has lists next hops by destination. A destination with noHops gets the next hops of the
// destination that contains it. s.hosts has, by place, the sets of prefixes with entries already in
// the switch.
func (t *routeTree) aggregate(s *routeScratch, emit func(*treeNode, hopSetID)) {
	has, hopSet, hosts := s.has, s.hopSet, s.hosts
	below := s.below // of what is in none that is longer
	for d, place := range t.at {
		below[d] = has[d]
		if c := t.nodes[place].cover; below[d] == noHops && c != none {
			below[d] = below[c]
		}
		if w, ok := hosts[place]; ok {
			below[d] = w
		}
	}
	for i := range t.nodes {
		n := &t.nodes[i]
		hopSet[i] = noHops
		if n.like != none && n.like != n.cover {
			hopSet[i] = has[n.like]
		}
		if hopSet[i] == noHops && n.cover != none {
			hopSet[i] = below[n.cover]
		}
		if w, ok := hosts[int32(i)]; ok {
			hopSet[i] = w
			continue
		}
		if above := n.parent; above == none && hopSet[i] != noHops || above != none &&
			hopSet[i] != hopSet[above] {
			emit(n, hopSet[i])
		}
	}
}

// each calls emit for each destination with next hops of its own in the switch and without an entry
// there already.
func (t *routeTree) each(s *routeScratch, emit func(*treeNode, hopSetID)) {
	for d, place := range t.at {
		if _, ok := s.hosts[place]; !ok && s.has[d] != noHops {
			emit(&t.nodes[place], s.has[d])
		}
	}
}
