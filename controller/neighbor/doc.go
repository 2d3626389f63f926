// Package neighbor finds hosts by neighbor discovery (RFC 4861), and answers it where the P4
// program leaves that to the controller.
//
// An address that a host uses is bound to the port of a switch, first come, first served (FCFS
// SAVI, RFC 6620): a [Table] decides, as a function of the messages and the time.
// [Feature.Complete] makes a bound address a host of the network, like the hosts in the
// configuration: the host gets routes, an entry in the source guard of the port, and a neighbor
// entry. Each binding is a record. A controller that starts loads the bindings of the controller
// before it.
//
// The configuration comes first. An address that the configuration gives to a port is never bound
// to another port. If the configuration also has the MAC, the table learns nothing.
package neighbor
