package mrc

import (
	"cmp"
	"slices"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

// ConfigOf is the Config that an inventory asks for, without an epoch. The
// inventory must be valid and have MRC.
func ConfigOf(m *inventory.MRC) Config {
	c := Defaults()
	c.Format, c.Planes = m.Format(), m.PlaneRule()
	c.Profiles = ProfileConfig{MaxEVs: m.MaxEVs, MinActive: m.MinActive, Explicit: m.Explicit, CC: m.CCProfile}
	r, s, p := &m.Restore, &m.Suspects, &m.Probes
	c.Restore = RestoreConfig{Hold: r.Hold.D(), MaxHold: r.MaxHold.D(), Calm: r.Calm.D(), Every: r.Every.D()}
	c.Linger = r.Linger.D()
	c.Suspects.Deny, c.Suspects.DenyLoss, c.Suspects.Every, c.Suspects.Locator.Confidence = s.Deny, s.DenyLoss, s.Every.D(), s.Confidence
	c.Suspects.Hold, c.Suspects.MaxHold, c.Suspects.Probes = s.Hold.D(), s.MaxHold.D(), s.Probes
	c.Probes = ProbeConfig{
		Rate: p.Rate, HostRate: p.HostRate, Timeout: p.Timeout.D(), DSCP: m.Classes.DSCP.Control, FirstRound: r.FirstRound.D(),
	}
	if p.DSCP != nil {
		c.Probes.DSCP = *p.DSCP
	}
	d := &m.Classes.DSCP
	c.Wire = hostapi.Wire{
		UDPPort: packet.RoCEPort, NoTrim: d.NoTrim, Trimmable: d.Trimmable, TrimmableRetx: d.TrimmableRetx,
		Trimmed: d.Trimmed, TrimmedLastHop: d.TrimmedLastHop, Control: d.Control,
	}
	return c
}

// HostsOf are the hosts of an inventory whose attachment is known. Nodes are
// those of its switches (plan.Nodes); what a switch was before serves while it
// is gone.
func HostsOf(inv *inventory.Inventory, nodes map[string]*topology.Node) []Host {
	out := make([]Host, 0, len(inv.Hosts))
	for i := range inv.Hosts {
		h := &inv.Hosts[i]
		host := Host{Name: h.Name, Address: h.Address, Prefixes: h.Prefixes, Rack: h.Switch}
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
	slices.SortFunc(out, func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// same reports whether a host is as it was.
func (h *Host) same(o *Host) bool {
	return h.Address == o.Address && h.Rack == o.Rack && slices.Equal(h.At, o.At) && slices.Equal(h.LeafPorts, o.LeafPorts) && slices.Equal(h.Prefixes, o.Prefixes)
}
