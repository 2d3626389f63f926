package tree

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/plan/plantest"
	"github.com/weft-sdn/weft/topology"
)

// shape writes who is below whom: "n6(n4(n1[r1 r2] ...)".
func shape(n *plan.Network, p *Placement) string {
	var at func(i int) string
	at = func(i int) string {
		node := &p.Nodes[i]
		var kids, rcv []string
		for _, b := range node.Branches {
			if b.Receiver == nil {
				kids = append(kids, at(b.Child))
			} else {
				h, _ := n.HostName(b.Receiver.Address)
				rcv = append(rcv, h)
			}
		}
		s := node.Switch
		if len(kids) > 0 {
			s += "(" + strings.Join(kids, " ") + ")"
		}
		if len(rcv) > 0 {
			s += "[" + strings.Join(rcv, " ") + "]"
		}
		return s
	}
	return at(0)
}

// TestPlaceAll: groups placed together get the placements of groups placed alone, in request order.
// Each group that cannot be placed gets a separate error.
func TestPlaceAll(t *testing.T) {
	net := sample.FatTree(4, 4, 2, 4, 2)
	specs := make([]api.MulticastGroupSpec, 60)
	requests := make([]Request, len(specs))
	for i := range specs {
		specs[i] = net.Spec(i+1, fmt.Sprintf("h%d", i%32+1), fmt.Sprintf("h%d", (i+5)%32+1),
			fmt.Sprintf("h%d", (i*7+11)%32+1))
		if i%10 == 3 {
			specs[i].Receivers[1].Address = netip.MustParseAddr(fmt.Sprintf("2001:db8:dead::%d", i))
		}
		requests[i] = Request{Name: fmt.Sprintf("g%d", i), Group: uint16(i), Spec: &specs[i], Epoch: 7}
	}
	together := PlaceAll(network(net), requests)
	if len(together) != len(requests) {
		t.Fatalf("%d results for %d requests", len(together), len(requests))
	}
	n := network(net)
	for i, r := range together {
		p, err := Place(n, requests[i])
		if !reflect.DeepEqual(r.Placement, p) || !reflect.DeepEqual(r.Err, err) ||
			(err != nil) != (i%10 == 3) {
			t.Errorf("%d: %v, %v, want %v, %v", i, r.Placement, r.Err, p, err)
		}
	}
	if got := PlaceAll(n, nil); len(got) != 0 {
		t.Errorf("%d results for none", len(got))
	}
}

func TestShapes(t *testing.T) {
	figure1 := sample.Figure1()
	bud := sample.New().Switches("a", "b", "c").Links([2]string{"a", "b"}, [2]string{"b", "c"}).
		Hosts("a", "s", "ra").Hosts("b", "rb1", "rb2").Hosts("c", "rc")
	single := sample.New().Switches("a").Hosts("a", "s", "r1", "r2")
	square := sample.New().Switches("a", "b", "c", "d", "e")
	for _, l := range []struct {
		x, y   string
		metric uint32
	}{{"a", "b", 2}, {"b", "d", 2}, {"a", "c", 3}, {"c", "e", 2}, {"d", "e", 2}} {
		square.Link(l.x, l.y, l.metric)
	}
	square.Hosts("a", "s").Hosts("d", "rd").Hosts("e", "re")
	gap := sample.New().Switches("a", "c").Router("x").Links([2]string{"a", "x"},
		[2]string{"x", "c"}).Hosts("a", "s").Hosts("c", "rc")
	for _, c := range []struct {
		name      string
		net       *sample.Net
		source    string
		receivers []string
		edit      func(*api.MulticastGroupSpec)
		want      string
		golden    string
	}{
		{"figure 1", figure1, "s1", []string{"r1", "r2", "r3", "r4", "r5"}, nil,
			"n6(n4(n1[r1 r2]) n5(n2[r3] n3[r4 r5]))", ""},
		{"bud nodes", bud, "s", []string{"ra", "rb1", "rb2", "rc"}, nil, "a(b(c[rc])[rb1 rb2])[ra]",
			"bud.txt"},
		{"bud nodes, in-band", bud, "s", []string{"ra", "rb1", "rc"},
			func(s *api.MulticastGroupSpec) { s.Mode = api.ModeInband }, "a(b(c[rc])[rb1])[ra]",
			"bud_inband.txt"},
		{"one switch", single, "s", []string{"r1", "r2"}, nil, "a[r1 r2]", "single.txt"},
		{"one switch, in-band", single, "s", []string{"r2"},
			func(s *api.MulticastGroupSpec) { s.Mode = api.ModeInband }, "a[r2]", "single_inband.txt"},
		{"shortest paths", square, "s", []string{"rd", "re"}, nil, "a(b(d[rd]) c(e[re]))", ""},
		{"least cost", square, "s", []string{"rd", "re"},
			func(s *api.MulticastGroupSpec) { s.Objective = api.ObjectiveCost }, "a(b(d(e[re])[rd]))", ""},
		{"a parent that is not adjacent", gap, "s", []string{"rc"}, nil, "a(c[rc])", "gap.txt"},
		{"other memory", single, "s", []string{"r1"}, func(s *api.MulticastGroupSpec) {
			va, key := uint64(0x7000), uint32(9)
			s.Receivers[0].VA, s.Receivers[0].RKey, s.BaseVA = &va, &key, 0x1000
			start := uint32(50)
			s.Receivers[0].StartPSN, s.Receivers[0].StartMSN = &start, 3
			no := false
			s.RewriteSource = &no
		}, "a[r1]", "memory.txt"},
		{"other PSNs", single, "s", []string{"r1", "r2"}, func(s *api.MulticastGroupSpec) {
			va, key, first, last, start := uint64(0x7000), uint32(9), uint32(0), uint32(0xFFFFFF), uint32(50)
			s.InitialPSN = 0xFFFFFF // one before 0
			s.Receivers[0].PSN = &first
			s.Receivers[1].PSN, s.Receivers[1].StartPSN = &last, &start
			s.Receivers[1].VA, s.Receivers[1].RKey = &va, &key
		}, "a[r1 r2]", "psn.txt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := network(c.net)
			spec := c.net.Spec(1, c.source, c.receivers...)
			if c.edit != nil {
				c.edit(&spec)
			}
			p := place(t, n, Request{Group: 5, Spec: &spec})
			if got := shape(n, p); got != c.want {
				t.Errorf("tree %s, want %s", got, c.want)
			}
			text := describe(t, n, p)
			if c.golden != "" {
				plantest.Golden(t, c.golden, text)
			}
		})
	}
}

// A link whose identifier differs from the port uses the port from the inventory, in trees and
// routes. A port out of range is no port.
func TestPortsOfTheInventory(t *testing.T) {
	net := sample.New().Switches("a", "b")
	net.LinkPorts("a", 1000, "b", 2000, 1)
	net.Hosts("a", "s").Hosts("b", "r")
	spec := net.Spec(1, "s", "r")
	var refused *api.Error
	if _, err := Place(network(net), Request{Name: "g", Epoch: 7, Spec: &spec}); !errors.As(err,
		&refused) || refused.Code != api.CodeNotPlannable {
		t.Errorf("without ports: %v", err)
	}
	net.Inventory.Switches[0].Ports = map[uint32]uint32{1000: 7, 7: 8}
	net.Inventory.Switches[1].Ports = map[uint32]uint32{2000: 9}
	n := network(net)
	p := place(t, n, Request{Spec: &spec})
	down, back := p.Node("a").Branches[0], p.Node("b")
	if down.Port != 7 || down.Neighbor != 7 || !slices.Equal(down.Ingress, []uint32{7}) ||
		back.UpstreamPort != 9 || back.UpstreamNeighbor != 9 {
		t.Errorf("branch %+v, below it %+v", down, back)
	}
	for i, want := range []plan.Hop{{Port: 7, Neighbor: 7}, {Port: 9, Neighbor: 9}} {
		sw := &n.Inventory.Switches[i]
		if got := n.FabricPorts(sw); !slices.Equal(got, []uint32{want.Port}) {
			t.Errorf("%s: ports %v of the fabric, want %d", sw.Name, got, want.Port)
		}
		toward, _ := n.Graph().Toward(n.Node(n.Inventory.Switches[1-i].Name).ID, topology.MetricIGP)
		if got := n.Hops(sw, toward); !slices.Equal(got, []plan.Hop{want}) {
			t.Errorf("%s: routed by %v, want %v", sw.Name, got, want)
		}
	}
}

// Groups spread over equal choices, evenly enough.
func TestSpread(t *testing.T) {
	net := sample.Clos(4, 4, 1)
	n := network(net)
	used := make(map[string]int)
	for i := range 200 {
		spec := net.Spec(1, "h1", "h2", "h3", "h4")
		p := place(t, n, Request{Name: fmt.Sprintf("group-%d", i), Spec: &spec})
		if len(p.Nodes) != 5 {
			t.Fatalf("tree %s: leaves part at several spines", shape(n, p))
		}
		used[p.Nodes[1].Switch]++
	}
	for spine := 1; spine <= 4; spine++ {
		if k := used[fmt.Sprintf("spine%d", spine)]; k < 30 || k > 70 {
			t.Errorf("spine%d carries %d of 200 groups: %v", spine, k, used)
		}
	}
}

func TestChanges(t *testing.T) {
	net := sample.Figure1()
	n := network(net)
	first := func(receivers ...string) (*api.MulticastGroupSpec, *Placement) {
		s := net.Spec(1, "s1", receivers...)
		return &s, place(t, n, Request{Spec: &s})
	}
	_, all := first("r1", "r2", "r3", "r4", "r5")
	again := func(edit func(*api.MulticastGroupSpec), receivers ...string) *Placement {
		s := net.Spec(1, "s1", receivers...)
		if edit != nil {
			edit(&s)
		}
		return place(t, n, Request{Spec: &s, Previous: all, Epoch: 8, Turn: 1})
	}
	qpns := func(s *api.MulticastGroupSpec) { // as in the first spec
		for i := range s.Receivers {
			_, b := all.FindReceiver(s.Receivers[i].Address)
			s.Receivers[i].QPN = b.Receiver.QPN
		}
	}
	for _, c := range []struct {
		name   string
		p      *Placement
		raised bool
	}{
		{"nothing", again(nil, "r1", "r2", "r3", "r4", "r5"), false},
		{"order", again(qpns, "r5", "r4", "r3", "r2", "r1"), false},
		{"a receiver leaves", again(qpns, "r1", "r3", "r4", "r5"), false},
		{"an edge leaves", again(qpns, "r1", "r2", "r4", "r5"), false},
		{"half of the tree leaves", again(qpns, "r1", "r2"), false},
		{"a queue pair is new", again(func(s *api.MulticastGroupSpec) { s.Receivers[2].QPN++ }, "r1",
			"r2", "r3", "r4", "r5"), true},
		{"the source's queue pair", again(func(s *api.MulticastGroupSpec) { s.Source.QPN++ }, "r1", "r2",
			"r3", "r4", "r5"), true},
		{"the designated queue pair", again(func(s *api.MulticastGroupSpec) { s.DesignatedQPN++ }, "r1",
			"r2", "r3", "r4", "r5"), true},
		{"the initial PSN", again(func(s *api.MulticastGroupSpec) { s.InitialPSN++ }, "r1", "r2", "r3",
			"r4", "r5"), true},
		{"the first PSN of a receiver",
			again(func(s *api.MulticastGroupSpec) { start := uint32(77); s.Receivers[0].StartPSN = &start },
				"r1", "r2", "r3", "r4", "r5"), true},
		{"the mode", again(func(s *api.MulticastGroupSpec) { s.Mode = api.ModeInband }, "r1", "r2", "r3",
			"r4", "r5"), true},
		{"the windows", again(func(s *api.MulticastGroupSpec) {
			s.CNPWindow, s.NackHoldoff, s.CNPLimit = api.Duration(time.Second), api.Duration(time.Second), 3
		}, "r1", "r2", "r3", "r4", "r5"), false},
		{"the source address of what is delivered",
			again(func(s *api.MulticastGroupSpec) { no := false; s.RewriteSource = &no }, "r1", "r2", "r3",
				"r4", "r5"), false},
	} {
		if (c.p.Epoch == 8) != c.raised || (c.p.Turn == 1) != c.raised {
			t.Errorf("%s: epoch %d, turn %d; raised should be %v", c.name, c.p.Epoch, c.p.Turn, c.raised)
		}
		for i := range c.p.Nodes {
			for _, b := range c.p.Nodes[i].Branches {
				if b.Receiver == nil {
					continue
				}
				if _, old := all.FindReceiver(b.Receiver.Address); old != nil && old.Index != b.Index {
					t.Errorf("%s: %v moved from branch %d to %d", c.name, b.Receiver.Address, old.Index, b.Index)
				}
			}
		}
	}

	// A branch that is free is given away only with a new epoch.
	_, pair := first("r1", "r2")
	s := net.Spec(1, "s1", "r2")
	s.Receivers[0].QPN = 0x102
	alone := place(t, n, Request{Spec: &s, Previous: pair, Epoch: 8, Turn: 1})
	if _, b := alone.FindReceiver(net.Address("r2")); b.Index != 1 || alone.Epoch != 7 ||
		alone.Node("n1").LiveMask() != 2 {
		t.Errorf("r2 has branch %d in epoch %d", b.Index, alone.Epoch)
	}
	s = net.Spec(1, "s1", "r1", "r2")
	s.Receivers[0].QPN = 0x500
	back := place(t, n, Request{Spec: &s, Previous: alone, Epoch: 9, Turn: 1})
	if _, b := back.FindReceiver(net.Address("r1")); b.Index != 0 || back.Epoch != 9 {
		t.Errorf("r1 has branch %d in epoch %d", b.Index, back.Epoch)
	}

	// A reset keeps what carries data.
	s = net.Spec(1, "s1", "r1", "r2", "r3", "r4", "r5")
	reset := place(t, n, Request{Spec: &s, Previous: all, Reset: true, Epoch: 9, Turn: 1})
	if reset.Epoch != 9 || reset.Turn != all.Turn {
		t.Errorf("reset gives epoch %d, turn %d", reset.Epoch, reset.Turn)
	}

	// Leaving receivers out is like removing them.
	out := place(t, n, Request{Spec: &s, Previous: all,
		Without: map[netip.Addr]bool{net.Address("r3"): true}, Epoch: 9, Turn: 1})
	if out.Epoch != 7 || out.Node("n2") != nil {
		t.Errorf("without r3: %s, epoch %d", shape(n, out), out.Epoch)
	}
}

// Only the branches that must move move. The remaining branches keep their tree.
func TestMoves(t *testing.T) {
	net := sample.Figure1()
	n := network(net)
	s := net.Spec(1, "s1", "r1", "r3", "r4")
	p := place(t, n, Request{Spec: &s})
	if got := shape(n, p); got != "n6(n4(n1[r1]) n5(n2[r3] n3[r4]))" {
		t.Fatal(got)
	}
	// A better path for a receiver is no reason.
	net.Link("n6", "n2", 1)
	better := network(net)
	if q := place(t, better, Request{Spec: &s, Previous: p, Epoch: 8, Turn: 1}); q.Epoch != 7 ||
		shape(better, q) != shape(n, p) {
		t.Errorf("moved to %s", shape(better, q))
	}
	for _, l := range net.Topology.Build().Links {
		if l.Local == net.Node("n5") && l.Remote == net.Node("n2") {
			net.Topology.RemoveLink(l.ID) // one direction suffices
		}
	}
	broken := network(net)
	q := place(t, broken, Request{Spec: &s, Previous: p, Epoch: 8, Turn: 1})
	if got := shape(broken, q); q.Epoch != 8 || q.Turn != 1 ||
		got != "n6(n4(n1[r1]) n5(n3[r4]) n2[r3])" {
		t.Errorf("moved to %s, epoch %d", got, q.Epoch)
	}
	for _, sw := range []string{"n4", "n5"} {
		_, before := branchOf(p, sw)
		_, after := branchOf(q, sw)
		if before.Index != after.Index {
			t.Errorf("%s moved from branch %d to %d", sw, before.Index, after.Index)
		}
	}
	describe(t, broken, q)
}

func branchOf(p *Placement, child string) (*PlacedNode, *PlacedBranch) {
	for i := range p.Nodes {
		for j := range p.Nodes[i].Branches {
			if b := &p.Nodes[i].Branches[j]; b.Receiver == nil && p.Nodes[b.Child].Switch == child {
				return &p.Nodes[i], b
			}
		}
	}
	return nil, nil
}

func TestRefusals(t *testing.T) {
	clos := sample.Clos(3, 2, 40)
	pods := sample.Clos(4, 1, 32)
	star := sample.New().Switches("hub").Hosts("hub", "s")
	for i := range 40 {
		leaf := fmt.Sprintf("leaf%02d", i)
		star.Switches(leaf).Links([2]string{"hub", leaf}).Hosts(leaf, "r"+leaf)
	}
	leaves := func(from, to int) (out []string) {
		for i := from; i < to; i++ {
			out = append(out, fmt.Sprintf("rleaf%02d", i))
		}
		return out
	}
	hosts := func(from, to int) (out []string) {
		for i := from; i <= to; i++ {
			out = append(out, fmt.Sprintf("h%d", i))
		}
		return out
	}
	island := sample.New().Switches("a", "b", "c").Links([2]string{"a", "b"}).Hosts("a",
		"s").Hosts("b", "rb").Hosts("c", "rc")
	missing := sample.Figure1()
	missing.Topology.RemoveNode(missing.Node("n2"))
	bare := sample.Figure1()
	node := *bare.Topology.Build().NodeByName("n3")
	node.Locators = nil
	bare.Topology.SetNode(node)
	foreign := sample.New().Switches("a").Router("x").Links([2]string{"a", "x"}).Hosts("a",
		"s").Hosts("x", "rx")
	narrow := sample.Figure1()
	node = *narrow.Topology.Build().NodeByName("n6")
	node.SIDs = slices.Clone(node.SIDs)
	for i := range node.SIDs {
		node.SIDs[i].Structure.Function = 8
	}
	narrow.Topology.SetNode(node)
	taken := sample.Figure1()
	node = *taken.Topology.Build().NodeByName("n6")
	node.SIDs = append(slices.Clone(node.SIDs),
		topology.SID{Address: netip.MustParseAddr("fc00:0:6:8000::"), Behavior: topology.BehaviorEnd})
	taken.Topology.SetNode(node)
	for _, c := range []struct {
		name      string
		net       *sample.Net
		source    string
		receivers []string
		edit      func(*api.MulticastGroupSpec)
		code      api.Code
		field     string
		limit     int64
	}{
		{"32 receivers behind a switch", clos, "h1", hosts(41, 72), nil, "", "", 0},
		{"33 receivers behind a switch", clos, "h1", hosts(41, 73), nil, api.CodeLimit,
			"spec.receivers[32].address", 32},
		{"32 branches", star, "s", leaves(0, 32), nil, "", "", 0},
		{"33 branches", star, "s", leaves(0, 33), nil, api.CodeLimit, "spec.receivers", 32},
		{"32 receivers at a bud node with a child", clos, "h1", append(hosts(2, 33), "h41"), nil,
			api.CodeLimit, "spec.receivers", 32},
		{"31 receivers at a bud node with a child", clos, "h1", append(hosts(2, 32), "h41"), nil, "", "",
			0},
		{"an SRH of 1,912 octets", pods, "h1", hosts(33, 116),
			func(s *api.MulticastGroupSpec) { s.Mode = api.ModeInband }, "", "", 0},
		{"an SRH of 2,176 octets", pods, "h1", hosts(33, 128),
			func(s *api.MulticastGroupSpec) { s.Mode = api.ModeInband }, api.CodeLimit, "spec.receivers",
			2048},
		{"an island", island, "s", []string{"rb", "rc"}, nil, api.CodeUnreachable,
			"spec.receivers[1].address", 0},
		{"a switch that is not in the topology", missing, "s1", []string{"r1", "r3"}, nil,
			api.CodeUnreachable, "spec.receivers[1].address", 0},
		{"a switch without a locator", bare, "s1", []string{"r1", "r4"}, nil, api.CodeNotPlannable,
			"spec.receivers[1].address", 0},
		{"a switch that is not programmed", foreign, "s", []string{"rx"}, nil, api.CodeNotPlannable,
			"spec.receivers[0].address", 0},
		{"no room for functions", narrow, "s1", []string{"r1"}, nil, api.CodeNotPlannable, "", 0},
		{"a function that is in use", taken, "s1", []string{"r1"}, nil, api.CodeNotPlannable, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := network(c.net)
			spec := c.net.Spec(1, c.source, c.receivers...)
			if c.edit != nil {
				c.edit(&spec)
			}
			p, err := Place(n, Request{Name: "g", Spec: &spec, Epoch: 1})
			if c.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				for i := range p.Nodes {
					if len(p.Nodes[i].Branches) > 32 {
						t.Errorf("%s has %d branches", p.Nodes[i].Switch, len(p.Nodes[i].Branches))
					}
				}
				return
			}
			var e *api.Error
			if !errors.As(err, &e) || e.Code != c.code {
				t.Fatalf("error %v", err)
			}
			if c.field == "" {
				return
			}
			if f := e.Fields[0]; f.Field != c.field || (f.Limit == nil) != (c.limit == 0) ||
				f.Limit != nil && *f.Limit != c.limit {
				t.Errorf("fields %+v", e.Fields)
			}
		})
	}
}

// TestHostMoves: answers are taken from other ports, or go to another neighbor, in a new epoch
// only.
func TestHostMoves(t *testing.T) {
	net := sample.Figure1()
	spec := net.Spec(1, "s1", "r1", "r2")
	before := place(t, network(net), Request{Spec: &spec})
	for name, change := range map[string]func(*sample.Net){
		"a receiver has another port besides": func(n *sample.Net) { n.Inventory.Hosts[1].Ports = []uint32{101, 150} },
		"the source has another neighbor": func(n *sample.Net) {
			before := n.Inventory.Hosts[0]
			// comes first by name, at the same port
			before.Name, before.Address = "a", sample.HostAddress(0x77)
			n.Inventory.Hosts = append(n.Inventory.Hosts, before)
		},
	} {
		changed := sample.Figure1()
		change(changed)
		if p := place(t, network(changed), Request{Spec: &spec, Previous: before, Epoch: 8,
			Turn: 1}); p.Epoch != 8 {
			t.Errorf("%s: epoch %d, want 8", name, p.Epoch)
		}
	}
}

// TestReuse: the previous tree is taken over only if it reaches all edges and has the objective.
func TestReuse(t *testing.T) {
	net := sample.Figure1()
	n := network(net)
	few, more := net.Spec(1, "s1", "r1"), net.Spec(1, "s1", "r1", "r3", "r5")
	p := place(t, n, Request{Spec: &more, Previous: place(t, n, Request{Spec: &few}), Epoch: 8})
	for i := range more.Receivers {
		if node, _ := p.FindReceiver(more.Receivers[i].Address); node == nil {
			t.Errorf("%v is not in the tree %s", more.Receivers[i].Address, shape(n, p))
		}
	}

	square := sample.New().Switches("a", "b", "c", "d", "e")
	for _, l := range []struct {
		x, y   string
		metric uint32
	}{{"a", "b", 2}, {"b", "d", 2}, {"a", "c", 3}, {"c", "e", 2}, {"d", "e", 2}} {
		square.Link(l.x, l.y, l.metric)
	}
	square.Hosts("a", "s").Hosts("d", "rd").Hosts("e", "re")
	n = network(square)
	spec := square.Spec(1, "s", "rd", "re")
	before := place(t, n, Request{Spec: &spec})
	spec.Objective = api.ObjectiveCost
	after := place(t, n, Request{Spec: &spec, Previous: before, Epoch: 8})
	if got, want := shape(n, after), "a(b(d(e[re])[rd]))"; got != want {
		t.Errorf("tree %s for the other objective, want %s", got, want)
	}

	// A switch that has lost its locator copies no more.
	b := *n.Node("b")
	b.Locators = nil
	square.Topology.SetNode(b)
	n = network(square)
	if p := place(t, n, Request{Spec: &spec, Previous: after, Epoch: 8}); p.Node("b") != nil {
		t.Errorf("tree %s has a switch without a locator", shape(n, p))
	}
}

// TestNotAdjacent: a child that is not adjacent may answer by any way, so on any port to a switch.
func TestNotAdjacent(t *testing.T) {
	net := sample.New().Switches("a", "c").Router("x", "y").
		Links([2]string{"a", "x"}, [2]string{"x", "c"}, [2]string{"a", "y"},
			[2]string{"y", "c"}).Hosts("a", "s").Hosts("c", "rc")
	spec := net.Spec(1, "s", "rc")
	p := place(t, network(net), Request{Spec: &spec})
	if got := p.Nodes[0].Branches[0].Ingress; !slices.Equal(got, []uint32{1, 2}) {
		t.Errorf("answers come in by %v, want ports 1 and 2", got)
	}
}

// TestSRHLimit: an SRH of exactly the greatest length is allowed.
func TestSRHLimit(t *testing.T) {
	net := sample.Figure1()
	spec := net.Spec(1, "s1", "r1", "r2", "r3")
	spec.Mode = api.ModeInband
	net.Inventory.Limits.SRHOctets = api.SRHSize([]int{2, 1})
	place(t, network(net), Request{Spec: &spec})
	net.Inventory.Limits.SRHOctets--
	var refused *api.Error
	if _, err := Place(network(net), Request{Name: "g", Spec: &spec, Epoch: 1}); !errors.As(err,
		&refused) || refused.Fields[0].Code != api.CodeLimit ||
		refused.Fields[0].Value != "3 receivers behind 2 switches" {
		t.Errorf("one octet less: %v, want a limit", err)
	}
}

// The hold-off is a round trip of the tree if the delays are known.
func TestHoldoff(t *testing.T) {
	net := sample.Figure1()
	spec := net.Spec(1, "s1", "r1", "r4")
	if p := place(t, network(net), Request{Spec: &spec}); p.NackHoldoff != time.Millisecond {
		t.Errorf("unknown delays: %v", p.NackHoldoff)
	}
	for _, l := range net.Topology.Build().Links {
		l := *l
		l.Delay = topology.Delay{Known: true, Average: 100, Min: 90}
		net.Topology.SetLink(l)
	}
	if p := place(t, network(net), Request{Spec: &spec}); p.NackHoldoff != 400*time.Microsecond {
		t.Errorf("two links of 100 us: %v", p.NackHoldoff)
	}
	spec.NackHoldoff = api.Duration(7 * time.Microsecond)
	if p := place(t, network(net), Request{Spec: &spec}); p.NackHoldoff != 7*time.Microsecond {
		t.Errorf("as the spec says: %v", p.NackHoldoff)
	}
}
