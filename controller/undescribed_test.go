package controller_test

import (
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/topology"
)

// TestUndescribed: if the topology lacks the locator, the SIDs or the port of a link of a switch,
// the switch has a condition that says so, and is not ready.
func TestUndescribed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*topology.Builder, *topology.Snapshot, topology.Node)
		want   string
	}{
		{"nothing", func(*topology.Builder, *topology.Snapshot, topology.Node) {}, ""},
		{"locator", func(b *topology.Builder, _ *topology.Snapshot, n topology.Node) {
			n.Locators = nil
			b.SetNode(n)
		}, "it advertises no SRv6 locator of algorithm 0"},
		{"locator of algorithm 0", func(b *topology.Builder, _ *topology.Snapshot, n topology.Node) {
			n.Locators[0].Algorithm = 128
			b.SetNode(n)
		}, "it advertises no SRv6 locator of algorithm 0"},
		{"SIDs", func(b *topology.Builder, _ *topology.Snapshot, n topology.Node) {
			n.SIDs = nil
			b.SetNode(n)
		}, "it advertises no SRv6 SID"},
		{"port", func(b *topology.Builder, s *topology.Snapshot, n topology.Node) {
			l := *s.LinksFrom(n.ID)[0]
			l.LocalID, l.LocalPort = 0, 0
			b.SetLink(l)
		}, "the port of its link to "},
	} {
		net := sample.Figure1()
		w := up(t, net, 1)
		s := net.Topology.Build()
		n := *s.Node(net.Node("n4"))
		n.Locators = append([]topology.Locator(nil), n.Locators...)
		c.change(net.Topology, s, n)
		s = net.Topology.Build()
		w.core.SetTopology(s)
		w.run(time.Minute)
		all := w.core.Switches()
		ready, err := (&controller.Sync{Topology: s, Switches: all}).Readiness(nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			x := all[i].Conditions.Find(api.Undescribed)
			want := c.want
			if all[i].Name != "n4" {
				want = ""
			}
			if (x != nil) != (want != "") || x != nil && !strings.HasPrefix(x.Message, want) {
				t.Errorf("without %s, %s has %+v, want %q", c.name, all[i].Name, x, want)
			}
		}
		if ready.Ready != (c.want == "") {
			t.Errorf("without %s: %+v", c.name, ready)
		}
	}
}
