package topology

import "errors"

var (
	// ErrUnknownNode reports that a request names a node the snapshot lacks.
	ErrUnknownNode = errors.New("node is not in the topology")
	// ErrUnreachable reports that no path leads from the root to a node.
	ErrUnreachable = errors.New("node cannot be reached")
	// ErrNotReplicator reports that the root or a leaf of a tree may not replicate, and so cannot take
	// part.
	ErrNotReplicator = errors.New("node cannot replicate")
	// ErrBranchLimit reports that every way to a node leads through nodes without a branch left.
	ErrBranchLimit = errors.New("no branch left on the way to the node")
	// ErrNotLeaf reports a request for paths of a node that is no leaf of the plane.
	ErrNotLeaf = errors.New("node is not a leaf in the plane")
	// ErrTooManyPaths reports that a fabric has more paths than a limit.
	ErrTooManyPaths = errors.New("too many paths")
)
