// Package lab is a network in one process: embedded switches running the fabric's P4 program,
// software RoCEv2 hosts, and the wires between them, which can lose, repeat, reorder and delay.
//
// A Network describes it (Figure1 is the draft's reference topology; Load reads YAML). A World
// runs it on one goroutine, in virtual time for tests, so that a seed replays a run exactly, or
// against the real clock for "weft lab" and the demos: the same code, another source of "now".
// Taps see every frame on every wire; what the demos print is counted there.
package lab
