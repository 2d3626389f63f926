// Package mrc is the Multipath Reliable Connection transport of a software host (OCP MRC 1.0, sections 6 and 7): RDMA WRITE, with and without immediate data,
// whose packets are sprayed over many paths, placed in whatever order they arrive, and acknowledged selectively.
//
// What decides when a packet may leave and which path it takes is not here: a queue pair asks a Congestion and a Sprayer, two seams with trivial
// implementations beside them (FixedWindow, RoundRobin).
//
// Like package endpoint, whose memory regions, work requests and completions it uses, it is synchronous and deterministic: no goroutine, clock or
// socket. Times are durations since a start the owner chooses, and never go backwards.
package mrc
