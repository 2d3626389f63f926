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

// Elsewhere implements Rules: it returns the other ports that learn addresses of the same prefix.
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

// given reports whether a binding in the table of a port adds nothing to the configuration: the
// configuration has the MAC, or the binding is at another port of the host.
func (f *Feature) given(port int, b *Binding) bool {
	h := f.configured(b.Address)
	return h != nil && attached(h, b.At) &&
		(portOf(h, b.At) != port || !h.Attachments()[port].MAC.IsZero())
}

// attached reports whether a host of the configuration is at a port.
func attached(h *inventory.Host, at At) bool {
	return h.Switch == at.Switch && slices.Contains(h.AllPorts(), at.Port) || portOf(h, at) > 0
}

// portOf returns the index of the host port at a switch port: 0, the first port, if no further host
// port is at the switch port.
func portOf(h *inventory.Host, at At) int {
	return 1 + slices.IndexFunc(h.Planes, func(p inventory.Attachment) bool {
		return p.Switch == at.Switch && p.Port == at.Port
	})
}

// nameOf returns the name of the host with an address: the name of the configuration, or a name
// made of the address.
func (f *Feature) nameOf(a netip.Addr) string {
	if h := f.configured(a); h != nil {
		return h.Name
	}
	return "host-" + strings.NewReplacer(":", "-", ".", "-").Replace(a.String())
}

// Complete returns the inventory with the found hosts and MACs. Switches cannot send packets to a
// host port with an unknown MAC. While nothing changes, Complete returns the same inventory.
func (f *Feature) Complete(inv *inventory.Inventory) *inventory.Inventory {
	if f.of == inv && f.completed != nil && !f.stale {
		return f.completed
	}
	f.of, f.completed, f.stale = inv, inv, false
	before := f.wanted
	f.wanted = make(map[Ask]*wanted)
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
		f.find(&h, &out, before)
		out.Hosts = append(out.Hosts, h)
	}
	for _, b := range f.table(0).Bound() {
		if f.configured(b.Address) == nil {
			out.Hosts = append(out.Hosts, inventory.Host{Name: f.nameOf(b.Address), Address: b.Address,
				MAC: inventory.MAC(b.MAC), Switch: b.At.Switch, Port: b.At.Port})
		}
	}
	f.completed = &out
	return f.completed
}

// find gives the ports of a host of the configuration the MACs that were found, and asks for the
// others; their ports are host ports of an inventory all the same.
func (f *Feature) find(h *inventory.Host, inv *inventory.Inventory, before map[Ask]*wanted) {
	h.Planes = slices.Clone(h.Planes)
	for j, x := range h.Attachments() {
		if !x.MAC.IsZero() {
			continue
		}
		at := At{x.Switch, x.Port}
		if b, ok := f.table(j).Binding(h.Address); ok && b.Sure && b.At == at {
			setMAC(h, j, inventory.MAC(b.MAC))
			continue
		}
		if sw := inv.Switch(at.Switch); sw != nil {
			sw.HostPorts = append(sw.HostPorts, at.Port)
		}
		ask := Ask{at, h.Address}
		if f.wanted[ask] = before[ask]; f.wanted[ask] == nil {
			f.wanted[ask] = &wanted{next: f.env.Now, gap: askMin}
		}
	}
}

// setMAC gives a port of a host, from 0, its MAC.
func setMAC(h *inventory.Host, port int, mac inventory.MAC) {
	if port == 0 {
		h.MAC = mac
	} else {
		h.Planes[port-1].MAC = mac
	}
}

// Hosts returns the hosts of the configuration, followed by the found hosts.
func (f *Feature) Hosts() []inventory.Found {
	inv := f.of
	if inv == nil {
		inv = f.env.Inventory()
	}
	out := make([]inventory.Found, 0, len(inv.Hosts))
	add := func(h inventory.Host, by string) {
		x := inventory.Found{Host: h, By: by}
		if b, ok := f.table(0).Binding(h.Address); ok && b.Sure {
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
		}
		h.Planes = slices.Clone(h.Planes)
		for j, x := range h.Attachments() {
			if b, ok := f.table(j).Binding(h.Address); ok && b.Sure && x.MAC.IsZero() {
				setMAC(&h, j, inventory.MAC(b.MAC))
				if j == 0 {
					by = inventory.FoundNeighbor
				}
			}
		}
		add(h, by)
	}
	for _, b := range f.table(0).Bound() {
		if f.configured(b.Address) == nil {
			add(inventory.Host{Name: f.nameOf(b.Address), Address: b.Address, MAC: inventory.MAC(b.MAC),
				Switch: b.At.Switch, Port: b.At.Port}, inventory.FoundNeighbor)
		}
	}
	return out
}
