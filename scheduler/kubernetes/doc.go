// Package kubernetes gives Kubernetes the topology of a fabric: labels of nodes, and the Topology
// of Kueue that names them.
//
// Nodes of Kubernetes have the names of Weft's hosts. The labels of tiers are those that topograph
// writes (fabric.topograph.run/tier-0 is the nearest), so that what is configured for one works
// with the other.
package kubernetes
