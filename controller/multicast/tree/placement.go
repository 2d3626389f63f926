package tree

import (
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// Placement is a group's tree with everything decided. It is immutable, and is
// kept in the store.
type Placement struct {
	// Group is the group's index.
	Group uint16 `json:"group"`
	// Turn is 0 or 1: the set of tree groups, replica instances and SIDs that the placement uses.
	Turn uint8 `json:"turn"`
	// Epoch of all its nodes and branches.
	Epoch uint32 `json:"epoch"`

	Proxy         netip.Addr        `json:"proxy"`
	DesignatedQPN uint32            `json:"designatedQpn"`
	InitialPSN    uint32            `json:"initialPsn"`
	Mode          api.GroupMode     `json:"mode"`
	Objective     api.TreeObjective `json:"objective"`
	RewriteSource bool              `json:"rewriteSource"`
	BaseVA        uint64            `json:"baseVa,omitempty"`
	CNPWindow     time.Duration     `json:"cnpWindow"`
	CNPLimit      uint32            `json:"cnpLimit"`
	NackHoldoff   time.Duration     `json:"nackHoldoff"`
	Source        PlacedSource      `json:"source"`

	// Cost is the cost of the tree at its computation.
	Cost uint64 `json:"cost"`
	// Nodes has the switch of the source first, and parents before children.
	Nodes []PlacedNode `json:"nodes"`
}

// PlacedSource is the sending queue pair and where it is.
type PlacedSource struct {
	Address  netip.Addr `json:"address"`
	QPN      uint32     `json:"qpn"`
	Ports    []uint32   `json:"ports"` // the one it is reached by first
	Neighbor uint16     `json:"neighbor"`
	// Outer is the IPv6 address that an IPv4 source encapsulates from, in in-band mode.
	Outer netip.Addr `json:"outer,omitzero"`
}

// PlacedNode is a switch of the tree.
type PlacedNode struct {
	Switch  string     `json:"switch"`
	Address netip.Addr `json:"address"` // its loopback
	SID     netip.Addr `json:"sid"`
	// Behavior of the SID.
	Behavior topology.Behavior `json:"behavior,omitempty"`
	// Parent is a place in Nodes, -1 for the first.
	Parent int `json:"parent"`
	// Links lead from the parent to here. More than one: the parent is not
	// adjacent.
	Links []topology.LinkID `json:"links,omitempty"`
	// Upstream is the way to the parent, or to the source.
	UpstreamPort     uint32 `json:"upstreamPort"`
	UpstreamNeighbor uint16 `json:"upstreamNeighbor"`
	// ParentSID is the End.DT6 SID of a non-adjacent parent.
	ParentSID netip.Addr `json:"parentSid,omitzero"`
	// Branches are ordered by index.
	Branches []PlacedBranch `json:"branches"`
}

// PlacedBranch is a child or a receiver.
type PlacedBranch struct {
	Index uint8 `json:"index"`
	// Child is a place in Nodes, 0 for a receiver.
	Child    int             `json:"child,omitempty"`
	Receiver *PlacedReceiver `json:"receiver,omitempty"`
	// Port leads to the child or receiver, by Neighbor.
	Port     uint32 `json:"port"`
	Neighbor uint16 `json:"neighbor"`
	// Ingress are the ports on which it may answer, ascending.
	Ingress []uint32 `json:"ingress"`
}

// PlacedReceiver is a receiving queue pair.
type PlacedReceiver struct {
	Address  netip.Addr `json:"address"`
	QPN      uint32     `json:"qpn"`
	StartPSN uint32     `json:"startPsn"`
	StartMSN uint32     `json:"startMsn,omitempty"`
	// PSNOffset is added to the PSN of each packet to the receiver, modulo 2^24.
	PSNOffset uint32  `json:"psnOffset,omitempty"`
	VA        *uint64 `json:"va,omitempty"`
	RKey      uint32  `json:"rkey,omitempty"`
}

// Node returns the node that is a switch, or nil.
func (p *Placement) Node(sw string) *PlacedNode {
	if p == nil {
		return nil
	}
	for i := range p.Nodes {
		if p.Nodes[i].Switch == sw {
			return &p.Nodes[i]
		}
	}
	return nil
}

// HasChildren reports whether the node replicates to other nodes.
func (n *PlacedNode) HasChildren() bool {
	return slices.ContainsFunc(n.Branches, func(b PlacedBranch) bool { return b.Receiver == nil })
}

// HasReceivers reports whether the node is an edge.
func (n *PlacedNode) HasReceivers() bool {
	return slices.ContainsFunc(n.Branches, func(b PlacedBranch) bool { return b.Receiver != nil })
}

// LiveMask has a bit for each branch.
func (n *PlacedNode) LiveMask() (mask uint32) {
	for _, b := range n.Branches {
		mask |= 1 << b.Index
	}
	return mask
}

// Depths returns the distance of each node from the first.
func (p *Placement) Depths() []int {
	out := make([]int, len(p.Nodes))
	for i := 1; i < len(p.Nodes); i++ {
		out[i] = out[p.Nodes[i].Parent] + 1
	}
	return out
}

// FindReceiver returns the node and branch of a receiver.
func (p *Placement) FindReceiver(a netip.Addr) (*PlacedNode, *PlacedBranch) {
	if p == nil {
		return nil, nil
	}
	for i := range p.Nodes {
		for j := range p.Nodes[i].Branches {
			if r := p.Nodes[i].Branches[j].Receiver; r != nil && r.Address == a {
				return &p.Nodes[i], &p.Nodes[i].Branches[j]
			}
		}
	}
	return nil, nil
}

// Switches returns the switches of the tree, in its order.
func (p *Placement) Switches() []string {
	if p == nil {
		return nil
	}
	out := make([]string, len(p.Nodes))
	for i := range p.Nodes {
		out[i] = p.Nodes[i].Switch
	}
	return out
}

// Tree returns the placement as clients see it.
func (p *Placement) Tree() *api.GroupTree {
	if p == nil || !p.Source.Address.IsValid() {
		return nil
	}
	t := &api.GroupTree{Root: p.Nodes[0].Switch, SID: p.Nodes[0].SID, Cost: p.Cost}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		node := api.TreeNode{
			Switch: n.Switch, Address: n.Address, SID: n.SID, Behavior: "End.MT",
			BehaviorCode: uint16(n.Behavior), Upstream: n.UpstreamPort, TunnelledTo: n.ParentSID,
			Branches: make([]api.TreeBranch, 0, len(n.Branches)),
		}
		if n.HasChildren() {
			node.Behavior = "End.Replicate"
		}
		if n.Parent >= 0 {
			node.Parent = p.Nodes[n.Parent].Switch
		}
		for _, b := range n.Branches {
			tb := api.TreeBranch{Index: b.Index, Port: b.Port}
			if r := b.Receiver; r != nil {
				tb.Receiver, tb.QPN = r.Address, r.QPN
			} else {
				tb.Child = p.Nodes[b.Child].Switch
			}
			node.Branches = append(node.Branches, tb)
		}
		t.Nodes = append(t.Nodes, node)
	}
	return t
}

// sameEpoch reports whether p may keep the epoch of q: nothing differs but that
// branches or nodes may be missing, and but for what no response depends on.
func (p *Placement) sameEpoch(q *Placement) bool {
	if p.Proxy != q.Proxy || p.DesignatedQPN != q.DesignatedQPN || p.InitialPSN != q.InitialPSN ||
		p.Mode != q.Mode ||
		p.Objective != q.Objective || !p.Source.equal(&q.Source) {
		return false
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		o := q.Node(n.Switch)
		if o == nil || !p.sameNode(n, q, o) {
			return false
		}
	}
	return true
}

func (s *PlacedSource) equal(o *PlacedSource) bool {
	return s.Address == o.Address && s.QPN == o.QPN && s.Neighbor == o.Neighbor &&
		slices.Equal(s.Ports, o.Ports)
}

func (p *Placement) sameNode(n *PlacedNode, q *Placement, o *PlacedNode) bool {
	if n.Address != o.Address || n.SID != o.SID || n.ParentSID != o.ParentSID ||
		(n.Parent < 0) != (o.Parent < 0) ||
		n.UpstreamPort != o.UpstreamPort || n.UpstreamNeighbor != o.UpstreamNeighbor ||
		!slices.Equal(n.Links, o.Links) {
		return false
	}
	if n.Parent >= 0 && p.Nodes[n.Parent].Switch != q.Nodes[o.Parent].Switch {
		return false
	}
	for _, b := range n.Branches {
		i := slices.IndexFunc(o.Branches, func(c PlacedBranch) bool { return c.Index == b.Index })
		if i < 0 || !p.sameBranch(&b, q, &o.Branches[i]) {
			return false
		}
	}
	return true
}

func (p *Placement) sameBranch(b *PlacedBranch, q *Placement, c *PlacedBranch) bool {
	if b.Port != c.Port || b.Neighbor != c.Neighbor || !slices.Equal(b.Ingress, c.Ingress) ||
		(b.Receiver == nil) != (c.Receiver == nil) {
		return false
	}
	if b.Receiver == nil {
		return p.Nodes[b.Child].Switch == q.Nodes[c.Child].Switch
	}
	r, s := b.Receiver, c.Receiver
	return r.Address == s.Address && r.QPN == s.QPN && r.StartPSN == s.StartPSN &&
		r.StartMSN == s.StartMSN && r.PSNOffset == s.PSNOffset
}
