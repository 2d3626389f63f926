// Package entry is the one model of the entries of a switch, by name.
//
// Table entries, action profile members and groups, multicast groups, clone sessions and digest
// configurations are plain values that name tables, fields, actions and parameters like the P4
// program, and hold every number in P4Runtime's canonical form (P4Runtime spec §8.4). Two entities
// with the same meaning are Equal and have the same Key, whatever the order in which they were
// written, so a controller can compare wanted and actual entities without knowing a numeric id.
//
// Package southbound encodes entities as P4Runtime messages, and decodes them, by the P4Info of a
// pipeline. This package knows neither protocols nor the meaning of tables.
package entry
