// Package bgpls learns the network by BGP-LS, and lets a device of ours
// advertise itself.
//
// A [Speaker] has BGP sessions with any number of peers. As a collector it
// publishes a [topology.Snapshot] whenever what its peers report changes:
//
//	s, err := bgpls.Start(ctx, bgpls.Config{ASN: 64512, RouterID: id, Collect: true})
//	err = s.AddPeer(ctx, bgpls.Peer{Address: n6, ASN: 64512})
//	snap, changed := s.Topology().Current()
//
// As an originator, a Speaker advertises the objects of one node with [Speaker.Originate].
//
// A peer's objects outlive the session: they stay in the snapshots until the peer has returned and
// sent everything again (End-of-RIB); the snapshots are marked stale unless another peer advertises
// the same objects. Only then does the collector remove the missing objects. An object from several
// peers lives until the last peer withdraws it.
//
// The sessions are kept by GoBGP, and no other package sees its types. It does
// so behind a relay: the connections to the peers are made and accepted here,
// and joined message by message to connections to GoBGP on the loopback
// interface, on which each peer has an address of 127.83.0.0/16 (so the host
// must have the whole of 127.0.0.0/8, as Linux does). UPDATE messages of peers
// are taken out on the way and read by package wire. GoBGP would drop most SRv6
// TLVs, give a session up over an NLRI type it does not know (RFC 9552 section
// 5.1 has us skip it), and hands received octets out only by ways on which its
// goroutines race.
package bgpls
