package bgpls

import (
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// router returns the descriptor of a node in AS 1.
func router(n byte) wire.NodeDescriptor {
	return wire.NodeDescriptor{ASN: 1, IGPRouterID: string([]byte{10, 0, 0, n})}
}

// A link whose descriptor has addresses may have its identifiers in the attribute.
func TestNumberedLink(t *testing.T) {
	const octets = "0102 0008 00000003 00000004 0447 0003 00000A"
	attribute, err := hex.DecodeString(strings.ReplaceAll(octets, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	r := newTestRIB(peerA)
	u := announce(t, wire.NLRI{Type: wire.NLRILink, Protocol: wire.ProtocolISISLevel2,
		Local: router(1), Remote: router(2),
		Link: wire.LinkDescriptor{InterfaceIPv4: netip.MustParseAddr("192.0.2.1"),
			NeighborIPv4: netip.MustParseAddr("192.0.2.2")}}, nil)
	u.Attribute = attribute
	r.update(peerA, u)
	s := r.snapshot()
	if len(s.Links) != 1 || r.stats.UnknownTLVs != 0 {
		t.Fatalf("links %+v, %+v", s.Links, r.stats)
	}
	if l := s.Links[0]; l.ID != "1:10.0.0.1,192.0.2.1~1:10.0.0.2,192.0.2.2" || l.LocalID != 3 ||
		l.RemoteID != 4 || l.LocalPort != 3 || l.RemotePort != 4 || l.IGPMetric != 10 {
		t.Errorf("%+v", l)
	}
	// Identifiers of the descriptor count before those of the attribute.
	u = announce(t, wire.NLRI{Type: wire.NLRILink, Local: router(2), Remote: router(1),
		Link: wire.LinkDescriptor{IDs: wire.LinkIDs{Present: true, Local: 4, Remote: 7}}}, nil)
	u.Attribute = attribute
	r.update(peerA, u)
	if l := r.snapshot().LinksFrom("1:10.0.0.2"); len(l) != 1 || l[0].LocalID != 4 ||
		l[0].RemoteID != 7 {
		t.Errorf("%+v", l)
	}
}

// TestLoopbackOfSeveralRouterIDs: a router may list all its addresses as router-ids. The address
// that the router advertises as its own, by a host prefix with the N-flag, represents the router.
func TestLoopbackOfSeveralRouterIDs(t *testing.T) {
	address := netip.MustParseAddr
	flagged := func(n byte) *wire.Attributes {
		return &wire.Attributes{Prefix: wire.PrefixAttributes{AttributeFlags: []byte{n}}}
	}
	prefix := func(p wire.ProtocolID, text string) wire.NLRI {
		n := wire.NLRI{Type: wire.NLRIPrefix6, Protocol: p, Local: router(1),
			Prefix: wire.PrefixDescriptor{Prefix: netip.MustParsePrefix(text)}}
		if n.Prefix.Prefix.Addr().Is4() {
			n.Type = wire.NLRIPrefix4
		}
		return n
	}
	const isis, ospf = wire.ProtocolISISLevel2, wire.ProtocolOSPFv2
	ids := &wire.Attributes{Node: wire.NodeAttributes{RouterID4: address("192.0.2.1"),
		RouterID6: address("2001:db8::1"), RouterIDs: []netip.Addr{address("192.0.2.2"),
			address("10.0.0.1"), address("fd00::1"), address("2001:db8::2")}}}
	for _, c := range []struct {
		name     string
		prefixes map[*wire.Attributes][]wire.NLRI
		want4    string
		want6    string
	}{
		{"no prefix", nil, "192.0.2.1", "2001:db8::1"},
		{"own prefixes", map[*wire.Attributes][]wire.NLRI{
			flagged(0x20): {prefix(isis, "fd00::1/128"), prefix(isis, "10.0.0.1/32")}}, "10.0.0.1",
			"fd00::1"},
		{"OSPFv2", map[*wire.Attributes][]wire.NLRI{flagged(0x40): {prefix(ospf, "10.0.0.1/32")}},
			"10.0.0.1", "2001:db8::1"},
		{"another flag", map[*wire.Attributes][]wire.NLRI{flagged(0x40): {prefix(isis, "fd00::1/128")},
			flagged(0x20): {prefix(ospf, "10.0.0.1/32")}}, "192.0.2.1", "2001:db8::1"},
		{"no host", map[*wire.Attributes][]wire.NLRI{
			flagged(0x20): {prefix(isis, "fd00::/64"), prefix(isis, "10.0.0.0/24")}}, "192.0.2.1",
			"2001:db8::1"},
		{"another address", map[*wire.Attributes][]wire.NLRI{
			flagged(0x20): {prefix(isis, "fd00::9/128"), prefix(isis, "10.0.0.9/32")}}, "192.0.2.1",
			"2001:db8::1"},
		{"the first is its own too", map[*wire.Attributes][]wire.NLRI{
			flagged(0x20): {prefix(isis, "fd00::1/128"), prefix(isis, "2001:db8::1/128")}}, "192.0.2.1",
			"2001:db8::1"},
	} {
		r := newTestRIB(peerA)
		node := wire.NLRI{Type: wire.NLRINode, Protocol: isis, Local: router(1)}
		r.update(peerA, announce(t, node, ids))
		for a, all := range c.prefixes {
			for _, n := range all {
				r.update(peerA, announce(t, n, a))
			}
		}
		n := r.snapshot().Node("1:10.0.0.1")
		if n == nil || n.RouterID4 != address(c.want4) || n.Loopback != address(c.want6) {
			t.Errorf("%s: %+v, want %s and %s", c.name, n, c.want4, c.want6)
		}
	}
}

// A SID of a node that nobody describes is in no topology, and counted.
func TestUnplacedSID(t *testing.T) {
	r := newTestRIB(peerA, peerB)
	sid := wire.NLRI{Type: wire.NLRISRv6SID, Identifier: 7, Local: router(1),
		SID: netip.MustParseAddr("fc00::1")}
	node := wire.NLRI{Type: wire.NLRINode, Local: router(1)}
	r.update(peerA, announce(t, node, nil))
	r.update(peerA, announce(t, sid, nil))
	if n := r.snapshot().Node("1:10.0.0.1"); n == nil || len(n.SIDs) != 0 {
		t.Errorf("%+v", n)
	}
	if a, b := r.peers[peerA].homeless, r.peers[peerB].homeless; a != 1 || b != 0 {
		t.Errorf("%d and %d unplaced SIDs, want 1 and 0", a, b)
	}
	node.Identifier = 7
	r.update(peerB, announce(t, node, nil))
	if s := r.snapshot(); len(s.Node("1:10.0.0.1@7").SIDs) != 1 || r.peers[peerA].homeless != 0 {
		t.Errorf("%d unplaced SIDs", r.peers[peerA].homeless)
	}
	r.update(peerB, withdraw(t, node))
	r.update(peerA, withdraw(t, sid))
	if r.snapshot(); r.peers[peerA].homeless != 0 {
		t.Errorf("%d unplaced SIDs after it is withdrawn", r.peers[peerA].homeless)
	}
}

// TestPeerNodeAndPeerAdj: a BGP session (PeerNode) and its cable (PeerAdj, RFC 9086) make one link.
func TestPeerNodeAndPeerAdj(t *testing.T) {
	bgp := func(a, b byte, d wire.LinkDescriptor) wire.NLRI {
		return wire.NLRI{Type: wire.NLRILink, Protocol: wire.ProtocolBGP, Local: router(a),
			Remote: router(b), Link: d}
	}
	session := func(a, b byte) wire.NLRI {
		return bgp(a, b, wire.LinkDescriptor{InterfaceIPv4: netip.AddrFrom4([4]byte{192, 0, 2, a}),
			NeighborIPv4: netip.AddrFrom4([4]byte{192, 0, 2, b})})
	}
	cable := bgp(1, 2, wire.LinkDescriptor{IDs: wire.LinkIDs{Present: true, Local: 3, Remote: 4},
		InterfaceIPv4: netip.MustParseAddr("192.0.2.1"), NeighborIPv4: netip.MustParseAddr("192.0.2.2")})
	r := newTestRIB(peerA)
	links := func(what string, want ...topology.LinkID) {
		t.Helper()
		s := r.snapshot()
		var got []topology.LinkID
		for _, l := range s.Links {
			got = append(got, l.ID)
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
	}
	const peering, other, adjacency = "1:10.0.0.1,192.0.2.1~1:10.0.0.2,192.0.2.2",
		"1:10.0.0.2,192.0.2.2~1:10.0.0.3,192.0.2.3", "1:10.0.0.1,3~1:10.0.0.2,4"
	r.update(peerA, announce(t, session(1, 2), nil))
	r.update(peerA, announce(t, session(2, 3), nil))
	links("sessions alone", peering, other)
	r.update(peerA, announce(t, cable, nil))
	links("a cable", adjacency, other)
	r.update(peerA, withdraw(t, cable))
	links("the cable is gone", peering, other)
	r.update(peerA, announce(t, cable, nil))
	r.update(peerA, withdraw(t, session(1, 2)))
	links("the session is gone", adjacency, other)
	r.removePeer(peerA)
	if r.snapshot(); len(r.peerings) != 0 {
		t.Errorf("%d peerings are left", len(r.peerings))
	}
}
