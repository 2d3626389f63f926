// Package setup starts an embedded switch from files: the program p4c made, its
// P4Info, and the entries to write, as P4Runtime has them but without gRPC.
//
// Entries are p4.v1.WriteRequest messages in protobuf text form, one after the
// other, with a line of three dashes between two of them:
//
//	updates { type: INSERT entity { table_entry { ... } } }
//	updates { type: MODIFY entity { ... } }
//	---
//	atomicity: ROLLBACK_ON_ERROR
//	updates { ... }
//
// There is one device and nobody to arbitrate with, so device_id, role and
// election_id of a request are not looked at: what a controller sent to any
// switch can be written to this one.
package setup
