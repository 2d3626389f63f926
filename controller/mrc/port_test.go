package mrc

import (
	"os"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

func (w *bed) says(node topology.NodeID, ports map[uint32]bool) {
	w.core.SetPorts(node, ports)
	w.pump()
}

func (w *bed) status(id topology.LinkID) api.LinkStatus {
	w.t.Helper()
	for _, s := range w.core.Links() {
		if s.ID == id {
			return s.Status
		}
	}
	w.t.Fatalf("no link %s", id)
	return api.LinkStatus{}
}

// TestPorts: an advertised link is denied in both directions while the switch at one end reports
// its port down. A port that is up again, or unknown, does not restore the link by itself.
func TestPorts(t *testing.T) {
	for _, c := range []struct {
		name string
		back map[uint32]bool
		port string // of the link's view, then
	}{
		{"up", map[uint32]bool{1: true, 2: true}, "up"},
		{"unknown", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newBed(t, 1, nil).clos(2, 4, 2, 2).start()
			w.run(time.Second)
			links := w.both("leaf1-1", "spine1-1") // at port 1 of the leaf
			w.says("leaf1-1", map[uint32]bool{1: true, 2: true})
			w.check(never, none)
			w.says("leaf1-1", map[uint32]bool{1: false, 2: true})
			w.run(10 * time.Millisecond)
			w.check(isOf(links), none)
			if s := w.status(links[0].ID); s.Phase != "down" || s.Cause != "port down" ||
				s.FromPort != "down" || s.ToPort != "" {
				t.Errorf("%+v", s)
			}
			if s := w.status(links[1].ID); s.FromPort != "" || s.ToPort != "down" || !s.Denied {
				t.Errorf("%+v", s)
			}
			w.run(10 * time.Second)
			w.check(isOf(links), none)

			w.says("leaf1-1", c.back)
			if s := w.status(links[0].ID); s.FromPort != c.port || s.Phase != "held" {
				t.Errorf("%+v", s)
			}
			w.black[links[0].ID] = 1
			w.run(10 * time.Second) // its back-off is over, and no probe came through
			w.check(isOf(links[:1]), none)
			delete(w.black, links[0].ID)
			w.run(2 * time.Minute)
			w.check(never, none)
		})
	}
}

// TestPortsBeforeTopology: what a switch says counts also when it comes before the
// topology, and both ends of a link have their word.
func TestPortsBeforeTopology(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 4, 2, 2)
	links := w.both("leaf2-2", "spine2-1")
	w.core.SetPorts("leaf2-2", map[uint32]bool{1: true})
	w.core.SetPorts("spine2-1", map[uint32]bool{2: false})
	w.start()
	w.run(time.Minute)
	w.check(isOf(links), none)
	if s := w.status(links[0].ID); s.FromPort != "up" || s.ToPort != "down" || s.Phase != "down" {
		t.Errorf("%+v", s)
	}
}

// TestPortNumbers: if link identifiers are not port numbers, the ports come from the inventory.
func TestPortNumbers(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 4, 2, 2).start()
	w.run(time.Second)
	w.core.SetPortNumbers("leaf1-1", map[uint32]uint32{1: 21, 2: 1})
	w.says("leaf1-1", map[uint32]bool{1: false})
	w.check(isOf(w.both("leaf1-1", "spine1-2")), none)
	w.says("leaf1-1", map[uint32]bool{21: false, 1: true})
	w.run(time.Minute)
	w.check(isOf(w.both("leaf1-1", "spine1-1")), none)
	w.core.SetPortNumbers("leaf1-1", nil)
	w.run(time.Minute)
	w.check(never, none)
}

// TestPortStorm checks that hosts learn only once of ports that flap ten times a second, and of
// their return after the hold. With WEFT_SIEGE it runs a minute of 1,024 ports, otherwise five
// seconds of 256 ports.
func TestPortStorm(t *testing.T) {
	planes, leaves, spines, flaps := 2, 8, uint32(32), 50
	if os.Getenv("WEFT_SIEGE") != "" {
		leaves, spines, flaps = 16, 64, 600
	}
	w := newBed(t, 1, nil).clos(planes, leaves, int(spines), 1).start()
	w.run(time.Second)
	report := func(down bool) (ports int) {
		for p := 1; p <= planes; p++ {
			for l := 1; l <= leaves; l++ {
				up := make(map[uint32]bool)
				for n := uint32(1); n <= spines; n++ {
					up[n] = !down || n%2 == 0
					ports++
				}
				w.says(leafID(p, l), up)
			}
		}
		return ports
	}
	report(false)
	w.run(time.Second)
	w.check(never, none)
	clear(w.sets)
	w.events = nil
	flapping := 0
	for range flaps {
		flapping = report(true) / 2
		w.run(50 * time.Millisecond)
		report(false)
		w.run(50 * time.Millisecond)
	}
	most := 0
	for host := range w.hosts {
		most = max(most, len(w.sets[host]))
	}
	// The ports of the leaves go out one leaf after the other at first; later there is nothing to say.
	if limit := planes * leaves; most > limit {
		t.Errorf("a host learned of %d changes, want at most %d", most, limit)
	}
	for host, at := range w.sets {
		for _, when := range at[1:] {
			if when-at[0] > time.Second {
				t.Fatalf("%s learned of something at %v, after the first at %v", host, when, at[0])
			}
		}
	}
	if len(w.events) > 4*flapping {
		t.Errorf("%d events of %d ports", len(w.events), flapping)
	}
	t.Logf("%d ports, %d changes of a host at most, %d events", flapping, most, len(w.events))
	clear(w.sets)
	w.run(3 * time.Minute)
	w.check(never, none)
}
