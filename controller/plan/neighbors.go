package plan

import (
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/entry"
)

// neighborBurst is how many messages of a port a switch hands over at once: those of a host with
// eight addresses that comes up.
const neighborBurst = 24

// subnetBits is the default length of the prefixes in which hosts treat all addresses as neighbors;
// subnetBits4 is the length for IPv4.
const subnetBits, subnetBits4 = 64, 24

// Gateways returns, in address order, the addresses by which hosts reach a switch: its link-local
// address, its addresses in the subnets of its ports, and the first address after the subnet
// address in each /64 (IPv4: /24) with a host, unless a host has this address.
func (n *Network) Gateways(sw *inventory.Switch) []netip.Addr {
	if g, known := n.gateways[sw.Name]; known {
		return g
	}
	out := []netip.Addr{packet.LinkLocal(packet.MAC(sw.MAC))}
	for i := range sw.Subnets {
		out = append(out, sw.Subnets[i].Gateway())
	}
	for _, h := range n.hostsOf[sw.Name] {
		if !slices.ContainsFunc(h.Ports, func(p uint32) bool { return sw.Subnet(p) != nil }) {
			for of := range h.Addresses() {
				if a := subnetOf(of).Addr().Next(); n.hosts[a] == nil {
					out = append(out, a)
				}
			}
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

// IsGateway reports whether an address is one of Gateways.
func (n *Network) IsGateway(sw *inventory.Switch, a netip.Addr) bool {
	return slices.Contains(n.Gateways(sw), a)
}

// GatewayOf returns the switch's gateway in the prefix of an address, where hosts treat the address
// as a neighbor; invalid without such a gateway.
func (n *Network) GatewayOf(sw *inventory.Switch, a netip.Addr) netip.Addr {
	if g := subnetOf(a).Addr().Next(); n.IsGateway(sw, g) {
		return g
	}
	return netip.Addr{}
}

func subnetOf(a netip.Addr) netip.Prefix {
	bits := subnetBits
	if a.Is4() {
		bits = subnetBits4
	}
	p, _ := a.Prefix(bits)
	return p
}

// Reserved reports whether an address lies in a prefix of SIDs or in a locator, or is a loopback of
// the fabric. No host is bound to a reserved address.
func (n *Network) Reserved(a netip.Addr) (sid, fabric bool) {
	for _, node := range n.Snapshot.Nodes {
		fabric = fabric || node.Loopback == a
		for _, l := range node.Locators {
			sid = sid || l.Prefix.Contains(a)
		}
	}
	return sid || n.isSID(a), fabric
}

// Neighbors returns what has a switch answer the neighbor discovery of its hosts; nothing when that
// is off.
func (n *Network) Neighbors(sw *inventory.Switch) (out []entry.Entity) {
	cfg := &n.Inventory.Neighbors
	if !cfg.On() {
		return nil
	}
	spacing := uint64(time.Second/time.Microsecond) / uint64(cfg.Rate)
	for _, p := range n.HostPorts(sw) {
		out = append(out, entry.In(p4.TableNdPort, entry.Do(p4.ActionSetNdPort,
			entry.With("spacing", entry.Uint(spacing)),
			entry.With("burst_time", entry.Uint(spacing*(neighborBurst-1)))),
			entry.Exact("port", port(p))))
	}
	mac := entry.MAC(packet.MAC(sw.MAC))
	gateways := n.Gateways(sw)
	for _, a := range gateways {
		out = append(out, entry.In(p4.TableNdTarget, entry.Do(p4.ActionNdGateway,
			entry.With("mac", mac)), entry.Exact("target", entry.Addr(a))))
	}
	subnets := n.subnets(sw)
	for _, i := range n.hostsIn(subnets) {
		h := &n.Inventory.Hosts[i]
		for a := range h.Addresses() {
			if slices.Contains(gateways, a) || !slices.ContainsFunc(subnets,
				func(p netip.Prefix) bool { return p.Contains(a) }) {
				continue
			}
			out = append(out, entry.In(p4.TableNdTarget, entry.Do(p4.ActionNdNeighbor,
				entry.With("mac", mac), entry.With("port", port(portAt(h, sw.Name)))),
				entry.Exact("target", entry.Addr(a))))
		}
	}
	return out
}

// portAt returns the port of a host at a switch, 0 without a port there.
func portAt(h *inventory.Host, sw string) (port uint32) {
	for _, x := range h.Attachments() {
		if x.Switch == sw {
			port = x.Port
		}
	}
	return port
}

// subnets returns the prefixes of which hosts of a switch may hold addresses for their neighbors'.
func (n *Network) subnets(sw *inventory.Switch) (out []netip.Prefix) {
	for i := range sw.Subnets {
		out = append(out, sw.Subnets[i].Prefix)
	}
	for _, h := range n.hostsOf[sw.Name] {
		for a := range h.Addresses() {
			out = append(out, subnetOf(a))
		}
	}
	slices.SortFunc(out, netip.Prefix.Compare)
	return slices.Compact(out)
}
