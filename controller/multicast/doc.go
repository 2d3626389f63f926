// Package multicast makes multicast groups into what the switches of their trees
// hold.
//
// A change of a group's tree goes in phases, each of which begins when every
// connected switch has finished the one before: what is new is added beside what is
// in use, responses move to the new epoch, data moves at the switch of the source,
// and, after the packets on their way have drained, what is left is removed. So no
// receiver misses a packet because of a change, and none gets one twice.
//
// Where a tree goes is decided by package tree. This package keeps epochs, which
// are never used twice at an index (epoch.go); finds receivers that hold up a group,
// and evicts them (stall.go); answers questions for the state of a group in its
// switches (query.go); and goes on with trees that an earlier controller left in
// the switches (adopt.go).
package multicast
