package mrc

import (
	"cmp"
	"slices"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

// wireOf returns the UDP port and the DSCPs that hosts use.
func wireOf(d *inventory.DSCPs) hostapi.Wire {
	return hostapi.Wire{
		UDPPort: packet.RoCEPort, NoTrim: d.NoTrim, Trimmable: d.Trimmable, TrimmableRetx: d.TrimmableRetx,
		Trimmed: d.Trimmed, TrimmedLastHop: d.TrimmedLastHop, Control: d.Control,
	}
}

// HostsOf are the hosts of an inventory whose attachment is known. Nodes are
// those of its switches (plan.Nodes); what a switch was before serves while it
// is gone.
func HostsOf(inv *inventory.Inventory, nodes map[string]*topology.Node) []fabric.Host {
	out := make([]fabric.Host, 0, len(inv.Hosts))
	for i := range inv.Hosts {
		h := &inv.Hosts[i]
		host := fabric.Host{Name: h.Name, Address: h.Address, Prefixes: h.Prefixes, Rack: h.Switch}
		for _, at := range h.Attachments() {
			leaf := topology.NodeID("")
			if n := nodes[at.Switch]; n != nil {
				leaf = n.ID
			}
			host.At, host.LeafPorts = append(host.At, leaf), append(host.LeafPorts, at.Port)
		}
		if host.At.Ports() > 0 {
			out = append(out, host)
		}
	}
	slices.SortFunc(out, func(a, b fabric.Host) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
