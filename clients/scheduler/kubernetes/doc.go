// Package kubernetes gives Kubernetes the topology of a fabric: labels of nodes, and the Topology
// of Kueue that names these labels.
//
// Nodes of Kubernetes carry the names of Weft's hosts. Tiers use the labels of topograph
// (fabric.topograph.run/tier-0 is the nearest), so a configuration for topograph works with Weft
// and vice versa.
package kubernetes
