package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/hostlist"
	"github.com/weft-sdn/weft/internal/natural"
)

// Unit is a part of the fabric with hosts near to each other. It contains other units, or hosts.
type Unit struct {
	// Name is the name of the unit's first switch in natural order; of a root, "fabric". A name
	// consists of letters, digits, '.', '_' and '-', ends in at most 18 digits, and is unique among
	// units and hosts.
	Name     string
	Tier     int      // 0: a group of T0s
	Switches []string // by their names, in natural order; none of a root
	Units    []*Unit
	Hosts    []*Host
}

// Host is a node of a scheduler in its place.
type Host struct {
	Name string
	// Within has the units around it, the nearest first and a root last.
	Within []*Unit
	// Ports counts the ports of all NICs of the node, and Usable the ports that peers may send to.
	Ports, Usable int
	// Fault is why the node cannot be used; "": it can.
	Fault string
}

// Tree is the fabric as a tree.
type Tree struct {
	// Roots has the parts of the fabric that no known link connects, in natural order of their first
	// units: one root in a connected fabric, none without hosts.
	Roots []*Unit
	Hosts []*Host // in natural order
	// Unplaced are hosts that no known T0 serves.
	Unplaced []string
}

// Facts has the API's data from which a tree is made.
type Facts struct {
	Hosts []api.Host
	Nodes []api.Node
	// Links say what is above the T0s, and which switches are connected; without links all are.
	Links []api.Link
	// Names derives the names of nodes from the names of hosts; nil: both are equal.
	Names *Pattern
	// Streams: hosts have streams to the controller, and a host without a stream is out of use. False
	// without an MRC fabric.
	Streams bool
}

// NewTree returns the tree of a fabric.
func NewTree(f *Facts) *Tree {
	b := builder{facts: f, names: make(map[string]bool), unit: make(map[string]*Unit)}
	t := &Tree{}
	b.nodes = Nodes(f.Hosts, f.Names)
	for i := range b.nodes { // whose names units must not have
		b.names[b.nodes[i].Name] = true
	}
	b.tiers()
	units := b.groups(t)
	for tier := 1; tier < b.top; tier++ {
		units = b.above(units, tier)
	}
	t.Roots = b.roots(units)
	for _, root := range t.Roots {
		place(root, nil)
	}
	slices.SortFunc(t.Hosts, func(a, b *Host) int { return natural.Compare(a.Name, b.Name) })
	slices.SortFunc(t.Unplaced, natural.Compare)
	return t
}

// roots returns the units above all others, each for what known links connect.
func (b *builder) roots(units []*Unit) []*Unit {
	connected := make(sets)
	first := make(map[*Unit]string) // a switch of each
	for id, u := range b.unit {
		if first[u] == "" {
			first[u] = id
		}
		connected.join(id, first[u])
	}
	for i := range b.facts.Links {
		connected.join(string(b.facts.Links[i].Status.From), string(b.facts.Links[i].Status.To))
	}
	var roots []*Unit
	of := make(map[string]*Unit)
	for _, u := range units {
		part := ""
		if len(b.facts.Links) > 0 {
			part = connected.root(first[u])
		}
		if of[part] == nil {
			of[part] = &Unit{Name: b.name("fabric"), Tier: max(b.top, 1)}
			roots = append(roots, of[part])
		}
		of[part].Units = append(of[part].Units, u)
	}
	return roots
}

// place sets what is around the hosts of a unit.
func place(u *Unit, around []*Unit) {
	around = append([]*Unit{u}, around...)
	for _, h := range u.Hosts {
		h.Within = around
	}
	for _, below := range u.Units {
		place(below, around)
	}
}

// builder makes the units of a tree from below.
type builder struct {
	facts *Facts
	nodes []Node
	tier  map[string]int    // of switches, by id
	shown map[string]string // their names
	top   int               // the highest tier
	names map[string]bool   // of units
	unit  map[string]*Unit  // that a switch belongs to
}

func (b *builder) tiers() {
	b.tier, b.shown = make(map[string]int), make(map[string]string)
	for i := range b.facts.Nodes {
		n := &b.facts.Nodes[i]
		b.shown[string(n.ID)] = cmp.Or(n.Status.Name, string(n.ID))
		if n.Status.Tier != nil {
			b.tier[string(n.ID)] = *n.Status.Tier
			b.top = max(b.top, *n.Status.Tier)
		}
	}
}

// groups returns the groups of T0s with their hosts.
func (b *builder) groups(t *Tree) []*Unit {
	sets := make(sets)
	first := make([]string, len(b.nodes)) // a leaf of each
	for i := range b.nodes {
		for _, h := range b.nodes[i].NICs {
			for j := range h.Ports {
				s := &h.Ports[j].Status
				leaf := string(s.Leaf)
				if leaf == "" {
					continue
				}
				if _, ok := b.shown[leaf]; !ok {
					b.shown[leaf] = cmp.Or(s.LeafName, leaf)
				}
				first[i] = cmp.Or(first[i], leaf)
				sets.join(first[i], leaf)
			}
		}
	}
	units := b.units(sets, 0)
	for i := range b.nodes {
		n := &b.nodes[i]
		leaf := first[i]
		if leaf == "" {
			t.Unplaced = append(t.Unplaced, n.Name)
			continue
		}
		placed := &Host{Name: n.Name, Fault: n.Fault(b.facts.Streams)}
		for _, h := range n.NICs {
			placed.Ports, placed.Usable = placed.Ports+len(h.Ports), placed.Usable+usable(h)
		}
		u := b.unit[leaf]
		u.Hosts = append(u.Hosts, placed)
		t.Hosts = append(t.Hosts, placed)
	}
	for _, u := range units {
		slices.SortFunc(u.Hosts, func(a, b *Host) int { return natural.Compare(a.Name, b.Name) })
	}
	return units
}

// above returns the units of a tier: each joins the lower units that share a switch of this tier.
func (b *builder) above(below []*Unit, tier int) []*Unit {
	sets := make(sets)
	owner := make(map[string][]*Unit) // of a set, by its switches
	for i := range b.facts.Links {
		s := &b.facts.Links[i].Status
		lower, upper := string(s.From), string(s.To)
		if b.tier[lower] > b.tier[upper] {
			lower, upper = upper, lower
		}
		u := b.unit[lower]
		if b.tier[upper] != tier || b.tier[lower] != tier-1 || u == nil {
			continue
		}
		owner[upper] = append(owner[upper], u)
	}
	of := make(map[*Unit]string) // a switch of the tier that a unit reaches
	for sw, units := range owner {
		sets.join(sw, sw)
		for _, u := range units {
			if of[u] == "" {
				of[u] = sw
			}
			sets.join(of[u], sw)
		}
	}
	units := b.units(sets, tier)
	for _, u := range below {
		if sw := of[u]; sw != "" {
			b.unit[sw].Units = append(b.unit[sw].Units, u)
		} else {
			units = append(units, u) // it reaches no switch of the tier: it stays by itself
		}
	}
	return units
}

// units returns a unit for each set of switches of a tier, in natural order.
func (b *builder) units(s sets, tier int) []*Unit {
	members := make(map[string][]string)
	for id := range s {
		root := s.root(id)
		members[root] = append(members[root], id)
	}
	var units []*Unit
	ids := make(map[*Unit][]string)
	for _, of := range members {
		u := &Unit{Tier: tier}
		for _, id := range of {
			u.Switches = append(u.Switches, b.shown[id])
		}
		slices.SortFunc(u.Switches, natural.Compare)
		ids[u] = of
		units = append(units, u)
	}
	slices.SortFunc(units, func(a, b *Unit) int {
		return natural.Compare(a.Switches[0], b.Switches[0])
	})
	for _, u := range units {
		u.Name = b.name(u.Switches[0])
		for _, id := range ids[u] {
			b.unit[id] = u
		}
	}
	return units
}

// name returns a unique name for a unit, in the letters that schedulers accept.
func (b *builder) name(of string) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r < 128 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("._-", r)) {
			return r
		}
		return '-'
	}, of), "._-")
	if name == "" || hostlist.EndsTooLong(name) {
		name += "unit"
	}
	for i, base := 2, name; b.names[name]; i++ {
		name = fmt.Sprintf("%s-%d", base, i)
	}
	b.names[name] = true
	return name
}

// sets are disjoint sets of names: each name points to a name of its set; the root points to
// itself.
type sets map[string]string

func (s sets) root(name string) string {
	if _, ok := s[name]; !ok {
		s[name] = name
	}
	for s[name] != name {
		s[name] = s[s[name]]
		name = s[name]
	}
	return name
}

func (s sets) join(a, b string) {
	if a, b := s.root(a), s.root(b); a != b {
		s[b] = a
	}
}
