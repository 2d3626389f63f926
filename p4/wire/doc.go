// Package wire makes, encodes and decodes the messages that carry table entries by the million.
//
// A [Slab] hands out the dozen small messages of an entry from arrays of many. A table entry of the
// usual form, an update of it and an entity are encoded and decoded here; what is rarely there, and
// entities of other kinds, are left to package proto. Both ends of P4Runtime use it: the octets and
// the messages are those that package proto would give.
package wire
