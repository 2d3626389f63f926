package tree

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/topology"
)

// Request defines which group to place.
type Request struct {
	Name  string
	Group uint16 // index
	// Spec is complete and valid.
	Spec *api.MulticastGroupSpec
	// Without lists the receivers of the spec to leave out of the tree.
	Without map[netip.Addr]bool
	// Previous is the placement to stay close to; nil for a new group.
	Previous *Placement
	// Reset asks for a new epoch whatever changes.
	Reset bool
	// Epoch and Turn apply to the placement if the placement cannot keep the epoch and turn of
	// Previous.
	Epoch uint32
	Turn  uint8
}

// Place decides the placement of a group. It keeps the tree of the previous
// placement while that works, each branch keeps its index, and the epoch and
// turn stay when nothing but removals make a difference. Errors are
// *api.Error.
func Place(n *plan.Network, r Request) (*Placement, error) {
	w := placeWork{n: n, r: &r}
	if err := w.edges(); err != nil {
		return nil, err
	}
	if !w.reuse() {
		if err := w.compute(); err != nil {
			return nil, err
		}
	}
	if r.Previous != nil {
		p, err := w.build(r.Previous.Epoch, r.Previous.Turn)
		if err != nil {
			return nil, err
		}
		if p.sameEpoch(r.Previous) {
			if r.Reset {
				p.Epoch = r.Epoch // what carries data is as good as it was
			}
			return p, nil
		}
	}
	return w.build(r.Epoch, r.Turn)
}

// A Result is what [Place] returns for a request.
type Result struct {
	Placement *Placement
	Err       error
}

// PlaceAll places several groups, on all processors. The results are in the order of the requests,
// and depend only on the requests and the network.
func PlaceAll(n *plan.Network, requests []Request) []Result {
	out := make([]Result, len(requests))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range requests {
		group.Go(func() error {
			out[i].Placement, out[i].Err = Place(n, requests[i])
			return nil
		})
	}
	_ = group.Wait() // each result has its own error
	return out
}

type placeWork struct {
	n *plan.Network
	r *Request

	root      *inventory.Switch
	source    *plan.Located
	receivers map[string][]int // by switch: places in Spec.Receivers
	leaves    []string         // switches of receivers, in order of the spec

	tree []skeleton
	cost uint64
}

// skeleton is a node of a tree before it is filled in.
type skeleton struct {
	sw     *inventory.Switch
	node   *topology.Node
	parent int
	links  []*topology.Link
	back   *topology.Link // the other direction of the only link
}

func notPlannable(field, value, format string, args ...any) *api.Error {
	return &api.Error{Code: api.CodeNotPlannable, Fields: []api.FieldError{{
		Field: field, Code: api.CodeNotPlannable, Value: value, Want: fmt.Sprintf(format, args...),
	}}}
}

// attach returns the host with an address, if its switch can be part of a tree.
func (w *placeWork) attach(field func() string, a netip.Addr) (*plan.Located, error) {
	h := w.n.Host(a)
	switch {
	case h == nil:
		return nil, notPlannable(field(), a.String(), "the address of a host of the inventory")
	case h.At == nil || !h.At.Managed():
		return nil, notPlannable(field(), a.String(),
			"a host behind a switch that the controller programs; %s is behind %q", h.Name, h.Switch)
	case !h.At.RunsP4():
		return nil, notPlannable(field(), a.String(),
			"a host behind a switch that runs the P4 program; %s is behind %s, which runs %v: reliable "+
				"multicast: only the P4 program does it", h.Name, h.Switch, h.At.System)
	case h.Node == nil:
		return nil, &api.Error{Code: api.CodeUnreachable, Fields: []api.FieldError{{
			Field: field(), Code: api.CodeUnreachable, Value: a.String(),
			Want: fmt.Sprintf("a host that can be reached; the topology does not have %s, which %s is "+
				"behind", h.Switch, h.Name),
		}}}
	case !w.replicates(h.Node):
		return nil, notPlannable(field(), a.String(),
			"a host behind a switch with an IPv6 loopback and an SRv6 locator; %s, which %s is behind, "+
				"lacks one", h.Switch, h.Name)
	}
	return h, nil
}

// replicates reports whether a node can be part of a tree.
func (w *placeWork) replicates(node *topology.Node) bool {
	return w.n.Replicators()[w.n.Snapshot.NodePlace(node.ID)]
}

// edges finds the switches of the source and of the receivers.
func (w *placeWork) edges() error {
	spec := w.r.Spec
	var err error
	if !spec.Source.Address.IsValid() {
		err = w.standIn()
	} else if w.source, err = w.attach(func() string { return "spec.source.address" },
		spec.Source.Address); err == nil {
		w.root = w.source.At
	}
	if err != nil {
		return err
	}
	if spec.Mode == api.ModeInband && !w.source.IPv6().IsValid() {
		return notPlannable("spec.source.address", spec.Source.Address.String(),
			"a host with an IPv6 address, which a source in in-band mode encapsulates from; %s has none",
			w.source.Name)
	}
	w.receivers = make(map[string][]int, len(spec.Receivers))
	var fields []api.FieldError
	for i := range spec.Receivers {
		a := spec.Receivers[i].Address
		if w.r.Without[a] {
			continue
		}
		field := func() string { return fmt.Sprintf("spec.receivers[%d].address", i) }
		h, err := w.attach(field, a)
		var refused *api.Error
		if errors.As(err, &refused) {
			fields = append(fields, refused.Fields...)
			continue
		}
		here := append(w.receivers[h.Switch], i)
		if len(here) == 1 {
			w.leaves = append(w.leaves, h.Switch)
		}
		w.receivers[h.Switch] = here
		if most := w.n.Inventory.Limits.ReceiversPerEdge; len(here) == most+1 {
			fields = append(fields, api.FieldError{
				Field: field(), Code: api.CodeLimit, Value: a.String(), Limit: api.Limit(most),
				Want: fmt.Sprintf("at most %d receivers of a group behind one switch; %s has more", most,
					h.Switch),
			})
		}
	}
	if len(fields) == 0 && spec.Mode == api.ModeInband {
		fields = w.srh()
	}
	return api.Refuse(fields)
}

// standIn takes any switch as the switch of a source that has not connected yet: the controller
// writes no entities for a tree without a source.
func (w *placeWork) standIn() error {
	w.source = &plan.Located{Host: &inventory.Host{}}
	inv := w.n.Inventory
	for i := range inv.Switches {
		sw := &inv.Switches[i]
		node := w.n.Node(sw.Name)
		if node == nil || !sw.Managed() || !sw.RunsP4() || !w.replicates(node) {
			continue
		}
		if p := w.r.Previous; w.root == nil || p != nil && p.Nodes[0].Switch == sw.Name {
			w.root = sw
		}
	}
	if w.root == nil {
		return &api.Error{Code: api.CodeNotPlannable,
			Message: "no switch of the topology can be part of a tree"}
	}
	return nil
}

// srh checks that the End.MT TLVs fit an SRH.
func (w *placeWork) srh() []api.FieldError {
	edges := make([]int, 0, len(w.leaves))
	for _, sw := range w.leaves {
		edges = append(edges, len(w.receivers[sw]))
	}
	size, most := api.SRHSize(edges), w.n.Inventory.Limits.SRHOctets
	if size <= most {
		return nil
	}
	return []api.FieldError{{
		Field: "spec.receivers", Code: api.CodeLimit,
		Value: fmt.Sprintf("%d receivers behind %d switches", len(w.r.Spec.Receivers), len(edges)),
		Want: fmt.Sprintf("receivers whose End.MT TLVs fit an SRH in in-band mode; these need %d octets",
			size), Limit: api.Limit(most),
	}}
}

// usable returns a link of the present topology and its other direction, or nil
// where the link cannot carry a branch.
func (w *placeWork) usable(id topology.LinkID) (l, back *topology.Link) {
	if l = w.n.Snapshot.Link(id); l == nil || !w.n.P4Graph().Usable(l) {
		return nil, nil
	}
	return l, w.n.P4Graph().Reverse(l)
}

// reuse takes over the previous tree, without what is no longer needed, if it
// reaches every edge over links that still work.
func (w *placeWork) reuse() bool {
	prev := w.r.Previous
	if prev == nil || prev.Nodes[0].Switch != w.root.Name || prev.Objective != w.r.Spec.Objective {
		return false
	}
	needed := make([]bool, len(prev.Nodes))
	needed[0] = true
	found := 0
	for i := range prev.Nodes {
		if len(w.receivers[prev.Nodes[i].Switch]) == 0 {
			continue
		}
		found++
		for at := i; at >= 0 && !needed[at]; at = prev.Nodes[at].Parent {
			needed[at] = true
		}
	}
	if found != len(w.leaves) {
		return false
	}
	place := make([]int, len(prev.Nodes))
	tree := make([]skeleton, 0, len(prev.Nodes))
	children := make([]int, len(prev.Nodes))
	for i := range prev.Nodes {
		if !needed[i] {
			continue
		}
		old := &prev.Nodes[i]
		s := skeleton{sw: w.n.Switch(old.Switch), node: w.n.Node(old.Switch), parent: -1}
		if s.sw == nil || s.node == nil || !w.replicates(s.node) {
			return false
		}
		if i > 0 {
			s.parent = place[old.Parent]
			children[s.parent]++
			for _, id := range old.Links {
				l, back := w.usable(id)
				if l == nil {
					return false
				}
				s.links, s.back = append(s.links, l), back
			}
			if s.links[0].Local != tree[s.parent].node.ID || s.links[len(s.links)-1].Remote != s.node.ID {
				return false
			}
		}
		place[i] = len(tree)
		tree = append(tree, s)
	}
	for i, s := range tree {
		if children[i]+len(w.receivers[s.sw.Name]) > w.n.Inventory.Limits.Branches {
			return false
		}
	}
	w.tree, w.cost = tree, prev.Cost
	return true
}

// metric returns what the tree of an objective is measured by.
func metric(o api.TreeObjective) (topology.Metric, topology.Objective) {
	if o == api.ObjectiveCost {
		return topology.MetricIGP, topology.LeastCost
	}
	return topology.MetricDelay, topology.ShortestPaths
}

// compute computes the tree anew.
func (w *placeWork) compute() error {
	n := w.n
	m, objective := metric(w.r.Spec.Objective)
	most := n.Inventory.Limits.Branches
	branches := slices.Repeat([]int32{int32(most)}, len(n.Snapshot.Nodes))
	leaves := make([]topology.NodeID, len(w.leaves))
	for i, sw := range w.leaves {
		leaves[i] = n.Node(sw).ID
		branches[n.Snapshot.NodePlace(leaves[i])] -= int32(len(w.receivers[sw]))
	}
	tree, err := n.P4Graph().Tree(topology.TreeRequest{
		Root: n.Node(w.root.Name).ID, Leaves: leaves, Metric: m, Objective: objective,
		Key:        topology.KeyOf(w.r.Name),
		Replicates: n.Replicators(), Branches: branches,
	})
	if err != nil {
		return w.treeError(err, m)
	}
	w.cost = tree.Cost
	w.tree = make([]skeleton, len(tree.Nodes))
	for i, t := range tree.Nodes {
		name, _ := n.SwitchOf(t.Node.ID)
		w.tree[i] = skeleton{sw: n.Switch(name), node: t.Node, parent: t.Parent, links: t.Branch}
		if len(t.Back) == 1 {
			w.tree[i].back = t.Back[0]
		}
	}
	if r := &tree.Nodes[0]; len(r.Children)+len(w.receivers[w.root.Name]) > most {
		return w.treeError(fmt.Errorf("%w: %s", topology.ErrBranchLimit, w.root.Name), m)
	}
	return nil
}

// around names what a path of a group must not cross.
func (w *placeWork) around() string {
	for i := range w.n.Inventory.Switches {
		if sw := &w.n.Inventory.Switches[i]; sw.WithoutP4() {
			return fmt.Sprintf(" over switches that run the P4 program (%s runs %v)", sw.Name, sw.System)
		}
	}
	return ""
}

// treeError reports which receivers a tree cannot reach.
func (w *placeWork) treeError(err error, m topology.Metric) error {
	n := w.n
	var fields []api.FieldError
	if paths, ok := n.P4Graph().From(n.Node(w.root.Name).ID, m); ok &&
		errors.Is(err, topology.ErrUnreachable) {
		for i := range w.r.Spec.Receivers {
			a := w.r.Spec.Receivers[i].Address
			h := n.Host(a)
			if w.r.Without[a] {
				continue
			}
			if _, ok := paths.Distance(n.Node(h.Switch).ID); !ok {
				fields = append(fields, api.FieldError{
					Field: fmt.Sprintf("spec.receivers[%d].address", i), Code: api.CodeUnreachable,
					Value: a.String(),
					Want: fmt.Sprintf("a host that can be reached; no path leads from %s to %s%s", w.root.Name,
						h.Switch, w.around()),
				})
			}
		}
	}
	if len(fields) > 0 {
		return api.Refuse(fields)
	}
	if errors.Is(err, topology.ErrBranchLimit) {
		most := n.Inventory.Limits.Branches
		return api.Refuse([]api.FieldError{{
			Field: "spec.receivers", Code: api.CodeLimit,
			Value: fmt.Sprintf("%d receivers behind %d switches", len(w.r.Spec.Receivers), len(w.leaves)),
			Want: fmt.Sprintf("receivers that a tree can reach with at most %d branches, children and "+
				"receivers together, at each switch (%v)", most, err), Limit: api.Limit(most),
		}})
	}
	return &api.Error{Code: api.CodeNotPlannable, Message: fmt.Sprintf("no tree can be made: %v", err)}
}

// build fills the tree in.
func (w *placeWork) build(epoch uint32, turn uint8) (*Placement, error) {
	spec := w.r.Spec
	hop := w.source.Hop
	p := &Placement{
		Group: w.r.Group, Turn: turn, Epoch: epoch,
		Proxy: spec.ProxyAddress, DesignatedQPN: spec.DesignatedQPN, InitialPSN: spec.InitialPSN,
		Mode: spec.Mode, Objective: spec.Objective,
		RewriteSource: spec.RewritesSource(), BaseVA: spec.BaseVA, CNPWindow: spec.CNPWindow.D(),
		CNPLimit:    spec.CNPLimit,
		NackHoldoff: cmp.Or(spec.NackHoldoff.D(), w.roundTrip()),
		Source: PlacedSource{Address: spec.Source.Address, QPN: spec.Source.QPN,
			Ports: slices.Clone(w.source.AllPorts()), Neighbor: hop.Neighbor},
		Cost: w.cost, Nodes: make([]PlacedNode, len(w.tree)),
	}
	if p.Mode == api.ModeInband && spec.Source.Address.Is4() {
		p.Source.Outer = w.source.IPv6()
	}
	for i, s := range w.tree {
		node := &p.Nodes[i]
		*node = PlacedNode{Switch: s.sw.Name, Address: s.node.Loopback, Parent: s.parent,
			UpstreamPort: hop.Port, UpstreamNeighbor: hop.Neighbor}
		sidTurn := uint32(0)
		if s.parent >= 0 {
			sidTurn = 1 + uint32(turn)
		}
		var err error
		if node.SID, err = plan.TreeSID(s.node, w.n.Inventory.SIDs.FunctionBase, p.Group,
			sidTurn); err != nil {
			return nil, &api.Error{Code: api.CodeNotPlannable, Message: err.Error()}
		}
		var branch PlacedBranch
		if s.parent >= 0 {
			if branch, err = w.connect(p, i); err != nil {
				return nil, err
			}
			parent := &p.Nodes[s.parent]
			parent.Branches = append(parent.Branches, branch)
		}
	}
	for i := range p.Nodes {
		node := &p.Nodes[i]
		for _, r := range w.receivers[node.Switch] {
			node.Branches = append(node.Branches, w.receiver(&spec.Receivers[r]))
		}
		w.number(p, node)
		node.Behavior = topology.Behavior(w.n.Inventory.SIDs.EndMT)
		if node.HasChildren() {
			node.Behavior = topology.BehaviorEndReplicate
		}
	}
	return p, nil
}

// connect joins a node to its parent, and returns the parent's branch.
func (w *placeWork) connect(p *Placement, at int) (PlacedBranch, error) {
	s := &w.tree[at]
	node, up := &p.Nodes[at], &w.tree[s.parent]
	b := PlacedBranch{Child: at}
	node.Links = make([]topology.LinkID, len(s.links))
	for i, l := range s.links {
		node.Links[i] = l.ID
	}
	if len(s.links) == 1 {
		down, ok1 := plan.HopTo(up.sw, s.links[0], s.sw)
		back, ok2 := plan.HopTo(s.sw, s.back, up.sw)
		if !ok1 || !ok2 {
			return b, &api.Error{Code: api.CodeNotPlannable,
				Message: fmt.Sprintf("the link between %s and %s has no known port or MAC", up.sw.Name,
					s.sw.Name)}
		}
		b.Port, b.Neighbor, b.Ingress = down.Port, down.Neighbor, []uint32{down.Port}
		node.UpstreamPort, node.UpstreamNeighbor = back.Port, back.Neighbor
		return b, nil
	}
	// Not adjacent: both ways are routed, so answers may come in anywhere.
	sid, ok := plan.Decapsulation(up.node)
	if !ok {
		return b, &api.Error{Code: api.CodeNotPlannable,
			Message: fmt.Sprintf("%s advertises no End.DT6 SID, which answers of %s would be sent to: it "+
				"is not adjacent", up.sw.Name, s.sw.Name)}
	}
	node.ParentSID = sid
	down, err := w.routed(up, s)
	if err != nil {
		return b, err
	}
	back, err := w.routed(s, up)
	if err != nil {
		return b, err
	}
	b.Port, b.Neighbor, b.Ingress = down.Port, down.Neighbor, w.n.FabricPorts(up.sw)
	node.UpstreamPort, node.UpstreamNeighbor = back.Port, back.Neighbor
	return b, nil
}

// routed returns the next hop of unicast packets from one node to another. The group's key selects
// among several paths.
func (w *placeWork) routed(from, to *skeleton) (plan.Hop, error) {
	paths, ok := w.n.Graph().Toward(to.node.ID, topology.MetricIGP)
	if ok {
		if path := paths.Path(from.node.ID, topology.KeyOf(w.r.Name)); len(path) > 0 {
			if h, ok := w.n.Hop(from.sw, path[0]); ok {
				return h, nil
			}
		}
	}
	return plan.Hop{}, &api.Error{Code: api.CodeNotPlannable,
		Message: fmt.Sprintf("the first link from %s to %s has no known port or MAC", from.sw.Name,
			to.sw.Name)}
}

func (w *placeWork) receiver(r *api.GroupReceiver) PlacedBranch {
	h := w.n.Host(r.Address)
	placed := &PlacedReceiver{Address: r.Address, QPN: r.QPN, StartPSN: r.Start(w.r.Spec.InitialPSN),
		StartMSN: r.StartMSN, PSNOffset: r.PSNOffset(w.r.Spec.InitialPSN)}
	if r.VA != nil {
		va := *r.VA
		placed.VA, placed.RKey = &va, *r.RKey
	}
	return PlacedBranch{Receiver: placed, Port: h.Hop.Port, Neighbor: h.Hop.Neighbor,
		Ingress: h.Ingress}
}

// number gives every branch of a node its index: its previous index, or else the lowest free index.
func (w *placeWork) number(p *Placement, node *PlacedNode) {
	var used [256]bool
	numbered := make([]bool, len(node.Branches))
	prev := w.r.Previous
	if old := prev.Node(node.Switch); old != nil {
		for i := range node.Branches {
			b := &node.Branches[i]
			for j := range old.Branches {
				if c := &old.Branches[j]; sameEnd(p, b, prev, c) {
					b.Index, numbered[i], used[c.Index] = c.Index, true, true
				}
			}
		}
	}
	next := uint8(0)
	for i := range node.Branches {
		if numbered[i] {
			continue
		}
		for used[next] {
			next++
		}
		node.Branches[i].Index, used[next] = next, true
	}
	slices.SortFunc(node.Branches,
		func(a, b PlacedBranch) int { return cmp.Compare(a.Index, b.Index) })
}

// sameEnd reports whether two branches lead to the same child or receiver.
func sameEnd(p *Placement, b *PlacedBranch, q *Placement, c *PlacedBranch) bool {
	if b.Receiver == nil || c.Receiver == nil {
		return b.Receiver == nil && c.Receiver == nil &&
			p.Nodes[b.Child].Switch == q.Nodes[c.Child].Switch
	}
	return b.Receiver.Address == c.Receiver.Address
}

// minHoldoff bounds the hold-off that is derived from delays: they leave the
// hosts and the queues out.
const minHoldoff = 50 * time.Microsecond

// roundTrip returns one round trip of the tree. If the tree has no link, or the delay of a link is
// unknown, roundTrip returns the default.
func (w *placeWork) roundTrip() time.Duration {
	if len(w.tree) == 1 {
		return w.n.Inventory.Defaults.NackHoldoff.D()
	}
	var deepest time.Duration
	delay := make([]time.Duration, len(w.tree))
	for i, s := range w.tree {
		if s.parent >= 0 {
			delay[i] = delay[s.parent]
		}
		for _, l := range s.links {
			if !l.Delay.Known {
				return w.n.Inventory.Defaults.NackHoldoff.D()
			}
			delay[i] += time.Duration(cmp.Or(l.Delay.Average, l.Delay.Min)) * time.Microsecond
		}
		deepest = max(deepest, delay[i])
	}
	return max(2*deepest, minHoldoff)
}
