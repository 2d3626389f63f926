// Package hostlist reads and writes lists of names in the syntax of Slurm: names and ranges of
// their numbers, such as n[0001-2048,3000] or rack[1-4]-node[01-16],login1 (slurm.conf(5),
// NodeName; "scontrol show hostnames").
//
// Names keep their order, the second of two brackets counts faster, and no name occurs twice. A
// name has at most two brackets: with three, scontrol of Slurm 22.05 counts the second slowest,
// which would give ranks a different order than elsewhere. [Parse] accepts text behind the last
// bracket, unlike Slurm, and [Fold] never writes such text. [Parse] refuses a list of more names
// than its caller wants before it makes any name.
//
// Two Go packages come near. github.com/ClusterCockpit/cc-lib/hostlist only expands, sorts the
// result and drops duplicates, so the order of ranks is lost, and has no bound: a short text may
// ask for 10^12 names. topograph's hostlist package is internal to topograph.
package hostlist
