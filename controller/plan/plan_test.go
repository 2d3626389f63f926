package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/plan/plantest"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/entry"
)

func network(n *sample.Net) *Network { return NewNetwork(n.Topology.Build(), &n.Inventory) }

// TestHostsOnTwoPlanes: each plane's leaf has a next hop to a host, by its own port and to its own
// MAC, and the leaf at the other end of the plane routes to that leaf.
func TestHostsOnTwoPlanes(t *testing.T) {
	net := sample.New().Switches("p1a", "p1s", "p1b", "p2a", "p2s", "p2b").
		Links([2]string{"p1a", "p1s"}, [2]string{"p1s", "p1b"}, [2]string{"p2a", "p2s"},
			[2]string{"p2s", "p2b"}).Hosts("p1a", "h")
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
	hopSet := func(port uint32, neighbor uint16) string {
		return fmt.Sprint(route(host(h.Address), Forward(Hop{port, neighbor})))
	}
	macs := func(h Hop, sw string, to inventory.MAC) string {
		var b baseWork
		b.setMACs(h, entry.MAC(net.Inventory.Switch(sw).MAC), packet.MAC(to))
		return fmt.Sprint(b.out[0])
	}
	for sw, want := range map[string][]string{
		"p1a": {hopSet(101, 1<<9|101), macs(Hop{101, 1<<9 | 101}, "p1a", h.MAC)},
		"p2a": {hopSet(44, 1<<9|44), macs(Hop{44, 1<<9 | 44}, "p2a", h.Planes[0].MAC)},
		"p1b": {hopSet(1, 1)},
		"p2b": {hopSet(1, 1)},
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
	s := plantest.Schema(t)
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
			plantest.Check(t, s, sw.Name, e, seen)
			if GroupOf(e) != -1 {
				t.Errorf("%s counts as group %d's", e, GroupOf(e))
			}
		}
	}
	plantest.Golden(t, "figure1_base.txt", b.String())
}

// TestLastLinkPort: a link that advertises a port of the program's own leads nowhere.
func TestLastLinkPort(t *testing.T) {
	for _, c := range []struct {
		port   uint32
		usable bool
	}{{p4.MaxLinkPort, true}, {p4.PfcPort, false}, {p4.RecirculationPort, false}, {p4.CpuPort, false},
		{p4.DropPort, false}} {
		net := sample.New().Switches("A", "B")
		net.LinkPorts("A", c.port, "B", 2, 1)
		n := network(net)
		ports := n.FabricPorts(n.switches["A"])
		if _, ok := n.Hop(n.switches["A"], n.Snapshot.LinksFrom(n.nodes["A"].ID)[0]); ok != c.usable ||
			(len(ports) == 1) != c.usable {
			t.Errorf("port %d: ports %v, a way %v; want %v", c.port, ports, ok, c.usable)
		}
	}
}
