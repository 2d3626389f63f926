// Package topograph gives topograph (github.com/NVIDIA/topograph) the topology of a fabric: as the
// document that its "graph" engine writes, for programs that read that.
package topograph
