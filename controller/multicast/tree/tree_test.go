package tree

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/plan/plantest"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

func network(n *sample.Net) *plan.Network {
	return plan.NewNetwork(n.Topology.Build(), &n.Inventory)
}

// describe writes all entities of a placement, switch by switch. describe checks that the pipeline
// takes each entity, that no entity appears twice, and that the group recognizes every entity.
func describe(t *testing.T, n *plan.Network, p *Placement) string {
	t.Helper()
	s := plantest.Schema(t)
	var b strings.Builder
	for _, sw := range p.Switches() {
		node := p.Node(sw)
		fmt.Fprintf(&b, "%s sid %v", sw, node.SID)
		if node.Parent >= 0 {
			fmt.Fprintf(&b, " below %s", p.Nodes[node.Parent].Switch)
		}
		fmt.Fprintln(&b)
		seen := make(map[entry.Key]bool)
		for _, e := range n.Base(n.Inventory.Switch(sw)) {
			seen[e.Key()] = true
		}
		for _, it := range p.Items(sw) {
			fmt.Fprintf(&b, "  %s %s\n", [...]string{"data    ", "response", "start   "}[it.Class],
				it.Entity)
			plantest.Check(t, s, sw, it.Entity, seen)
			if plan.GroupOf(it.Entity) != int(p.Group) {
				t.Errorf("%s: %s counts as group %d", sw, it.Entity, plan.GroupOf(it.Entity))
			}
		}
	}
	return b.String()
}

func place(t *testing.T, n *plan.Network, r Request) *Placement {
	t.Helper()
	if r.Name == "" {
		r.Name = "g1"
	}
	if r.Epoch == 0 {
		r.Epoch = 7
	}
	p, err := Place(n, r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFigure1(t *testing.T) {
	net := sample.Figure1()
	n := network(net)
	spec := net.Spec(1, "s1", "r1", "r2", "r3", "r4", "r5")
	plantest.Golden(t, "figure1.txt", describe(t, n, place(t, n, Request{Group: 3, Spec: &spec})))
}

// TestTreeTakesItsSourceOnly: every SID of a tree takes packets only from the encapsulating switch
// or host.
func TestTreeTakesItsSourceOnly(t *testing.T) {
	net := sample.Figure1()
	n := network(net)
	for _, c := range []struct {
		mode api.GroupMode
		want netip.Addr
	}{{api.ModeProvisioned, n.Node("n6").Loopback}, {api.ModeInband, net.Address("s1")}} {
		spec := net.Spec(1, "s1", "r1", "r3", "r5")
		spec.Mode = c.mode
		p, err := Place(n, Request{Name: "g", Group: 1, Spec: &spec, Epoch: 1})
		if err != nil {
			t.Fatal(err)
		}
		sids := 0
		for _, node := range p.Nodes {
			for _, item := range p.Items(node.Switch) {
				table, ok := item.Entity.(entry.Table)
				if !ok || table.Name != p4.TableLocalSid {
					continue
				}
				sids++
				if a, _ := table.Action.Arg("source").Addr6(); a != c.want {
					t.Errorf("%s: %s takes packets of %v, want %v", c.mode, node.Switch, a, c.want)
				}
			}
		}
		if sids < len(p.Nodes)-1 {
			t.Errorf("%s: %d SIDs at %d nodes", c.mode, sids, len(p.Nodes))
		}
	}
}

// TestSourceThatIsNotConnected: nothing leads into a tree whose source has no queue pair yet.
func TestSourceThatIsNotConnected(t *testing.T) {
	net := sample.Figure1()
	n := network(net)
	for _, mode := range []api.GroupMode{api.ModeProvisioned, api.ModeInband} {
		for _, qpn := range []uint32{0, 1} {
			spec := net.Spec(1, "s1", "r1", "r3", "r5")
			spec.Mode, spec.Source.QPN = mode, qpn
			p := place(t, n, Request{Group: 1, Spec: &spec})
			start := 0
			for _, sw := range p.Switches() {
				for _, item := range p.Items(sw) {
					if item.Class == Start {
						start++
					}
				}
			}
			if (start > 0) != (qpn > 0) {
				t.Errorf("%s, source QPN %d: %d entries lead into the tree", mode, qpn, start)
			}
		}
	}
}

// TestItemsInOrder: matches and parameters of all entries are in the order of [entry.In] and
// [entry.Do], whatever settings the receivers have. The reconciler compares entries without
// sorting.
func TestItemsInOrder(t *testing.T) {
	net := sample.Figure1()
	n := network(net)
	actions := make(map[string]bool)
	for _, mode := range []api.GroupMode{api.ModeProvisioned, api.ModeInband} {
		for own := range 4 {
			spec := net.Spec(1, "s1", "r1", "r2", "r3", "r4", "r5")
			spec.Mode = mode
			for i := range spec.Receivers {
				r := &spec.Receivers[i]
				if va, rkey := uint64(1<<20), uint32(7); own&1 != 0 {
					r.VA, r.RKey = &va, &rkey
				}
				if psn := uint32(99); own&2 != 0 {
					r.PSN = &psn
				}
			}
			p := place(t, n, Request{Group: 1, Spec: &spec})
			for _, sw := range p.Switches() {
				for _, it := range p.Items(sw) {
					x, ok := it.Entity.(entry.Table)
					if !ok {
						continue
					}
					actions[x.Action.Name] = true
					action := entry.Do(x.Action.Name, slices.Clone(x.Action.Params)...)
					want := entry.In(x.Name, action, slices.Clone(x.Match)...)
					if !reflect.DeepEqual(x, want) {
						t.Errorf("%s: %v is not in order", sw, x)
					}
				}
			}
		}
	}
	for _, name := range []string{p4.ActionToReceiver, p4.ActionToReceiverPsn,
		p4.ActionToReceiverReth, p4.ActionToReceiverRethPsn, p4.ActionSetBranch, p4.ActionSetBranchPsn,
		p4.ActionToSource, p4.ActionToParent, p4.ActionMtEncapsReplicate, p4.ActionMtInband,
		p4.ActionEndMt, p4.ActionEndReplicate, p4.ActionAllowTlvReceiver, p4.ActionSetGroupState} {
		if !actions[name] {
			t.Errorf("no entry had the action %s", name)
		}
	}
}

// TestSameEpoch: a placement keeps its epoch only while everything that a response depends on
// stays.
func TestSameEpoch(t *testing.T) {
	net := sample.Figure1()
	n := network(net)
	spec := net.Spec(1, "s1", "r1", "r2", "r3", "r4", "r5")
	fresh := func() *Placement { return place(t, n, Request{Group: 3, Spec: &spec}) }
	receiver := func(p *Placement) (*PlacedNode, *PlacedBranch) {
		node, b := p.FindReceiver(net.Address("r3"))
		if b == nil || node.Parent < 0 {
			t.Fatal("r3 is behind no other switch")
		}
		return node, b
	}
	other := net.Address("r1")
	if !fresh().sameEpoch(fresh()) {
		t.Fatal("a placement that is the same has another epoch")
	}
	for name, change := range map[string]func(*Placement){
		"proxy":                  func(p *Placement) { p.Proxy = other },
		"designated QPN":         func(p *Placement) { p.DesignatedQPN++ },
		"initial PSN":            func(p *Placement) { p.InitialPSN++ },
		"mode":                   func(p *Placement) { p.Mode = api.ModeInband },
		"objective":              func(p *Placement) { p.Objective += "x" },
		"address of the source":  func(p *Placement) { p.Source.Address = other },
		"QPN of the source":      func(p *Placement) { p.Source.QPN++ },
		"neighbor of the source": func(p *Placement) { p.Source.Neighbor++ },
		"ports of the source":    func(p *Placement) { p.Source.Ports = append(p.Source.Ports, 99) },
		"loopback of a switch":   func(p *Placement) { n, _ := receiver(p); n.Address = other },
		"SID":                    func(p *Placement) { n, _ := receiver(p); n.SID = other },
		"SID of the parent":      func(p *Placement) { n, _ := receiver(p); n.ParentSID = other },
		"no parent":              func(p *Placement) { n, _ := receiver(p); n.Parent = -1 },
		"port to the parent":     func(p *Placement) { n, _ := receiver(p); n.UpstreamPort++ },
		"neighbor to the parent": func(p *Placement) { n, _ := receiver(p); n.UpstreamNeighbor++ },
		"links to the parent": func(p *Placement) {
			n, _ := receiver(p)
			n.Links = append(n.Links, "x")
		},
		"index of a branch":    func(p *Placement) { _, b := receiver(p); b.Index = 200 },
		"port of a branch":     func(p *Placement) { _, b := receiver(p); b.Port++ },
		"neighbor of a branch": func(p *Placement) { _, b := receiver(p); b.Neighbor++ },
		"ingress of a branch": func(p *Placement) {
			_, b := receiver(p)
			b.Ingress = append(b.Ingress, 99)
		},
		"no receiver": func(p *Placement) { _, b := receiver(p); b.Receiver = nil },
		"address of a receiver": func(p *Placement) {
			_, b := receiver(p)
			b.Receiver.Address = other
		},
		"QPN of a receiver":           func(p *Placement) { _, b := receiver(p); b.Receiver.QPN++ },
		"first PSN of a receiver":     func(p *Placement) { _, b := receiver(p); b.Receiver.StartPSN++ },
		"first MSN of a receiver":     func(p *Placement) { _, b := receiver(p); b.Receiver.StartMSN++ },
		"PSN of a queue pair":         func(p *Placement) { _, b := receiver(p); b.Receiver.PSNOffset++ },
		"a switch that was not there": func(p *Placement) { n, _ := receiver(p); n.Switch = "n99" },
	} {
		p := fresh()
		change(p)
		if p.sameEpoch(fresh()) {
			t.Errorf("%s: the epoch is kept", name)
		}
	}
	for name, change := range map[string]func(*Placement){
		"address of the memory": func(p *Placement) {
			_, b := receiver(p)
			va := uint64(77)
			b.Receiver.VA = &va
		},
		"R_Key":              func(p *Placement) { _, b := receiver(p); b.Receiver.RKey++ },
		"cost":               func(p *Placement) { p.Cost++ },
		"branches that went": func(p *Placement) { n, _ := receiver(p); n.Branches = nil },
	} {
		p := fresh()
		change(p)
		if !p.sameEpoch(fresh()) {
			t.Errorf("%s: another epoch, and no response depends on it", name)
		}
	}
}

// TestDepths: Depths returns the distance of each node from the root.
func TestDepths(t *testing.T) {
	p := &Placement{Nodes: []PlacedNode{{Parent: -1}, {Parent: 0}, {Parent: 1}, {Parent: 0},
		{Parent: 2}}}
	if got := p.Depths(); !slices.Equal(got, []int{0, 1, 2, 1, 3}) {
		t.Errorf("depths %v, want 0 1 2 1 3", got)
	}
}

// TestSameEnd: branches lead to the same end if both have the same child, or the same receiver. A
// receiver is not the child of the number that receivers have.
func TestSameEnd(t *testing.T) {
	p := &Placement{Nodes: []PlacedNode{{Switch: "b"}, {Switch: "a"}}}
	q := &Placement{Nodes: []PlacedNode{{Switch: "a"}, {Switch: "b"}}}
	receiver := func(last byte) PlacedBranch {
		return PlacedBranch{Receiver: &PlacedReceiver{Address: netip.AddrFrom4([4]byte{10, 0, 0, last})}}
	}
	a, b := PlacedBranch{Child: 1}, PlacedBranch{Child: 0}
	r1, r2 := receiver(1), receiver(2)
	for i, c := range []struct {
		b, c PlacedBranch
		want bool
	}{
		{r1, r1, true}, {r1, r2, false}, {a, PlacedBranch{Child: 0}, true}, {a, a, false},
		{b, a, true}, {r1, a, false}, {a, r1, false}, {b, r1, false}, {r1, b, false},
	} {
		if got := sameEnd(p, &c.b, q, &c.c); got != c.want {
			t.Errorf("pair %d: %v", i, got)
		}
	}
}

// TestTreeAsClientsSeeIt: clients see each node with the parent, the role and the destinations of
// the branches.
func TestTreeAsClientsSeeIt(t *testing.T) {
	net := sample.Figure1()
	n := network(net)
	spec := net.Spec(1, "s1", "r1", "r3", "r4")
	p := place(t, n, Request{Group: 3, Spec: &spec})
	tree := p.Tree()
	if tree.Root != "n6" || tree.SID != p.Nodes[0].SID || tree.Cost != p.Cost ||
		len(tree.Nodes) != len(p.Nodes) {
		t.Fatalf("%+v", tree)
	}
	for i, got := range tree.Nodes {
		at := &p.Nodes[i]
		parent, behavior := "", "End.MT"
		if at.Parent >= 0 {
			parent = p.Nodes[at.Parent].Switch
		}
		if i == 0 || parent == "n6" {
			behavior = "End.Replicate"
		}
		if got.Switch != at.Switch || got.Parent != parent || got.Behavior != behavior ||
			got.SID != at.SID ||
			got.Address != at.Address || got.BehaviorCode != uint16(at.Behavior) ||
			got.Upstream != at.UpstreamPort || len(got.Branches) != len(at.Branches) {
			t.Errorf("%+v", got)
		}
		for j, b := range got.Branches {
			of := &at.Branches[j]
			want := api.TreeBranch{Index: of.Index, Port: of.Port}
			if of.Receiver != nil {
				want.Receiver, want.QPN = of.Receiver.Address, of.Receiver.QPN
			} else {
				want.Child = p.Nodes[of.Child].Switch
			}
			if b != want {
				t.Errorf("%s: branch %+v, want %+v", got.Switch, b, want)
			}
		}
	}
	var none *Placement
	if none.Tree() != nil || new(Placement).Tree() != nil {
		t.Error("a tree without a source is one")
	}
}

// TestSIDsOfTurns: a node has a separate SID for each turn, the switch of the source has one SID
// for both turns.
func TestSIDsOfTurns(t *testing.T) {
	net := sample.Figure1()
	n := network(net)
	spec := net.Spec(1, "s1", "r1", "r3")
	for turn := range uint8(2) {
		p := place(t, n, Request{Group: 3, Spec: &spec, Turn: turn})
		for i, node := range p.Nodes {
			at := uint32(0)
			if i > 0 {
				at = uint32(turn) + 1
			}
			want, err := plan.TreeSID(n.Node(node.Switch), n.Inventory.SIDs.FunctionBase, 3, at)
			if err != nil || node.SID != want {
				t.Errorf("turn %d: %s has %v, want %v, %v", turn, node.Switch, node.SID, want, err)
			}
		}
	}
}

// TestSwitchIsOutOfUse: the controller keeps a tree as long as each switch in the tree can be part
// of a tree.
func TestSwitchIsOutOfUse(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*sample.Net)
		stays  bool
	}{
		"nothing": {func(*sample.Net) {}, true},
		"it has lost its locator": {func(net *sample.Net) {
			net.Topology.SetNode(topology.Node{ID: net.Node("n5"), Name: "n5",
				Loopback: netip.MustParseAddr("2001:db8::5")})
		}, false},
		"it has left the inventory": {func(net *sample.Net) {
			net.Inventory.Switches = slices.DeleteFunc(net.Inventory.Switches,
				func(s inventory.Switch) bool { return s.Name == "n5" })
		}, false},
		"it has left the topology": {func(net *sample.Net) { net.Topology.RemoveNode(net.Node("n5")) },
			false},
	} {
		net := sample.Figure1()
		spec := net.Spec(1, "s1", "r3")
		before := place(t, network(net), Request{Group: 3, Spec: &spec})
		if before.Node("n5") == nil {
			t.Fatalf("the tree is over %v", before.Switches())
		}
		c.change(net)
		after, err := Place(network(net), Request{Group: 3, Spec: &spec, Previous: before, Epoch: 8})
		if stays := after.Node("n5") != nil; stays != c.stays {
			t.Errorf("%s: over %v, %v", what, after.Switches(), err)
		}
	}
}

// TestNoPath: without a path between two switches there is no first link.
func TestNoPath(t *testing.T) {
	net := sample.Figure1().Switches("alone")
	n := network(net)
	w := placeWork{n: n, r: &Request{Name: "g"}}
	at := func(sw string) *skeleton { return &skeleton{sw: n.Switch(sw), node: n.Node(sw)} }
	if h, err := w.routed(at("n6"), at("n1")); err != nil || h.Port == 0 {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := w.routed(at("n6"), at("alone")); err == nil {
		t.Error("a way to a switch without links")
	}
}
