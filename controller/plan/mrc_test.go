package plan

import (
	"strings"
	"testing"

	"github.com/weft-sdn/weft/controller/ev"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// TestClasses: the pipeline takes what is planned, each port has both classes once, and DSCPs that are the same are there once.
func TestClasses(t *testing.T) {
	n := network(sample.Clos(2, 2, 3))
	c := schema(t)
	m := inventory.DefaultClasses()
	m.DSCP.TrimmedLastHop, m.DSCP.TrimmableRetx = m.DSCP.Trimmed, m.DSCP.Trimmable
	for i := range n.Inventory.Switches {
		sw := &n.Inventory.Switches[i]
		ports := len(n.fabricPorts(sw)) + len(n.hostPorts(sw))
		seen := map[string]bool{}
		for _, e := range n.Classes(sw, m) {
			if _, err := c.Encode(e); err != nil {
				t.Errorf("%s: %v: %v", sw.Name, e, err)
			}
			if seen[string(e.Key())] {
				t.Errorf("%s: twice: %v", sw.Name, e)
			}
			seen[string(e.Key())] = true
		}
		if want := 4 + 2*ports + 1; len(seen) != want {
			t.Errorf("%s: %d entries, want %d", sw.Name, len(seen), want)
		}
	}
}

// TestNothingClimbsAgain: a spine that has lost its link to a leaf reaches that by another leaf, from where
// a structured EV would bring the packet back: its route says that the leaf is not below, and the spine has no
// value that leads there. What is below is routed as before.
func TestNothingClimbsAgain(t *testing.T) {
	net := sample.Clos(2, 2, 1)
	whole := net.Topology.Build()
	names := NewNetwork(whole, &net.Inventory).names
	var leaves []topology.NodeID
	for _, node := range whole.Nodes {
		if strings.HasPrefix(names[node.ID], "leaf") {
			leaves = append(leaves, node.ID)
		}
	}
	clos, err := whole.Graph().Clos(topology.ClosRequest{Leaves: leaves})
	if err != nil {
		t.Fatal(err)
	}
	a, err := ev.Assign(clos, ev.Format{Mode: ev.ModeStructured}, ev.Numbers{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range whole.Links {
		if ends := names[l.Local] + names[l.Remote]; ends == "leaf1spine1" || ends == "spine1leaf1" {
			net.Topology.RemoveLink(l.ID)
		}
	}
	n := network(net)
	var spine *inventory.Switch
	for i := range n.Inventory.Switches {
		if n.Inventory.Switches[i].Name == "spine1" {
			spine = &n.Inventory.Switches[i]
		}
	}
	table := tableOf(t, n.EVRoutes(spine, a))
	if h1, h2 := table.lookup(net.Address("h1")), table.lookup(net.Address("h2")); h1 != "2/2 up" || h2 != "2/2" {
		t.Errorf("to the host of the lost leaf by %q, and to the other by %q", h1, h2)
	}
	fields, values := 0, 0
	for _, e := range n.EVs(spine, a) {
		if x, ok := e.(entry.Table); ok {
			switch x.Name {
			case p4.TableEvField:
				fields++
			case p4.TableEvUp:
				values++
			}
		}
	}
	if fields != 1 || values != 0 {
		t.Errorf("%d fields and %d values at the top, want one and none", fields, values)
	}
}
