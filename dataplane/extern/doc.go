// Package extern holds the state that registers, counters and meters of a P4 program keep between
// packets, as in BMv2's v1model.
//
// Arrays take memory in pages on the first write, so the arrays of an idle switch cost next to
// nothing. Indices out of range read zero and take no writes. Time is passed in.
package extern
