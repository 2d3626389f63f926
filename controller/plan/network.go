package plan

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

// Network is a topology matched with an inventory. It is immutable; its methods
// may be called from several goroutines.
type Network struct {
	Snapshot  *topology.Snapshot
	Inventory *inventory.Inventory

	graph    *topology.Graph
	routing  *topology.Graph // what routes take; see WithDrained
	drained  []topology.LinkID
	switches map[string]*inventory.Switch
	nodes    map[string]*topology.Node // by switch
	at       map[topology.NodeID]*inventory.Switch
	hosts    map[netip.Addr]*Located
	hostsOf  map[string][]Attachment // by switch, ordered by name
	trees    *routeTrees
	common   *common
	p4       *topology.Graph // without links at switches that run no P4 program
	// replicators reports which nodes can be part of a tree, by place in the snapshot.
	replicators []bool
	edges       Edges
	isolated    []Isolated
	isolation   *isolation
	sids        []netip.Prefix          // that hold SIDs
	gateways    map[string][]netip.Addr // by switch
}

// Located is a host with its first switch, where groups reach the host.
type Located struct {
	*inventory.Host
	At      *inventory.Switch // nil: not in the inventory
	Node    *topology.Node    // nil: the topology lacks the switch
	Hop     Hop
	Ingress []uint32 // ports that it may answer on, ascending
}

// Attachment is a host at a switch.
type Attachment struct {
	*inventory.Host
	MAC   packet.MAC
	Ports []uint32
	Hop   Hop
}

// NewNetwork matches a topology with an inventory, neither of which may change
// any more.
func NewNetwork(snap *topology.Snapshot, inv *inventory.Inventory) *Network {
	n := &Network{
		Snapshot: snap, Inventory: inv, graph: snap.Graph(), routing: snap.Graph(),
		switches: make(map[string]*inventory.Switch, len(inv.Switches)),
		nodes:    make(map[string]*topology.Node, len(inv.Switches)),
		at:       make(map[topology.NodeID]*inventory.Switch, len(inv.Switches)),
		hosts:    make(map[netip.Addr]*Located, len(inv.Hosts)),
		hostsOf:  make(map[string][]Attachment),
		sids:     sidPrefixes(snap),
		trees:    new(routeTrees),
	}
	for i := range inv.Switches {
		n.switches[inv.Switches[i].Name] = &inv.Switches[i]
	}
	for name, node := range Nodes(snap, inv) {
		n.nodes[name], n.at[node.ID] = node, n.switches[name]
	}
	for i := range inv.Hosts {
		h := &inv.Hosts[i]
		ingress := slices.Clone(h.AllPorts())
		slices.Sort(ingress)
		at := &Located{Host: h, At: n.switches[h.Switch], Node: n.nodes[h.Switch],
			Ingress: slices.Compact(ingress)}
		for a := range h.Addresses() {
			if a == h.Address || n.hosts[a] == nil {
				n.hosts[a] = at
			}
		}
		for j, at := range h.Attachments() {
			ports := []uint32{at.Port}
			if j == 0 {
				ports = h.AllPorts()
			}
			n.hostsOf[at.Switch] = append(n.hostsOf[at.Switch], Attachment{Host: h, MAC: packet.MAC(at.MAC),
				Ports: ports})
		}
	}
	for sw, hosts := range n.hostsOf {
		slices.SortFunc(hosts, func(a, b Attachment) int { return cmp.Compare(a.Name, b.Name) })
		behind := make(map[uint32]uint16)
		for i := range hosts {
			p := hosts[i].Ports[0]
			behind[p]++
			hosts[i].Hop = toHost(p, behind[p])
			if h := n.hosts[hosts[i].Address]; h.Host == hosts[i].Host && h.Switch == sw {
				h.Hop = hosts[i].Hop
			}
		}
	}
	n.common = newCommon(n)
	n.replicators, n.p4 = n.findReplicators(), n.p4Graph()
	if inv.Neighbors.On() {
		gateways := make(map[string][]netip.Addr, len(inv.Switches))
		for i := range inv.Switches {
			gateways[inv.Switches[i].Name] = n.Gateways(&inv.Switches[i])
		}
		n.gateways = gateways
	}
	return n
}

// Nodes returns the nodes that match the switches of an inventory, by switch name. A node that
// matches several switches belongs to the first.
func Nodes(snap *topology.Snapshot, inv *inventory.Inventory) map[string]*topology.Node {
	known := make(map[string]*topology.Node, 4*len(snap.Nodes))
	for _, node := range snap.Nodes {
		for _, name := range aliases(node) {
			if _, taken := known[name]; !taken {
				known[name] = node
			}
		}
	}
	nodes := make(map[string]*topology.Node, len(inv.Switches))
	taken := make(map[topology.NodeID]bool, len(inv.Switches))
	for i := range inv.Switches {
		s := &inv.Switches[i]
		if node := known[cmp.Or(s.Node, s.Name)]; node != nil && !taken[node.ID] {
			nodes[s.Name], taken[node.ID] = node, true
		}
	}
	return nodes
}

// aliases are the names by which an inventory may call a node.
func aliases(node *topology.Node) []string {
	out := []string{string(node.ID)}
	if _, id, ok := strings.Cut(string(node.ID), ":"); ok {
		out = append(out, id)
	}
	if node.RouterID4.IsValid() {
		out = append(out, node.RouterID4.String())
	}
	if node.Loopback.IsValid() {
		out = append(out, node.Loopback.String())
	}
	if node.Name != "" {
		out = append(out, node.Name)
	}
	return out
}

// Node returns the node that a switch of the inventory is, or nil.
func (n *Network) Node(sw string) *topology.Node { return n.nodes[sw] }

// Switch returns the switch of a name, or nil.
func (n *Network) Switch(name string) *inventory.Switch { return n.switches[name] }

// Host returns the host with an address, or nil. An IPv4 address may also be one of its prefixes.
func (n *Network) Host(a netip.Addr) *Located { return n.hosts[a] }

// Graph returns the graph of the snapshot.
func (n *Network) Graph() *topology.Graph { return n.graph }

// SwitchOf returns the name of the switch that a node is; ok is false for nodes
// that are not in the inventory.
func (n *Network) SwitchOf(id topology.NodeID) (name string, ok bool) {
	if sw := n.at[id]; sw != nil {
		return sw.Name, true
	}
	return "", false
}

// HostName returns the name of the host with an address.
func (n *Network) HostName(a netip.Addr) (name string, ok bool) {
	if h := n.hosts[a]; h != nil {
		return h.Name, true
	}
	return "", false
}

// Taken reports what an address that no group may have is used for.
func (n *Network) Taken(a netip.Addr) (use string, taken bool) {
	if h := n.hosts[a]; h != nil {
		return "the address of host " + h.Name, true
	}
	for i := range n.Inventory.Hosts {
		h := &n.Inventory.Hosts[i]
		for _, p := range h.Prefixes {
			if p.Contains(a) {
				return fmt.Sprintf("in prefix %v of host %s", p, h.Name), true
			}
		}
	}
	for _, node := range n.Snapshot.Nodes {
		if node.Loopback == a {
			return "the loopback of " + node.DisplayName(), true
		}
		for _, l := range node.Locators {
			if l.Prefix.Contains(a) {
				return fmt.Sprintf("in locator %v of %s", l.Prefix, node.DisplayName()), true
			}
		}
	}
	if n.isSID(a) {
		return "in a prefix of SIDs", true
	}
	return "", false
}

// A Hop is where a switch sends packets: a port, and the neighbor behind it.
type Hop struct {
	Port     uint32
	Neighbor uint16
}

// Hop returns the next hop by a link of a switch; ok is false when the port is
// unknown or the neighbor's MAC is.
func (n *Network) Hop(sw *inventory.Switch, l *topology.Link) (Hop, bool) {
	remote, known := n.at[l.Remote]
	if !known {
		return Hop{}, false
	}
	return HopTo(sw, l, remote)
}

// HopTo is [Network.Hop] for a link to a switch that is known.
func HopTo(sw *inventory.Switch, l *topology.Link, remote *inventory.Switch) (Hop, bool) {
	port := sw.Port(l.LocalID, l.LocalPort)
	if port == 0 || port > p4.MaxLinkPort || remote.MAC.IsZero() {
		return Hop{}, false
	}
	return toSwitch(port), true
}

// toSwitch is the next hop to the neighbor switch at a port, and toHost that to the host at it with
// a number, from 1.
func toSwitch(port uint32) Hop { return Hop{Port: port, Neighbor: uint16(port)} }
func toHost(port uint32, number uint16) Hop {
	return Hop{Port: port, Neighbor: number<<9 | uint16(port)}
}

// Hops returns the equal-cost next hops from a switch towards a node, ordered by
// port.
func (n *Network) Hops(sw *inventory.Switch, toward *topology.Paths) []Hop {
	node := n.nodes[sw.Name]
	if node == nil {
		return nil
	}
	return n.HopsBy(sw, toward.Links(node.ID))
}

// HopsBy returns the next hops by links of a switch, ordered by port.
func (n *Network) HopsBy(sw *inventory.Switch, links []*topology.Link) []Hop {
	var out []Hop
	for _, l := range links {
		if h, ok := n.Hop(sw, l); ok {
			out = append(out, h)
		}
	}
	return sortHops(out)
}

// FabricPorts returns the ports of a switch that lead to neighbors, ascending. It leaves out ports
// that the inventory gives to hosts, whatever is advertised.
func (n *Network) FabricPorts(sw *inventory.Switch) []uint32 {
	node := n.nodes[sw.Name]
	if node == nil {
		return nil
	}
	var out []uint32
	for _, l := range n.Snapshot.LinksFrom(node.ID) {
		if p := sw.Port(l.LocalID, l.LocalPort); p >= 1 && p <= p4.MaxLinkPort {
			out = append(out, p)
		}
	}
	hosts := n.HostPorts(sw)
	out = slices.DeleteFunc(out, func(p uint32) bool {
		_, isHosts := slices.BinarySearch(hosts, p)
		return isHosts
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// HostPorts returns the ports of a switch that face hosts, ascending.
func (n *Network) HostPorts(sw *inventory.Switch) []uint32 {
	out := slices.Clone(sw.HostPorts)
	for _, h := range n.hostsOf[sw.Name] {
		out = append(out, h.Ports...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// findReplicators returns which nodes can be part of a tree, by place in the
// snapshot.
func (n *Network) findReplicators() []bool {
	out := make([]bool, len(n.Snapshot.Nodes))
	for name, node := range n.nodes {
		_, located := locatorOf(node)
		out[n.Snapshot.NodePlace(node.ID)] = located && n.switches[name].ProgramsP4() &&
			node.Loopback.IsValid() && !node.Pseudonode
	}
	return out
}

// p4Graph returns the graph of the topology without links at programmed switches that run no P4
// program. These switches have only the routes of the MRC fabric, and no group tunnels cross them.
func (n *Network) p4Graph() *topology.Graph {
	without := make(map[topology.NodeID]bool)
	for name, node := range n.nodes {
		if sw := n.switches[name]; sw.WithoutP4() {
			without[node.ID] = true
		}
	}
	if len(without) == 0 {
		return n.graph
	}
	return n.Snapshot.With(topology.View{Out: func(l *topology.Link) bool {
		return without[l.Local] || without[l.Remote] || !n.graph.Usable(l)
	}}).Graph()
}

// P4Graph returns the graph that trees of groups and tunnels take.
func (n *Network) P4Graph() *topology.Graph { return n.p4 }

// Replicators returns which nodes can be part of a tree, by place in the snapshot. It
// must not be changed.
func (n *Network) Replicators() []bool { return n.replicators }

// Edge is a port that faces a tenant.
type Edge struct {
	VRF    uint16
	Tenant string // "": an orphan
}

// Edges are the ports that face tenants, by switch.
type Edges map[string]map[uint32]Edge

// WithEdges returns the network with ports that face tenants: their packets come from outside of
// the SR domain, and are looked up in the tenant's VRF alone.
func (n *Network) WithEdges(e Edges) *Network {
	with := *n
	with.edges = e
	return &with
}

// Edges returns what WithEdges has set.
func (n *Network) Edges() Edges { return n.edges }

// WithDrained returns the network with drained links, one direction each. Routes avoid these links
// if other links of the same length exist. Only [Network.Drained] depends on the order of the
// links.
func (n *Network) WithDrained(links []topology.LinkID) *Network {
	with := *n
	with.drained, with.routing = links, n.graph.Shun(links)
	return &with
}

// Drained returns what WithDrained has set.
func (n *Network) Drained() []topology.LinkID { return n.drained }

// HopAt returns the next hop of a switch by a port to a neighboring switch.
func (n *Network) HopAt(sw *inventory.Switch, p uint32) (Hop, bool) {
	node := n.nodes[sw.Name]
	if node == nil {
		return Hop{}, false
	}
	for _, l := range n.Snapshot.LinksFrom(node.ID) {
		if h, ok := n.Hop(sw, l); ok && h.Port == p {
			return h, true
		}
	}
	return Hop{}, false
}

// Behind returns the next hop to the host at a port that has a prefix.
func (n *Network) Behind(sw string, port uint32, p netip.Prefix) (Hop, bool) {
	for _, h := range n.hostsOf[sw] {
		if !slices.Contains(h.Ports, port) {
			continue
		}
		for _, q := range append([]netip.Prefix{host(h.Address)}, h.Prefixes...) {
			if q.Bits() <= p.Bits() && q.Contains(p.Addr()) {
				return Hop{Port: port, Neighbor: h.Hop.Neighbor}, true
			}
		}
	}
	return Hop{}, false
}

// Attached returns what hosts at a port may use as source; ok is false for a port
// without any.
func (n *Network) Attached(sw string, port uint32) (prefixes []netip.Prefix, ok bool) {
	for _, h := range n.hostsOf[sw] {
		if slices.Contains(h.Ports, port) {
			prefixes, ok = append(append(prefixes, host(h.Address)), h.Prefixes...), true
		}
	}
	return prefixes, ok
}
