package controller

import (
	"maps"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Try makes a change on a copy of the core.
func (c *Core) Try(change func(*Core) error) ([]api.SwitchChange, error) {
	changes, _, err := c.fork().run(change)
	return changes, err
}

// Takes returns what a change would take from resources, by a copy of the core.
func (c *Core) Takes(change func(*Core) error) ([]api.Taken, error) {
	_, takes, err := c.fork().run(change)
	return takes, err
}

// Difference returns the updates between two contents of a switch, as a trial shows them.
func Difference(before, after map[entry.Key]entry.Entity) []api.EntityUpdate {
	return describe(reconcile.Difference(plan.Rank, slices.Collect(maps.Values(before)),
		slices.Collect(maps.Values(after))))
}

// PFCCore returns a core on a network with PFC-capable nodes, PutPFC gives it an SRv6 policy, a
// tenant and a PFC policy.
var PFCCore, PutPFC = pfcCore, putPFC

// PFCNetwork returns the network of PFCCore.
var PFCNetwork = pfcNetwork

// InventoryOf returns the inventory of a core.
func InventoryOf(c *Core) *inventory.Inventory { return c.env.Inventory() }

// PutGroupAlone puts a group without the rules of projects.
func (c *Core) PutGroupAlone(
	name string, spec api.MulticastGroupSpec, pre resource.Precondition,
) error {
	defer func(w feature.Whole) { c.env.Whole = w }(c.env.Whole)
	c.env.Whole = nil
	_, _, err := c.multicast.Groups().Put(name, spec, pre)
	return err
}

// Resources returns what a handle has clients read and change in a core.
func (h handle[S, R]) Resources(c *Core) any { return h.of(c) }

// Created returns the kinds that clients create, with handles of no controller.
func Created() (out []*kind.Kind) {
	for _, o := range kinds {
		if o.kind.Creates {
			out = append(out, o.bind(nil))
		}
	}
	return out
}
