package mrc

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/topology"
)

// TestLeasePaths: the links of a leased path are those that packets of its EV cross, in every mode;
// in mode ecmp there are none. What is denied is down, and a host that is not connected is not.
func TestLeasePaths(t *testing.T) {
	for _, mode := range []string{"stev", "usid-f3216", "usid-f1616", "usid-srh", "ecmp"} {
		t.Run(mode, func(t *testing.T) {
			w := newBed(t, 1, func(c *Config) { c.Mode = mode }).clos(2, 3, 2, 2)
			w.start()
			w.run(3 * time.Second)
			facts, why := w.core.LeaseFacts([]string{"h1-1", "h2-1", "unknown"})
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
				paths := LeasePaths(facts.Fabric, facts.At["h1-1"], facts.At["h2-1"], port)
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
			facts, _ = w.core.LeaseFacts([]string{"h1-1", "h2-1"})
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

// TestLeasePathsOfParallelLinks: an EV that names switches may take any of the links between two:
// the path has all of these, and each switch once.
func TestLeasePathsOfParallelLinks(t *testing.T) {
	w := newBed(t, 1, func(c *Config) { c.Mode, c.Hops = "usid-f3216", "nodes" }).clos(1, 2, 1, 1)
	w.connect(leafID(1, 1), spineID(1, 1))
	w.start()
	facts, why := w.core.LeaseFacts([]string{"h1-1", "h2-1"})
	paths := LeasePaths(facts.Fabric, facts.At["h1-1"], facts.At["h2-1"], 1)
	if why != "" || len(paths) != 1 || len(paths[0].Links) != 3 ||
		!slices.Equal(paths[0].Nodes, []topology.NodeID{spineID(1, 1)}) {
		t.Errorf("%q, %+v; want one path, of two links up and one down, by the spine", why, paths)
	}
}

// TestLeasePathsOfThreeTiers: a leased path has its links in the order in which packets cross them,
// and the switches between the two leaves, of every tier.
func TestLeasePathsOfThreeTiers(t *testing.T) {
	w := newBed(t, 1, nil).pods(1, 2, 1).start()
	facts, why := w.core.LeaseFacts([]string{"h1-1", "h3-1"})
	paths := LeasePaths(facts.Fabric, facts.At["h1-1"], facts.At["h3-1"], 1)
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
