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

	// Buffers of id and entities, for the next switch to use.
	key           []byte
	names         []string
	ids           map[string]uint32
	used, members map[uint32]bool
	actions       []entry.Action
}

type hopSet struct {
	hops []Hop
	set  string // ports of the ECMP group, "" for one hop that is not up
	up   bool   // to what is not below
}

func newHopSets() *hopSets {
	return &hopSets{known: make(map[string]hopSetID), sets: make(map[string][]Hop),
		ids: make(map[string]uint32), used: make(map[uint32]bool), members: make(map[uint32]bool)}
}

// clear forgets all sets.
func (w *hopSets) clear() {
	clear(w.list)
	w.list = w.list[:0]
	for _, m := range [...]map[uint32]bool{w.used, w.members} {
		clear(m)
	}
	clear(w.known)
	clear(w.sets)
	clear(w.ids)
}

// id returns the number of a set; hops are ordered by port.
func (w *hopSets) id(hops []Hop, up bool) hopSetID {
	if len(hops) == 0 {
		return noHops
	}
	w.key = w.key[:0]
	if up {
		w.key = append(w.key, 1)
	}
	for _, h := range hops {
		w.key = append(w.key, byte(h.Port>>8), byte(h.Port), byte(h.Neighbor>>8), byte(h.Neighbor))
	}
	if id, ok := w.known[string(w.key)]; ok {
		return id
	}
	id := hopSetID(len(w.list) + 1)
	w.known[string(w.key)] = id
	x := hopSet{hops: hops, up: up}
	if len(hops) > 1 || up {
		x.set = portsKey(w.key[:0], hops)
		w.sets[x.set] = hops
	}
	w.list = append(w.list, x)
	return id
}

// portsKey returns what an ECMP group is numbered by; b is where it may write.
func portsKey(b []byte, hops []Hop) string {
	for _, h := range hops {
		b = append(b, byte(h.Port>>8), byte(h.Port))
	}
	return string(b)
}

// entities returns members and groups, and the actions of all sets, by number, which are good until
// the sets are cleared.
func (w *hopSets) entities() (out []entry.Entity, actions []entry.Action) {
	ids, used, members := w.ids, w.used, w.members
	out = make([]entry.Entity, 0, 3*len(w.sets))
	w.names = slices.AppendSeq(w.names[:0], maps.Keys(w.sets))
	slices.Sort(w.names)
	for _, s := range w.names {
		id := setID(s)
		for used[id] {
			id = id%0xffff + 1
		}
		ids[s], used[id] = id, true
		for _, h := range w.sets[s] {
			if !members[h.Port] {
				members[h.Port] = true
				if uint32(h.Neighbor) == h.Port {
					out = append(out, atPort(h.Port).member)
				} else {
					out = append(out, entry.Member{Profile: p4.ActionProfileEcmpSelector, ID: h.Port,
						Action: Forward(h)})
				}
			}
		}
		if hops := w.sets[s]; len(hops) == 1 && id == setID(s) {
			x := atPort(hops[0].Port)
			out = append(out, x.group, x.toGroup)
		} else {
			g, t := newGroup(id, hops)
			out = append(out, g, t)
		}
	}
	clear(w.actions)
	actions = append(w.actions[:0], entry.Do(p4.ActionDropNoRoute))
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
	w.actions = actions
	return out, actions
}

// newGroup returns the ECMP group of next hops, and the entry that leads to it.
func newGroup(id uint32, hops []Hop) (group, to entry.Entity) {
	g := entry.Group{Profile: p4.ActionProfileEcmpSelector, ID: id, Members: make([]uint32, len(hops))}
	for i, h := range hops {
		g.Members[i] = h.Port
	}
	t := entry.In(p4.TableEcmp, entry.Action{}, entry.Exact("group", entry.Uint(uint64(id))))
	t.Group = id
	return g, t
}

// setID returns a number from 1 to 65535 for a set of ports.
func setID(set string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(set))
	return h.Sum32()%0xffff + 1
}
