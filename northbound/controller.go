package northbound

import (
	"context"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/topology"
)

// Controller is the part of a controller that the API needs. Its methods are called from
// many goroutines. Callers may read what they return and must not change it. Errors for clients are
// *[api.Error]; the code of one about a switch that cannot be reached is [api.CodeUnavailable].
type Controller interface {
	// Kinds returns all kinds of resources that the controller has, with their handles.
	Kinds() []*kind.Kind
	// Members returns the projects with their members, as the store has them.
	Members() *access.Projects
	// Topology returns the network as known now.
	Topology() *topology.Snapshot
	// Inventory returns the configuration in force.
	Inventory() *inventory.Inventory
	// Dependents returns a function that lists the jobs that depend on a part of the network, the most
	// important job first.
	Dependents(ctx context.Context) (of func(part api.Part) []api.JobDependent, err error)
	// FrameCounts returns the frames of discovery since the start.
	FrameCounts(ctx context.Context) (controller.FrameCounts, error)
	// Hosts returns the hosts of the configuration and those that were found, and how each was.
	Hosts(ctx context.Context) ([]inventory.Found, error)
}

var _ Controller = (*controller.Controller)(nil)

// kinds returns all kinds. Without an MRC fabric, the MRC kinds show the network's hosts, links and
// nodes (see [mrc.Plain]).
func (s *Server) kinds() []*kind.Kind { return kindsOf(&s.cfg, s.controller) }

func kindsOf(cfg *Config, c Controller) []*kind.Kind {
	if cfg.Multipath == nil {
		return append(c.Kinds(), mrc.Plain(c)...)
	}
	return append(c.Kinds(), cfg.Multipath.Kinds()...)
}
