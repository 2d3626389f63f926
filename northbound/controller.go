package northbound

import (
	"context"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/topology"
)

// Controller is what the API needs of a controller. Its methods are called from
// many goroutines. What they return is the caller's to read and nobody's to
// change. Errors that are the client's to know are *[api.Error]; the code of
// one about a switch that cannot be reached is [api.CodeUnavailable].
type Controller interface {
	PFC

	// Groups returns every multicast group, in any order.
	Groups(ctx context.Context) ([]api.MulticastGroup, error)
	// Group returns one multicast group.
	Group(ctx context.Context, name string) (api.MulticastGroup, error)
	// PutGroup creates a group or replaces its spec. The spec that a group has
	// already changes nothing, the version included.
	PutGroup(ctx context.Context, name string, spec api.Spec, pre resource.Precondition) (g api.MulticastGroup, created bool, err error)
	// DeleteGroup removes a group.
	DeleteGroup(ctx context.Context, name string, pre resource.Precondition) error
	// ResetGroup gives a group a new epoch.
	ResetGroup(ctx context.Context, name string, pre resource.Precondition) (api.MulticastGroup, error)
	// GroupState asks the switches of a group's tree for the state of its branches.
	GroupState(ctx context.Context, name string) (controller.StateReport, error)

	// Topology returns the network as it is known now.
	Topology() *topology.Snapshot
	// Inventory returns the configuration in force.
	Inventory() *inventory.Inventory
	// Switches returns what is known about every switch, in any order.
	Switches(ctx context.Context) ([]controller.SwitchStatus, error)
	// Tables returns the tables of a switch's pipeline.
	Tables(ctx context.Context, sw string) ([]controller.TableView, error)
	// Entries reads a table back from a switch, in any order.
	Entries(ctx context.Context, sw, table string) ([]controller.EntryView, error)
	// Counters reads the counters of a switch, in any order.
	Counters(ctx context.Context, sw string) ([]controller.CounterView, error)
	// CounterNames returns the names of the counters of a switch's pipeline.
	CounterNames(ctx context.Context, sw string) ([]string, error)
}
