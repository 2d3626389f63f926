package northbound

import (
	"context"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// Multipath is the part of the controller of an MRC fabric that the API needs. Its methods
// are called from many goroutines. Callers may read what they return, and must
// not change it. Errors that are the client's to know are *[api.Error]:
//
//   - [api.CodeNotFound]: there is no such profile, host, link, node, plane or port,
//   - [api.CodeLastPath]: the drain would remove the last path between two ends,
//     which the message names,
//   - [api.CodeConflict]: the CC profile to delete is in use,
//   - those of the specs' validation, and of preconditions.
//
// A write returns when what it wants is kept, and the core knows.
type Multipath interface {
	// Fabric returns the state of the fabric as a whole.
	Fabric(ctx context.Context) (api.Fabric, error)
	// StreamCounts counts what became of the streams to hosts, and what they carried.
	StreamCounts(ctx context.Context) (mrc.StreamCounts, error)

	// EVProfiles returns profiles without their EVs in the order of their names, and whether there are
	// more.
	EVProfiles(ctx context.Context, f mrc.ProfileFilter, p mrc.Page) ([]api.EVProfile, bool, error)
	// EVProfile returns one profile.
	EVProfile(ctx context.Context, name string) (api.EVProfile, error)
	// EVs returns the EVs of a profile in order, up to a number of them, and whether there are more.
	EVs(ctx context.Context, name string, f mrc.EVFilter, limit int) ([]api.EV, bool, error)
	// EVPath returns the path of an EV of a profile.
	EVPath(ctx context.Context, name string, e hostapi.EV) (api.EVPath, error)
	// PutEVProfile replaces what a client wants of a profile. A spec with which the
	// profile could not be built, of the fabric as it is when nothing is lost, is
	// refused. The spec that it has already changes nothing, the version included.
	// What is wanted outlives the pair of leaves: it is there again when they are.
	PutEVProfile(ctx context.Context, name string, spec api.EVProfileSpec, pre resource.Precondition) (api.EVProfile, error)
	// DeleteEVProfile makes a profile what the configuration says: its spec is empty
	// and its version 0 then. Doing so twice is no error.
	DeleteEVProfile(ctx context.Context, name string, pre resource.Precondition) error

	// Kinds returns the kinds of resources of the fabric, with their handles.
	Kinds() []*kind.Kind

	// Hosts returns hosts in the order of their names, and whether there are more.
	Hosts(ctx context.Context, p mrc.Page) ([]api.Host, bool, error)
	// Host returns one host.
	Host(ctx context.Context, name string) (api.Host, error)
	// Links returns links in the order of their ids, and whether there are more.
	Links(ctx context.Context, f mrc.LinkFilter, p mrc.Page) ([]api.Link, bool, error)
	// Link returns one direction of a link.
	Link(ctx context.Context, id topology.LinkID) (api.Link, error)
	// Nodes returns the switches of the fabric in the order of their ids, and whether
	// there are more.
	Nodes(ctx context.Context, p mrc.Page) ([]api.Node, bool, error)
	// Node returns a switch of the fabric.
	Node(ctx context.Context, id topology.NodeID) (api.Node, error)
	// Planes returns the planes of the fabric in order.
	Planes(ctx context.Context) ([]api.Plane, error)
	// SetAdmin drains or undrains a target. Repeating it changes
	// nothing, the version included.
	SetAdmin(ctx context.Context, t mrc.Target, spec api.AdminSpec, pre resource.Precondition) error

	// Suspects returns the links that lose packets, the surest first.
	Suspects(ctx context.Context) ([]api.Suspect, error)
	// Probes returns what probes of EVs have shown, in the order of mrc.ProbeKey, and whether there is
	// more.
	Probes(ctx context.Context, f mrc.ProbeFilter, p mrc.Page) ([]api.EVProbe, bool, error)
}
