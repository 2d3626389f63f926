// Package discovery finds links by LLDP (IEEE 802.1AB), and compares cables with what the
// topology and the configuration say of them.
//
// Each switch sends one frame an interval out of each port that does not face a host, by
// packet-out; the switch at the other end hands it to the controller by packet-in. A link is
// gone when its frames are missed several times in a row while both switches are connected: a
// switch that the controller cannot reach keeps its links.
//
// A frame proves a cable only because no one else can make it: it ends in a digest under a key
// that the controller draws at random when it starts, and in a number that counts once. A host
// can therefore neither forge a frame nor repeat one. Frames that arrive at a port of a host
// make no link, nor does the controller send any there: so a host has no frame to relay.
//
// The feature makes two sources of the topology (see [topology.Merge]): links that others know
// too, which it only confirms, and links that only LLDP knows. A link that BGP-LS has withdrawn
// stays down, also while its cable works: BGP-LS may have a reason.
package discovery
