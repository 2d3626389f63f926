// Package afpacket gives a port of a switch, or of a software host, the frames
// of a network interface of this machine, by a raw packet socket (Linux's
// packet(7)). A [Port] is a live.Port.
//
// The interface takes frames to every address while a port is open. Frames
// carry their VLAN tags and no frame check sequence. The port completes a checksum
// that a local sender left to its interface. The port drops and counts a segment
// that a local sender left to be cut (TSO, GSO), or that this interface joined
// (GRO): turn these off with ethtool. The kernel still sees arriving frames: keep
// addresses off the interface.
//
// Frames arrive through a ring shared with the kernel, many at a time. A goroutine of
// the port delivers them ([Open]), or the port's owner asks for them ([OpenPolled]), as
// a switch does. The port uses a TPACKET_V2 ring: a version 3 ring hands over blocks,
// and on a quiet link each block waits for a timer of milliseconds. Frames leave by
// sendmmsg, through the interface's queueing discipline, because the discipline
// emulates slow links (tc). They leave on a separate socket that no thread waits for; a
// transmission ring would lend its slots to the receivers of the frames, for as long as
// the receivers keep the frames.
//
// A port belongs to the name of an interface, or to an IP address on it, not to the interface
// itself. When the interface goes down or away, the link is down. When an interface with the name
// or the address is back, the port uses it. Container tools rename an interface when they connect
// it again.
//
// Opening a port takes the capability CAP_NET_RAW.
package afpacket
