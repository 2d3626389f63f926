package service

import (
	"context"
	"net/url"
	"os"
	"sync/atomic"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/northbound"
)

// alone is the only controller of a store, for the API.
type alone struct {
	self    api.Controller
	planner atomic.Pointer[planner] // nil while it starts
}

// name returns the controller's name among others.
func (o *Options) name() string {
	if n := o.Inventory.Cluster.Name; n != "" {
		return n
	}
	if n, err := os.Hostname(); err == nil {
		return n
	}
	return "weft"
}

// Controllers implements [northbound.Cluster].
func (a *alone) Controllers(ctx context.Context) []api.Controller {
	c := a.self
	a.planner.Load().count(ctx, &c)
	return []api.Controller{c}
}

// count fills in what a planner has to do with.
func (p *planner) count(ctx context.Context, c *api.Controller) {
	if p == nil {
		return
	}
	switches, err := p.controller.Switches(ctx)
	if err != nil {
		return // it ends
	}
	for i := range switches {
		if switches[i].Connected {
			c.Switches++
		}
	}
	if p.streams != nil {
		for _, h := range p.streams.List() {
			if h.Connected {
				c.Streams++
			}
		}
	}
}

// Readiness implements [northbound.Cluster].
func (*alone) Readiness() []api.ReadinessCheck { return nil }

// Decider implements [northbound.Cluster]: a controller alone asks nobody.
func (*alone) Decider() (*url.URL, error) { return nil, northbound.ErrNoDecider }

// State implements [northbound.Cluster].
func (*alone) State() (northbound.ClusterState, bool) { return northbound.ClusterState{}, false }
