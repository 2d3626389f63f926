// Command p4testgen runs p4testgen, one of p4c's tools, to make packet tests of the fabric's
// program, and keeps the tests that reach a statement first.
//
// p4testgen follows one packet through a program, symbolically. It does not follow the rest of
// v1model: it drops packets with a multicast group, begins with empty registers, refuses a field in
// two field lists, and has no truncate. So p4testgen gets a model of the program (model.go). In the
// model, the replication engine is a table from group to copy, and each register a table from index
// to value. Entries that p4testgen adds to those tables become multicast groups and register writes
// of the case (convert.go). The whole program has too many paths for p4testgen: each service of the
// program has a model (services.go), without the parts that do not lead there.
//
// A case is then run on the embedded switch, traced, with the compiled program. If the switch sends
// the packets that p4testgen expects, the case contains these packets. If the packet went through
// something that the model lacks, the case contains the packets that the switch sends, and names
// the difference. In both cases BMv2 has the last word: dataplane/stf runs all cases on
// simple_switch. Some cases are derived from earlier cases, for statements that p4testgen did not
// reach (derive.go).
package main
