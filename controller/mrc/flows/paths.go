package flows

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/internal/maxmin"
	"github.com/weft-sdn/weft/topology"
)

// A view is a model in one state: which links carry which part of the packets of each bundle. It
// takes what the state leaves alone from base, the view of the whole fabric.
type view struct {
	m     *Model
	base  *view // nil: this is it
	state *State
	lost  *topology.LostPaths
	// links holds classes of links of the fabric, and of the ports of NIC classes, each with the rate
	// of one link. The links of ports that are alike are one link in capacities.
	links      []sameLinks
	each       []float64
	capacities []float64
	alike      []float64 // by port: see like
	classOf    map[sameKey]int32
	known      map[int32]int32 // link classes, by place
	ports      map[portKey]int32
	// odd has a sum for each link that not every path of a leaf crosses alike, by place.
	odd     map[int32]uint64
	routes  [][]found // by pair and port
	lanes   [][]lane  // by pair and port
	demands []maxmin.Parted
	late    []float64 // by bundle: the time of a packet by its longest path, in seconds
	// memo has the rates of some sets of entities, kept at most. Runs of a model on several goroutines share its view of
	// the whole fabric: memos guards the map.
	memos sync.Mutex
	memo  map[string]*rates
}

// sameLinks counts links of one capacity that carry equal parts of equal bundles.
type sameLinks struct {
	one   int32 // place of one of them; -1: a port of a NIC
	count float64
	port  portKey
}

// portKey is one direction of a port of the NICs of a class.
type portKey struct {
	class int32
	port  uint8
	in    bool
}

type sameKey struct {
	leaf     int32 // place of the leaf that the link leads up from, or down to; -1: there is none
	down     bool
	sum      uint64
	capacity float64
}

// lane is the paths between two racks by one port: how many EVs are held, and what crosses what.
type lane struct {
	port  uint8
	held  int // paths that hosts may use
	whole int // paths with nothing lost
	hops  int
	paths []part
	delay float64
}

// part holds a port's share across links in equal classes.
type part struct {
	share float64
	uses  []maxmin.Use
}

// found is the paths of a pair by a port, before their links are put into classes.
type found struct {
	set  topology.PathSet
	refs []topology.PathRef // nil: all
	all  bool
	same bool // as in the view of the whole fabric
	ok   bool // there is such a port
}

// see returns a model in a state, and the error of a ctx that has ended.
func (m *Model) see(ctx context.Context, s *State) (*view, error) {
	v := &view{m: m, base: m.whole, state: s, lost: m.net.Fabric.Clos().Lost(s.Losses),
		classOf: map[sameKey]int32{}, known: map[int32]int32{}, ports: map[portKey]int32{},
		odd: map[int32]uint64{}, memo: map[string]*rates{}, routes: make([][]found, len(m.pairs)),
		lanes: make([][]lane, len(m.pairs))}
	if v.base != nil {
		v.links, v.each = slices.Clone(v.base.links), slices.Clone(v.base.each)
	}
	changed := map[int32]bool{} // places of links whose sums are other ones
	for i := range m.pairs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v.routes[i] = v.find(int32(i), changed)
	}
	leaves, planes := map[topology.NodeID]bool{}, map[int]bool{}
	for place := range changed {
		e := m.net.Fabric.Edge(place)
		leaves[e.Local], leaves[e.Remote] = true, true
		planes[m.net.Fabric.Clos().LinkPlane(e.ID)] = true
	}
	slow := len(s.Slower) > 0
	v.demands, v.late = make([]maxmin.Parted, len(m.bundles)), make([]float64, len(m.bundles))
	fresh := make([]bool, len(m.pairs))
	for i := range m.pairs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v.lanes[i] = make([]lane, len(v.routes[i]))
		for p := range v.routes[i] {
			f := &v.routes[i][p]
			if !f.ok || !f.all && len(f.refs) == 0 {
				fresh[i] = fresh[i] || v.base == nil || v.base.lanes[i][p].held > 0
				continue
			}
			same := v.base != nil && f.same && !slow
			switch {
			case !same:
			case f.set.Straight():
				same = !leaves[f.set.Source().ID] && !leaves[f.set.Destination().ID]
			default:
				same = !planes[f.set.Plane()]
			}
			if same {
				v.lanes[i][p] = v.base.lanes[i][p]
				continue
			}
			fresh[i] = true
			v.lanes[i][p] = v.lane(uint8(p+1), f)
		}
	}
	owners := v.like()
	other := v.base == nil || len(s.Ports) > 0 || !slices.Equal(v.alike, v.base.alike)
	for i := range m.bundles {
		if b := &m.bundles[i]; other || fresh[b.pair] {
			v.demand(i, b)
		} else {
			v.demands[i], v.late[i] = v.base.demands[i], v.base.late[i]
		}
	}
	v.capacities = slices.Clone(v.each)
	for l := range v.links {
		port := int(v.links[l].port.port)
		if l < len(owners) {
			port = max(port, owners[l])
		}
		if port > 0 {
			v.capacities[l] *= v.alike[port-1]
		}
	}
	return v, ctx.Err()
}

// like finds ports that are alike, as those of similar planes: with links of their own alone, and
// for each pair of racks with equal lanes. The first such port stands for all: alike has how many
// these are, and 0 for the others. like returns the port of each class of links.
func (v *view) like() []int {
	owners, ports := make([]int, len(v.each)), 0
	for i := range v.lanes {
		ports = max(ports, len(v.lanes[i]))
	}
	v.alike = make([]float64, ports)
	sums, shared := make([]uint64, ports), make([]bool, ports)
	for p := range ports {
		sum, numbers := uint64(0), map[int32]int{} // of links, in the order of the lanes
		add := func(all ...float64) {
			for _, x := range all {
				sum = mix(sum, math.Float64bits(x))
			}
		}
		for name, down := range v.state.Ports {
			if down.Has(p + 1) {
				sum += mix(uint64(v.m.place[name]), 1)
			}
		}
		for i := range v.lanes {
			var l lane
			if p < len(v.lanes[i]) {
				l = v.lanes[i][p]
			}
			add(float64(l.held), float64(l.hops), l.delay, float64(len(l.paths)))
			for _, w := range l.paths {
				add(w.share, float64(len(w.uses)))
				for _, u := range w.uses {
					n, ok := numbers[u.Link]
					if !ok {
						n = len(numbers)
						numbers[u.Link] = n
						if other := owners[u.Link]; other > 0 {
							shared[other-1], shared[p] = true, true
						}
						owners[u.Link] = p + 1
					}
					add(float64(n), u.Part, v.each[u.Link], v.links[u.Link].count)
				}
			}
		}
		sums[p] = sum
	}
	first := map[uint64]int{}
	for p, sum := range sums {
		if q, ok := first[sum]; ok && !shared[p] {
			v.alike[q]++
			continue
		}
		if v.alike[p] = 1; !shared[p] {
			first[sum] = p
		}
	}
	return owners
}

// find finds the paths of a pair that hosts may use, by port: the paths of the EVs in the hosts'
// profiles. It notes the links whose sums change.
func (v *view) find(at int32, changed map[int32]bool) []found {
	f, p := v.m.net.Fabric, &v.m.pairs[at]
	from, to := v.m.racks[p.from], v.m.racks[p.to]
	if v.base != nil && !slices.ContainsFunc(v.base.routes[at], func(x found) bool {
		return x.ok && v.lost.Touches(x.set)
	}) {
		return v.base.routes[at]
	}
	out := make([]found, len(from))
	explicit := p.explicit()
	var held *hostapi.Profile
	if explicit {
		if o, err := p.built.Under(v.lost); err == nil {
			held = o.Profile
		}
	}
	for i := range from {
		port, x := uint8(i+1), &out[i]
		if v.base != nil {
			before := &v.base.routes[at][i]
			if x.set, x.ok = before.set, before.ok; !x.ok {
				continue
			}
			if !explicit && !v.lost.Touches(x.set) {
				*x = *before
				continue
			}
			v.sum(uint64(at)<<8|uint64(port), before, ^uint64(0), changed)
		} else if x.set, x.ok = f.PathSet(from, to, port); !x.ok {
			continue
		}
		switch {
		case explicit && x.set.Hops() > 0:
			if held != nil {
				x.refs = v.explicit(x.set, held, port)
			}
		case !v.lost.Touches(x.set):
			x.all = true
		default:
			for ref := range x.set.All() {
				if !v.lost.Path(x.set, ref) {
					x.refs = append(x.refs, ref)
				}
			}
		}
		x.same = v.base == nil
		v.sum(uint64(at)<<8|uint64(port), x, 1, changed)
	}
	return out
}

// explicit returns the paths of the EVs of a port that a profile holds and does not deny.
func (v *view) explicit(
	set topology.PathSet, held *hostapi.Profile, port uint8,
) (refs []topology.PathRef) {
	choices, err := v.m.net.Fabric.Assignment().Choices(set)
	if err != nil {
		return nil
	}
	paths := make(map[ev.Value]topology.PathRef, len(choices))
	for i := range choices {
		paths[choices[i].Value] = choices[i].Paths[0]
	}
	for _, e := range held.EVs {
		if ref, ok := paths[e.Value]; ok && e.Port == port && !held.IsDenied(e) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// sum adds to the sums of links, times a factor, what tells them apart. Links up from a leaf, and
// down to a leaf, are alike in a regular plane of two tiers as far as all paths are held: there the
// links that a pair does not use are odd, and elsewhere all that a pair uses.
func (v *view) sum(key uint64, f *found, times uint64, changed map[int32]bool) {
	if f.set.Hops() <= 0 || f.set.Straight() && f.all {
		return
	}
	add := func(ref topology.PathRef, weight uint64) {
		for i, place := range v.m.net.Fabric.PlacesOf(f.set, ref) {
			sum, ok := v.odd[place]
			if !ok && v.base != nil {
				sum = v.base.odd[place]
			}
			v.odd[place] = sum + times*mix(mix(key, uint64(i)), weight)
			changed[place] = true
		}
	}
	if f.set.Straight() {
		use := make([]uint64, f.set.Len())
		for _, ref := range f.refs {
			use[ref.Up-f.first()]++
		}
		for ref := range f.set.All() {
			if n := use[ref.Up-f.first()]; n != 1 {
				add(ref, n)
			}
		}
		return
	}
	for ref := range f.each() {
		add(ref, 1)
	}
}

// first returns the number of the first ascent of a straight set.
func (f *found) first() int32 {
	at, _ := f.set.Up().Level(1)
	return at
}

func (f *found) each() func(yield func(topology.PathRef) bool) {
	if f.all {
		return f.set.All()
	}
	return slices.Values(f.refs)
}

// link returns the class of a link.
func (v *view) link(place int32, leaf int32, down bool) int32 {
	if at, ok := v.known[place]; ok {
		return at
	}
	sum, ok := v.odd[place]
	if v.base != nil && !ok {
		if at, ok := v.base.known[place]; ok {
			return at
		}
		sum = v.base.odd[place]
	}
	k := sameKey{leaf, down, sum, v.m.net.rateOf(place)}
	at, ok := v.classOf[k]
	if !ok && v.base != nil {
		at, ok = v.base.classOf[k]
	}
	if !ok {
		at = int32(len(v.links))
		v.classOf[k] = at
		v.links = append(v.links, sameLinks{one: place})
		v.each = append(v.each, k.capacity*v.m.net.Payload)
	}
	v.links[at].count++
	v.known[place] = at
	return at
}

// lane puts the links of the paths of a port into classes.
func (v *view) lane(port uint8, f *found) lane {
	fabric := v.m.net.Fabric
	out := lane{port: port, whole: f.set.Len(), held: len(f.refs), hops: f.set.Hops()}
	if f.all {
		out.held = out.whole
	}
	if f.set.Hops() == 0 {
		out.paths = []part{{share: 1}}
		return out
	}
	src := int32(fabric.Snapshot().NodePlace(f.set.Source().ID))
	dst := int32(fabric.Snapshot().NodePlace(f.set.Destination().ID))
	type tally struct {
		count float64
		links []int32
		seen  []map[int32]bool
	}
	straight := f.set.Straight() && len(f.refs) <= f.set.Len()
	tallies, order := map[[6]int32]*tally{}, [][6]int32{}
	for ref := range f.each() {
		places := fabric.PlacesOf(f.set, ref)
		key, delay := [6]int32{}, 0.0
		for i, place := range places {
			leaf, down := int32(-1), false
			switch i {
			case 0:
				leaf = src
			case len(places) - 1:
				leaf, down = dst, true
			}
			key[min(i, len(key)-1)] = 1 + v.link(place, leaf, down)
			e := fabric.Edge(place)
			delay += float64(e.Delay.Average)*1e-6 + v.state.Slower[e.ID]
		}
		out.delay = max(out.delay, delay)
		t := tallies[key]
		if t == nil {
			t = &tally{seen: make([]map[int32]bool, len(places))}
			for i := range places {
				t.links = append(t.links, key[min(i, len(key)-1)]-1)
				t.seen[i] = map[int32]bool{}
			}
			tallies[key], order = t, append(order, key)
		}
		t.count++
		for i, place := range places {
			if !straight { // else every path has links of its own
				t.seen[i][place] = true
			}
		}
	}
	for _, key := range order {
		t := tallies[key]
		w := part{share: t.count / float64(out.held)}
		for i, l := range t.links {
			apart := t.count
			if !straight {
				apart = float64(len(t.seen[i]))
			}
			w.uses = append(w.uses, maxmin.Use{Link: l, Part: 1 / apart})
		}
		out.paths = append(out.paths, w)
	}
	return out
}

// port returns the class of a port of NICs.
func (v *view) port(k portKey) int32 {
	if v.base != nil {
		if at, ok := v.base.ports[k]; ok {
			return at
		}
	}
	at, ok := v.ports[k]
	if !ok {
		at = int32(len(v.links))
		v.ports[k] = at
		c := &v.m.classes[k.class]
		v.links = append(v.links, sameLinks{one: -1, count: c.count, port: k})
		v.each = append(v.each, c.rate*v.m.net.Payload)
	}
	return at
}

// demand makes the demand of a bundle, with the ports of its NICs. A message that waits for others
// takes its links for a part of the time.
func (v *view) demand(at int, b *bundle) {
	m := v.m
	from, to := &m.classes[b.from], &m.classes[b.to]
	up := m.alive(from, v.state.Ports) & m.alive(to, v.state.Ports)
	d := &v.demands[at]
	d.Most = 0
	for i := range v.lanes[b.pair] {
		l, ports := &v.lanes[b.pair][i], v.alike[i]
		if l.held == 0 || ports == 0 || !up.Has(int(l.port)) {
			continue
		}
		frame := float64(m.net.Frame) * 8 / from.rate
		d.Most += ports * from.rate * m.net.Payload
		v.late[at] = max(v.late[at], l.delay+from.delay+to.delay+float64(l.hops+1)*frame)
		for _, w := range l.paths {
			d.Paths = append(d.Paths, maxmin.Path{Share: ports * w.share, Uses: w.uses, Ends: [2]maxmin.Use{
				{Link: v.port(portKey{b.from, l.port, false}), Part: 1 / from.count},
				{Link: v.port(portKey{b.to, l.port, true}), Part: 1 / to.count}}})
		}
	}
	e := &m.entities[b.entity]
	if e.pace.rounds == 0 || len(d.Paths) == 0 {
		d.Flows, d.Most = b.count, 0 // ports bound it
		return
	}
	chunk := b.octets / float64(e.pace.rounds) * 8 / d.Most
	duty := e.pace.duty * chunk / (chunk + v.late[at] + m.jobs[e.job].Latency.Seconds())
	part := duty + (1-duty)*e.pace.itself
	if e.pace.line && e.pace.hops > 2 { // a NIC sends two messages, and meets has their meeting
		part = min(part, 0.5)
	}
	d.Flows, d.Most = b.count*part, d.Most/e.pace.side
}
