package plan

import (
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// A destination is a prefix and the nodes that reach it. A host prefix inside another destination
// at the switch of the host has no nodes.
type destination struct {
	prefix  netip.Prefix
	origins []origin
}

type origin struct {
	place  int32 // of the node in the snapshot
	metric uint32
}

// origin returns the origin that a node is; its place is none when the topology
// lacks the node.
func (n *Network) origin(id topology.NodeID, metric uint32) origin {
	return origin{int32(n.Snapshot.NodePlace(id)), metric}
}

// destinations returns the destinations of unicast routes, in order: loopbacks, locators,
// advertised prefixes, and hosts outside all of these at their own switch; and, without origins,
// the prefixes of the remaining hosts.
func (n *Network) destinations() []destination {
	origins, ipv4 := make(map[netip.Prefix][]origin), n.Inventory.RoutesIPv4()
	add := func(p netip.Prefix, o origin) {
		if !p.IsValid() || o.place == none || p.Addr().Is4() && !ipv4 {
			return
		}
		p = mapped(p.Masked())
		if !slices.ContainsFunc(origins[p], func(x origin) bool { return x.place == o.place }) {
			origins[p] = append(origins[p], o)
		}
	}
	for _, node := range n.Snapshot.Nodes {
		if node.Loopback.IsValid() {
			add(host(node.Loopback), n.origin(node.ID, 0))
		}
		for _, l := range node.Locators {
			if l.Algorithm == 0 {
				add(l.Prefix, n.origin(node.ID, l.Metric))
			}
		}
	}
	for _, p := range n.Snapshot.Prefixes {
		add(p.Prefix, n.origin(p.Node, p.Metric))
	}
	for i := range n.Inventory.Hosts {
		h := &n.Inventory.Hosts[i]
		for _, at := range h.Attachments() {
			node := n.nodes[at.Switch]
			if node == nil {
				continue
			}
			for _, p := range append([]netip.Prefix{host(h.Address)}, h.Prefixes...) {
				if !n.covered(node.ID, p) {
					add(p, n.origin(node.ID, 0))
				} else if p = mapped(p.Masked()); p.Bits() < p.Addr().BitLen() {
					origins[p] = slices.Clip(origins[p])
				}
			}
		}
	}
	out := make([]destination, 0, len(origins))
	for p, o := range origins {
		out = append(out, destination{p, o})
	}
	slices.SortFunc(out, func(a, b destination) int { return a.prefix.Compare(b.prefix) })
	return out
}

// covered reports whether a node advertises a prefix that contains p.
func (n *Network) covered(id topology.NodeID, p netip.Prefix) bool {
	return slices.ContainsFunc(n.Snapshot.PrefixesOf(id), func(q *topology.Prefix) bool {
		return q.Prefix.Bits() <= p.Bits() && q.Prefix.Contains(p.Addr())
	})
}

// mapped returns the prefix that switches match: of IPv4 that of the IPv4-mapped addresses (RFC
// 4291 §2.5.5.2).
func mapped(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4() {
		return netip.PrefixFrom(netip.AddrFrom16(p.Addr().As16()), 96+p.Bits())
	}
	return p
}

// host returns the prefix of one address.
func host(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// Links returns what a switch holds to be part of the network: its ports,
// neighbors, SIDs, clone sessions and fan-out groups, each thing once.
func (n *Network) Links(sw *inventory.Switch) []entry.Entity {
	b := baseWork{n: n, sw: sw, node: n.nodes[sw.Name]}
	room := 2*len(n.hostsOf[sw.Name]) + len(n.common.sidSpace()) + 2*p4.MtTlvReceivers
	if b.node != nil {
		room += len(n.Snapshot.LinksFrom(b.node.ID))
	}
	b.out = make([]entry.Entity, 0, 3*room)
	b.ports()
	b.add(n.common.sidSpace()...)
	b.isolation()
	b.hosts()
	b.replication()
	if b.node != nil {
		b.self()
		b.sids()
	}
	return b.out
}

// Routes returns the unicast routes of a switch, each once. One route stands for
// several destinations with the same way, and for addresses between them: see
// [routeTree].
func (n *Network) Routes(sw *inventory.Switch) []entry.Entity {
	return n.newRoutes(sw).plan(n.tree(nil), (*routeTree).aggregate)
}

// EachRoute is [Network.Routes] with a route for every single destination, and
// none for anything else.
func (n *Network) EachRoute(sw *inventory.Switch) []entry.Entity {
	return n.newRoutes(sw).plan(n.tree(nil), (*routeTree).each)
}

// Base returns what a switch holds whatever groups there are.
func (n *Network) Base(sw *inventory.Switch) []entry.Entity {
	return append(n.Links(sw), n.Routes(sw)...)
}

type baseWork struct {
	n    *Network
	sw   *inventory.Switch
	node *topology.Node
	out  []entry.Entity
	// Buffers for the matches and parameters of the switch's entries.
	matches []entry.Match
	params  []entry.Param
}

func (b *baseWork) add(e ...entry.Entity) { b.out = append(b.out, e...) }

// in is [entry.In], and do [entry.Do], with memory that entries share.
func (b *baseWork) in(table string, a entry.Action, m ...entry.Match) entry.Table {
	return entry.In(table, a, share(&b.matches, m)...)
}

func (b *baseWork) do(action string, p ...entry.Param) entry.Action {
	return entry.Do(action, share(&b.params, p)...)
}

// share copies values to the end of a slice with room for many. It makes a new slice when the old
// slice is full.
func share[T any](many *[]T, some []T) []T {
	const room = 256
	if cap(*many)-len(*many) < len(some) {
		*many = make([]T, 0, max(room, len(some)))
	}
	at := len(*many)
	*many = append(*many, some...)
	return (*many)[at:len(*many):len(*many)]
}

func port(p uint32) entry.Value { return entry.Uint(uint64(p)) }

// ports emits who the switch is on its links.
func (b *baseWork) ports() {
	self := entry.MAC(packet.MAC(b.sw.MAC))
	b.add(entry.In(p4.TableMyStation, entry.Do(p4.ActionAcceptStation), entry.Exact("dst_addr", self)))
	for _, p := range b.n.HostPorts(b.sw) {
		if vrf := b.n.edges[b.sw.Name][p].VRF; vrf != 0 {
			b.add(setPort(p, true, vrf))
		} else {
			b.add(atPort(p).hostFacing)
		}
	}
	for _, p := range b.n.FabricPorts(b.sw) {
		b.add(atPort(p).fabric)
	}
	if b.node == nil {
		return
	}
	seen := make(map[uint32]bool)
	for _, l := range b.n.Snapshot.LinksFrom(b.node.ID) {
		h, ok := b.n.Hop(b.sw, l)
		if !ok || seen[h.Port] {
			continue
		}
		seen[h.Port] = true
		b.setMACs(h, self, packet.MAC(b.n.at[l.Remote].MAC))
	}
}

func setPort(p uint32, hostFacing bool, vrf uint16) entry.Entity {
	return entry.In(p4.TablePort, entry.Do(p4.ActionSetPort,
		entry.With("host_facing", entry.Bool(hostFacing)), entry.Number("vrf", vrf)),
		entry.Exact("port", port(p)))
}

// setMACs emits the addresses of the packets that leave by a hop.
func (b *baseWork) setMACs(h Hop, src entry.Value, dst packet.MAC) {
	action := b.do(p4.ActionSetMacs, entry.With("src_addr", src),
		entry.With("dst_addr", entry.MAC(dst)))
	b.add(entry.Table{Name: p4.TableNeighbor, Match: ofHop(h).neighbor, Action: action})
}

// hosts emits the entries that identify the hosts of the switch and limit the packets that they may
// send.
func (b *baseWork) hosts() {
	type admitted struct {
		port   uint32
		prefix netip.Prefix
	}
	hosts := b.n.hostsOf[b.sw.Name]
	seen := make(map[admitted]bool, len(hosts))
	self := entry.MAC(packet.MAC(b.sw.MAC))
	for _, h := range hosts {
		if h.MAC == (packet.MAC{}) {
			continue // neighbor discovery has not found it yet: the switch drops what is for it
		}
		b.setMACs(h.Hop, self, h.MAC)
		for _, p := range append([]netip.Prefix{host(h.Address)}, h.Prefixes...) {
			for _, in := range h.Ports {
				if seen[admitted{in, p}] {
					continue
				}
				seen[admitted{in, p}] = true
				b.add(b.in(p4.TableSourceGuard, b.allowSource(h.Name), entry.Exact("port", port(in)),
					entry.LPM("src_addr", p)))
			}
		}
	}
}

// Forward sends packets by a next hop. Its parameters must not be changed: actions share them.
func Forward(h Hop) entry.Action { return ofHop(h).forward }

func route(p netip.Prefix, a entry.Action) entry.Entity {
	return entry.Table{Name: p4.TableIpv6Route, Match: routeMatch(p), Action: a}
}

// replication emits clone sessions and fan-out groups.
func (b *baseWork) replication() {
	ports := append(b.n.FabricPorts(b.sw), b.n.HostPorts(b.sw)...)
	ports = append(ports, p4.CpuPort)
	slices.Sort(ports)
	for _, p := range slices.Compact(ports) {
		b.add(atPort(p).clone)
	}
	b.add(fanOut()...)
}

// self emits the node's own address.
func (b *baseWork) self() {
	if !b.node.Loopback.IsValid() {
		return
	}
	e := entry.In(p4.TableNode, entry.Do(p4.ActionSetNode,
		entry.With("address", entry.Addr(b.node.Loopback)),
		entry.With("tlv_type", entry.Uint(uint64(b.n.Inventory.SIDs.TLVType)))))
	e.Default = true
	b.add(e)
}

// sids emits the local SIDs that the node advertises and the program has: End,
// End.X and End.DT6 without flavors, End.X.PFC with all of its flavors, and
// End.PFC.
func (b *baseWork) sids() {
	seen := make(map[netip.Addr]bool)
	sid := func(s topology.SID, a entry.Action) {
		if s.Address.Is6() && s.Algorithm == 0 && !seen[s.Address] {
			seen[s.Address] = true
			b.add(entry.In(p4.TableLocalSid, a, entry.LPMHost("dst_addr", s.Address)))
		}
	}
	behaviors := b.n.Inventory.SIDs.PFCBehaviors()
	for _, s := range b.node.SIDs {
		switch s.Behavior {
		case behaviors.End:
			sid(s, entry.Do(p4.ActionEndPfc, entry.Number("flavors", uint8(0))))
		case topology.BehaviorEnd:
			sid(s, entry.Do(p4.ActionEnd))
		case topology.BehaviorEndDT6, topology.BehaviorEndDT46:
			sid(s, entry.Do(p4.ActionEndDt6, entry.With("vrf", entry.Uint(0))))
		}
	}
	for _, l := range b.n.Snapshot.LinksFrom(b.node.ID) {
		if len(l.EndX) == 0 {
			continue
		}
		h, ok := b.n.Hop(b.sw, l)
		if !ok {
			continue
		}
		for _, s := range l.EndX {
			if s.Behavior == topology.BehaviorEndX {
				sid(s.SID, entry.Do(p4.ActionEndX, entry.With("port", port(h.Port)),
					entry.With("neighbor", entry.Uint(uint64(h.Neighbor)))))
			}
			if f, ok := behaviors.EndXFlavors(s.Behavior); ok {
				sid(s.SID, entry.Do(p4.ActionEndXPfc, entry.Number("port", h.Port),
					entry.Number("neighbor", h.Neighbor), entry.Number("flavors", pfcFlavors(f))))
			}
		}
	}
}

// pfcFlavors returns flavors as the program has them.
func pfcFlavors(f topology.Flavors) (out uint8) {
	for _, x := range [...]struct {
		flavor topology.Flavors
		bit    uint8
	}{{topology.FlavorPSP, p4.FlavorPsp}, {topology.FlavorUSP, p4.FlavorUsp},
		{topology.FlavorUSD, p4.FlavorUsd}} {
		if f.Has(x.flavor) {
			out |= x.bit
		}
	}
	return out
}
