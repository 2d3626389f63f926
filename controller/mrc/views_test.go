package mrc

import (
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/topology"
)

// TestViewsAreCurrent: every view has what follows from the last input, whichever is read first.
func TestViewsAreCurrent(t *testing.T) {
	for name, view := range map[string]func(c *Core) any{
		"fabric":   func(c *Core) any { return c.Fabric() },
		"nodes":    func(c *Core) any { v, _ := c.NodePage(Page{}); return v },
		"node":     func(c *Core) any { v, _ := c.Node(leafID(1, 1)); return v },
		"planes":   func(c *Core) any { return c.Planes() },
		"links":    func(c *Core) any { v, _ := c.LinkPage(api.LinkFilter{}, Page{}); return v },
		"link":     func(c *Core) any { v, _ := c.Link("leaf1-1,1~spine1-1,1"); return v },
		"host":     func(c *Core) any { v, _ := c.Host(hostName(1, 1)); return v },
		"hosts":    func(c *Core) any { return c.Hosts() },
		"page":     func(c *Core) any { v, _ := c.HostPage(Page{}); return v },
		"profiles": func(c *Core) any { return c.Profiles() },
		"profile":  func(c *Core) any { v, _ := c.Profile("leaf1-1:leaf1-2"); return v },
		"profiles in pages": func(c *Core) any {
			v, _ := c.ProfilePage(api.EVProfileFilter{}, Page{})
			return v
		},
		"samples": func(c *Core) any { return c.Samples() },
		"uplinks": func(c *Core) any {
			if f, _ := c.Network(); f == nil && !c.state.Synced() {
				return nil
			}
			return c.Uplinks()
		},
		"leases": func(c *Core) any {
			return c.View().Leases != nil
		},
	} {
		w := newBed(t, 1, nil).clos(2, 2, 2, 1)
		w.core.SetTopology(w.net.Build())
		for _, host := range slices.Sorted(maps.Keys(w.made)) {
			w.hello(host, hostapi.Version{})
		}
		before := view(w.core)
		w.core.InSync()
		got := view(w.core)
		w.core.settle()
		if want := view(w.core); !reflect.DeepEqual(got, want) || reflect.DeepEqual(got, before) {
			t.Errorf("%s, read first when the topology is in sync: %+v\nwant %+v\nand not as before, %+v",
				name, got, want, before)
		}
	}
}

// TestCCBesideHostsWithoutPath: a new CC profile applies to all EV profiles, except profiles that
// cannot be made because their racks share no plane.
func TestCCBesideHostsWithoutPath(t *testing.T) {
	w := newBed(t, 1, func(c *Config) { c.CCProfile = "cc" }).clos(2, 2, 2, 1)
	for i, at := range []ev.Attachment{{leafID(1, 1), ""}, {"", leafID(2, 2)}} {
		h := fabric.Host{Name: []string{"one", "two"}[i], At: at,
			Address: netip.AddrFrom16([16]byte{0x20, 15: byte(i + 1)})}
		w.made[h.Name] = h
		if err := w.core.PutHost(h); err != nil {
			t.Fatal(err)
		}
	}
	w.start()
	w.core.SetCC(ccProfiles([]string{"cc"}))
	without := 0
	for _, p := range w.core.Profiles() {
		v := p.View()
		switch parted := p.Source.Ports() == 1 && p.Destination.Ports() == 1 &&
			(p.Source[0] == "") != (p.Destination[0] == ""); {
		case parted:
			without++
			if c := v.Conditions.Find(api.Accepted); c.Status || c.Reason != reasonNoProfile {
				t.Errorf("%s: %+v", p.Name, c)
			}
		case v.CCProfile != "cc":
			t.Errorf("%s has the CC profile %q", p.Name, v.CCProfile)
		}
	}
	if without != 2 {
		t.Errorf("%d profiles without a path, want 2", without)
	}
}

// TestDrainsOfNodes: a node shows only its own drains and the drains of its plane. A leaf of
// several planes remains in use by the planes that are not drained.
func TestDrainsOfNodes(t *testing.T) {
	apart := newBed(t, 1, nil).clos(3, 2, 2, 1)
	shared := newBed(t, 1, func(c *Config) { c.Planes = "admin-groups" })
	for plane := 1; plane <= 2; plane++ {
		for leaf := 1; leaf <= 2; leaf++ {
			shared.net.SetNode(topology.Node{ID: leafID(0, leaf)})
			shared.net.SetNode(topology.Node{ID: spineID(plane, 1)})
			shared.connect(leafID(0, leaf), spineID(plane, 1))
			for _, l := range shared.both(leafID(0, leaf), spineID(plane, 1)) {
				l.AdminGroup = 1 << (plane - 1)
				shared.net.SetLink(l)
			}
		}
	}
	for i, a := range []string{"2001:db8::1", "2001:db8::2"} {
		leaf := leafID(0, i+1)
		if err := shared.core.PutHost(fabric.Host{Name: string(leaf), Address: netip.MustParseAddr(a),
			At: ev.Attachment{leaf, leaf}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		bed    *bed
		drains []Target
		want   map[topology.NodeID]string
	}{
		{apart, []Target{{Plane: 2}, {Node: "spine3-1"}}, map[topology.NodeID]string{
			"leaf1-1": "", "spine1-1": "", "leaf2-1": "plane 2", "spine2-2": "plane 2", "leaf3-1": "",
			"spine3-1": "node spine3-1", "spine3-2": ""}},
		{shared, []Target{{Plane: 2}}, map[topology.NodeID]string{"leaf0-1": "", "spine1-1": "",
			"spine2-1": "plane 2"}},
	} {
		c.bed.start().run(time.Second)
		for _, target := range c.drains {
			if err := c.bed.core.Drain(target); err != nil {
				t.Fatal(err)
			}
		}
		for id, want := range c.want {
			n, ok := c.bed.core.Node(id)
			got := ""
			for _, d := range n.Status.Drains {
				got += d.Target
			}
			if !ok || got != want {
				t.Errorf("%s in planes %v: drains %q, want %q", id, n.Status.Planes, got, want)
			}
		}
	}
}

// TestLinkOfID: a link is found by its id if a fabric exists and paths cross the link.
func TestLinkOfID(t *testing.T) {
	w := newBed(t, 1, nil).clos(1, 2, 2, 1)
	id := w.both(leafID(1, 1), spineID(1, 1))[0].ID
	if l, ok := w.core.Link(id); ok {
		t.Errorf("%+v before there is a fabric", l)
	}
	w.connect(leafID(1, 1), leafID(1, 2))
	across := w.both(leafID(1, 1), leafID(1, 2))[0].ID
	w.start()
	for id, want := range map[topology.LinkID]bool{id: true, across: false, "x": false, "": false} {
		if l, ok := w.core.Link(id); ok != want || ok && l.ID != id {
			t.Errorf("link %q: %+v, %v, want %v", id, l, ok, want)
		}
	}
}
