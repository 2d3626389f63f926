// Package node describes a switch in the network, for targets without a P4 program: its locator and
// local SIDs, its routes, ports, classes of traffic, queues, trimming and marks.
//
//	m := node.Of(node.Fabric{Network: net, Assignment: a}, sw, settings)
//
// It is derived from what features plan on, the topology matched with the inventory, the EV
// assignment and the configuration of MRC, and names no table: how a system holds it is for the
// system's own package to know (southbound/target/). It is a function of its inputs, without I/O.
//
// A fabric of SRv6 needs no routing protocol: a packet names its switches, and a switch only its
// neighbors. So in the SRv6 modes a model has routes to the uNs of neighbors and to the hosts of
// the switch, and no others. Elsewhere it has those to all destinations.
package node
