// Package afpacket gives a port of a switch, or of a software host, the frames
// of a network interface of this machine, by a raw packet socket (Linux's
// packet(7)). A [Port] is a live.Port.
//
// The interface takes frames to every address while a port is open. Frames
// carry their VLAN tags and no frame check sequence. A checksum that a local
// sender left to its interface is completed; a segment that it left to be cut
// (TSO, GSO), or that this interface joined (GRO), is dropped and counted:
// turn these off with ethtool. The kernel still sees what arrives: keep
// addresses off the interface.
//
// Frames arrive through a ring that is shared with the kernel, many at a time:
// delivered by a goroutine of the port ([Open]), or when their owner asks for them
// ([OpenPolled]), as a switch does. It is a TPACKET_V2 ring: one of version 3 hands
// over blocks, which a quiet link fills only when a timer of milliseconds runs out.
// Frames leave by sendmmsg, through the interface's queueing discipline, since that
// is what emulates slow links (tc), on a socket of their own that no thread waits
// for; a ring for transmission would lend its slots to whoever gets the frames, for
// as long as they keep them.
//
// A port belongs to the name of an interface, or to an IP address that it has, not to the
// interface: when that goes down or away the link is down, and when one with the name or the
// address is there again the port is on it. Container tools give an interface another name when
// they connect it again.
//
// Opening a port takes the capability CAP_NET_RAW.
package afpacket
