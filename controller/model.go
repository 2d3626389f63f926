package controller

import (
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/plan/node"
)

// SwitchModel returns the model of a switch of the inventory. The error is an *api.Error.
func (c *Core) SwitchModel(name string) (api.SwitchModel, error) {
	sw := c.env.Inventory().Switch(name)
	if sw == nil {
		return api.SwitchModel{}, noSwitch(name)
	}
	m := node.Of(node.Fabric{Network: c.env.Net, Assignment: c.underlay.Assignment()}, sw,
		func(port uint32) api.PortSpec {
			p, err := c.ports.Ports().Get(fmt.Sprintf("%s/%d", name, port))
			if err != nil {
				return api.PortSpec{} // nobody has written one
			}
			return p.Spec
		})
	for _, e := range c.Wanted(name) {
		o := ownerOf(e)
		if !plan.Intended(int(o)) {
			continue
		}
		x := api.ModelExtra{Feature: api.ExtraMulticast, Object: c.object(o)}
		if o == plan.OwnerPFC {
			x.Feature = api.ExtraPFC
		}
		if x.Object != "" && !slices.Contains(m.Extras, x) {
			m.Extras = append(m.Extras, x)
		}
	}
	return m, nil
}
