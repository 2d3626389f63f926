// Package discovery finds links by LLDP (IEEE 802.1AB), and compares cables with the topology and
// the configuration.
//
// Each switch sends one frame an interval out of each port that does not face a host, by
// packet-out; the switch at the other end hands it to the controller by packet-in. A link is
// gone when its frames are missed several times in a row while both switches are connected: a
// switch that the controller cannot reach keeps its links.
//
// A frame proves a cable only because nobody except the controller can make the frame. The frame
// ends in a digest under a key that the controller draws at random at the start, and in a number
// that counts only once. A host can therefore neither forge nor repeat a frame. Frames that arrive
// at a host port make no link, and the controller sends no frames out of host ports, so a host has
// no frame to relay.
//
// The feature makes two sources of the topology (see [topology.Merge]): links from other sources,
// which LLDP only confirms, and links that only LLDP knows. A link that BGP-LS has withdrawn stays
// down even while the cable works, because BGP-LS may have a reason.
package discovery
