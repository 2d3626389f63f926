// Package slurm gives Slurm the topology of a fabric, in topology.conf(5) or topology.yaml(5), and
// drains nodes whose NICs cannot be used.
//
// Nodes of Slurm have the names of Weft's hosts.
package slurm
