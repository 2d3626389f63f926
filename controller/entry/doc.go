// Package entry is what the controller wants a switch to hold, by name.
//
// Table entries, action profile members and groups, multicast groups and clone
// sessions are plain values that name tables, fields, actions and parameters as
// the P4 program does, and that hold every number in P4Runtime's canonical form
// (P4Runtime spec §8.4). Two entities that mean the same are Equal and have the
// same Key, whatever order they were written in, so that what is wanted and
// what was read back can be compared without knowing any numeric id.
//
// A [Codec] turns them into the entities of package southbound, and back, by
// the P4Info of a pipeline; it also says how their values are shown to people.
// The package knows nothing of what the tables mean.
package entry
