package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/plan/plantest"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// TestClasses: the pipeline accepts the planned entries, each port has both classes once, and equal
// DSCPs appear once.
func TestClasses(t *testing.T) {
	n := network(sample.Clos(2, 2, 3))
	c := plantest.Schema(t)
	m := inventory.DefaultClasses()
	m.DSCP.TrimmedLastHop, m.DSCP.TrimmableRetx = m.DSCP.Trimmed, m.DSCP.Trimmable
	for i := range n.Inventory.Switches {
		sw := &n.Inventory.Switches[i]
		ports := len(n.FabricPorts(sw)) + len(n.HostPorts(sw))
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

// TestClassesOfTraffic: data and control packets have the classes, priorities and queues from the
// inventory. Control packets are neither trimmed nor marked (MRC-102). Data packets may be trimmed
// if their codepoint says so (MRC-105) and are marked (MRC-106, MRC-131). Trimming leaves the
// required length (MRC-076).
func TestClassesOfTraffic(t *testing.T) {
	n := network(sample.Clos(1, 2, 1))
	m := inventory.Classes{
		DSCP: inventory.DSCPs{NoTrim: 1, Trimmable: 2, TrimmableRetx: 3, Trimmed: 4,
			TrimmedLastHop: 5, Control: 6},
		DataPriority: 2, ControlPriority: 5, DataPackets: 300, ControlPackets: 900, ECNMin: 40,
		ECNMax: 80, TrimSize: 200, TrimLength: true,
	}
	want := []string{
		"traffic_class/dscp=1 -> set_class(class=0, priority=2)",
		"traffic_class/dscp=2 -> set_trimmable_class(class=0, priority=2)",
		"traffic_class/dscp=3 -> set_trimmable_class(class=0, priority=2)",
		"traffic_class/dscp=4 -> set_trimmed_class(class=7, priority=5)",
		"traffic_class/dscp=5 -> set_trimmed_class(class=7, priority=5)",
		"traffic_class/dscp=6 -> set_class(class=7, priority=5)",
		"class_queue/class=0/port=101 -> set_data_queue(ecn_max=80, ecn_min=40, host_facing=1, " +
			"packets=300, trim_packets=900)",
		"class_queue/class=7/port=101 -> set_queue(packets=900)",
	}
	for _, port := range []int{1, 2} {
		want = append(want, fmt.Sprintf("class_queue/class=0/port=%d -> set_data_queue(ecn_max=80, "+
			"ecn_min=40, host_facing=0, packets=300, trim_packets=900)", port),
			fmt.Sprintf("class_queue/class=7/port=%d -> set_queue(packets=900)", port))
	}
	trimming := "trimming/default -> set_trimming(class=7, dscp=4, dscp_last_hop=5, octets=200, " +
		"priority=5, set_length=1)"
	planned := func(m inventory.Classes) (out []string) {
		for _, e := range n.Classes(n.switches["leaf1"], m) {
			out = append(out, fmt.Sprint(e))
		}
		return out
	}
	if got, want := planned(m), append(slices.Clone(want), trimming); !slices.Equal(got, want) {
		t.Errorf("planned\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	m.TrimSize = 0
	if got := planned(m); !slices.Equal(got, want) {
		t.Errorf("planned without trimming\n%s\nwant\n%s", strings.Join(got, "\n"),
			strings.Join(want, "\n"))
	}
}

// TestDefaultClasses: by default, too, control goes first, data is marked before its queue is full,
// and what is left of a trimmed packet has all headers up to the TSETH (MRC-102, MRC-106, MRC-131,
// MRC-076).
func TestDefaultClasses(t *testing.T) {
	m := inventory.DefaultClasses()
	if m.ControlPriority <= m.DataPriority {
		t.Errorf("priority %d for control, %d for data", m.ControlPriority, m.DataPriority)
	}
	if m.ECNMin == 0 || m.ECNMin > m.ECNMax || m.ECNMax >= m.DataPackets {
		t.Errorf("marks from %d to %d packets of %d", m.ECNMin, m.ECNMax, m.DataPackets)
	}
	headers := packet.EthernetLen + packet.IPv6Len + packet.SRHFixedLen + packet.SegmentLen +
		packet.IPv6Len + packet.UDPLen + packet.BTHLen + packet.METHLen + packet.TSETHLen
	if int(m.TrimSize) != headers {
		t.Errorf("trimmed to %d octets, want %d", m.TrimSize, headers)
	}
}

// TestNothingClimbsAgain: a spine without a link to a leaf reaches this leaf by another leaf, from
// where a structured EV would bring the packet back. So the route says that the leaf is not below,
// and the spine has no value towards the leaf. Destinations below are routed as before.
func TestNothingClimbsAgain(t *testing.T) {
	net := sample.Clos(2, 2, 1)
	whole := net.Topology.Build()
	at := NewNetwork(whole, &net.Inventory).at
	var leaves []topology.NodeID
	for _, node := range whole.Nodes {
		if strings.HasPrefix(at[node.ID].Name, "leaf") {
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
		if ends := at[l.Local].Name + at[l.Remote].Name; ends == "leaf1spine1" || ends == "spine1leaf1" {
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
	if h1, h2 := table.lookup(net.Address("h1")), table.lookup(net.Address("h2")); h1 != "2/2 up" ||
		h2 != "2/2" {
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
