// Package topology is the model of the network that Weft plans on: nodes,
// links, prefixes and SRv6 segment identifiers, the paths and trees over them,
// and the difference between two states of them.
//
// A [Snapshot] is immutable. Whoever learns the network (package bgpls, or a
// test) keeps a [Builder], replaces objects in it and publishes the snapshots
// it builds through a [Publisher]; whoever plans reads a snapshot without
// locks, for as long as it likes:
//
//	snap, changed := publisher.Current()
//	g := snap.Graph()
//	tree, err := g.Tree(topology.TreeRequest{Root: n6, Leaves: edges, Key: key})
//	paths, ok := g.Toward(n1, topology.MetricIGP) // next hops of every node toward n1
//	clos, err := g.Clos(topology.ClosRequest{})   // tiers, planes, and all up-down paths
//
// Everything in a snapshot is ordered, so the same objects give the same snapshot, the same paths
// and the same trees on every run, whatever the order in which they arrived. No function of this
// package starts a goroutine, reads a clock or logs; all functions except the methods of Builder
// may be called from several goroutines at once.
//
// The package does not know hosts, devices or forwarding tables: the inventory knows the port of
// each host.
package topology
