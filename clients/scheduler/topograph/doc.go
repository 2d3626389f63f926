// Package topograph gives topograph (github.com/NVIDIA/topograph) the topology of a fabric: as the
// document that topograph's "graph" engine writes ([WriteGraph]), and as answers to its "netq"
// provider, the only provider for Ethernet fabrics ([Handler]).
package topograph
