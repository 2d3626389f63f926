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
	switches map[string]*inventory.Switch
	nodes    map[string]*topology.Node // by switch
	names    map[topology.NodeID]string
	hosts    map[netip.Addr]*located
	hostsOf  map[string][]attached // by switch, ordered by name
	trees    *routeTrees
	// replicators reports which nodes can be part of a tree, by place in the snapshot.
	replicators []bool
	edges       Edges
	sids        []netip.Prefix // that hold SIDs
}

// located is a host with the first of its switches, where groups reach it.
type located struct {
	*inventory.Host
	sw      *inventory.Switch // nil: not in the inventory
	node    *topology.Node    // nil: the topology lacks the switch
	way     hop
	ingress []uint32 // ports that it may answer on, ascending
}

// attached is a host at a switch.
type attached struct {
	*inventory.Host
	mac   packet.MAC
	ports []uint32
	way   hop
}

// NewNetwork matches a topology with an inventory, neither of which may change
// any more.
func NewNetwork(snap *topology.Snapshot, inv *inventory.Inventory) *Network {
	n := &Network{
		Snapshot: snap, Inventory: inv, graph: snap.Graph(),
		switches: make(map[string]*inventory.Switch, len(inv.Switches)),
		nodes:    make(map[string]*topology.Node, len(inv.Switches)),
		names:    make(map[topology.NodeID]string, len(inv.Switches)),
		hosts:    make(map[netip.Addr]*located, len(inv.Hosts)),
		hostsOf:  make(map[string][]attached),
		sids:     sidPrefixes(snap),
		trees:    new(routeTrees),
	}
	for i := range inv.Switches {
		n.switches[inv.Switches[i].Name] = &inv.Switches[i]
	}
	for name, node := range Nodes(snap, inv) {
		n.nodes[name], n.names[node.ID] = node, name
	}
	for i := range inv.Hosts {
		h := &inv.Hosts[i]
		ingress := slices.Clone(h.AllPorts())
		slices.Sort(ingress)
		n.hosts[h.Address] = &located{Host: h, sw: n.switches[h.Switch], node: n.nodes[h.Switch], ingress: slices.Compact(ingress)}
		for j, at := range h.Attachments() {
			ports := []uint32{at.Port}
			if j == 0 {
				ports = h.AllPorts()
			}
			n.hostsOf[at.Switch] = append(n.hostsOf[at.Switch], attached{Host: h, mac: packet.MAC(at.MAC), ports: ports})
		}
	}
	for sw, hosts := range n.hostsOf {
		slices.SortFunc(hosts, func(a, b attached) int { return cmp.Compare(a.Name, b.Name) })
		behind := make(map[uint32]uint16)
		for i := range hosts {
			p := hosts[i].ports[0]
			behind[p]++
			hosts[i].way = hop{port: p, neighbor: behind[p]<<9 | uint16(p)}
			if h := n.hosts[hosts[i].Address]; h.Host == hosts[i].Host && h.Switch == sw {
				h.way = hosts[i].way
			}
		}
	}
	n.replicators = n.findReplicators()
	return n
}

// Nodes returns the nodes that the switches of an inventory are, by the names of
// the switches. A node is that of the first switch that it could be.
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

// SwitchOf returns the name of the switch that a node is; ok is false for nodes
// that are not in the inventory.
func (n *Network) SwitchOf(id topology.NodeID) (name string, ok bool) {
	name, ok = n.names[id]
	return name, ok
}

// HostName returns the name of the host with an address.
func (n *Network) HostName(a netip.Addr) (name string, ok bool) {
	if h := n.hosts[a]; h != nil {
		return h.Name, true
	}
	return "", false
}

// Taken says what an address that no group may have is used for.
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

// A hop is a way out of a switch to a neighbor.
type hop struct {
	port     uint32
	neighbor uint16
}

// hop returns the way out by a link of a switch; ok is false when the port is
// unknown or the neighbor's MAC is.
func (n *Network) hop(sw *inventory.Switch, l *topology.Link) (hop, bool) {
	remote, known := n.names[l.Remote]
	if !known {
		return hop{}, false
	}
	return hopTo(sw, l, n.switches[remote])
}

// hopTo is [Network.hop] for a link to a switch that is known.
func hopTo(sw *inventory.Switch, l *topology.Link, remote *inventory.Switch) (hop, bool) {
	port := sw.Port(l.LocalID, l.LocalPort)
	if port == 0 || port > p4.MaxLinkPort || remote.MAC.IsZero() {
		return hop{}, false
	}
	return hop{port: port, neighbor: uint16(port)}, true
}

// hops returns the equal-cost ways from a switch towards a node, ordered by
// port.
func (n *Network) hops(sw *inventory.Switch, toward *topology.Paths) []hop {
	node := n.nodes[sw.Name]
	if node == nil {
		return nil
	}
	return n.hopsBy(sw, toward.Links(node.ID))
}

// hopsBy returns the ways out by links of a switch, ordered by port.
func (n *Network) hopsBy(sw *inventory.Switch, links []*topology.Link) []hop {
	var out []hop
	for _, l := range links {
		if h, ok := n.hop(sw, l); ok {
			out = append(out, h)
		}
	}
	return sortHops(out)
}

// fabricPorts returns the ports of a switch that lead to neighbors, ascending. A
// port that the inventory gives to hosts is none of them, whatever is advertised.
func (n *Network) fabricPorts(sw *inventory.Switch) []uint32 {
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
	hosts := n.hostPorts(sw)
	out = slices.DeleteFunc(out, func(p uint32) bool { return slices.Contains(hosts, p) })
	slices.Sort(out)
	return slices.Compact(out)
}

// hostPorts returns the ports of a switch that face hosts, ascending.
func (n *Network) hostPorts(sw *inventory.Switch) []uint32 {
	out := slices.Clone(sw.HostPorts)
	for _, h := range n.hostsOf[sw.Name] {
		out = append(out, h.ports...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
