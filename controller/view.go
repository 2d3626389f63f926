package controller

import (
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/orphan"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/target"
)

// Switches returns what is known about every switch of the inventory, in its
// order.
func (c *Core) Switches() []api.SwitchStatus {
	out := make([]api.SwitchStatus, 0, len(c.env.Inventory().Switches))
	for i := range c.env.Inventory().Switches {
		sw := &c.env.Inventory().Switches[i]
		s := api.SwitchStatus{Name: sw.Name, Address: sw.Address, Managed: sw.Managed()}
		if !sw.RunsP4() {
			s.System = string(sw.System)
		}
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
			s.Conditions = append(s.Conditions, c.unsupported(sw.Name)...)
			s.Errors = d.Failures
		}
		out = append(out, s)
	}
	return out
}

// unsupported returns the condition of a switch without P4 that cannot do all that it should.
func (c *Core) unsupported(name string) api.Conditions {
	var texts []string
	for _, f := range c.underlay.Findings(name) {
		if f.Severity != target.Doubtful {
			texts = append(texts, f.Text)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return api.Conditions{{Type: api.Unsupported, Status: true, Reason: api.ReasonSystemCannot,
		Message: strings.Join(texts, "; ")}}
}

// Held returns what the core believes a switch to hold, ordered by key.
func (c *Core) Held(sw string) []entry.Entity { return c.switches.Held(sw) }

// Wanted returns the entities that a switch should hold, ordered by key.
func (c *Core) Wanted(sw string) []entry.Entity { return c.switches.Wanted(sw) }
