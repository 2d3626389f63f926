package plan

import (
	"net/netip"
	"slices"
	"sync"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

// common holds entities that many switches share, made on first use. A fabric of thousands of
// switches keeps these entities once.
type common struct {
	// sidSpace is what no host may send to.
	sidSpace func() []entry.Entity
	// hosts are places in the inventory of the hosts with an address in a subnet; see subnetOf.
	hosts func() map[netip.Prefix][]int32

	mu      sync.Mutex
	classes map[classesKey][]entry.Entity
	up      map[upKey]entry.Entity
}

// upKey is what sends packets up by the value of a field.
type upKey struct {
	value uint32
	hop   Hop
}

// classesKey is what the entities of classes follow from.
type classesKey struct {
	classes inventory.Classes
	ports   string // those to hosts, a zero, those to neighbors
}

func newCommon(n *Network) *common {
	return &common{
		sidSpace: sync.OnceValue(n.sidSpace),
		hosts:    sync.OnceValue(n.hostsBySubnet),
		classes:  make(map[classesKey][]entry.Entity),
		up:       make(map[upKey]entry.Entity),
	}
}

// climbBy returns the entry that sends packets with a value in their field by a hop.
func (c *common) climbBy(value uint32, h Hop) entry.Entity {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := upKey{value, h}
	e, ok := c.up[k]
	if !ok {
		e = entry.In(p4.TableEvUp, entry.Do(p4.ActionEvForward, hopParams(h)...),
			entry.Exact("value", entry.Uint(uint64(value))))
		c.up[k] = e
	}
	return e
}

// ofPort is what switches hold for a port, whoever they are.
type ofPort struct {
	hostFacing, fabric, clone entry.Entity
	// member sends to the neighbor switch at the port, group has that member alone, and toGroup is the
	// entry that leads to the group.
	member, group, toGroup entry.Entity
	// neighbor is by the neighbor switch at the port, host by the first host.
	neighbor, host byHop
}

// byHop is what entries of all switches have for a hop: what finds its neighbor, and what sends to
// it.
type byHop struct {
	neighbor []entry.Match
	forward  entry.Action
}

func newByHop(h Hop) *byHop {
	id := entry.Uint(uint64(h.Neighbor))
	return &byHop{
		neighbor: []entry.Match{entry.Exact("id", id)},
		forward: entry.Do(p4.ActionForward, entry.With("port", port(h.Port)),
			entry.With("neighbor", id)),
	}
}

// ofHop returns what entries for a hop have.
func ofHop(h Hop) *byHop {
	if known := ofPorts(); int(h.Port) < len(known) {
		switch h {
		case toSwitch(h.Port):
			return &known[h.Port].neighbor
		case toHost(h.Port, 1):
			return &known[h.Port].host
		}
	}
	return newByHop(h)
}

func newOfPort(p uint32) ofPort {
	alone := []Hop{toSwitch(p)}
	x := ofPort{
		neighbor:   *newByHop(alone[0]),
		host:       *newByHop(toHost(p, 1)),
		hostFacing: setPort(p, true, 0),
		fabric:     setPort(p, false, 0),
		clone:      entry.Clone{ID: p + 1, Replicas: []entry.Replica{{Port: p, Instance: 1}}},
	}
	x.member = entry.Member{Profile: p4.ActionProfileEcmpSelector, ID: p, Action: x.neighbor.forward}
	x.group, x.toGroup = newGroup(setID(portsKey(nil, alone)), alone)
	return x
}

var ofPorts = sync.OnceValue(func() []ofPort {
	out := make([]ofPort, p4.Ports)
	for p := range out {
		out[p] = newOfPort(uint32(p))
	}
	return out
})

// atPort returns what switches hold for a port.
func atPort(p uint32) *ofPort {
	if known := ofPorts(); int(p) < len(known) {
		return &known[p]
	}
	x := newOfPort(p)
	return &x
}

// fanOut are the groups of copies that go round once more.
var fanOut = sync.OnceValue(func() (out []entry.Entity) {
	for n := uint32(1); n <= p4.MtTlvReceivers; n++ {
		replicas := make([]entry.Replica, n)
		for i := range replicas {
			replicas[i] = entry.Replica{Port: p4.RecirculationPort, Instance: p4.RidFanout + uint32(i)}
		}
		out = append(out, entry.Copies(n, replicas...))
	}
	return out
})

// classesOf returns the entities of classes for ports, made by plan where no switch had them yet.
func (c *common) classesOf(
	m inventory.Classes, hosts, fabric []uint32, plan func() []entry.Entity,
) []entry.Entity {
	key := make([]byte, 0, 4*(len(hosts)+len(fabric)+1))
	for _, p := range slices.Concat(hosts, []uint32{0}, fabric) {
		key = append(key, byte(p>>24), byte(p>>16), byte(p>>8), byte(p))
	}
	k := classesKey{m, string(key)}
	c.mu.Lock()
	defer c.mu.Unlock()
	out, ok := c.classes[k]
	if !ok {
		out = slices.Clip(plan())
		c.classes[k] = out
	}
	return out
}

// hostsBySubnet returns places in the inventory of the hosts of each subnet, ascending.
func (n *Network) hostsBySubnet() map[netip.Prefix][]int32 {
	out := make(map[netip.Prefix][]int32)
	for i := range n.Inventory.Hosts {
		for a := range n.Inventory.Hosts[i].Addresses() {
			s := subnetOf(a)
			if at := out[s]; len(at) == 0 || at[len(at)-1] != int32(i) {
				out[s] = append(at, int32(i))
			}
		}
	}
	return out
}

// hostsIn returns the indexes in the inventory of the hosts that may have an address in prefixes,
// ascending. For prefixes in the form from subnetOf the function returns the hosts with an address
// in a prefix; for other prefixes all hosts.
func (n *Network) hostsIn(prefixes []netip.Prefix) (places []int32) {
	for _, p := range prefixes {
		if subnetOf(p.Addr()) != p {
			places = places[:0]
			for i := range n.Inventory.Hosts {
				places = append(places, int32(i))
			}
			return places
		}
		places = append(places, n.common.hosts()[p]...)
	}
	slices.Sort(places)
	return slices.Compact(places)
}
