// Package hostlist reads and writes lists of names in the syntax of Slurm: names and ranges of
// their numbers, such as n[0001-2048,3000] or rack[1-4]-node[01-16],login1 (slurm.conf(5),
// NodeName; "scontrol show hostnames").
//
// Names keep their order, of two brackets the second counts faster, and no name is twice. A name
// has two brackets at most: of three, scontrol of Slurm 22.05 counts the second slowest, so that
// ranks would be in another order than elsewhere. [Parse] takes text behind the last bracket, which
// Slurm does not, and [Fold] makes none. [Parse] refuses a list of more names than its caller wants
// before it makes any.
//
// Two Go packages come near. github.com/ClusterCockpit/cc-lib/hostlist only expands, sorts what it
// has expanded and drops duplicates, so that the order of ranks is lost, and has no bound: a short
// text may ask for 10^12 names. The one of topograph is internal to that program.
package hostlist
