package neighbor

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/controller/inventory"
)

// rules implements Rules for the network of a feature.
type rules Feature

// Refuses implements Rules.
func (r *rules) Refuses(at At, a netip.Addr) Refusal {
	f := (*Feature)(r)
	sw := f.env.Net.Switch(at.Switch)
	if sw == nil {
		return RefusedNotGiven
	}
	if f.env.Net.IsGateway(sw, a) {
		return RefusedGateway
	}
	if sid, fabric := f.env.Net.Reserved(a); sid {
		return RefusedSID
	} else if fabric || f.Reserved(a) {
		return RefusedFabric
	}
	if h := f.configured(a); h != nil {
		if !attached(h, at) {
			return RefusedOwned
		}
		return ""
	}
	switch s := sw.SubnetOf(at.Port, a); {
	case s == nil || !s.Learn:
		return RefusedNotGiven
	case !s.Prefix.Contains(a):
		return RefusedForeign
	}
	return ""
}

// Elsewhere implements Rules: other ports that learn, of the same prefix.
func (r *rules) Elsewhere(at At, a netip.Addr) (out []At) {
	f := (*Feature)(r)
	if h := f.configured(a); h != nil {
		return nil // it belongs to its port
	}
	for i := range f.env.Inventory().Switches {
		sw := &f.env.Inventory().Switches[i]
		for j := range sw.Subnets {
			s, other := &sw.Subnets[j], At{sw.Name, sw.Subnets[j].Port}
			if other != at && s.Learn && s.Prefix.Contains(a) && !f.isDown(other) &&
				f.switches[sw.Name] != nil && f.switches[sw.Name].connected && len(out) < maxElsewhere {
				out = append(out, other)
			}
		}
	}
	return out
}

// Down implements Rules.
func (r *rules) Down(at At) bool { return (*Feature)(r).isDown(at) }

// configured returns the host of the configuration that has an address, or nil.
func (f *Feature) configured(a netip.Addr) *inventory.Host {
	if f.of == nil {
		return nil
	}
	for i := range f.of.Hosts {
		h := &f.of.Hosts[i]
		if h.Address == a || slices.ContainsFunc(h.Prefixes, func(p netip.Prefix) bool {
			return p.Contains(a)
		}) {
			return h
		}
	}
	return nil
}

// attached reports whether a host of the configuration is at a port.
func attached(h *inventory.Host, at At) bool {
	return h.Switch == at.Switch && slices.Contains(h.AllPorts(), at.Port) ||
		slices.ContainsFunc(h.Planes, func(p inventory.Attachment) bool {
			return p.Switch == at.Switch && p.Port == at.Port
		})
}

// nameOf returns the name of the host with an address: that of the configuration, or one made of
// the address.
func (f *Feature) nameOf(a netip.Addr) string {
	if h := f.configured(a); h != nil {
		return h.Name
	}
	return "host-" + strings.NewReplacer(":", "-", ".", "-").Replace(a.String())
}

// Complete returns the inventory with the hosts that were found, and without those that were not:
// nothing can be sent to a host whose MAC is unknown. As long as nothing changes it is the same
// one.
func (f *Feature) Complete(inv *inventory.Inventory) *inventory.Inventory {
	if f.of == inv && f.completed != nil && !f.stale {
		return f.completed
	}
	f.of, f.completed, f.stale = inv, inv, false
	before := f.wanted
	f.wanted = make(map[netip.Addr]*wanted)
	if !inv.Neighbors.On() {
		return inv
	}
	out := *inv
	out.Hosts, out.Switches = nil, slices.Clone(inv.Switches)
	for i := range out.Switches {
		sw := &out.Switches[i]
		sw.HostPorts = slices.Clone(sw.HostPorts)
		for j := range sw.Subnets {
			sw.HostPorts = append(sw.HostPorts, sw.Subnets[j].Port)
		}
	}
	for i := range inv.Hosts {
		h := inv.Hosts[i]
		if h.MAC.IsZero() {
			at := At{h.Switch, h.AllPorts()[0]}
			b, ok := f.table.Binding(h.Address)
			if !ok || !b.Sure || b.At != at {
				if sw := out.Switch(h.Switch); sw != nil {
					sw.HostPorts = append(sw.HostPorts, at.Port)
				}
				if w := before[h.Address]; w != nil && w.at == at {
					f.wanted[h.Address] = w
				} else {
					f.wanted[h.Address] = &wanted{at: at, next: f.env.Now, gap: askMin}
				}
				continue
			}
			h.MAC = inventory.MAC(b.MAC)
		}
		out.Hosts = append(out.Hosts, h)
	}
	for _, b := range f.table.Bound() {
		if f.configured(b.Address) == nil {
			out.Hosts = append(out.Hosts, inventory.Host{Name: f.nameOf(b.Address), Address: b.Address,
				MAC: inventory.MAC(b.MAC), Switch: b.At.Switch, Port: b.At.Port})
		}
	}
	f.completed = &out
	return f.completed
}

// Hosts returns the hosts of the configuration and those that were found, in this order.
func (f *Feature) Hosts() []inventory.Found {
	inv := f.of
	if inv == nil {
		inv = f.env.Inventory()
	}
	out := make([]inventory.Found, 0, len(inv.Hosts))
	add := func(h inventory.Host, by string) {
		x := inventory.Found{Host: h, By: by}
		if b, ok := f.table.Binding(h.Address); ok && b.Sure {
			x.Since = f.env.Start.Add(b.Since).UTC()
			if b.Seen >= 0 {
				x.Seen = f.env.Start.Add(b.Seen).UTC()
			}
		} else if seen, ok := f.seen[h.Address]; ok {
			x.Seen = f.env.Start.Add(seen).UTC()
		}
		out = append(out, x)
	}
	for i := range inv.Hosts {
		h, by := inv.Hosts[i], inventory.FoundConfigured
		if h.MAC.IsZero() {
			by = ""
			if b, ok := f.table.Binding(h.Address); ok && b.Sure {
				h.MAC, by = inventory.MAC(b.MAC), inventory.FoundNeighbor
			}
		}
		add(h, by)
	}
	for _, b := range f.table.Bound() {
		if f.configured(b.Address) == nil {
			add(inventory.Host{Name: f.nameOf(b.Address), Address: b.Address, MAC: inventory.MAC(b.MAC),
				Switch: b.At.Switch, Port: b.At.Port}, inventory.FoundNeighbor)
		}
	}
	return out
}
