// Package tree plans multicast groups: pure functions of a network and a group's spec.
//
// [Place] decides the tree of a group, its branch indices, SIDs and epoch as a [Placement], given
// the previous one. [Placement.Items] returns the entries that the placement needs at a switch. A
// placement holds all it needs, so that what a switch should hold for a group does not change with
// the network until the group is placed anew.
package tree
