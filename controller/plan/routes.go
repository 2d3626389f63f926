package plan

import (
	"math"
	"net/netip"
	"slices"
	"sync"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// routeTrees are the trees of a network, made when they are needed: with the
// destinations of no assignment, and with those of the last one.
type routeTrees struct {
	mu    sync.Mutex
	plain *routeTree
	last  *ev.Assignment
	of    *routeTree // of last

	lowerOf *ev.Assignment
	lower   [][]int32 // of lowerOf; see [Network.lower]
}

// tree returns the tree of all destinations; an assignment adds its own.
func (n *Network) tree(a *ev.Assignment) *routeTree {
	t := n.trees
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.plain == nil {
		t.plain = n.newTree(n.destinations())
	}
	if a == nil {
		return t.plain
	}
	if t.last != a {
		more := n.nodeSIDs(a, t.plain)
		t.last, t.of = a, t.plain
		if len(more) > 0 {
			all := slices.Concat(t.plain.destinations, more)
			slices.SortFunc(all, func(a, b destination) int { return a.prefix.Compare(b.prefix) })
			t.of = n.newTree(all)
		}
	}
	return t.of
}

func (n *Network) newTree(destinations []destination) *routeTree {
	return newRouteTree(destinations, n.classes(destinations))
}

// classes numbers destinations. Destinations at nodes with equal neighbors get one number, because
// every other node sees them in one direction while all metrics are equal. A destination without
// origins gets none.
func (n *Network) classes(destinations []destination) []int32 {
	byNeighbors := make(map[string]int32)
	ofNode := make([]int32, len(n.Snapshot.Nodes))
	var places []int32
	var key []byte
	for i, node := range n.Snapshot.Nodes {
		places, key = places[:0], key[:0]
		for _, l := range n.Snapshot.LinksFrom(node.ID) {
			places = append(places, int32(n.Snapshot.NodePlace(l.Remote)))
		}
		slices.Sort(places)
		for _, p := range slices.Compact(places) {
			key = append(key, byte(p>>24), byte(p>>16), byte(p>>8), byte(p))
		}
		class, ok := byNeighbors[string(key)]
		if !ok {
			class = int32(len(byNeighbors))
			byNeighbors[string(key)] = class
		}
		ofNode[i] = class
	}
	out := make([]int32, len(destinations))
	for i, d := range destinations {
		out[i] = none
		if len(d.origins) > 0 {
			out[i] = ofNode[d.origins[0].place]
		}
	}
	return out
}

// routeWork plans the routes of one switch.
type routeWork struct {
	n    *Network
	sw   *inventory.Switch
	node *topology.Node // nil: no node of the topology is this switch
	// below has what links down lead to, by place; nil where routes to what is
	// not below need not say so.
	below []bool

	self int32
	out  []entry.Entity
	*routeScratch
}

func (n *Network) newRoutes(sw *inventory.Switch) *routeWork {
	return &routeWork{n: n, sw: sw, node: n.nodes[sw.Name]}
}

// routeScratch is the working memory for planning the routes of one switch, reused for the next
// switch.
type routeScratch struct {
	has, below []hopSetID // by destination
	hopSet     []hopSetID // by node

	first   topology.FirstHops
	hopSets *hopSets
	hops    [][]Hop       // by place in first.Sets
	known   []bool        // by place in first.Sets
	sets    [][2]hopSetID // by place in first.Sets: that report that they lead up, and that do not
	near    []int32       // what nearestSets returns
	routed  map[netip.Prefix]bool
	hosts   map[int32]hopSetID // by place in the tree: of what has a route of its own
}

func newRouteScratch(destinations, nodes int) *routeScratch {
	return &routeScratch{
		has: make([]hopSetID, destinations), below: make([]hopSetID, destinations),
		hopSet: make([]hopSetID, nodes), hopSets: newHopSets(),
		routed: make(map[netip.Prefix]bool), hosts: make(map[int32]hopSetID),
	}
}

// begin takes scratch for a switch, with its first hops if it is a node; the function that it
// returns gives it back.
func (w *routeWork) begin(t *routeTree) (end func()) {
	s := t.scratch.Get().(*routeScratch)
	sets := 0
	if w.node != nil {
		w.self = int32(w.n.Snapshot.NodePlace(w.node.ID))
		s.first.Find(w.n.routing, w.node.ID, topology.MetricIGP)
		sets = len(s.first.Sets)
	}
	s.hops = append(s.hops[:0], make([][]Hop, sets)...)
	s.known = append(s.known[:0], make([]bool, sets)...)
	s.sets = append(s.sets[:0], make([][2]hopSetID, sets)...)
	s.hopSets.clear()
	clear(s.routed)
	clear(s.hosts)
	w.routeScratch = s
	return func() { t.scratch.Put(s) }
}

// plan returns the routes to hosts of the switch, and those that choose finds in a
// tree.
func (w *routeWork) plan(
	t *routeTree,
	choose func(*routeTree, *routeScratch, func(*treeNode, hopSetID)),
) []entry.Entity {
	defer w.begin(t)()
	w.hostRoutes(t)
	if w.node == nil {
		return w.out
	}
	for i := range t.destinations {
		w.has[i] = w.hopSetOf(&t.destinations[i])
	}
	groups, actions := w.hopSets.entities()
	routes := 0
	for _, set := range w.has {
		if set != noHops {
			routes++
		}
	}
	w.out = slices.Grow(w.out, len(groups)+routes)
	w.out = append(w.out, groups...)
	choose(t, w.routeScratch, func(n *treeNode, hopSet hopSetID) {
		w.out = append(w.out, entry.Table{Name: p4.TableIpv6Route, Match: n.match,
			Action: actions[hopSet]})
	})
	return w.out
}

// hostRoutes emits the routes to the hosts of the switch, and records the hop sets of hosts in the
// tree.
func (w *routeWork) hostRoutes(t *routeTree) {
	for _, h := range w.n.hostsOf[w.sw.Name] {
		_, outside := w.n.edges[w.sw.Name][h.Hop.Port]
		for _, p := range append([]netip.Prefix{host(h.Address)}, h.Prefixes...) {
			if p = p.Masked(); w.routed[p] {
				continue
			}
			w.routed[p] = true
			if outside { // a tenant's host is reached in the tenant's VRF
				continue
			}
			w.out = append(w.out, route(p, Forward(h.Hop)))
			if place, ok := t.places[mapped(p)]; ok {
				w.hosts[place] = w.hopSets.id([]Hop{h.Hop}, false)
			}
		}
	}
}

// hopSetOf returns the next hops to the nearest origins of a destination, noHops when the switch
// itself is an origin.
func (w *routeWork) hopSetOf(d *destination) hopSetID {
	up := w.below != nil
	for _, o := range d.origins {
		if o.place == w.self {
			return noHops
		}
		up = up && !w.below[o.place]
	}
	sets := w.nearestSets(d)
	if len(sets) > 1 {
		return w.hopSets.id(w.union(sets), up)
	}
	set := int32(0) // nothing
	if len(sets) == 1 {
		set = sets[0]
	}
	hops := w.toward(set)
	hopSet := &w.sets[set][0]
	if up {
		hopSet = &w.sets[set][1]
	}
	if *hopSet == noHops {
		*hopSet = w.hopSets.id(hops, up)
	}
	return *hopSet
}

// toward returns the usable next hops by a set of first links.
func (w *routeWork) toward(set int32) []Hop {
	if !w.known[set] {
		w.known[set] = true
		w.hops[set] = w.n.HopsBy(w.sw, w.first.Sets[set])
	}
	return w.hops[set]
}

// nearest returns the next hops to the nearest of several origins; the switch itself is no origin.
// It returns no hops if the hops to the nearest origin are unusable. Packets on paths to a farther
// origin would come back from switches that prefer the nearest.
func (w *routeWork) nearest(d *destination) []Hop { return w.union(w.nearestSets(d)) }

// nearestSets returns the sets of first links toward the nearest origins, each once.
func (w *routeWork) nearestSets(d *destination) []int32 {
	best := uint64(math.MaxUint64)
	sets := w.near[:0]
	for _, o := range d.origins {
		cost, ok := w.first.Distance(o.place)
		if cost += uint64(o.metric) * w.n.routing.Unit(); !ok || cost > best {
			continue
		}
		if cost < best {
			best, sets = cost, sets[:0]
		}
		if set := w.first.Of[o.place]; !slices.Contains(sets, set) {
			sets = append(sets, set)
		}
	}
	w.near = sets
	return sets
}

// union returns the usable next hops by several sets of first links.
func (w *routeWork) union(sets []int32) []Hop {
	if len(sets) == 1 {
		return w.toward(sets[0])
	}
	var hops []Hop
	for _, set := range sets {
		hops = append(hops, w.toward(set)...)
	}
	return sortHops(hops)
}
