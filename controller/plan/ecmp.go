package plan

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

func sortHops(hops []Hop) []Hop {
	slices.SortFunc(hops, func(a, b Hop) int { return cmp.Compare(a.Port, b.Port) })
	return slices.CompactFunc(hops, func(a, b Hop) bool { return a.Port == b.Port })
}

// hopSets collects the sets of next hops of a switch, and shares ECMP groups among them.
type hopSets struct {
	known map[string]hopSetID
	list  []hopSet // by hopSetID - 1
	sets  map[string][]Hop
}

type hopSet struct {
	hops []Hop
	set  string // ports of the ECMP group, "" for one hop that is not up
	up   bool   // to what is not below
}

func newHopSets() *hopSets {
	return &hopSets{known: make(map[string]hopSetID), sets: make(map[string][]Hop)}
}

// id returns the number of a set; hops are ordered by port.
func (w *hopSets) id(hops []Hop, up bool) hopSetID {
	if len(hops) == 0 {
		return noHops
	}
	key, ports := make([]byte, 0, 64), make([]byte, 0, 64)
	if up {
		key = append(key, 1)
	}
	for _, h := range hops {
		key = append(key, byte(h.Port>>8), byte(h.Port), byte(h.Neighbor>>8), byte(h.Neighbor))
		ports = append(ports, byte(h.Port>>8), byte(h.Port))
	}
	if id, ok := w.known[string(key)]; ok {
		return id
	}
	x := hopSet{hops: hops, up: up}
	if len(hops) > 1 || up {
		x.set = string(ports)
		w.sets[x.set] = hops
	}
	w.list = append(w.list, x)
	id := hopSetID(len(w.list))
	w.known[string(key)] = id
	return id
}

// entities returns members and groups, and the actions of all sets, by number.
func (w *hopSets) entities() (out []entry.Entity, actions []entry.Action) {
	ids := make(map[string]uint32, len(w.sets))
	used := make(map[uint32]bool, len(w.sets))
	members := make(map[uint32]bool)
	for _, s := range slices.Sorted(maps.Keys(w.sets)) {
		id := setID(s)
		for used[id] {
			id = id%0xffff + 1
		}
		ids[s], used[id] = id, true
		g := entry.Group{Profile: p4.ActionProfileEcmpSelector, ID: id}
		for _, h := range w.sets[s] {
			if !members[h.Port] {
				members[h.Port] = true
				out = append(out, entry.Member{Profile: p4.ActionProfileEcmpSelector, ID: h.Port,
					Action: Forward(h)})
			}
			g.Members = append(g.Members, h.Port)
		}
		t := entry.In(p4.TableEcmp, entry.Action{}, entry.Exact("group", entry.Uint(uint64(id))))
		t.Group = id
		out = append(out, g, t)
	}
	actions = append(actions, entry.Do(p4.ActionDropNoRoute))
	for _, x := range w.list {
		switch {
		case x.set == "":
			actions = append(actions, Forward(x.hops[0]))
		case x.up:
			actions = append(actions, entry.Do(p4.ActionForwardUp, entry.Number("group", ids[x.set])))
		default:
			actions = append(actions, entry.Do(p4.ActionEcmpGroup, entry.Number("group", ids[x.set])))
		}
	}
	return out, actions
}

// setID returns a number from 1 to 65535 for a set of ports.
func setID(set string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(set))
	return h.Sum32()%0xffff + 1
}
