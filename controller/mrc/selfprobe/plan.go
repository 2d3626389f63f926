package selfprobe

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/topology"
)

// A Host can send probes to itself.
type Host struct {
	Name      string
	At        ev.Attachment // its leaves by port
	LeafPorts []uint32      // the leaves' ports towards it, by port; 0 or missing: unknown
}

// A Target is a path from a port of a host back to the port.
type Target struct {
	EV   hostapi.EV
	Leaf topology.NodeID
	// Climb has the places of the links up from the leaf, which the probe descends by again; none:
	// the leaf sends the probe back.
	Climb []int32
	// Trip has the places of all links of a target that crosses a single direction of a link, at the
	// place Asks; Climb is then empty.
	Trip []int32
	Asks int32
}

// A Gap is what fewer hosts probe than wanted: a link, or the port of a host.
type Gap struct {
	Link  int32 // place of the link up; -1: the port of a host
	Host  string
	Port  uint8
	Hosts int // that probe it
	Why   string
}

// A Plan assigns targets to the hosts that probe them.
type Plan struct {
	// Targets of each host, by name: the probe to the leaf of each port first.
	Targets map[string][]Target
	Gaps    []Gap
}

// Avoid defines what probes must not cross. A nil function avoids nothing.
type Avoid struct {
	// Link returns why nobody probes a link, of which place is one direction; "": it is probed.
	Link func(place int32) string
	// Port reports whether the port of a host sends no probes.
	Port func(host string, port uint8, leaf topology.NodeID) bool
}

// link and port are the functions of those names.
func (a *Avoid) link(place int32) string {
	if a.Link == nil {
		return ""
	}
	return a.Link(place)
}

func (a *Avoid) port(host string, t *Target) bool {
	return a.Port != nil && a.Port(host, t.EV.Port, t.Leaf)
}

// Crosses reports whether a target of a host crosses what is avoided.
func (a *Avoid) Crosses(host string, t *Target) bool {
	avoided := func(i int32) bool { return a.link(i) != "" }
	return a.port(host, t) || slices.ContainsFunc(t.Climb, avoided) ||
		slices.ContainsFunc(t.Trip, avoided)
}

// seat is a port of a host that can probe.
type seat struct {
	host int // index
	port uint8
	// last is the last uSID of its probes: the uDT6 by which the leaf routes packets of EVs or, for a
	// leaf with several ports to the host, the uDX6 of the port, which P4 switches alone have.
	last uint16
}

// A Planning makes a Plan in steps, so that no step takes long.
type Planning struct {
	f         *fabric.Fabric
	hosts     []Host
	witnesses int
	looks     []int32

	phases []phase // to come; the first has begun
	at     int     // in the first phase

	seats    map[topology.NodeID][]seat
	load     []int // targets by host
	turn     int
	plan     Plan
	avoid    Avoid
	under    map[int32]int // place in plan.Gaps of the gap of a link
	tiers    [][]int32     // links up
	links    []int32       // from the tiers below to those above
	parallel map[[2]topology.NodeID]int
	left     map[int32]map[int]bool // the hosts that probe a link that has lost some
	leaves   []topology.NodeID      // with seats, when some links have lost hosts
}

// phase is a part of a Planning: do is called for 0 to n()-1, and costs so much.
type phase struct {
	cost int
	n    func() int
	do   func(i int)
}

// Make is [NewPlanning] in one step.
func Make(f *fabric.Fabric, hosts []Host, witnesses int, avoid Avoid, look []int32) *Plan {
	return NewPlanning(f, hosts, witnesses, avoid, look).Step(math.MaxInt)
}

// NewPlanning plans the probes of hosts, which are in the order of their names. Every port probes
// its leaf. Every link up is probed by as many hosts as witnesses, or by all hosts below it where
// those are fewer; each by the least busy hosts, of different leaves where there are several. So
// the numbers of targets of the hosts of a leaf differ by one at most, and since each host sends at
// the same rate, so does the rate by which the uplinks of a leaf are probed. Links that probes must
// avoid are taken out last: so a host whose probes do not cross it keeps its targets, and gets more
// only where other hosts have fewer. Two hosts also probe the directions of each link up in look.
// The result depends on the arguments alone, if what is avoided stays the same.
func NewPlanning(f *fabric.Fabric, hosts []Host, witnesses int, avoid Avoid,
	look []int32) *Planning {
	p := &Planning{f: f, hosts: hosts, witnesses: witnesses, looks: look,
		seats: make(map[topology.NodeID][]seat), load: make([]int, len(hosts)),
		plan:  Plan{Targets: make(map[string][]Target)},
		under: make(map[int32]int), parallel: make(map[[2]topology.NodeID]int),
		left: make(map[int32]map[int]bool)}
	if !f.Assignment().Format().Mode.SRv6() {
		p.plan.Gaps = []Gap{{Link: -1, Why: fmt.Sprintf("mode %v has no uSIDs: hosts probe each other",
			f.Assignment().Format().Mode)}}
		return p
	}
	one := func() int { return 1 }
	all := func() int { return len(hosts) }
	links := func() int { return len(p.links) }
	whereLeft := func(n func() int) func() int {
		return func() int {
			if len(p.left) == 0 {
				return 0
			}
			return n()
		}
	}
	p.phases = []phase{
		{1, all, p.seat},
		{1, func() int { return len(f.ByID()) }, func(i int) { p.sort(f.ByID()[i]) }},
		{1, one, func(int) { p.links = slices.Concat(p.tiers...) }},
		{1, links, p.first},
		{1, one, func(int) { p.avoid = avoid }},
		{1, all, p.leave},
		{1, whereLeft(one), func(int) { p.leaves = slices.Collect(maps.Keys(p.seats)) }},
		{16, whereLeft(func() int { return len(p.leaves) }), func(i int) { p.empty(p.leaves[i]) }},
		{1, whereLeft(all), p.stay},
		{1, whereLeft(links), func(i int) { p.again(p.links[i]) }},
		{512, func() int { return len(look) }, func(i int) { p.look(look[i]) }},
	}
	return p
}

// Step goes on, and returns the Plan when the Planning is done. A step that is not the last makes
// about so many targets or links, and takes microseconds for each.
func (p *Planning) Step(most int) *Plan {
	for ; len(p.phases) > 0; p.phases, p.at = p.phases[1:], 0 {
		for now := &p.phases[0]; p.at < now.n(); p.at++ {
			if most <= 0 {
				return nil
			}
			most -= now.cost
			now.do(p.at)
		}
	}
	return &p.plan
}

// sort notes a link, if it leads up.
func (p *Planning) sort(i int32) {
	e := p.f.Edge(i)
	if !e.Rises() {
		return
	}
	tier, _ := p.f.Clos().Tier(e.Local)
	for len(p.tiers) <= tier {
		p.tiers = append(p.tiers, nil)
	}
	p.tiers[tier] = append(p.tiers[tier], i)
	p.parallel[[2]topology.NodeID{e.Local, e.Remote}]++
}

// first has hosts probe a link, if probes can tell it from those beside it.
func (p *Planning) first(at int) {
	i := p.links[at]
	e := p.f.Edge(i)
	if n := p.parallel[[2]topology.NodeID{e.Local, e.Remote}]; n > 1 &&
		p.f.Assignment().Format().Hops == ev.HopNodes {
		p.gap(i, 0, fmt.Sprintf("uNs name switches, and %d links lead there: "+
			"want uSIDs of links (hops: links)", n))
		return
	}
	p.link(i, make(map[int]bool))
}

// leave takes the targets of a host away that cross what is avoided. Then other hosts probe, by
// other ways up, the links that have too few left.
func (p *Planning) leave(host int) {
	name := p.hosts[host].Name
	before := p.plan.Targets[name]
	after := slices.DeleteFunc(slices.Clone(before), func(t Target) bool {
		crosses := p.avoid.Crosses(name, &t)
		if crosses && len(t.Climb) > 0 {
			p.left[t.Climb[len(t.Climb)-1]] = make(map[int]bool)
		}
		return crosses
	})
	if len(after) == len(before) {
		return
	}
	p.load[host], p.plan.Targets[name] = len(after), after
	if len(after) == 0 {
		delete(p.plan.Targets, name)
	}
}

// empty takes the seats of a leaf away that must not probe.
func (p *Planning) empty(leaf topology.NodeID) {
	p.seats[leaf] = slices.DeleteFunc(p.seats[leaf], func(s seat) bool {
		return p.avoid.port(p.hosts[s.host].Name, &Target{EV: hostapi.EV{Port: s.port}, Leaf: leaf})
	})
}

// stay notes the links that have lost hosts, and that a host still probes.
func (p *Planning) stay(host int) {
	for _, t := range p.plan.Targets[p.hosts[host].Name] {
		if n := len(t.Climb); n > 0 && p.left[t.Climb[n-1]] != nil {
			p.left[t.Climb[n-1]][host] = true
		}
	}
}

// again has hosts probe a link that has lost some.
func (p *Planning) again(i int32) {
	if p.left[i] == nil {
		return
	}
	if why := p.avoid.link(i); why != "" {
		p.gap(i, 0, why)
		return
	}
	p.link(i, p.left[i])
}

// seat gives each port of a host the probe to its leaf.
func (p *Planning) seat(host int) {
	h := &p.hosts[host]
	for i, leaf := range h.At {
		port := uint8(i + 1)
		if leaf == "" {
			continue
		}
		silent := func(format string, args ...any) {
			p.plan.Gaps = append(p.plan.Gaps, Gap{Link: -1, Host: h.Name, Port: port,
				Why: fmt.Sprintf(format, args...)})
		}
		s := seat{host: host, port: port, last: ev.TableUSID}
		if slices.Index(h.At, leaf) < i || slices.Contains(h.At[i+1:], leaf) {
			var at uint32
			if i < len(h.LeafPorts) {
				at = h.LeafPorts[i]
			}
			if _, _, err := p.f.Assignment().HostUSIDs(uint16(min(at, 1<<16-1))); err != nil {
				silent("its leaf has several ports to it, and this one has no uSID: %v", err)
				continue
			}
			s.last = ev.DecapUSID(uint16(at))
		}
		if err := p.add(s, leaf, nil); err != nil {
			silent("%v", err)
			continue
		}
		p.seats[leaf] = append(p.seats[leaf], s)
	}
}

// add gives a host the probe up a climb and down again.
func (p *Planning) add(s seat, leaf topology.NodeID, climb []int32) error {
	back, err := p.reverse(climb)
	if err != nil {
		return err
	}
	return p.give(s, Target{Leaf: leaf, Climb: climb}, climb, back)
}

// reverse returns the way back over the links of a path.
func (p *Planning) reverse(path []int32) ([]int32, error) {
	out := make([]int32, 0, len(path))
	for _, i := range slices.Backward(path) {
		if out = append(out, p.f.Back(i)); out[len(out)-1] < 0 {
			return nil, fmt.Errorf("link %s has no other direction", p.f.Edge(i).ID)
		}
	}
	return out, nil
}

// give gives a host a target over some paths after each other.
func (p *Planning) give(s seat, t Target, paths ...[]int32) error {
	var path []*topology.Link
	for _, i := range slices.Concat(paths...) {
		path = append(path, p.f.Edge(i).Link)
	}
	value, err := p.f.Assignment().Encode(t.Leaf, path, s.last)
	if err != nil {
		return err
	}
	t.EV = hostapi.EV{Value: value, Port: s.port}
	name := p.hosts[s.host].Name
	p.load[s.host]++
	p.plan.Targets[name] = append(p.plan.Targets[name], t)
	return nil
}

// link has hosts below a link probe it, besides those taken.
func (p *Planning) link(place int32, taken map[int]bool) {
	leaves := p.f.Edge(place).Leaves()
	p.turn++
	why := "fewer hosts are below it that can probe"
	for found := true; found && len(taken) < p.witnesses; {
		found = false
		for n := range leaves {
			if len(taken) == p.witnesses {
				break
			}
			leaf := leaves[(p.turn+n)%len(leaves)]
			s, ok := p.idle(leaf, taken)
			if !ok {
				continue
			}
			climb, ok := p.climb(leaf, place)
			if !ok {
				continue
			}
			taken[s.host] = true
			if err := p.add(s, leaf, climb); err != nil {
				p.gap(place, len(taken)-1, err.Error())
				return
			}
			found = true
		}
	}
	if len(taken) < p.witnesses {
		p.gap(place, len(taken), why)
	}
}

// gap notes that so many hosts probe a link, in place of what was noted of the link before.
func (p *Planning) gap(place int32, hosts int, why string) {
	g := Gap{Link: place, Hosts: hosts, Why: why}
	if i, ok := p.under[place]; ok {
		p.plan.Gaps[i] = g
		return
	}
	p.under[place] = len(p.plan.Gaps)
	p.plan.Gaps = append(p.plan.Gaps, g)
}

// idle returns the least busy port at a leaf whose host is not taken.
func (p *Planning) idle(leaf topology.NodeID, taken map[int]bool) (least seat, ok bool) {
	seats := p.seats[leaf]
	for n := range seats {
		s := seats[(p.turn+n)%len(seats)]
		if taken[s.host] || p.load[s.host] >= hostapi.MaxSelfTargets {
			continue
		}
		if !ok || p.load[s.host] < p.load[least.host] {
			least, ok = s, true
		}
	}
	return least, ok
}

// climb returns a way up from a leaf whose last link is the one at a place.
func (p *Planning) climb(leaf topology.NodeID, place int32) ([]int32, bool) {
	from := p.f.Edge(place).Local
	if from == leaf {
		return []int32{place}, true
	}
	down := p.f.Clos().Down(from)
	for n := range down {
		l := down[(p.turn+n)%len(down)]
		i, ok := p.f.Place(l.ID)
		if !ok {
			continue
		}
		below := p.f.Back(i)
		if below < 0 || !p.f.Edge(below).Rises() || !slices.Contains(p.f.Edge(below).Leaves(), leaf) ||
			p.avoid.link(below) != "" {
			continue
		}
		if first, ok := p.climb(leaf, below); ok {
			return append(first, place), true
		}
	}
	return nil, false
}
