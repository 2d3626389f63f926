package controller

import (
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Switches returns what is known about every switch of the inventory, in its
// order.
func (c *Core) Switches() []api.SwitchStatus {
	out := make([]api.SwitchStatus, 0, len(c.inv.Switches))
	for i := range c.inv.Switches {
		sw := &c.inv.Switches[i]
		s := api.SwitchStatus{Name: sw.Name, Address: sw.Address, Managed: sw.Managed()}
		if s.Managed {
			s.DeviceID = sw.Device()
		}
		if node := c.net.Node(sw.Name); node != nil {
			s.Node = string(node.ID)
		}
		if d, ok := c.switches.Status(sw.Name); ok {
			u := c.underlay[sw.Name]
			s.Connected, s.Reason, s.Since = d.Connected, d.Reason, c.start.Add(d.Since).UTC()
			s.Entries, s.Pending = d.Entities, d.Pending
			s.Synced = d.Connected && u.routed && s.Pending == 0 && !d.Blocked
			s.Settling = u.settling
			if u.ports != nil {
				s.Ports = u.ports.view()
			}
			s.Errors = c.switches.AllFailures(sw.Name, 10)
		}
		out = append(out, s)
	}
	return out
}

// Held returns what the core believes a switch to hold, ordered by key.
func (c *Core) Held(sw string) []entry.Entity { return c.switches.Held(sw) }

// Wanted returns what a switch should hold, ordered by key.
func (c *Core) Wanted(sw string) []entry.Entity { return c.switches.Wanted(sw) }
