package fabric

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// drains implements Drains.
type drains struct {
	link  topology.LinkID
	node  topology.NodeID
	plane []int
	port  uint8 // of h1
}

func (d *drains) Link(e *Edge) bool              { return e.ID == d.link }
func (d *drains) Node(id topology.NodeID) bool   { return id == d.node }
func (d *drains) Port(host string, n uint8) bool { return host == "h1" && n == d.port }
func (d *drains) Planes() []int                  { return d.plane }

// planeNode returns a leaf or a spine of a plane.
func planeNode(kind string, plane, n int) topology.NodeID {
	return topology.NodeID(fmt.Sprintf("%s%d-%d", kind, plane, n))
}

// twoPlanes is two planes, each of two leaves below two spines.
func twoPlanes() *topology.Builder {
	net := topology.NewBuilder()
	for plane := 1; plane <= 2; plane++ {
		for i := 1; i <= 2; i++ {
			leaf := planeNode("leaf", plane, i)
			net.SetNode(topology.Node{ID: leaf})
			for j := 1; j <= 2; j++ {
				spine := planeNode("spine", plane, j)
				net.SetNode(topology.Node{ID: spine})
				up, down := uint32(j), uint32(i)
				net.SetLink(topology.Link{
					Local: leaf, Remote: spine, LocalID: up, RemoteID: down, IGPMetric: 10})
				net.SetLink(topology.Link{
					Local: spine, Remote: leaf, LocalID: down, RemoteID: up, IGPMetric: 10})
			}
		}
	}
	return net
}

// TestDenial: whatever is lost, the controller that decides and one that follows deny the same: the
// EVs that cross it, and the ports of peers.
func TestDenial(t *testing.T) {
	leaf, spine := planeNode("leaf", 1, 1), planeNode("spine", 1, 1)
	for _, c := range []struct {
		name string
		lose func(s *State, d *drains, net *topology.Builder, link topology.LinkID)
		// denied counts the EVs of port 1 that are denied, of as many as there are spines.
		denied int
		// own are the ports that h1 must not send by, peers those by which it can be reached.
		own, peers hostapi.PortMask
	}{
		{"nothing", func(*State, *drains, *topology.Builder, topology.LinkID) {},
			0, 0, hostapi.Ports(1, 2)},
		{"a link that is withdrawn", func(s *State, _ *drains, net *topology.Builder,
			id topology.LinkID) {
			net.RemoveLink(id)
			s.SetTopology(net.Build())
		}, 1, 0, hostapi.Ports(1, 2)},
		{"a link whose port is down", func(s *State, _ *drains, _ *topology.Builder, _ topology.LinkID) {
			s.SetPortNumbers(leaf, map[uint32]uint32{1: 11})
			s.SetPorts(leaf, map[uint32]bool{11: false})
		}, 1, 0, hostapi.Ports(1, 2)},
		{"a link that is drained", func(s *State, d *drains, _ *topology.Builder, id topology.LinkID) {
			d.link = id
			place, _ := s.Fabric().Place(id)
			s.LinksDrained([]int32{place})
		}, 1, 0, hostapi.Ports(1, 2)},
		{"a link that loses packets", func(s *State, _ *drains, _ *topology.Builder, id topology.LinkID) {
			place, _ := s.Fabric().Place(id)
			s.Links().Deny(place, "of the test")
		}, 1, 0, hostapi.Ports(1, 2)},
		{"a spine", func(s *State, _ *drains, net *topology.Builder, _ topology.LinkID) {
			net.RemoveNode(spine)
			s.SetTopology(net.Build())
		}, 1, 0, hostapi.Ports(1, 2)},
		{"a leaf", func(s *State, _ *drains, net *topology.Builder, _ topology.LinkID) {
			net.RemoveNode(leaf)
			s.SetTopology(net.Build())
		}, 2, 0, hostapi.Ports(1, 2)},
		{"a leaf that is drained", func(s *State, d *drains, _ *topology.Builder, _ topology.LinkID) {
			d.node = leaf
			s.NodeDrained(leaf)
		}, 2, 0, hostapi.Ports(1, 2)},
		{"a plane that is drained", func(s *State, d *drains, _ *topology.Builder, _ topology.LinkID) {
			d.plane = []int{1}
			s.PlaneDrained()
		}, 2, 0, hostapi.Ports(1, 2)},
		{"a port of a host", func(s *State, _ *drains, _ *topology.Builder, _ topology.LinkID) {
			if err := s.PortStatus("h1", hostapi.Ports(2)); err != nil {
				t.Fatal(err)
			}
		}, 0, 0, hostapi.Ports(2)},
		{"a port of a leaf", func(s *State, _ *drains, _ *topology.Builder, _ topology.LinkID) {
			s.SetPorts(leaf, map[uint32]bool{100: false})
		}, 0, hostapi.Ports(1), hostapi.Ports(2)},
		{"a port that is drained", func(s *State, d *drains, _ *topology.Builder, _ topology.LinkID) {
			d.port = 1
			s.PortDrained("h1", 1)
		}, 0, hostapi.Ports(1), hostapi.Ports(2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, drained, net := defaults(), &drains{}, twoPlanes()
			s := New(&cfg, Outside{Drains: drained})
			for i := 1; i <= 2; i++ {
				_, err := s.PutHost(Host{
					Name: fmt.Sprintf("h%d", i), Address: netip.MustParseAddr(fmt.Sprintf("2001:db8::%d", i)),
					At:        ev.Attachment{planeNode("leaf", 1, i), planeNode("leaf", 2, i)},
					LeafPorts: []uint32{100, 100},
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			s.Tick(time.Second)
			s.SetTopology(net.Build())
			s.InSync()
			if !s.Settle() {
				t.Fatal(s.Failure())
			}
			s.Take()
			h1, h2 := s.Host("h1"), s.Host("h2")
			caps := ev.Unlimited()
			built, err := s.Assignment().Build(ev.Request{
				Pair: ev.Pair{Source: h1.Rack().At(), Destination: h2.Rack().At()}, Name: "p",
				Capabilities: &caps, Explicit: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			q := *built.Profile
			q.Destinations, q.MinActive = h2.Rack().Destinations(), 0
			built = built.With(&q)
			decided := &hostapi.State{Profiles: []*hostapi.Profile{built.Profile}}

			var id topology.LinkID
			for _, l := range s.Fabric().Snapshot().LinksFrom(leaf) {
				if l.Remote == spine {
					id = l.ID
				}
			}
			c.lose(s, drained, net, id)
			if !s.Settle() {
				t.Fatal(s.Failure())
			}
			changes := s.Take()
			if changes.Any() != (c.name != "nothing") {
				t.Errorf("changes: %+v", changes)
			}
			denial := s.Denial()
			out, err := denial.Built(built)
			if err != nil {
				t.Fatal(err)
			}
			followed := denial.Decided(decided, h1.Rack())
			if !slices.Equal(out.Profile.Denied, followed.Profiles[0].Denied) {
				t.Errorf("the decider denies %v, a follower %v", out.Profile.Denied,
					followed.Profiles[0].Denied)
			}
			for _, e := range out.Profile.Denied {
				if e.Port != 1 {
					t.Errorf("EV %v is denied, whose plane is whole", e)
				}
			}
			if n := len(out.Profile.Denied); n != c.denied {
				t.Errorf("%d EVs are denied, want %d", n, c.denied)
			}
			if want := hostapi.Ports(1, 2); c.denied == 2 && denial.PortsLeft(h1.Rack(), h2.Rack()) == want {
				t.Error("port 1 has no path, and counts as one that has")
			}
			reached := hostapi.Ports(1, 2)
			for _, p := range followed.Peers {
				if p.Peer == h1.Address {
					reached = p.Ports
				}
			}
			if reached != c.peers || !slices.Equal(followed.Peers, s.Peers()) {
				t.Errorf("h1 is reached by the ports %#x, want %#x", reached, c.peers)
			}
			if own := Own(decided, h1.Denied()); own.DeniedPorts != c.own ||
				(own == decided) != (c.own == 0) {
				t.Errorf("h1 must not send by the ports %#x, want %#x", own.DeniedPorts, c.own)
			}
			if same := followed == decided; same != (c.denied == 0 && c.peers == hostapi.Ports(1, 2)) {
				t.Errorf("the state is the same: %v", same)
			}
		})
	}
}
