// Command p4testgen has p4testgen, of p4c's tools, make packet tests of the fabric's program, and
// keeps those that reach a statement first.
//
// p4testgen follows one packet through a program, symbolically. It does not follow what v1model
// does beside that packet: it drops what has a multicast group, begins with empty registers,
// refuses a field in two field lists, and has no truncate. So it is given a model of the program
// (model.go), in which the replication engine is a table from group to copy, and each register a
// table from index to value. What it adds to those tables becomes multicast groups and register
// writes of the case (convert.go). The whole program has too many paths for p4testgen: there is a
// model for each service of it (services.go), which leaves out what does not lead there.
//
// A case is then run on the embedded switch, traced, with the program as it is compiled. Where the
// switch sends what p4testgen expects, that stands in the case; where the packet went through
// something that the model lacks, the case has what the switch sends, and names it. Either way
// BMv2 has the last word: dataplane/stf runs all cases on simple_switch. Some cases are derived
// from others, for statements that p4testgen did not reach (derive.go).
package main
