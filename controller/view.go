package controller

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/orphan"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/southbound/target"
	"github.com/weft-sdn/weft/topology"
)

// Switches returns the known state of every switch of the inventory, in the order of the inventory.
func (c *Core) Switches() []api.SwitchStatus {
	out := make([]api.SwitchStatus, 0, len(c.env.Inventory().Switches))
	for i := range c.env.Inventory().Switches {
		out = append(out, c.viewSwitch(&c.env.Inventory().Switches[i]))
	}
	return out
}

// Switch returns what is known about a switch of the inventory; false: there is none of that name.
func (c *Core) Switch(name string) (s api.SwitchStatus, ok bool) {
	sw := c.env.Inventory().Switch(name)
	if sw == nil {
		return s, false
	}
	return c.viewSwitch(sw), true
}

func (c *Core) viewSwitch(sw *inventory.Switch) api.SwitchStatus {
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
		if !d.Connected && strings.HasPrefix(d.Reason, southbound.ErrForeign.Error()) {
			s.Conditions = append(s.Conditions, api.Condition{Type: api.Contested, Status: true,
				Reason: api.ReasonOtherInstallation, Message: d.Reason, LastTransition: s.Since})
		}
		if s.Managed && !s.Settling {
			s.Conditions = append(s.Conditions, c.undescribed(sw)...)
		}
		s.Errors = d.Failures
	}
	return s
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

// undescribed returns the condition of a switch of which the topology lacks something that the
// controller needs. Route reflectors that do not know SRv6 leave such things out.
func (c *Core) undescribed(sw *inventory.Switch) api.Conditions {
	node, snapshot := c.env.Net.Node(sw.Name), c.env.Net.Snapshot
	if node == nil || snapshot.Incomplete() {
		return nil
	}
	var lacks []string
	mrc := &c.env.Inventory().MRC
	if sw.RunsP4() && (!mrc.On() || strings.HasPrefix(mrc.Mode, "usid")) {
		if !slices.ContainsFunc(node.Locators,
			func(l topology.Locator) bool { return l.Algorithm == 0 }) {
			lacks = append(lacks, "it advertises no SRv6 locator of algorithm 0")
		}
		if len(node.SIDs) == 0 {
			lacks = append(lacks, "it advertises no SRv6 SID")
		}
	}
	for _, l := range snapshot.LinksFrom(node.ID) {
		to := snapshot.Node(l.Remote)
		if l.LocalPort == 0 && to != nil && !to.Pseudonode && sw.Port(l.LocalID, 0) == 0 {
			lacks = append(lacks, "the port of its link to "+to.DisplayName()+" is not known")
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	if more := len(lacks) - 5; more > 0 {
		lacks = append(lacks[:5], fmt.Sprintf("and %d more", more))
	}
	return api.Conditions{{Type: api.Undescribed, Status: true, Reason: api.ReasonTopologyLacks,
		Message: strings.Join(lacks, "; ")}}
}

// Held returns what the core believes a switch to hold, ordered by key.
func (c *Core) Held(sw string) []entry.Entity { return c.switches.Held(sw) }

// Wanted returns the entities that a switch should hold, ordered by key.
func (c *Core) Wanted(sw string) []entry.Entity { return c.switches.Wanted(sw) }
