// Package extern holds what the registers, counters and meters of a P4 program remember between
// packets, as BMv2's v1model has them.
//
// Arrays take memory in pages when they are first written, so that the arrays of an idle switch
// cost next to nothing. Indices out of range read zero and take no writes. Time is passed in.
package extern
