package fabric

import (
	"net/netip"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/topology"
)

// TestWhole: a fabric keeps what is gone, takes what has changed, and does not mind overload: only
// the first topology is taken as it is.
func TestWhole(t *testing.T) {
	first := smallNetwork()
	now := first.Build()
	if whole(topology.Empty(), now) != now {
		t.Error("the first topology is copied, and nothing is to be changed")
	}
	for name, change := range map[string]func(*topology.Builder){
		"overload": func(b *topology.Builder) { b.SetNode(topology.Node{ID: leaf1, Overload: true}) },
		"stale":    func(b *topology.Builder) { b.SetStale(&topology.Staleness{Reason: "no peer"}) },
	} {
		b := now.Builder()
		change(b)
		got := whole(topology.Empty(), b.Build())
		if got.Stale != nil || got.Node(leaf1).Overload || len(got.Links) != len(now.Links) {
			t.Errorf("%s: stale %v, %+v, %d links", name, got.Stale, got.Node(leaf1), len(got.Links))
		}
	}
	first.SetPrefix(topology.Prefix{PrefixKey: topology.PrefixKey{Node: leaf2,
		Prefix: netip.MustParsePrefix("2001:db8:2::/48")}})
	before := first.Build()
	gone := before.Links[0]
	later := smallNetwork()
	later.RemoveNode(spine2)
	later.RemoveLink(gone.ID)
	later.SetNode(topology.Node{ID: leaf1, Name: "another name"})
	later.SetNode(topology.Node{ID: "leaf3"})
	got := whole(before, later.Build())
	if len(got.Nodes) != 5 || len(got.Links) != len(before.Links) || got.Link(gone.ID) == nil ||
		got.Node(leaf1).Name != "another name" || len(got.Prefixes) != 1 {
		t.Errorf("%d nodes, %d links, %+v, prefixes %v", len(got.Nodes), len(got.Links),
			got.Node(leaf1), got.Prefixes)
	}
}

// TestLinksThatAreNew: a fabric does not have a link that is new, wherever it is in the order, nor
// one whose port is another.
func TestLinksThatAreNew(t *testing.T) {
	cfg := defaults()
	snap := smallNetwork().Build()
	f, err := newFabric(snap, []topology.NodeID{leaf1, leaf2}, &cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !f.has(snap) {
		t.Error("the fabric does not have what it was made of")
	}
	for i := range snap.Links {
		less := snap.Builder()
		less.RemoveLink(snap.Links[i].ID)
		part, err := newFabric(less.Build(), []topology.NodeID{leaf1, leaf2}, &cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		if part.has(snap) || !f.has(less.Build()) {
			t.Errorf("without link %d the fabric has it: %v, and the whole has the rest: %v", i,
				part.has(snap), f.has(less.Build()))
		}
		other := *snap.Links[i]
		other.LocalPort = 77
		less.SetLink(other)
		if f.has(less.Build()) {
			t.Errorf("the fabric has link %d with another port", i)
		}
	}
}

// TestLinksOfOneDirection: a link that is advertised in one direction alone is in the fabric, and
// no path crosses it.
func TestLinksOfOneDirection(t *testing.T) {
	cfg := defaults()
	for _, ends := range [][2]topology.NodeID{{leaf1, spine1}, {spine1, leaf1}} {
		net := smallNetwork()
		one := topology.Link{Local: ends[0], Remote: ends[1], LocalID: 9, RemoteID: 9, IGPMetric: 10}
		net.SetLink(one)
		f, err := newFabric(net.Build(), []topology.NodeID{leaf1, leaf2}, &cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range int32(f.Len()) {
			e := f.Edge(i)
			if alone := e.LocalID == 9; alone != (f.Reverse(e) == nil) ||
				alone != (len(e.Leaves()) == 0) {
				t.Errorf("from %s to %s: reverse %v, leaves %v", e.Local, e.Remote, f.Reverse(e), e.Leaves())
			}
		}
	}
}

// TestLeavesOfHosts: hosts can be attached to leaves and to what is not known yet, not to spines
// below which there are leaves.
func TestLeavesOfHosts(t *testing.T) {
	cfg := defaults()
	f, err := newFabric(smallNetwork().Build(), []topology.NodeID{leaf1, leaf2}, &cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[topology.NodeID]bool{leaf1: true, leaf2: true, spine1: false,
		spine2: false, "leaf3": true} {
		if got := f.isLeaf(id); got != want {
			t.Errorf("%s is a leaf: %v, want %v", id, got, want)
		}
	}
}

// TestPortsTakeBothDirections: a port that is down, at whichever end of a link, takes both
// directions of the link out, and no other.
func TestPortsTakeBothDirections(t *testing.T) {
	net := smallNetwork()
	for _, l := range net.Build().Links { // at the ports that its ids are
		l := *l
		l.LocalPort, l.RemotePort = l.LocalID, l.RemoteID
		net.SetLink(l)
	}
	cfg := defaults()
	for _, down := range net.Build().Links {
		s := New(&cfg, Outside{Drains: noDrains{}})
		for i, leaf := range []topology.NodeID{leaf1, leaf2} {
			if _, err := s.PutHost(Host{Name: string(leaf), At: ev.Attachment{leaf},
				Address: netip.AddrFrom16([16]byte{0x20, 1, 15: byte(i)})}); err != nil {
				t.Fatal(err)
			}
		}
		s.SetTopology(net.Build())
		s.InSync()
		s.Settle()
		s.SetPorts(down.Local, map[uint32]bool{down.LocalPort: false})
		for i := range int32(s.Links().Len()) {
			l := s.Links().At(i)
			both := l.ID == down.ID || l.Local == down.Remote && l.LocalID == down.RemoteID
			if (l.Phase() == Down) != both {
				t.Errorf("port %d of %s is down, and %s is %v", down.LocalPort, down.Local, l.ID, l.Phase())
			}
		}
	}
}

// TestTrialOfSuspect: a link that was denied because it loses packets is used again when as many
// probes as needed have come through, and not before. One that is lost holds it for longer, as a
// suspect is held, however many are needed beyond one.
func TestTrialOfSuspect(t *testing.T) {
	s, _ := newLinks(t)
	suspects := *s.suspects
	s.suspects = &suspects
	for _, need := range []int{2, 3} {
		s.now += time.Hour
		suspects.Probes = need
		const i = 0
		l := &s.all[i]
		s.Deny(i, "of the test")
		hold := s.all[i].until - s.now
		s.now = l.until
		if s.run(true); l.phase != Trying || s.Wants(i) != need {
			t.Fatalf("the link is %v and wants %d probes, want trying, %d", l.phase, s.Wants(i), need)
		}
		s.Result(i, s.now, need, need-1)
		if longer := l.until - s.now; l.phase != Held || longer != 2*hold {
			t.Errorf("one of %d probes is lost: the link is %v for %v, want held for twice %v", need,
				l.phase, longer, hold)
		}
		s.now = l.until
		s.run(true)
		s.Result(i, s.now, 1, 1)
		if s.run(true); l.phase != Trying || s.Wants(i) != need-1 {
			t.Errorf("one probe came through: the link is %v and wants %d more", l.phase, s.Wants(i))
		}
		s.Result(i, s.now, need-1, need-1)
		if s.run(true); l.phase != Up {
			t.Errorf("all probes came through: the link is %v", l.phase)
		}
	}
}

// TestFabricKeepsWhatIsGone: a fabric that grows while a link is gone has that link still, denied.
func TestFabricKeepsWhatIsGone(t *testing.T) {
	s, _ := hostPair(t, &drains{}, twoPlanes())
	links := s.Fabric().Snapshot().Links
	net := s.Fabric().Snapshot().Builder()
	net.RemoveLink(links[0].ID)
	s.SetTopology(net.Build())
	net.SetNode(topology.Node{ID: "spine9"})
	s.SetTopology(net.Build())
	s.Settle()
	place, ok := s.Fabric().Place(links[0].ID)
	if !ok || s.Fabric().Len() != len(links) || !s.Links().At(place).Denied() {
		t.Errorf("the fabric has %d links of %d, the one that is gone: %v", s.Fabric().Len(), len(links),
			ok)
	}
	if s.Fabric().Snapshot().Node("spine9") == nil {
		t.Error("the fabric has not grown")
	}
}
