package mrc

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/topology"
)

func (w *world) says(node topology.NodeID, ports map[uint32]bool) {
	w.core.SetPorts(node, ports)
	w.pump()
}

func (w *world) status(id topology.LinkID) LinkStatus {
	w.t.Helper()
	for _, s := range w.core.Links() {
		if s.ID == id {
			return s
		}
	}
	w.t.Fatalf("no link %s", id)
	return LinkStatus{}
}

// TestPorts: a link that is advertised all the while is denied, both ways, while
// the switch at one end says that its port is down. That the port is up again, or
// nothing known of it, does not bring the link back by itself.
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
			w := newWorld(t, 1, nil).clos(2, 4, 2, 2).start()
			w.run(time.Second)
			links := w.both("leaf1-1", "spine1-1") // at port 1 of the leaf
			w.says("leaf1-1", map[uint32]bool{1: true, 2: true})
			w.check(never, none)
			w.says("leaf1-1", map[uint32]bool{1: false, 2: true})
			w.run(10 * time.Millisecond)
			w.check(isOf(links), none)
			if s := w.status(links[0].ID); s.Phase != "down" || s.Cause != "port down" || s.FromPort != "down" || s.ToPort != "" {
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
	w := newWorld(t, 1, nil).clos(2, 4, 2, 2)
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

// TestPortNumbers: where links have identifiers that are no ports, the ports are
// those that the inventory says.
func TestPortNumbers(t *testing.T) {
	w := newWorld(t, 1, nil).clos(2, 4, 2, 2).start()
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
