package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/clients/scheduler"
	"github.com/weft-sdn/weft/clients/scheduler/schedulertest"
	"github.com/weft-sdn/weft/topology"
)

// shapes is a tree as text.
func shapes(t *scheduler.Tree) string {
	var parts []string
	for _, root := range t.Roots {
		parts = append(parts, shape(root))
	}
	return strings.Join(parts, " ")
}

// shape is a unit with all within it, as text.
func shape(u *scheduler.Unit) string {
	var parts []string
	for _, below := range u.Units {
		parts = append(parts, shape(below))
	}
	for _, h := range u.Hosts {
		parts = append(parts, h.Name)
	}
	return u.Name + "(" + strings.Join(parts, " ") + ")"
}

// TestTree: the T0s of both planes of a rack form one group, pods form units, and the order of the
// API's objects does not matter.
func TestTree(t *testing.T) {
	want := "fabric(P1-T1-1(P1-T0-1(n001 n002) P1-T0-2(n003 n004)) " +
		"P1-T1-3(P1-T0-3(n005 n006) P1-T0-4(n007 n008)))"
	for seed := range uint64(20) {
		f := schedulertest.Clos(2, 2, 2)
		r := rand.New(rand.NewPCG(seed, 0))
		r.Shuffle(len(f.Hosts), func(i, j int) { f.Hosts[i], f.Hosts[j] = f.Hosts[j], f.Hosts[i] })
		r.Shuffle(len(f.Nodes), func(i, j int) { f.Nodes[i], f.Nodes[j] = f.Nodes[j], f.Nodes[i] })
		r.Shuffle(len(f.Links), func(i, j int) { f.Links[i], f.Links[j] = f.Links[j], f.Links[i] })
		tree := scheduler.NewTree(f)
		if got := shapes(tree); got != want {
			t.Fatalf("seed %d: %s, want %s", seed, got, want)
		}
		group := tree.Roots[0].Units[0].Units[0]
		if !slices.Equal(group.Switches, []string{"P1-T0-1", "P2-T0-1"}) || group.Tier != 0 {
			t.Errorf("seed %d: group %+v, want the T0s of both planes", seed, group)
		}
		h := tree.Hosts[4]
		if h.Name != "n005" || len(h.Within) != 3 || h.Within[0].Name != "P1-T0-3" ||
			h.Within[1].Name != "P1-T1-3" || h.Within[2] != tree.Roots[0] || h.Usable != 2 || h.Fault != "" {
			t.Errorf("seed %d: %+v", seed, h)
		}
	}
}

// TestTreeOfOddFabrics: hosts in a single plane, unknown hosts, switches without names or with
// duplicate names, a T0 without uplinks, and a network without tiers.
func TestTreeOfOddFabrics(t *testing.T) {
	f := schedulertest.Clos(1, 2, 2)
	f.Hosts[3].Ports = f.Hosts[3].Ports[1:] // plane 2 alone: its group is that of its rack
	f.Hosts = append(f.Hosts, api.Host{Name: "x"}, api.Host{Name: "y", Ports: []api.HostPort{
		{Status: api.HostPortStatus{Leaf: "1:2", LeafName: "T0/9"}}}}, api.Host{Name: "z",
		Ports: []api.HostPort{{Status: api.HostPortStatus{Leaf: "1:3", LeafName: "T0:9"}}}})
	tree := scheduler.NewTree(f)
	want := "fabric(P1-T1-1(P1-T0-1(n001 n002) P1-T0-2(n003 n004))) fabric-2(T0-9(y)) " +
		"fabric-3(T0-9-2(z))"
	if got := shapes(tree); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if !slices.Equal(tree.Unplaced, []string{"x"}) {
		t.Errorf("unplaced are %v, want x", tree.Unplaced)
	}
	f = schedulertest.Clos(1, 2, 1)
	f.Links, f.Streams = nil, false
	for i := range f.Nodes {
		f.Nodes[i].Status.Tier = nil
	}
	f.Hosts[0].Connected = false
	tree = scheduler.NewTree(f)
	if got := shapes(tree); got != "fabric(P1-T0-1(n001) P1-T0-2(n002))" ||
		tree.Hosts[0].Fault != "" {
		t.Errorf("without tiers: %s, %+v", got, tree.Hosts[0])
	}
	if tree = scheduler.NewTree(&scheduler.Facts{}); len(tree.Roots) > 0 {
		t.Errorf("nothing is %s", shapes(tree))
	}
}

// TestNodesOfSeveralNICs: a node with NICs at several T0s, as with rails, joins these T0s into one
// group.
func TestNodesOfSeveralNICs(t *testing.T) {
	f := schedulertest.Clos(1, 4, 2) // four racks, two of which are the rails of two nodes each
	for i := range f.Hosts {
		f.Hosts[i].Name = fmt.Sprintf("n%d-%d", i/4*2+i%2+1, i%4/2)
	}
	f.Hosts[2].Connected = false
	var err error
	if f.Names, err = scheduler.ParsePattern("{host}-{nic}"); err != nil {
		t.Fatal(err)
	}
	tree := scheduler.NewTree(f)
	want := "fabric(P1-T1-1(P1-T0-1(n1 n2) P1-T0-3(n3 n4)))"
	if got := shapes(tree); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if h := tree.Hosts[0]; h.Ports != 4 || h.Usable != 4 ||
		h.Fault != "NIC n1-1: no stream to the controller" {
		t.Errorf("%+v", h)
	}
	if h := tree.Hosts[1]; h.Fault != "" {
		t.Errorf("%+v", h)
	}
}

// TestTreeOfParts: parts without a link between them get separate roots, and a host in both parts
// connects them. No unit gets a name that Slurm reads as another name.
func TestTreeOfParts(t *testing.T) {
	part := func(f *scheduler.Facts, suffix string) *scheduler.Facts {
		named := func(id *string) { *id += suffix }
		for i := range f.Nodes {
			named((*string)(&f.Nodes[i].ID))
			f.Nodes[i].Status.Name += suffix
		}
		for i := range f.Links {
			named((*string)(&f.Links[i].Status.From))
			named((*string)(&f.Links[i].Status.To))
		}
		for i := range f.Hosts {
			f.Hosts[i].Name += suffix
			for j := range f.Hosts[i].Ports {
				named((*string)(&f.Hosts[i].Ports[j].Status.Leaf))
			}
		}
		return f
	}
	f := part(schedulertest.Clos(1, 2, 1), "a")
	other := part(schedulertest.Clos(2, 1, 1), "b")
	f.Nodes, f.Links = append(f.Nodes, other.Nodes...), append(f.Links, other.Links...)
	f.Hosts = append(f.Hosts, other.Hosts...)
	want := "fabric(P1-T1-1a(P1-T0-1a(n001a) P1-T0-2a(n002a))) " +
		"fabric-2(P1-T1-1b(P1-T0-1b(n001b)) P1-T1-3b(P1-T0-2b(n002b)))"
	tree := scheduler.NewTree(f)
	if got := shapes(tree); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if h := tree.Hosts[1]; h.Name != "n001b" || h.Within[2] != tree.Roots[1] {
		t.Errorf("%+v, want it in the second part", h)
	}
	f.Hosts[0].Ports = append(f.Hosts[0].Ports, other.Hosts[0].Ports...)
	if got := scheduler.NewTree(f).Roots; len(got) != 1 {
		t.Errorf("a host in both parts leaves %d roots", len(got))
	}
	f = schedulertest.Clos(1, 1, 1)
	for i := range f.Nodes {
		f.Nodes[i].Status.Name += "-" + strings.Repeat("9", 19)
	}
	if u := scheduler.NewTree(f).Hosts[0].Within[0]; u.Name != "P1-T0-1-9999999999999999999unit" {
		t.Errorf("the unit is %s, which Slurm reads as another", u.Name)
	}
}

// TestOddLinks: only a link between a unit and a switch of the next tier puts the unit below that
// switch. A link that skips a tier or stays in one, of a T0 without hosts or of a switch without a
// tier joins no pods.
func TestOddLinks(t *testing.T) {
	f := &scheduler.Facts{}
	node := func(id string, tier int) {
		n := api.Node{ID: topology.NodeID(id), Status: api.NodeStatus{Name: id}}
		if tier >= 0 {
			n.Status.Tier = &tier
		}
		f.Nodes = append(f.Nodes, n)
	}
	link := func(f *scheduler.Facts, ends ...string) {
		for _, to := range ends[1:] {
			f.Links = append(f.Links, api.Link{Status: api.LinkStatus{
				From: topology.NodeID(ends[0]), To: topology.NodeID(to)}})
		}
	}
	for _, pod := range []string{"a", "b"} {
		for tier := range 3 {
			node(fmt.Sprintf("t%d%s", tier, pod), tier)
		}
		link(f, "t0"+pod, "t1"+pod)
		link(f, "t1"+pod, "t2"+pod)
		link(f, "t2"+pod, "t3")
		f.Hosts = append(f.Hosts, api.Host{Name: "h" + pod, Ports: []api.HostPort{
			{Status: api.HostPortStatus{Leaf: topology.NodeID("t0" + pod)}}}})
	}
	node("t3", 3)
	want := "fabric(t2a(t1a(t0a(ha))) t2b(t1b(t0b(hb))))"
	if got := shapes(scheduler.NewTree(f)); got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	node("empty", 0)
	node("odd", -1)
	for name, ends := range map[string][]string{
		"past T1": {"t0a", "t2a", "t2b"}, "past T1 and T2": {"t0a", "t3"},
		"within T0": {"t0a", "t0b"}, "within T1": {"t1a", "t1b"},
		"of a T0 without hosts": {"empty", "t1a", "t1b"},
		"of no tier":            {"odd", "t0a", "t0b", "t1a", "t1b", "t2a", "t2b"},
	} {
		odd := *f
		odd.Links = slices.Clone(f.Links)
		link(&odd, ends...)
		tree := scheduler.NewTree(&odd)
		if got := shapes(tree); got != want {
			t.Errorf("with a link %s: %s, want %s", name, got, want)
		}
		for i, u := range tree.Hosts[0].Within[:3] {
			if !slices.Equal(u.Switches, []string{fmt.Sprintf("t%da", i)}) {
				t.Errorf("with a link %s, a unit of tier %d has %v", name, i, u.Switches)
			}
		}
	}
}

func TestPattern(t *testing.T) {
	for _, x := range []struct{ pattern, host, want string }{
		{"{host}", "n1-0", "n1-0"}, {"{host}-{nic}", "n1-0", "n1"}, {"{host}-{nic}", "n1-x", "n1-x"},
		{"{host}-{nic}", "a-1-12", "a-1"}, {"rail{rail}.{host}", "rail3.n7", "n7"},
		{"{host}.mrc{nic}.net", "n7.mrc0.net", "n7"}, {"{host}.x", "n7yx", "n7yx"},
	} {
		p, err := scheduler.ParsePattern(x.pattern)
		if err != nil {
			t.Errorf("%s: %v", x.pattern, err)
			continue
		}
		nodes := scheduler.Nodes([]api.Host{{Name: x.host}}, p)
		if nodes[0].Name != x.want {
			t.Errorf("%s of %s: %s, want %s", x.pattern, x.host, nodes[0].Name, x.want)
		}
	}
	for _, x := range []struct {
		pattern, host string
		number        int
		ok            bool
	}{
		{"{host}", "n1-3", 0, true}, {"{host}-{nic}", "n1-3", 3, true},
		{"{host}-{rail}", "n1-3", 2, true}, {"{host}-{rail}", "n1-0", -1, false},
		{"r{rail}.{host}", "r8.n1", 7, true},
		{"{host}-{nic}", "n1", 0, false},
	} {
		p, err := scheduler.ParsePattern(x.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := p.Number(x.host); n != x.number || ok != x.ok {
			t.Errorf("%s of %s is NIC %d, %t; want %d, %t", x.pattern, x.host, n, ok, x.number, x.ok)
		}
	}
	for _, text := range []string{"", "{nic}", "{host}{host}", "{host}-{nic}-{rail}", "{host", "{x}"} {
		if _, err := scheduler.ParsePattern(text); err == nil || !strings.Contains(err.Error(),
			fmt.Sprintf("%q: want {host} once", text)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestFault(t *testing.T) {
	port := func(change func(*api.HostPortStatus)) api.HostPort {
		p := api.HostPort{Status: api.HostPortStatus{Leaf: "1:1"}}
		change(&p.Status)
		return p
	}
	down := port(func(s *api.HostPortStatus) { s.LinkDown = true })
	host := port(func(s *api.HostPortStatus) { s.HostDown = true })
	held := port(func(s *api.HostPortStatus) { s.Held = true })
	drained := port(func(s *api.HostPortStatus) { s.Drained = true })
	usable := port(func(s *api.HostPortStatus) { s.Usable = true })
	other := port(func(*api.HostPortStatus) {})
	for _, x := range []struct {
		h    api.Host
		want string
	}{
		{api.Host{Connected: true, Ports: []api.HostPort{down, usable}}, ""},
		{api.Host{Connected: true, Ports: []api.HostPort{down, host}}, "2 of 2 ports down"},
		{api.Host{Connected: true, Ports: []api.HostPort{held, drained, other}},
			"1 of 3 ports drained, 1 of 3 ports held back after a failure, 1 of 3 ports not usable"},
		{api.Host{Connected: true}, "no port that is attached to the fabric"},
		{api.Host{Ports: []api.HostPort{usable}}, "no stream to the controller"},
		{api.Host{Error: "EOF\n rm -rf\t/"}, "no stream to the controller: EOF rm -rf /"},
	} {
		if got := scheduler.Fault(&x.h, true); got != x.want {
			t.Errorf("%+v: %q, want %q", x.h, got, x.want)
		}
		if got := scheduler.Fault(&x.h, false); got != "" {
			t.Errorf("without streams: %q", got)
		}
	}
	long := api.Host{Error: strings.Repeat("x", 1000)}
	if got := scheduler.Fault(&long, true); len(got) > 200 {
		t.Errorf("a fault of %d octets", len(got))
	}
}

// TestLargeTree: 131,072 hosts make a tree in a moment.
func TestLargeTree(t *testing.T) {
	f := schedulertest.Clos(16, 64, 128)
	tree := scheduler.NewTree(f)
	if n := len(tree.Hosts); n != 131072 || len(tree.Roots[0].Units) != 16 ||
		len(tree.Roots[0].Units[15].Units) != 64 {
		t.Errorf("%d hosts in %d pods", n, len(tree.Roots[0].Units))
	}
	if last := tree.Hosts[len(tree.Hosts)-1]; fmt.Sprint(last.Within[0].Name) != "P1-T0-1024" {
		t.Errorf("%+v", last)
	}
}
