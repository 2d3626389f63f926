// Package ir is the intermediate representation of a P4 program's data: its headers, where their
// fields lie in the state of a packet, and typed expressions over them. Package engine decodes BMv2
// JSON into it, and compiles it to code.
//
// BMv2 computes with integers of unbounded precision and cuts a result to its width only when a
// field takes it. So an expression carries the interval that its value lies in (WithInterval),
// which says where 64 bits give the same answer (Fits), and Simplify drops masks that cut nothing
// off.
package ir
