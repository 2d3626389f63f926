// Package scheduler shows the fabric to job schedulers, as a client of the API: how near hosts are
// to each other, and which hosts cannot be used. Weft is no scheduler: it gives Slurm, topograph
// and Kueue the topology in their own formats, and has Slurm drain nodes with NICs out of use.
//
// A Clos of several planes is no tree, but schedulers take trees. The leaves of the tree are groups
// of T0s. T0s with a common host form one group, so a group spans all planes that serve the same
// hosts. Groups that reach the same switches of a higher tier form a unit of that tier, a pod. The
// highest tier is a single unit, the root.
//
// A host of Weft is a NIC. A node with several NICs appears in the tree once, at the T0s of all of
// its NICs, and can be used when all of its NICs can ([Pattern]).
//
// The package and its subpackages import only the API and its client, nothing of the controller:
// any program with permission to read can do the same.
package scheduler
