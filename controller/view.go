package controller

import (
	"maps"
	"slices"

	"github.com/weft-sdn/weft/southbound/entry"
)

// Switches returns what is known about every switch of the inventory, in its
// order.
func (c *Core) Switches() []SwitchStatus {
	out := make([]SwitchStatus, 0, len(c.inv.Switches))
	for i := range c.inv.Switches {
		sw := &c.inv.Switches[i]
		s := SwitchStatus{Name: sw.Name, Address: sw.Address, Managed: sw.Managed()}
		if s.Managed {
			s.DeviceID = sw.Device()
		}
		if node := c.net.Node(sw.Name); node != nil {
			s.Node = string(node.ID)
		}
		if d := c.devices[sw.Name]; d != nil {
			s.Connected, s.Reason, s.Since = d.connected, d.reason, c.start.Add(d.since).UTC()
			s.Entries, s.Pending = len(d.have), d.pendingCount()
			s.Synced = d.connected && d.routed && s.Pending == 0 && !d.blocked
			s.Settling = d.settling
			if d.ports != nil {
				s.Ports = d.ports.view()
			}
			for _, k := range slices.Sorted(maps.Keys(d.failed)) {
				if f := d.failed[k]; len(s.Errors) < 10 {
					s.Errors = append(s.Errors, describeUpdate(f.update)+": "+f.message)
				}
			}
		}
		out = append(out, s)
	}
	return out
}

// Held returns what the core believes a switch to hold, ordered by key.
func (c *Core) Held(sw string) []entry.Entity {
	d := c.devices[sw]
	if d == nil {
		return nil
	}
	var out []entry.Entity
	for _, k := range slices.Sorted(maps.Keys(d.have)) {
		out = append(out, d.have[k])
	}
	return out
}

// Wanted returns what a switch should hold, ordered by key.
func (c *Core) Wanted(sw string) []entry.Entity {
	d := c.devices[sw]
	if d == nil {
		return nil
	}
	all := make(map[entry.Key]entry.Entity)
	for _, u := range d.units {
		maps.Copy(all, u.want)
	}
	out := make([]entry.Entity, 0, len(all))
	for _, k := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[k])
	}
	return out
}
