// Package dataplane is an embedded P4 switch: it executes a v1model program in
// BMv2 JSON form (as p4c-bm2-ss writes it) with the semantics of BMv2's
// simple_switch, without a goroutine, a clock, a socket or a logger of its own.
//
// This package is the switch around the program: ports, replication, the traffic
// manager, recirculation, and the control methods. Package dataplane/engine
// compiles the program and runs it on packets.
//
// Use: engine.Load decodes and compiles the JSON once into an immutable
// engine.Program that any number of switches share. New makes a Switch,
// SetProgram gives it the program, Receive hands it a frame, and Advance runs
// everything that is due: parser, ingress, replication, queues, egress,
// recirculation, deparser. Frames leave through Output.Transmit. Time is a
// time.Duration since the start of the switch, passed in by the caller, so
// the same code runs in real and in virtual time.
//
// A Switch is single-threaded: Receive, Advance and every control method
// belong to one goroutine (package dataplane/live serialises them). A program
// is safe for concurrent use.
//
// It refuses what it cannot do faithfully: a construct that is not supported
// fails in engine.Load with its name and its P4 source line, never at the
// first packet. A malformed packet is a result (a parser error the program
// sees, or a counted drop), never a panic.
package dataplane
