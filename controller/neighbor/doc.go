// Package neighbor finds hosts by neighbor discovery (RFC 4861), and answers it where the P4
// program leaves that to the controller.
//
// An address that a host uses is bound to the port of a switch, first come, first served (FCFS
// SAVI, RFC 6620): a [Table] decides, as a function of the messages and the time. What it has bound
// is a host of the network like those of the configuration, by [Feature.Complete]: it has routes,
// an entry in the source guard of its port, and a neighbor entry. Each binding is a record; a
// controller that starts has those of the one before it.
//
// What the configuration says comes first: an address that it gives to a port is bound to no other
// one, and where it has the MAC too, nothing is learned.
package neighbor
