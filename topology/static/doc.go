// Package static is a topology that people write down: nodes with their addresses
// and locators, and the links between them, in a file or in a request of the API.
// The package derives the SRv6 SIDs of each node, so a description stays short.
//
// A description becomes what a node advertises ([Topology.Of]) or a whole snapshot
// ([Topology.Snapshot]). The package does not send anything: bgpls does.
package static
