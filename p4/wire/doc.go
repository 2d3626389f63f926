// Package wire makes, encodes and decodes the messages that carry table entries by the million.
//
// A [Slab] hands out the dozen small messages of an entry from large arrays. The package encodes
// and decodes a table entry of the usual form, an update with such an entry, and an entity. It
// leaves rare fields and entities of other kinds to package proto. Both ends of P4Runtime use the
// package: octets and messages equal the output of package proto.
package wire
