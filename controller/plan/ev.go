package plan

import (
	"hash/fnv"
	"math"
	"net/netip"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/entry"
)

// EVs returns what a switch holds so that packets go where the EVs of an
// assignment say, each thing once: fields and their values, uSIDs, and what
// hosts are reached by, and in every mode what keeps the hashes of switches
// apart. The assignment must be of the network's snapshot.
func (n *Network) EVs(sw *inventory.Switch, a *ev.Assignment) []entry.Entity {
	b := baseWork{n: n, sw: sw, node: n.nodes[sw.Name]}
	if b.node == nil {
		return nil
	}
	s, ok := a.Switch(b.node.ID)
	if !ok {
		return nil
	}
	b.multiplier()
	if a.Format().Mode == ev.ModeStructured {
		b.field(s)
	}
	if a.Format().Mode.SRv6() {
		b.usids(a, s)
	}
	return b.out
}

// EVRoutes takes the place of [Network.Routes]. Where structured EVs select the ports up, a route
// to a destination that is not below is marked so, whatever port the route leaves by: a set of
// ports down that climbs again would bring a packet back whose EV takes a port up here. EVRoutes
// also plans routes to all uNs.
func (n *Network) EVRoutes(sw *inventory.Switch, a *ev.Assignment) []entry.Entity {
	return n.newEVRoutes(sw, a).plan(n.tree(a), (*routeTree).aggregate)
}

// EachEVRoute is to [Network.EVRoutes] what [Network.EachRoute] is to
// [Network.Routes].
func (n *Network) EachEVRoute(sw *inventory.Switch, a *ev.Assignment) []entry.Entity {
	return n.newEVRoutes(sw, a).plan(n.tree(a), (*routeTree).each)
}

func (n *Network) newEVRoutes(sw *inventory.Switch, a *ev.Assignment) *routeWork {
	w := n.newRoutes(sw)
	if w.node != nil {
		if _, ok := a.Clos().Tier(w.node.ID); ok && a.Format().Mode == ev.ModeStructured {
			w.below = below(int32(n.Snapshot.NodePlace(w.node.ID)), n.lower(a))
		}
	}
	return w
}

// below are the switches that links down lead to from the switch at a place of the snapshot, by
// place; lower are those of one link.
func below(place int32, lower [][]int32) []bool {
	below := make([]bool, len(lower))
	for reached := []int32{place}; len(reached) > 0; reached = reached[1:] {
		for _, v := range lower[reached[0]] {
			if !below[v] {
				below[v] = true
				if len(lower[v]) > 0 {
					reached = append(reached, v)
				}
			}
		}
	}
	return below
}

// lower returns, for each switch, the switches at the ends of its links down, by index in the
// snapshot. It remembers the result for the last assignment.
func (n *Network) lower(a *ev.Assignment) [][]int32 {
	t := n.trees
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lowerOf == a {
		return t.lower
	}
	tier := make([]int, len(n.Snapshot.Nodes))
	for i, node := range n.Snapshot.Nodes {
		var ok bool
		if tier[i], ok = a.Clos().Tier(node.ID); !ok {
			tier[i] = math.MaxInt
		}
	}
	lower := make([][]int32, len(tier))
	for i, node := range n.Snapshot.Nodes {
		for _, l := range n.Snapshot.LinksFrom(node.ID) {
			if v := n.Snapshot.NodePlace(l.Remote); v >= 0 && tier[i] != math.MaxInt && tier[v] < tier[i] {
				lower[i] = append(lower[i], int32(v))
			}
		}
	}
	t.lowerOf, t.lower = a, lower
	return lower
}

// multiplier emits the switch's own factor of the ECMP hash.
func (b *baseWork) multiplier() {
	h := fnv.New32a()
	h.Write([]byte(b.sw.Name))
	t := entry.In(p4.TableEcmpHash,
		entry.Do(p4.ActionSetMultiplier, entry.With("odd", entry.Uint(uint64(h.Sum32()|1)))))
	t.Default = true
	b.add(t)
}

// field emits the switch's own field of structured EVs. A switch at the top has a field without
// values, so it drops packets to destinations elsewhere than below.
func (b *baseWork) field(s ev.Switch) {
	right, ones := uint64(0), uint64(1)
	if s.HasField {
		right, ones = uint64(packet.EVBits-s.Field.Offset-s.Field.Width), uint64(s.Field.Max())
	}
	t := entry.In(p4.TableEvField, entry.Do(p4.ActionSetField, entry.With("right", entry.Uint(right)),
		entry.With("ones", entry.Uint(ones))))
	t.Default = true
	b.add(t)
	for _, v := range s.Up {
		if h, ok := b.n.Hop(b.sw, v.Link); ok {
			b.add(b.n.common.climbBy(v.Value, h))
		}
	}
}

func hopParams(h Hop) []entry.Param {
	return []entry.Param{entry.With("port", port(h.Port)),
		entry.With("neighbor", entry.Uint(uint64(h.Neighbor)))}
}

// usids emits the switch's own uSIDs.
func (b *baseWork) usids(a *ev.Assignment, s ev.Switch) {
	format := a.Format()
	f1616 := entry.Bool(format.Mode.USID() == packet.F1616)
	local := func(p netip.Prefix, action entry.Action) {
		b.add(entry.In(p4.TableLocalSid, action, entry.LPM("dst_addr", p)))
	}
	endpoint := func(name string, params ...entry.Param) entry.Action {
		return entry.Do(name, append(params, entry.With("f1616", f1616),
			entry.With("pair", entry.Bool(false)),
			entry.With("with_psp", entry.Bool(false)), entry.With("with_usd", entry.Bool(false)))...)
	}
	// A uN reveals the next uSID as a route. The switch matches its own uN together with the uSID
	// behind it.
	own, behindOwn := netip.Prefix{}, func(uint16) netip.Prefix { return netip.Prefix{} }
	if usid, ok := a.Node(b.node.ID); ok {
		own, _ = format.Mode.USID().SID(format.Block, usid)
		behindOwn = func(last uint16) netip.Prefix {
			containers, err := format.Mode.USID().Containers(format.Block, usid, last)
			if err != nil {
				return netip.Prefix{}
			}
			return netip.PrefixFrom(containers[0], own.Bits()+16)
		}
	}
	decapsulate := func(u ev.LocalUSID, action entry.Action) {
		local(u.SID, action)
		if p := behindOwn(u.USID); p.IsValid() {
			local(p, action)
		}
	}
	for _, u := range s.USIDs {
		switch u.Behavior {
		case packet.UN:
			local(u.SID, endpoint(p4.ActionUn))
		case packet.UA:
			if h, ok := b.n.Hop(b.sw, u.Link); ok {
				local(u.SID, endpoint(p4.ActionUa, hopParams(h)...))
			}
		case packet.UDT6:
			decapsulate(u, entry.Do(p4.ActionEndDt6, entry.With("vrf", entry.Uint(0))))
		}
	}
	// The last uSID of a path names a port to a host. With the outer header it
	// is a route: nothing is left to be done at this switch.
	if s.Tier == 0 {
		b.hostUSIDs(a)
		seen := make(map[uint32]bool)
		for _, h := range b.n.hostsOf[b.sw.Name] {
			hopSet := h.Hop
			if seen[hopSet.Port] {
				continue
			}
			seen[hopSet.Port] = true
			keep, decap, err := a.HostUSIDs(uint16(hopSet.Port))
			if err != nil {
				continue
			}
			b.deliveries(hopSet.Port)
			b.add(route(keep.SID, Forward(hopSet)))
			decapsulate(decap, entry.Do(p4.ActionEndDx6, hopParams(hopSet)...))
		}
	}
}

// nodeSIDs returns the uNs of the switches, without uNs already in the topology as locators.
func (n *Network) nodeSIDs(a *ev.Assignment, known *routeTree) []destination {
	format := a.Format()
	if !format.Mode.SRv6() {
		return nil
	}
	has := make(map[netip.Prefix]bool, len(known.destinations))
	for _, d := range known.destinations {
		has[d.prefix] = true
	}
	var out []destination
	for _, node := range a.Clos().Nodes() {
		usid, ok := a.Node(node.ID)
		if !ok {
			continue
		}
		sid, err := format.Mode.USID().SID(format.Block, usid)
		if err == nil && !has[sid] && n.Snapshot.NodePlace(node.ID) >= 0 {
			out = append(out, destination{sid, []origin{n.origin(node.ID, 0)}})
		}
	}
	return out
}
