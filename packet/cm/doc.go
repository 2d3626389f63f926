// Package cm holds the messages by which hosts connect queue pairs: those of the InfiniBand
// Communication Manager (IBTA Architecture Specification, volume 1, chapter 12), as RoCEv2 carries
// them, with the private data of the RDMA IP CM service (annex A11) and that of Weft's groups.
//
// A Frame is a whole packet: Ethernet, IPv6, UDP, BTH, DETH, a management datagram (MAD) of 256
// octets, ICRC. Offsets in messages are from the end of the MAD's header of 24 octets, as in IBTA's
// tables. Fields of end-to-end contexts (RD) and of alternate paths are written as zero and not
// kept: Weft refuses both.
//
// Like package packet, package cm accepts well-formed values without meaning, and makes no
// decisions.
package cm
