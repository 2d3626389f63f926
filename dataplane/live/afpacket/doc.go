// Package afpacket gives a port of a switch, or of a software host, the frames
// of a network interface of this machine, by a raw packet socket (Linux's
// packet(7)). A [Port] is a live.Port.
//
// The interface takes frames to every address while a port is open. Frames
// carry their VLAN tags, no frame check sequence, and whatever checksums the
// sender left in them: a local sender's must be complete, so turn off transmit
// checksum offload on the far end of a veth that the kernel itself sends on.
// The kernel still sees what arrives: keep addresses off the interface.
//
// Opening a port takes the capability CAP_NET_RAW.
package afpacket
