package controller

import (
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/orphan"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Switches returns what is known about every switch of the inventory, in its
// order.
func (c *Core) Switches() []api.SwitchStatus {
	out := make([]api.SwitchStatus, 0, len(c.env.Inventory().Switches))
	for i := range c.env.Inventory().Switches {
		sw := &c.env.Inventory().Switches[i]
		s := api.SwitchStatus{Name: sw.Name, Address: sw.Address, Managed: sw.Managed()}
		if s.Managed {
			s.DeviceID = sw.Device()
		}
		if node := c.env.Net.Node(sw.Name); node != nil {
			s.Node = string(node.ID)
		}
		if d, ok := c.switches.Status(sw.Name); ok {
			s.Connected, s.Reason, s.Since = d.Connected, d.Reason, c.env.Start.Add(d.Since).UTC()
			s.Entries, s.Pending = d.Entities, d.Pending
			s.Synced = d.Connected && c.underlay.Routed(sw.Name) && s.Pending == 0 && !d.Blocked
			s.Settling = c.underlay.Settling(sw.Name)
			if ports := c.ports.States(sw.Name); ports != nil {
				s.Ports = viewPorts(ports)
			}
			s.Conditions = append(orphan.Conditions(c.orphans.On(sw.Name)), c.inventoryDiffers(sw.Name)...)
			s.Conditions = append(s.Conditions, c.miscabled(sw.Name)...)
			s.Errors = d.Failures
		}
		out = append(out, s)
	}
	return out
}

// Held returns what the core believes a switch to hold, ordered by key.
func (c *Core) Held(sw string) []entry.Entity { return c.switches.Held(sw) }

// Wanted returns the entities that a switch should hold, ordered by key.
func (c *Core) Wanted(sw string) []entry.Entity { return c.switches.Wanted(sw) }
