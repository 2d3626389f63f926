package plan

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/entry"
)

var update = flag.Bool("update", false, "rewrite golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s; run with -update and look at the diff\ngot:\n%s", path, diff(string(want), got))
	}
}

// diff returns the lines that only one of two texts has.
func diff(want, got string) string {
	var b strings.Builder
	has := func(s string) map[string]bool {
		m := make(map[string]bool)
		for _, l := range strings.Split(s, "\n") {
			m[l] = true
		}
		return m
	}
	w, g := has(want), has(got)
	for _, l := range strings.Split(want, "\n") {
		if !g[l] {
			fmt.Fprintln(&b, "-", l)
		}
	}
	for _, l := range strings.Split(got, "\n") {
		if !w[l] {
			fmt.Fprintln(&b, "+", l)
		}
	}
	return b.String()
}

func network(n *sample.Net) *Network { return NewNetwork(n.Topology.Build(), &n.Inventory) }

func schema(t testing.TB) *southbound.Schema {
	t.Helper()
	p, err := southbound.NewPipeline(p4.P4Info(), p4.JSON())
	if err != nil {
		t.Fatal(err)
	}
	return p.Schema()
}

// describe writes everything that a placement needs, switch by switch, and
// checks that the pipeline takes it, that nothing is there twice, and that
// every entity is recognized as the group's.
func describe(t *testing.T, n *Network, p *Placement) string {
	t.Helper()
	s := schema(t)
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
			fmt.Fprintf(&b, "  %s %s\n", [...]string{"data    ", "response", "start   "}[it.Class], it.Entity)
			check(t, s, sw, it.Entity, seen)
			if GroupOf(it.Entity) != int(p.Group) {
				t.Errorf("%s: %s counts as group %d", sw, it.Entity, GroupOf(it.Entity))
			}
		}
	}
	return b.String()
}

func check(t *testing.T, s *southbound.Schema, sw string, e entry.Entity, seen map[entry.Key]bool) {
	t.Helper()
	if seen[e.Key()] {
		t.Errorf("%s: twice: %s", sw, e.Key())
	}
	seen[e.Key()] = true
	coded, err := s.Encode(e)
	if err != nil {
		t.Errorf("%s: %v", sw, err)
		return
	}
	back, err := s.Decode(coded)
	if err != nil || !entry.Equal(e, back) {
		t.Errorf("%s: %s came back as %v, %v", sw, e, back, err)
	}
}

func place(t *testing.T, n *Network, r Request) *Placement {
	t.Helper()
	if r.Name == "" {
		r.Name = "g1"
	}
	if r.Epoch == 0 {
		r.Epoch = 7
	}
	p, err := n.Place(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFigure1(t *testing.T) {
	net := sample.Figure1()
	n := network(net)
	spec := net.Spec(1, "s1", "r1", "r2", "r3", "r4", "r5")
	golden(t, "figure1.txt", describe(t, n, place(t, n, Request{Group: 3, Spec: &spec})))
}

// TestHostsOnTwoPlanes: each plane's leaf has a way to a host, by its own port and to its own MAC,
// and the leaf at the other end of the plane routes to that leaf.
func TestHostsOnTwoPlanes(t *testing.T) {
	net := sample.New().Switches("p1a", "p1s", "p1b", "p2a", "p2s", "p2b").
		Links([2]string{"p1a", "p1s"}, [2]string{"p1s", "p1b"}, [2]string{"p2a", "p2s"}, [2]string{"p2s", "p2b"}).Hosts("p1a", "h")
	h := &net.Inventory.Hosts[0]
	h.Planes = []inventory.Attachment{{Switch: "p2a", Port: 44, MAC: inventory.MAC{2, 2, 0, 0, 0, 1}}}
	if err := net.Inventory.Validate(); err != nil {
		t.Fatal(err)
	}
	n := network(net)
	base := func(sw string) string {
		var b strings.Builder
		for _, e := range n.Base(net.Inventory.Switch(sw)) {
			fmt.Fprintln(&b, e)
		}
		return b.String()
	}
	way := func(port uint32, neighbor uint16) string {
		return fmt.Sprint(route(host(h.Address), forward(hop{port, neighbor})))
	}
	macs := func(id uint16, sw string, to inventory.MAC) string {
		return fmt.Sprint(setMACs(id, packet.MAC(net.Inventory.Switch(sw).MAC), packet.MAC(to)))
	}
	for sw, want := range map[string][]string{
		"p1a": {way(101, 1<<9|101), macs(1<<9|101, "p1a", h.MAC)},
		"p2a": {way(44, 1<<9|44), macs(1<<9|44, "p2a", h.Planes[0].MAC)},
		"p1b": {way(1, 1)},
		"p2b": {way(1, 1)},
	} {
		got := base(sw)
		for _, line := range want {
			if !strings.Contains(got, line+"\n") {
				t.Errorf("%s lacks %s\n%s", sw, line, got)
			}
		}
	}
}

func TestFigure1Base(t *testing.T) {
	net := sample.Figure1()
	n := network(net)
	s := schema(t)
	var b strings.Builder
	for i := range net.Inventory.Switches {
		sw := &net.Inventory.Switches[i]
		fmt.Fprintln(&b, sw.Name)
		seen := make(map[entry.Key]bool)
		for _, e := range n.Base(sw) {
			if m, ok := e.(entry.Multicast); ok && m.ID > 2 {
				continue // thirty more of the same kind
			}
			fmt.Fprintf(&b, "  %s\n", e)
			check(t, s, sw.Name, e, seen)
			if GroupOf(e) != -1 {
				t.Errorf("%s counts as group %d's", e, GroupOf(e))
			}
		}
	}
	golden(t, "figure1_base.txt", b.String())
}

// TestLastLinkPort: a link that advertises a port of the program's own leads nowhere.
func TestLastLinkPort(t *testing.T) {
	for _, c := range []struct {
		port   uint32
		usable bool
	}{{p4.MaxLinkPort, true}, {p4.PfcPort, false}, {p4.RecirculationPort, false}, {p4.CpuPort, false}, {p4.DropPort, false}} {
		net := sample.New().Switches("A", "B")
		net.LinkPorts("A", c.port, "B", 2, 1)
		n := network(net)
		ports := n.fabricPorts(n.switches["A"])
		if _, ok := n.hop(n.switches["A"], n.Snapshot.LinksFrom(n.nodes["A"].ID)[0]); ok != c.usable || (len(ports) == 1) != c.usable {
			t.Errorf("port %d: ports %v, a way %v; want %v", c.port, ports, ok, c.usable)
		}
	}
}
