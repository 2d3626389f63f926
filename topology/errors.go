package topology

import "errors"

var (
	// ErrUnknownNode reports that a request names a node the snapshot lacks.
	ErrUnknownNode = errors.New("node is not in the topology")
	// ErrUnreachable reports that no path leads from the root to a node.
	ErrUnreachable = errors.New("node cannot be reached")
	// ErrNotReplicator reports that the root or a leaf of a tree is a node that
	// may not replicate, so it cannot take part in a tree.
	ErrNotReplicator = errors.New("node cannot replicate")
	// ErrBranchLimit reports that a node can be reached, but only by way of nodes
	// that have no branch left.
	ErrBranchLimit = errors.New("no branch left on the way to the node")
	// ErrNotLeaf reports a request for paths of a node that is no leaf of the plane.
	ErrNotLeaf = errors.New("node is not a leaf in the plane")
	// ErrTooManyPaths reports that a fabric has more paths than a limit.
	ErrTooManyPaths = errors.New("too many paths")
)
