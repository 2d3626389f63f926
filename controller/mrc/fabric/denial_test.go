package fabric

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/ev"
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

// hostPair is a state with hosts h1 and h2 at the leaves of two planes, and the explicit profile
// from one to the other.
func hostPair(t *testing.T, d *drains, net *topology.Builder) (*State, *ev.Built) {
	t.Helper()
	cfg := defaults()
	s := New(&cfg, Outside{Drains: d})
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
	caps := ev.Unlimited()
	built, err := s.Assignment().Build(ev.Request{
		Pair: ev.Pair{Source: s.Host("h1").Rack().At(), Destination: s.Host("h2").Rack().At()},
		Name: "p", Capabilities: &caps, Explicit: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, built
}

// TestLastEVs: a follower never denies all EVs. When every EV crosses a lost element, the follower
// denies only EVs over elements that are down, because a held link would carry packets.
func TestLastEVs(t *testing.T) {
	link := func(s *State, spine topology.NodeID) topology.LinkID {
		for _, l := range s.Fabric().Snapshot().LinksFrom(planeNode("leaf", 1, 1)) {
			if l.Remote == spine {
				return l.ID
			}
		}
		t.Fatalf("there is no link to %s", spine)
		return ""
	}
	hold := func(s *State, spine topology.NodeID) {
		place, _ := s.Fabric().Place(link(s, spine))
		s.Links().Deny(place, "of the test")
	}
	first, second := planeNode("spine", 1, 1), planeNode("spine", 1, 2)
	for _, c := range []struct {
		name   string
		lose   func(s *State, net *topology.Builder)
		denied int // of four EVs, two of each port
	}{
		{"all down", func(s *State, net *topology.Builder) {
			net.RemoveNode(planeNode("leaf", 1, 1))
		}, 0},
		{"all held", func(s *State, net *topology.Builder) {
			hold(s, first)
			hold(s, second)
			net.RemoveNode(planeNode("spine", 2, 1)) // and one more
		}, 2},
		{"all but one down, which is held", func(s *State, net *topology.Builder) {
			net.RemoveLink(link(s, first))
			hold(s, second)
		}, 3},
		{"the leaf of one plane is back, and held", func(s *State, net *topology.Builder) {
			n := *net.Build().Node(planeNode("leaf", 1, 1))
			net.RemoveNode(n.ID)
			s.SetTopology(net.Build())
			net.SetNode(n)
		}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			net := twoPlanes()
			s, built := hostPair(t, &drains{}, net)
			q := *built.Profile
			q.Destinations = s.Host("h2").Rack().Destinations()
			decided := &hostapi.State{Profiles: []*hostapi.Profile{&q}}
			c.lose(s, net)
			if c.name != "all held" { // of plane 2 nothing is left
				net.RemoveNode(planeNode("leaf", 2, 1))
			} else {
				net.RemoveNode(planeNode("spine", 2, 2))
				hold(s, first)
			}
			s.SetTopology(net.Build())
			got := s.Denial().Decided(decided, s.Host("h1").Rack()).Profiles[0]
			if len(got.Denied) != c.denied {
				t.Errorf("%v are denied, want %d of %v", got.Denied, c.denied, q.EVs)
			}
		})
	}
}

// TestDenial: for every kind of loss, the deciding controller and a follower deny the same EVs and
// the same ports of peers.
func TestDenial(t *testing.T) {
	leaf, spine := planeNode("leaf", 1, 1), planeNode("spine", 1, 1)
	for _, c := range []struct {
		name string
		lose func(s *State, d *drains, net *topology.Builder, link topology.LinkID)
		// denied counts the denied EVs of port 1; each spine gives the port one EV.
		denied int
		// own are the ports that h1 must not send by; peers are the ports by which peers reach h1.
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
			drained, net := &drains{}, twoPlanes()
			s, built := hostPair(t, drained, net)
			h1, h2 := s.Host("h1"), s.Host("h2")
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

// TestLostPaths: a path is lost if it crosses a denied link, a denied leaf, a drained plane or a
// loss that the caller adds. Fewer paths are down: elements that would still carry packets do not
// count.
func TestLostPaths(t *testing.T) {
	leaf, spine := planeNode("leaf", 1, 1), planeNode("spine", 1, 1)
	for _, c := range []struct {
		name       string
		lose       func(s *State, d *drains) []topology.Losses
		lost, down int // of the two paths of plane 1 from h1 to h2
	}{
		{"nothing", func(*State, *drains) []topology.Losses { return nil }, 0, 0},
		{"a link that is held", func(s *State, _ *drains) []topology.Losses {
			s.Links().Deny(0, "of the test")
			return nil
		}, 1, 0},
		{"a link that is down", func(s *State, _ *drains) []topology.Losses {
			s.Links().setPresent(0, false)
			return nil
		}, 1, 1},
		{"a leaf that is gone", func(s *State, _ *drains) []topology.Losses {
			s.leaves.setPresent(leaf, false)
			return nil
		}, 2, 2},
		{"a leaf that is back", func(s *State, _ *drains) []topology.Losses {
			s.leaves.setPresent(leaf, false)
			s.leaves.setPresent(leaf, true)
			return nil
		}, 2, 0},
		{"a leaf that is drained", func(s *State, d *drains) []topology.Losses {
			d.node = leaf
			s.NodeDrained(leaf)
			return nil
		}, 2, 0},
		{"a plane", func(_ *State, d *drains) []topology.Losses {
			d.plane = []int{1}
			return nil
		}, 2, 0},
		{"more links", func(s *State, _ *drains) []topology.Losses {
			return []topology.Losses{{Directed: []topology.LinkID{s.fabric.edges[0].ID}}, {}}
		}, 1, 0},
		{"more nodes", func(*State, *drains) []topology.Losses {
			return []topology.Losses{{}, {Nodes: []topology.NodeID{spine}}}
		}, 1, 0},
		{"more planes", func(*State, *drains) []topology.Losses {
			return []topology.Losses{{Planes: []int{1}}}
		}, 2, 0},
	} {
		d := &drains{}
		s, _ := hostPair(t, d, twoPlanes())
		if l := s.Links().At(0); l.Local != leaf || l.Remote != spine {
			t.Fatalf("the first link is %s", l.ID)
		}
		denial := s.Denial(c.lose(s, d)...)
		from, to := s.Host("h1").Rack(), s.Host("h2").Rack()
		set, _ := s.Fabric().PathSet(from.At(), to.At(), 1)
		lost, down := 0, 0
		for ref := range set.All() {
			if denial.Lost().Path(set, ref) {
				lost++
			}
			if denial.Down().Path(set, ref) {
				down++
			}
		}
		want := hostapi.Ports(1, 2)
		if c.lost == 2 {
			want = hostapi.Ports(2)
		}
		if ports := denial.PortsLeft(from, to); lost != c.lost || down != c.down || ports != want {
			t.Errorf("%s: %d paths are lost and %d down, the ports %#x are left; want %d, %d, %#x", c.name,
				lost, down, ports, c.lost, c.down, want)
		}
		if all := s.Denial().PortsLeft(to, from); c.lost == 1 && all != hostapi.Ports(1, 2) {
			t.Errorf("%s: the ports %#x are left on the way back", c.name, all)
		}
	}
}

// TestPortsLeftOfOneHost: a port without a counterpart in the other rack has no path.
func TestPortsLeftOfOneHost(t *testing.T) {
	s, _ := hostPair(t, &drains{}, twoPlanes())
	one, err := s.PutHost(Host{Name: "h3", Address: netip.MustParseAddr("2001:db8::3"),
		At: ev.Attachment{"", planeNode("leaf", 2, 2)}})
	if err != nil {
		t.Fatal(err)
	}
	two := s.Host("h1").Rack()
	for _, ends := range [][2]*Rack{{two, one.Rack()}, {one.Rack(), two}} {
		if got := s.Denial().PortsLeft(ends[0], ends[1]); got != hostapi.Ports(2) {
			t.Errorf("the ports %#x have a path, want port 2", got)
		}
	}
}

// TestOwnPorts: Own returns a new state only if the state does not yet deny all required ports.
func TestOwnPorts(t *testing.T) {
	for _, c := range []struct {
		has, must, want hostapi.PortMask
	}{{0, 0, 0}, {2, 0, 2}, {2, 2, 2}, {6, 2, 6}, {2, 4, 6}, {2, 6, 6}} {
		s := &hostapi.State{DeniedPorts: c.has}
		got := Own(s, c.must)
		if got.DeniedPorts != c.want || s.DeniedPorts != c.has || (got == s) != (c.has == c.want) {
			t.Errorf("%#x of which %#x must be denied: %#x, the same %v", c.has, c.must, got.DeniedPorts,
				got == s)
		}
	}
}

// TestStatesOfPorts: who may use a port depends on what each end reports of it.
func TestStatesOfPorts(t *testing.T) {
	for _, c := range []struct {
		p              port
		denied, usable bool
	}{
		{port{}, false, false}, {port{attached: true}, false, true},
		{port{attached: true, linkDown: true}, true, false},
		{port{attached: true, agentDown: true}, false, false},
		{port{attached: true, drained: true}, true, false},
		{port{attached: true, held: true}, false, false},
		{port{linkDown: true}, false, false}, {port{drained: true}, false, false},
	} {
		if c.p.denied() != c.denied || c.p.usable() != c.usable {
			t.Errorf("%+v: denied %v, usable %v", c.p, c.p.denied(), c.p.usable())
		}
	}
}
