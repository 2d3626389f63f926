package bgpls

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// TestStaticSIDsOfBGPNodes: in a fabric with BGP alone, nodes have protocol BGP, and configured
// SIDs, as FRR 10.7 advertises them, have protocol static. Both name a node by its BGP router-id
// (RFC 9086), and mean the same node, whichever comes first.
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

// TestUnnumberedSIDs: FRR 10.7 names the node of a static SID by its BGP router-id alone, and the
// node itself by autonomous system and router-id. The SID belongs to that node, whichever comes
// first; the SID belongs to no node while two nodes match, or if the peer may not describe the
// node.
func TestUnnumberedSIDs(t *testing.T) {
	router := netip.MustParseAddr("192.0.2.7")
	node := func(asn uint32) wire.NLRI {
		return wire.NLRI{Type: wire.NLRINode, Protocol: wire.ProtocolBGP,
			Local: wire.NodeDescriptor{ASN: asn, BGPRouterID: router}}
	}
	uN := netip.MustParseAddr("5f00:0:7::")
	sid := wire.NLRI{Type: wire.NLRISRv6SID, Protocol: wire.ProtocolStatic, SID: uN,
		Local: wire.NodeDescriptor{BGPRouterID: router}}
	behavior := func(b uint16) *wire.Attributes {
		return &wire.Attributes{SID: wire.SIDAttributes{
			Behavior:  &wire.EndpointBehavior{Behavior: b},
			Structure: &wire.SIDStructure{Block: 32, Node: 16}}}
	}
	sids := func(r *rib) (out []topology.Behavior) {
		for _, n := range r.snapshot().Nodes {
			for _, s := range n.SIDs {
				out = append(out, s.Behavior)
			}
		}
		return out
	}
	is := func(r *rib, what string, want ...topology.Behavior) {
		t.Helper()
		if got := sids(r); !slices.Equal(got, want) {
			t.Errorf("%s: SIDs of behaviors %v, want %v", what, got, want)
		}
	}

	r := newTestRIB(peerA)
	r.update(peerA, announce(t, sid, behavior(43)))
	is(r, "without a node")
	r.update(peerA, announce(t, node(65007), nil))
	is(r, "with its node", 43)
	if n := r.snapshot().Nodes; len(n) != 1 || n[0].ASN != 65007 || n[0].SIDs[0].Address != uN {
		t.Errorf("%+v", n)
	}
	r.update(peerA, announce(t, sid, behavior(52)))
	is(r, "changed", 52)
	r.update(peerA, announce(t, node(65008), nil))
	is(r, "two nodes have the router-id")
	r.update(peerA, withdraw(t, node(65008)))
	is(r, "one node again", 52)
	r.update(peerA, withdraw(t, sid))
	is(r, "withdrawn")
	r.update(peerA, announce(t, sid, behavior(43)))
	is(r, "back", 43)
	r.update(peerA, withdraw(t, node(65007)))
	is(r, "its node is gone")
	r.update(peerA, announce(t, node(65007), nil))
	is(r, "its node is back", 43)
	r.update(peerA, announce(t, node(0), nil))
	is(r, "a node without an autonomous system has it", 43)

	for _, c := range []struct {
		scope string
		want  []topology.Behavior
	}{{"65007:*", []topology.Behavior{43}}, {"65007:192.0.2.7", []topology.Behavior{43}},
		{"192.0.2.0/24", []topology.Behavior{43}}, {"65008:*", nil}, {"192.0.2.8", nil}} {
		scope, err := topology.ParseScope([]string{c.scope})
		if err != nil {
			t.Fatal(err)
		}
		r := newTestRIB(peerA)
		r.addPeer(peerB, scope, Limits{}, time.Time{})
		r.peerUp(peerB, time.Time{})
		r.update(peerA, announce(t, node(65007), nil))
		r.update(peerB, announce(t, sid, behavior(43)))
		is(r, "from a peer of scope "+c.scope, c.want...)
	}
}
