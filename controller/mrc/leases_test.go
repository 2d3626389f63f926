package mrc

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/topology"
)

// leased holds the part of a core's view for leases between some hosts.
type leased struct {
	Fabric *fabric.Fabric
	At     map[string]ev.Attachment
	Down   map[topology.LinkID]bool
}

func leaseFacts(c *Core, hosts ...string) (out leased, why string) {
	v := c.View()
	if v.Leases == nil {
		return out, v.Why
	}
	out = leased{c.state.Fabric(), make(map[string]ev.Attachment), v.Leases.Down}
	for _, name := range hosts {
		if at, ok := c.viewer.at[name]; ok {
			out.At[name] = at
		}
	}
	return out, ""
}

// TestLeasePaths: in every mode, a leased path has the links that packets with its EV cross; mode
// ecmp has no leased paths. Down lists denied links, but no links because of an unconnected host.
func TestLeasePaths(t *testing.T) {
	for _, mode := range []string{"stev", "usid-f3216", "usid-f1616", "usid-srh", "ecmp"} {
		t.Run(mode, func(t *testing.T) {
			w := newBed(t, 1, func(c *Config) { c.Mode = mode }).clos(2, 3, 2, 2)
			w.start()
			w.run(3 * time.Second)
			facts, why := leaseFacts(w.core, "h1-1", "h2-1", "unknown")
			if mode == "ecmp" {
				if why == "" {
					t.Error("leases where nobody knows the paths")
				}
				return
			}
			if why != "" || len(facts.Down) != 0 || len(facts.At) != 2 {
				t.Fatalf("%q, %v down, at %v", why, facts.Down, facts.At)
			}
			assign := facts.Fabric.Assignment()
			for port := uint8(1); port <= 2; port++ {
				paths := leasePathsBy(facts.Fabric, facts.At["h1-1"], facts.At["h2-1"], port)
				if len(paths) != 2 {
					t.Fatalf("%d paths by port %d, want one by each spine", len(paths), port)
				}
				set, _ := facts.Fabric.PathSet(facts.At["h1-1"], facts.At["h2-1"], port)
				choices, err := assign.Choices(set)
				if err != nil {
					t.Fatal(err)
				}
				for i, p := range paths {
					r, err := assign.Decode(set.Source().ID, set.Destination().ID, choices[i].Value)
					if err != nil {
						t.Fatal(err)
					}
					var want []topology.LinkID
					for _, hop := range r.Hops {
						for _, l := range hop.Links {
							want = append(want, l.ID)
						}
					}
					if !slices.Equal(p.Links, want) || len(p.Nodes) != 1 || p.Plane != int(port) ||
						p.EV.Port != port {
						t.Errorf("%+v, want the links %v", p, want)
					}
					if srh := p.EV.Packet.Destination.IsValid(); srh != assign.Format().Mode.SRv6() ||
						(p.EV.Packet.SourcePort != nil) != (assign.Format().Mode == ev.ModeStructured) {
						t.Errorf("the packet is %+v", p.EV.Packet)
					}
				}
			}
			link := w.both(leafID(1, 1), spineID(1, 1))
			w.remove(link)
			_ = w.core.Gone("h2-1")
			if err := w.core.Drain(Target{Host: "h1-1", Port: 2}); err != nil {
				t.Fatal(err)
			}
			facts, _ = leaseFacts(w.core, "h1-1", "h2-1")
			want := []topology.LinkID{link[0].ID, link[1].ID, "h1-1/2"}
			for _, id := range want {
				if !facts.Down[id] {
					t.Errorf("%s is not down: %v", id, facts.Down)
				}
			}
			if len(facts.Down) != len(want) {
				t.Errorf("down are %v, want %v", fmt.Sprint(facts.Down), want)
			}
		})
	}
}

// TestView: a core publishes a view with a higher revision after each change that matters to
// leases, and the same view while nothing of that changes.
func TestView(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 2)
	if v := w.core.View(); v.Leases != nil || v.Why == "" {
		t.Errorf("without a topology: %+v", v)
	}
	w.start()
	w.run(3 * time.Second)
	last, link := w.core.View(), w.both(leafID(1, 1), spineID(1, 1))
	changed := func(what string, change func()) {
		t.Helper()
		change()
		v := w.core.View()
		if v == last || v.Revision <= last.Revision || w.core.View() != v {
			t.Errorf("%s: revision %d after %d", what, v.Revision, last.Revision)
		}
		last = v
	}
	drain := func(t Target) func() { return func() { _ = w.core.Drain(t) } }
	before := *last
	changed("a link is drained", drain(Target{Link: link[0].ID}))
	if !last.Leases.Down[link[0].ID] || before.Leases.Down[link[0].ID] {
		t.Error("the link is not down, or was in the view before")
	}
	changed("a port is drained", drain(Target{Host: "h1-1", Port: 2}))
	if !last.Leases.Down["h1-1/2"] {
		t.Errorf("down are %v", last.Leases.Down)
	}
	if last.Wiring != before.Wiring || last.Wiring == nil {
		t.Errorf("the wiring is %v, want %v: nothing was added", last.Wiring, before.Wiring)
	}
	_ = w.core.Gone("h2-1")
	w.run(time.Second)
	if v := w.core.View(); v != last {
		t.Errorf("nothing of leases has changed, and the view has revision %d", v.Revision)
	}
	changed("a host has gone", func() { _ = w.core.RemoveHost("h3-1") })
	if last.Wiring == before.Wiring {
		t.Error("a host has gone, and the wiring is the same")
	}
	if paths := last.Leases.Paths("h1-1", "h3-1"); paths != nil {
		t.Errorf("there are paths to a host that has gone: %v", paths)
	}
	if len(last.Leases.Paths("h1-1", "h2-1")) != 4 || len(before.Leases.Paths("h1-1", "h3-1")) != 4 {
		t.Error("a view lacks paths")
	}
}

// TestLeasePathsOfParallelLinks: an EV that names switches may take any of the links between two:
// the path has all of these, and each switch once.
func TestLeasePathsOfParallelLinks(t *testing.T) {
	w := newBed(t, 1, func(c *Config) { c.Mode, c.Hops = "usid-f3216", "nodes" }).clos(1, 2, 1, 1)
	w.connect(leafID(1, 1), spineID(1, 1))
	w.start()
	facts, why := leaseFacts(w.core, "h1-1", "h2-1")
	paths := leasePathsBy(facts.Fabric, facts.At["h1-1"], facts.At["h2-1"], 1)
	if why != "" || len(paths) != 1 || len(paths[0].Links) != 3 ||
		!slices.Equal(paths[0].Nodes, []topology.NodeID{spineID(1, 1)}) {
		t.Errorf("%q, %+v; want one path, of two links up and one down, by the spine", why, paths)
	}
}

// TestLeasePathsOfThreeTiers: a leased path has its links in the order in which packets cross them,
// and the switches between the two leaves, of every tier.
func TestLeasePathsOfThreeTiers(t *testing.T) {
	w := newBed(t, 1, nil).pods(1, 2, 1).start()
	facts, why := leaseFacts(w.core, "h1-1", "h3-1")
	paths := leasePathsBy(facts.Fabric, facts.At["h1-1"], facts.At["h3-1"], 1)
	if why != "" || len(paths) != 4 {
		t.Fatalf("%q, %d paths, want one by each core", why, len(paths))
	}
	for _, p := range paths {
		at := []topology.NodeID{leafID(1, 1)}
		for _, id := range p.Links {
			l := facts.Fabric.Snapshot().Link(id)
			if l.Local != at[len(at)-1] {
				t.Errorf("the link %s begins elsewhere than at %s", id, at[len(at)-1])
			}
			at = append(at, l.Remote)
		}
		if len(at) != 5 || at[4] != leafID(1, 3) || !slices.Equal(p.Nodes, at[1:4]) {
			t.Errorf("the path is by %v, and the switches between its leaves are %v", at, p.Nodes)
		}
	}
}
