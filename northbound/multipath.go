package northbound

import (
	"context"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/topology"
)

// Multipath is the part of the controller of an MRC fabric that the API needs. Its methods
// are called from many goroutines. What they return is the caller's to read and
// nobody's to change. Errors that are the client's to know are *[api.Error]:
//
//   - [api.CodeNotFound]: there is no such profile, host, link, node, plane or port,
//   - [api.CodeLastPath]: the drain would remove the last path between two ends,
//     which the message names,
//   - [api.CodeConflict]: the CC profile to delete is in use,
//   - those of the specs' validation, and of preconditions.
//
// A write returns when what it wants is kept, and the core knows.
type Multipath interface {
	// Began is the time that durations in statuses count from.
	Began() time.Time
	// Fabric returns the state of the fabric as a whole.
	Fabric(ctx context.Context) (mrc.FabricStatus, error)

	// EVProfiles returns profiles in the order of their names, and whether there are
	// more.
	EVProfiles(ctx context.Context, f mrc.ProfileFilter, p mrc.Page) ([]mrc.EVProfile, bool, error)
	// EVProfile returns one profile.
	EVProfile(ctx context.Context, name string) (mrc.EVProfile, error)
	// PutEVProfile replaces what a client wants of a profile. A spec with which the
	// profile could not be built, of the fabric as it is when nothing is lost, is
	// refused. The spec that it has already changes nothing, the version included.
	// What is wanted outlives the pair of leaves: it is there again when they are.
	PutEVProfile(ctx context.Context, name string, spec api.EVProfileSpec, pre resource.Precondition) (mrc.EVProfile, error)
	// DeleteEVProfile makes a profile what the configuration says: its spec is empty
	// and its version 0 then. Doing so twice is no error.
	DeleteEVProfile(ctx context.Context, name string, pre resource.Precondition) error

	// CCProfiles returns all CC profiles, in any order.
	CCProfiles(ctx context.Context) ([]api.CCProfile, error)
	// CCProfile returns one CC profile.
	CCProfile(ctx context.Context, name string) (api.CCProfile, error)
	// PutCCProfile creates a CC profile or replaces its spec, which is completed. The
	// spec that it has already changes nothing, the version included.
	PutCCProfile(ctx context.Context, name string, spec api.CCProfileSpec, pre resource.Precondition) (p api.CCProfile, created bool, err error)
	// DeleteCCProfile removes a CC profile that no EV profile names.
	DeleteCCProfile(ctx context.Context, name string, pre resource.Precondition) error

	// Hosts returns hosts in the order of their names, and whether there are more.
	Hosts(ctx context.Context, p mrc.Page) ([]mrc.HostResource, bool, error)
	// Host returns one host.
	Host(ctx context.Context, name string) (mrc.HostResource, error)
	// Links returns links in the order of their ids, and whether there are more.
	Links(ctx context.Context, f mrc.LinkFilter, p mrc.Page) ([]mrc.LinkResource, bool, error)
	// Link returns one direction of a link.
	Link(ctx context.Context, id topology.LinkID) (mrc.LinkResource, error)
	// Nodes returns the switches of the fabric in the order of their ids, and whether
	// there are more.
	Nodes(ctx context.Context, p mrc.Page) ([]mrc.NodeResource, bool, error)
	// Node returns a switch of the fabric.
	Node(ctx context.Context, id topology.NodeID) (mrc.NodeResource, error)
	// Planes returns the planes of the fabric in order.
	Planes(ctx context.Context) ([]mrc.PlaneResource, error)
	// SetAdmin drains or undrains a target. Repeating it changes
	// nothing, the version included.
	SetAdmin(ctx context.Context, t mrc.Target, spec api.AdminSpec, pre resource.Precondition) error

	// Suspects returns the links that lose packets, the surest first.
	Suspects(ctx context.Context) ([]mrc.Suspect, error)
	// Probes returns cells of the matrix of what probes have shown, in the order of
	// their keys, and whether there are more.
	Probes(ctx context.Context, f mrc.CellFilter, p mrc.Page) ([]mrc.Cell, bool, error)
}
