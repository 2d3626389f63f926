// Package topograph gives topograph (github.com/NVIDIA/topograph) the topology of a fabric: as the
// document that its "graph" engine writes ([WriteGraph]), and as answers to its "netq" provider,
// the only one that it has for Ethernet fabrics ([Handler]).
package topograph
