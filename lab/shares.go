package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/internal/maxmin"
)

// Shares holds the max-min fair rates of an all-to-all of the MRC hosts of a network, in bits a
// second on the links. After losses, the flows share the rest of the network as if packets were a
// fluid.
type Shares struct {
	class map[string]string // of hosts and switches
	rack  map[string]string // of hosts
	rates map[pairing]float64
	flows map[pairing]int
}

// A pairing is a set of interchangeable flows: from hosts of one class to hosts of a class, in the
// same rack or in different racks.
type pairing struct {
	from, to string
	within   bool // a rack
}

// AllToAllShares computes the rates that an all-to-all of the MRC hosts reaches after losses. A
// flow may be divided in any way over the paths of the fabric's routing: the paths that are
// shortest without losses, less the paths that the losses cut.
//
// Interchangeable nodes get the same rates: racks with the same links up, and switches of a tier
// with the same neighbors. The fluid model has one node for each such class, with the capacity of
// all members. That changes no rate and keeps the model of a large fabric small.
func (n *Network) AllToAllShares(losses ...Loss) (*Shares, error) {
	m := n.sharing(losses)
	if m.unlimited != "" {
		return nil, fmt.Errorf("lab: link %s has no rate, so there are no fair shares", m.unlimited)
	}
	var demands []maxmin.Demand
	order := slices.SortedFunc(maps.Keys(m.flows), func(a, b pairing) int {
		return strings.Compare(a.String(), b.String())
	})
	for _, p := range order {
		demands = append(demands, maxmin.Demand{Flows: m.flows[p], Paths: m.paths(p)})
	}
	rates, err := maxmin.Rates(m.capacities, demands)
	if err != nil {
		return nil, err
	}
	s := &Shares{class: m.class, rack: m.rack, flows: m.flows, rates: map[pairing]float64{}}
	for i, p := range order {
		s.rates[p] = rates[i]
	}
	return s, nil
}

func (p pairing) String() string { return fmt.Sprint(p.from, " to ", p.to, " ", p.within) }

// Of returns the rate of the flow between two hosts.
func (s *Shares) Of(from, to string) float64 {
	return s.rates[pairing{s.class[from], s.class[to], s.rack[from] == s.rack[to]}]
}

// Total is the rate of all flows together.
func (s *Shares) Total() (sum float64) {
	for p, n := range s.flows {
		sum += s.rates[p] * float64(n)
	}
	return sum
}

// sharing is a network with one node for all that are alike.
type sharing struct {
	n          *Network
	class      map[string]string
	rack       map[string]string // of hosts: the switches that they have links to
	members    map[string][]string
	links      map[[2]string]int // between classes, by direction, into capacities
	capacities []float64
	flows      map[pairing]int
	unlimited  string // a link without a rate
}

func (n *Network) sharing(losses []Loss) *sharing {
	off, cut := map[string]bool{}, map[[2]string]int{}
	for _, l := range losses {
		for _, s := range l.Switches {
			off[s] = true
		}
		for _, ends := range l.Links {
			cut[ends]++
		}
	}
	m := &sharing{
		n: n, class: map[string]string{}, rack: map[string]string{}, members: map[string][]string{},
		links: map[[2]string]int{}, flows: map[pairing]int{},
	}
	var left []Link
	for _, l := range n.Links {
		a, b := [2]string{l.A, l.B}, [2]string{l.B, l.A}
		switch {
		case cut[a] > 0:
			cut[a]--
		case cut[b] > 0:
			cut[b]--
		case off[l.A] || off[l.B]:
		case l.Rate == 0:
			m.unlimited = l.A + " - " + l.B
		default:
			left = append(left, l)
		}
	}
	m.classify(left)
	for _, l := range left {
		for _, ends := range [][2]string{{l.A, l.B}, {l.B, l.A}} {
			key := [2]string{m.class[ends[0]], m.class[ends[1]]}
			i, ok := m.links[key]
			if !ok {
				i = len(m.capacities)
				m.links[key], m.capacities = i, append(m.capacities, 0)
			}
			m.capacities[i] += float64(l.Rate)
		}
	}
	hosts := n.MRCHosts()
	for _, from := range hosts {
		for _, to := range hosts {
			if from != to {
				m.flows[pairing{m.class[from], m.class[to], m.rack[from] == m.rack[to]}]++
			}
		}
	}
	return m
}

// classify groups equivalent nodes by the remaining links.
func (m *sharing) classify(left []Link) {
	n := m.n
	ends := func(name string, host bool) string { // of the node's links, to hosts or to switches
		var out []string
		for _, l := range left {
			if l.B == name {
				l.A, l.B = l.B, l.A
			}
			if l.A == name && (n.host(l.B) != nil) == host {
				out = append(out, fmt.Sprintf("%s at %d", l.B, l.Rate))
			}
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	in := map[string][]string{} // hosts by rack
	of := map[string]string{}   // racks by switch
	mixed := map[string]bool{}  // racks that share a switch with another
	for _, h := range n.Hosts {
		var switches []string
		for sw := range n.Uplinks(h.Name) {
			switches = append(switches, sw)
		}
		rack := strings.Join(switches, "+")
		m.rack[h.Name] = rack
		in[rack] = append(in[rack], h.Name)
		for _, sw := range switches {
			if before, ok := of[sw]; ok && before != rack {
				mixed[before], mixed[rack] = true, true
			}
			of[sw] = rack
		}
	}
	kind := map[string]string{} // of racks
	port := func(host string) string {
		mask := ""
		for sw := range n.Uplinks(host) {
			mask += "-"
			for _, l := range left {
				if l.A == sw && l.B == host || l.A == host && l.B == sw {
					mask += fmt.Sprint(l.Rate)
				}
			}
		}
		return mask
	}
	for rack, hosts := range in {
		if mixed[rack] {
			kind[rack] = rack
			continue
		}
		var parts []string
		for _, h := range hosts {
			parts = append(parts, port(h))
		}
		slices.Sort(parts)
		for _, sw := range strings.Split(rack, "+") {
			parts = append(parts, ends(sw, false))
		}
		kind[rack] = strings.Join(parts, "; ")
	}
	tiers, planes := n.Tiers(), n.planes()
	put := func(name, class string) {
		m.class[name] = class
		m.members[class] = append(m.members[class], name)
	}
	for _, h := range n.Hosts {
		put(h.Name, "hosts "+port(h.Name)+" of "+kind[m.rack[h.Name]])
	}
	for _, s := range n.Switches {
		if rack, ok := of[s.Name]; ok {
			place := slices.Index(strings.Split(rack, "+"), s.Name)
			put(s.Name, fmt.Sprintf("switch %d of %s", place, kind[rack]))
		} else {
			put(s.Name, fmt.Sprintf("plane %d, tier %d, %s", planes[s.Name], tiers[s.Name],
				ends(s.Name, false)))
		}
	}
}

// paths are the paths of a pairing: by each port, as long as the shortest is when nothing is lost.
func (m *sharing) paths(p pairing) (paths [][]int) {
	from := m.members[p.from][0]
	to := m.members[p.to][slices.IndexFunc(m.members[p.to], func(h string) bool {
		return h != from && (m.rack[h] == m.rack[from]) == p.within
	})]
	next := map[string][]string{}
	for ends := range m.links {
		next[ends[0]] = append(next[ends[0]], ends[1])
	}
	for _, to := range next {
		slices.Sort(to)
	}
	far := m.n.distances(to)
	for first := range m.n.Uplinks(from) {
		hops, ok := far[first]
		if !ok {
			continue
		}
		var walk func(at string, end []int)
		walk = func(at string, end []int) {
			switch {
			case at == p.to && len(end) == 1+hops:
				paths = append(paths, slices.Clone(end))
			case len(end) <= hops && (len(end) == 0 || !strings.HasPrefix(at, "hosts ")):
				for _, n := range next[at] {
					if len(end) > 0 || n == m.class[first] {
						walk(n, append(end, m.links[[2]string{at, n}]))
					}
				}
			}
		}
		walk(p.from, nil)
	}
	return paths
}

// distances are the links from every switch to a host, over switches, when nothing is lost.
func (n *Network) distances(host string) map[string]int {
	far := map[string]int{host: 0}
	for reached := []string{host}; len(reached) > 0; reached = reached[1:] {
		for _, l := range n.Links {
			for _, ends := range [][2]string{{l.A, l.B}, {l.B, l.A}} {
				if _, known := far[ends[1]]; ends[0] == reached[0] && !known && n.sw(ends[1]) != nil {
					far[ends[1]] = far[ends[0]] + 1
					reached = append(reached, ends[1])
				}
			}
		}
	}
	return far
}
