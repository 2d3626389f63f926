// Package multicast turns multicast groups into entities of the switches in their trees.
//
// A change of a group's tree goes in phases. Each phase begins when every connected switch has
// finished the previous phase. The controller adds the new entities beside the entities in use,
// moves responses to the new epoch, moves data at the switch of the source, and, after the packets
// in flight have drained, removes the old entities. So no receiver misses a packet because of a
// change, and no receiver gets a packet twice.
//
// Package tree decides the path of a tree. This package keeps epochs, and never uses an epoch twice
// at an index (record.go); finds and evicts receivers that stall a group (stall.go); answers
// questions for the state of a group in the switches (query.go); and continues with trees that an
// earlier controller left in the switches (adopt.go).
package multicast
