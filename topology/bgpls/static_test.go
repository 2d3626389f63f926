package bgpls

import (
	"net/netip"
	"testing"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// TestStaticSIDsOfBGPNodes: in a fabric of BGP alone, nodes are of protocol BGP, and SIDs that are
// configured, as FRR 10.7 advertises them, of protocol static. Both name a node by its BGP
// router-id (RFC 9086), and are one, whichever comes first.
func TestStaticSIDsOfBGPNodes(t *testing.T) {
	router := netip.MustParseAddr("192.0.2.7")
	descriptor := wire.NodeDescriptor{ASN: 65007, BGPRouterID: router}
	node := wire.NLRI{Type: wire.NLRINode, Protocol: wire.ProtocolBGP, Identifier: 3,
		Local: descriptor}
	sids := make(map[netip.Addr]topology.Behavior)
	var updates []*wire.Update
	for address, behavior := range map[string]uint16{"5f00:0:7::": 43, "5f00:0:e001::": 52} {
		sid := wire.NLRI{Type: wire.NLRISRv6SID, Protocol: wire.ProtocolStatic, Identifier: 3,
			Local: descriptor, SID: netip.MustParseAddr(address)}
		sids[sid.SID] = topology.Behavior(behavior)
		updates = append(updates, announce(t, sid, &wire.Attributes{SID: wire.SIDAttributes{
			Behavior: &wire.EndpointBehavior{Behavior: behavior}}}))
	}
	for name, nodeAt := range map[string]int{"node first": 0, "SIDs first": len(updates)} {
		r := newTestRIB(peerA)
		for i := range len(updates) + 1 {
			if i == nodeAt {
				r.update(peerA, announce(t, node, nil))
			}
			if i < len(updates) {
				r.update(peerA, updates[i])
			}
		}
		s := r.snapshot()
		if len(s.Nodes) != 1 || s.Nodes[0].Protocol != wire.ProtocolBGP.String() {
			t.Fatalf("%s: %d nodes", name, len(s.Nodes))
		}
		got := make(map[netip.Addr]topology.Behavior)
		for _, sid := range s.Nodes[0].SIDs {
			got[sid.Address] = sid.Behavior
		}
		for a, b := range sids {
			if got[a] != b {
				t.Errorf("%s: the node has SIDs %v, want %v", name, got, sids)
			}
		}
	}
}
