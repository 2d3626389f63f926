package tree

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/plan/plantest"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

func network(n *sample.Net) *plan.Network { return plan.NewNetwork(n.Topology.Build(), &n.Inventory) }

// describe writes everything that a placement needs, switch by switch, and
// checks that the pipeline takes it, that nothing is there twice, and that
// every entity is recognized as the group's.
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
			fmt.Fprintf(&b, "  %s %s\n", [...]string{"data    ", "response", "start   "}[it.Class], it.Entity)
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

// TestTreeTakesItsSourceOnly: every SID of a tree takes packets of the switch, or of the host, that
// encapsulates.
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
