// Package bgpls learns the network by BGP-LS, and lets a device of ours
// advertise itself.
//
// A [Speaker] has BGP sessions with any number of peers. As a collector it
// publishes a [topology.Snapshot] whenever what its peers say changes:
//
//	s, err := bgpls.Start(ctx, bgpls.Config{ASN: 64512, RouterID: id, Collect: true})
//	err = s.AddPeer(ctx, bgpls.Peer{Address: n6, ASN: 64512})
//	snap, changed := s.Topology().Current()
//
// As an originator it advertises the objects of one node with
// [Speaker.Originate].
//
// What a peer said outlives the session: it stays in the snapshots, which are
// marked stale where nobody else says the same, until the peer is back and has
// said everything again (End-of-RIB); only then is what it no longer says
// removed. An object that several peers advertise lives until the last of them
// withdraws it.
//
// The sessions are GoBGP's, and no other package sees its types. GoBGP knows
// too few TLVs, so the octets of UPDATE messages are taken from its BMP output
// and read by package wire. GoBGP resets a session in which an NLRI type occurs
// that it does not know (such as RFC 9857's), and identifies a peer by its
// address alone: two peers must not have the same.
package bgpls
