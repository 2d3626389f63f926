package northbound

import (
	"context"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/discovery"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/topology"
)

// Controller is the part of a controller that the API needs. Its methods are called from
// many goroutines. Callers may read what they return and must not
// change. Errors that are the client's to know are *[api.Error]; the code of
// one about a switch that cannot be reached is [api.CodeUnavailable].
type Controller interface {
	// Groups returns the multicast groups.
	Groups() resource.Handle[api.MulticastGroupSpec, api.MulticastGroup]
	// SRv6Policies, Tenants and PFCPolicies are those of tenants over SRv6. One that
	// another one refers to cannot be deleted ([api.CodeConflict]).
	SRv6Policies() resource.Handle[api.SRv6PolicySpec, api.SRv6Policy]
	Tenants() resource.Handle[api.TenantSpec, api.Tenant]
	PFCPolicies() resource.Handle[api.PFCPolicySpec, api.PFCPolicy]
	// Networks are those that clients describe.
	Networks() resource.Handle[api.NetworkSpec, api.Network]
	// Projects are those who share the network; Members has them with their members, as they are kept.
	Projects() resource.Handle[api.ProjectSpec, api.Project]
	Members() *access.Projects
	// ResetGroup gives a group a new epoch.
	ResetGroup(ctx context.Context, name string, pre resource.Precondition) (api.MulticastGroup, error)
	// GroupState asks the switches of a group's tree for the state of its branches.
	GroupState(ctx context.Context, name string) (api.GroupState, error)

	// Topology returns the network as it is known now.
	Topology() *topology.Snapshot
	// Inventory returns the configuration in force.
	Inventory() *inventory.Inventory
	// Switches returns the known state of every switch, in any order.
	Switches(ctx context.Context) ([]api.SwitchStatus, error)
	// Ports returns the ports of switches, by the name of the switch and the number of the port.
	Ports() resource.Handle[api.PortSpec, api.Port]
	// SwitchGNMI returns what a switch answers by gNMI.
	SwitchGNMI(ctx context.Context, name string) (api.SwitchGNMI, error)
	// Orphans returns the orphans of all switches, Orphan one of them.
	Orphans(ctx context.Context) ([]api.Orphan, error)
	Orphan(ctx context.Context, name string) (api.Orphan, error)
	// DeleteOrphan removes an orphan, DeleteOrphans all of a switch; it returns their names.
	DeleteOrphan(ctx context.Context, name string, pre resource.Precondition) error
	DeleteOrphans(ctx context.Context, sw string, pre resource.Precondition) ([]string, error)
	// Tables returns the tables of a switch's pipeline.
	Tables(ctx context.Context, sw string) ([]api.Table, error)
	// Entries reads a table back from a switch, in any order.
	Entries(ctx context.Context, sw, table string) ([]api.TableEntry, error)
	// Counters reads the counters of a switch, in any order.
	Counters(ctx context.Context, sw string) ([]api.Counter, error)
	// CounterNames returns the names of the counters of a switch's pipeline.
	CounterNames(ctx context.Context, sw string) ([]string, error)
	// DiscoveryCounts returns the LLDP frames since the start; ok is false without discovery.
	DiscoveryCounts(ctx context.Context) (n discovery.Counts, ok bool, err error)
}

var _ Controller = (*controller.Controller)(nil)
