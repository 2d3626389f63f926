package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/scheduler"
	"github.com/weft-sdn/weft/scheduler/schedulertest"
)

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

// TestTree: the T0s of both planes of a rack are one group, pods are units, and the order of what
// the API gives does not matter.
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
		if got := shape(tree.Root); got != want {
			t.Fatalf("seed %d: %s, want %s", seed, got, want)
		}
		group := tree.Root.Units[0].Units[0]
		if !slices.Equal(group.Switches, []string{"P1-T0-1", "P2-T0-1"}) || group.Tier != 0 {
			t.Errorf("seed %d: group %+v, want the T0s of both planes", seed, group)
		}
		h := tree.Hosts[4]
		if h.Name != "n005" || len(h.Within) != 3 || h.Within[0].Name != "P1-T0-3" ||
			h.Within[1].Name != "P1-T1-3" || h.Within[2] != tree.Root || h.Usable != 2 || h.Fault != "" {
			t.Errorf("seed %d: %+v", seed, h)
		}
	}
}

// TestTreeOfOddFabrics: hosts in one plane alone, hosts that nothing is known of, switches without
// names or with those of others, a T0 without uplinks, and a network without tiers.
func TestTreeOfOddFabrics(t *testing.T) {
	f := schedulertest.Clos(1, 2, 2)
	f.Hosts[3].Ports = f.Hosts[3].Ports[1:] // plane 2 alone: its group is that of its rack
	f.Hosts = append(f.Hosts, api.Host{Name: "x"}, api.Host{Name: "y", Ports: []api.HostPort{
		{Status: api.HostPortStatus{Leaf: "1:2", LeafName: "T0/9"}}}}, api.Host{Name: "z",
		Ports: []api.HostPort{{Status: api.HostPortStatus{Leaf: "1:3", LeafName: "T0:9"}}}})
	tree := scheduler.NewTree(f)
	want := "fabric(P1-T1-1(P1-T0-1(n001 n002) P1-T0-2(n003 n004)) T0-9(y) T0-9-2(z))"
	if got := shape(tree.Root); got != want {
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
	if got := shape(tree.Root); got != "fabric(P1-T0-1(n001) P1-T0-2(n002))" ||
		tree.Hosts[0].Fault != "" {
		t.Errorf("without tiers: %s, %+v", got, tree.Hosts[0])
	}
	if tree = scheduler.NewTree(&scheduler.Facts{}); shape(tree.Root) != "fabric()" {
		t.Errorf("nothing is %s", shape(tree.Root))
	}
}

// TestNodesOfSeveralNICs: NICs at T0s of their own make one group of these, as rails do.
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
	if got := shape(tree.Root); got != want {
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
	if n := len(tree.Hosts); n != 131072 || len(tree.Root.Units) != 16 ||
		len(tree.Root.Units[15].Units) != 64 {
		t.Errorf("%d hosts in %d pods", n, len(tree.Root.Units))
	}
	if last := tree.Hosts[len(tree.Hosts)-1]; fmt.Sprint(last.Within[0].Name) != "P1-T0-1024" {
		t.Errorf("%+v", last)
	}
}
