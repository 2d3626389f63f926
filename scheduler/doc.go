// Package scheduler shows the fabric to job schedulers, as a client of the API: which hosts are
// near to each other, and which of them cannot be used. Weft is no scheduler: it gives Slurm,
// topograph and Kueue the topology in their own formats, and has Slurm drain nodes whose NICs are
// out of use.
//
// A Clos of several planes is no tree, and schedulers take trees. The tree has the groups of T0s at
// its leaves: T0s that have a host in common are one group, so that the T0s of all planes that
// serve the same hosts are one. Groups that reach the same switches of a higher tier are a unit of
// that tier, a pod, but for the highest tier, which is the root and one.
//
// A host of Weft is a NIC. A node of several NICs is one of the tree, at the T0s of all of its
// NICs, and can be used when all of them can ([Pattern]).
//
// The package and those below it import the API and its client alone, nothing of the controller:
// what they do any program can do that may read.
package scheduler
