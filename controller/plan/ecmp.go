package plan

import (
	"cmp"
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

func sortHops(hops []hop) []hop {
	slices.SortFunc(hops, func(a, b hop) int { return cmp.Compare(a.port, b.port) })
	return slices.CompactFunc(hops, func(a, b hop) bool { return a.port == b.port })
}

// ecmp collects the routes of a switch and shares groups among them.
type ecmp struct {
	routes []ecmpRoute
	sets   map[string][]hop
}

type ecmpRoute struct {
	prefix netip.Prefix
	hops   []hop
	set    string // "" for one way that is not up
	up     bool   // to what is not below
}

func newECMP() *ecmp { return &ecmp{sets: make(map[string][]hop)} }

// route adds a route; hops are ordered by port and not empty.
func (e *ecmp) route(p netip.Prefix, hops []hop, up bool) {
	r := ecmpRoute{prefix: p, hops: hops, up: up}
	if len(hops) > 1 || r.up {
		b := make([]byte, 0, 2*len(hops))
		for _, h := range hops {
			b = append(b, byte(h.port>>8), byte(h.port))
		}
		r.set = string(b)
		e.sets[r.set] = hops
	}
	e.routes = append(e.routes, r)
}

// entities returns members, groups and routes.
func (e *ecmp) entities() []entry.Entity {
	var out []entry.Entity
	sets := make([]string, 0, len(e.sets))
	for s := range e.sets {
		sets = append(sets, s)
	}
	slices.Sort(sets)
	ids := make(map[string]uint32, len(sets))
	used := make(map[uint32]bool, len(sets))
	members := make(map[uint32]bool)
	for _, s := range sets {
		id := setID(s)
		for used[id] {
			id = id%0xffff + 1
		}
		ids[s], used[id] = id, true
		g := entry.Group{Profile: p4.ActionProfileEcmpSelector, ID: id}
		for _, h := range e.sets[s] {
			if !members[h.port] {
				members[h.port] = true
				out = append(out, entry.Member{Profile: p4.ActionProfileEcmpSelector, ID: h.port, Action: forward(h)})
			}
			g.Members = append(g.Members, h.port)
		}
		t := entry.In(p4.TableEcmp, entry.Action{}, entry.Exact("group", entry.Uint(uint64(id))))
		t.Group = id
		out = append(out, g, t)
	}
	for _, r := range e.routes {
		if r.set == "" {
			out = append(out, route(r.prefix, forward(r.hops[0])))
		} else {
			action := p4.ActionEcmpGroup
			if r.up {
				action = p4.ActionForwardUp
			}
			out = append(out, route(r.prefix, entry.Do(action, entry.With("group", entry.Uint(uint64(ids[r.set]))))))
		}
	}
	return out
}

// setID returns a number from 1 to 65535 for a set of ports.
func setID(set string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(set))
	return h.Sum32()%0xffff + 1
}
