package run

import (
	"context"
	"log/slog"
	"net"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/service"
	"github.com/weft-sdn/weft/southbound"
)

// Controller is a controller as a process runs it.
type Controller struct {
	Inventory *inventory.Inventory
	API       northbound.Config
	Store     *Store
	Log       *slog.Logger
	Election  southbound.ElectionID // zero: one that grows with each start
	TakeOver  bool                  // switches of other controllers that are primary

	// Up, if not nil, gets the address of the API and the data directory once the API answers; "" is
	// a store that is not in a directory.
	Up func(api net.Addr, dataDir string)
}

// Run runs the controller until it ends, or ctx does.
func (c *Controller) Run(ctx context.Context) error {
	served := c.API
	if c.Store.durable != nil {
		served.Backup = c.Store.durable.Backup
	}
	if c.Inventory.Cluster.Etcd.On() {
		served.Replace = c.Store.replace
	}
	served.Traces = tracer(c.Inventory)
	s, err := service.Start(ctx, service.Options{Inventory: *c.Inventory, Log: c.Log, API: served,
		Election: c.Election, TakeOver: c.TakeOver, Store: c.Store.Store})
	if err != nil {
		return err
	}
	c.Log.Info("controller is up", "version", served.Version, "api", s.Addr().String(), "switches",
		len(c.Inventory.Switches), "bgpPeers", len(c.Inventory.BGP.Peers), "dataDir", c.Store.dir)
	if c.Up != nil {
		c.Up(s.Addr(), c.Store.dir)
	}
	<-s.Done()
	err = s.Close()
	c.Log.Info("controller has ended")
	return err
}
