// Package engine compiles a P4 program in BMv2 JSON form and runs it on packets.
//
// Load compiles a Program, once for any number of switches. A Context runs it for one switch: it
// takes a packet in hand (Receive, Resume, Take), runs Ingress or Egress on it, says what the
// program asks for (EgressSpec, MulticastGroup, Clone, Digest, Resubmits, Recirculates, Aborted),
// and gives the packet back for a queue (Detach) or as octets (Deparse). Where packets go, and
// when, is the caller's business: package dataplane.
//
// State outlives packets: entries, registers, counters, meters and value sets.
//
// Nothing here starts a goroutine, reads a clock or writes a log, and a packet that is not traced
// allocates nothing. A construct that is not supported fails in Load; a malformed packet is a
// parser error that the program sees.
package engine
