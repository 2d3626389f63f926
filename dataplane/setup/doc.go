// Package setup starts an embedded switch from files: the program p4c made, its
// P4Info, and the entries to write, as P4Runtime has them but without gRPC.
//
// Entries are p4.v1.WriteRequest messages in protobuf text form, with a line of three dashes
// between two messages:
//
//	updates { type: INSERT entity { table_entry { ... } } }
//	updates { type: MODIFY entity { ... } }
//	---
//	atomicity: ROLLBACK_ON_ERROR
//	updates { ... }
//
// There is a single device and no arbitration, so setup ignores device_id, role
// and election_id of a request: a request sent to any switch can be written to
// this switch.
package setup
