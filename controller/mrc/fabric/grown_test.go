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

// TestLinksOfGrownFabric: denied and waiting links remain denied and waiting when the fabric grows,
// wherever the links sort afterwards. New links are held.
func TestLinksOfGrownFabric(t *testing.T) {
	net := twoPlanes()
	s, _ := hostPair(t, &drains{}, net)
	links := s.Links()
	var ids []topology.LinkID
	for i := range int32(3) {
		ids = append(ids, links.At(i).ID)
	}
	links.Deny(0, "of the test")
	links.setPresent(1, false)
	net.SetNode(topology.Node{ID: "leaf0"}) // its links come first
	net.SetLink(topology.Link{Local: "leaf0", Remote: "spine1-1", LocalID: 1, RemoteID: 9})
	net.SetLink(topology.Link{Local: "spine1-1", Remote: "leaf0", LocalID: 9, RemoteID: 1})
	net.RemoveLink(ids[1])
	s.SetTopology(net.Build())
	if !s.Settle() || s.Fabric().Len() != 18 {
		t.Fatal(s.Failure(), s.Fabric().Len())
	}
	want := map[topology.LinkID]Phase{ids[0]: Held, ids[1]: Down}
	var waiting []int32
	for i := range int32(links.Len()) {
		l := links.At(i)
		switch {
		case l.Local == "leaf0" || l.Remote == "leaf0":
			want[l.ID] = Held
		case l.Remote == "leaf1-1" && l.LocalID == 1 && l.Local == "spine1-2":
			want[l.ID] = Down // the other direction of what is gone
		}
		if l.Phase() != want[l.ID] {
			t.Errorf("%s is %v, want %v", l.ID, l.Phase(), want[l.ID])
		}
		if want[l.ID] == Held {
			waiting = append(waiting, i)
		}
	}
	if lost := links.lost((*Link).Denied); len(lost) != len(want) || len(links.denied) != len(want) {
		t.Errorf("denied are %v, want %v", lost, want)
	}
	if !slices.Equal(links.Waiting(), waiting) {
		t.Errorf("waiting are %v, want %v", links.Waiting(), waiting)
	}
}

// TestRestoredByTime: without probes by hosts, a link is used again after its hold; with probes, it
// waits for a probe.
func TestRestoredByTime(t *testing.T) {
	for _, rate := range []int{0, 1} {
		cfg := defaults()
		cfg.Probes.Rate = rate
		s := New(&cfg, Outside{Drains: &drains{}})
		s.SetTopology(smallNetwork().Build())
		s.InSync()
		if _, err := s.PutHost(Host{Name: "h", Address: netip.MustParseAddr("2001:db8::1"),
			At: ev.Attachment{leaf1}}); err != nil || !s.Settle() {
			t.Fatal(err, s.Failure())
		}
		s.Links().Fail(0, "of the test")
		s.Tick(time.Second)
		if up := s.Links().At(0).Phase() == Up; up != (rate == 0) {
			t.Errorf("%d probes a second: the link is %v", rate, s.Links().At(0).Phase())
		}
	}
}

// TestPortsBeforeFabric: port reports of switches count from the first fabric on, by the port
// numbers in effect at the time.
func TestPortsBeforeFabric(t *testing.T) {
	cfg := defaults()
	s := New(&cfg, Outside{Drains: &drains{}})
	s.SetPorts(leaf1, map[uint32]bool{1: false, 2: true})
	s.SetTopology(smallNetwork().Build())
	s.InSync()
	if _, err := s.PutHost(Host{Name: "h", Address: netip.MustParseAddr("2001:db8::1"),
		At: ev.Attachment{leaf1}}); err != nil || !s.Settle() {
		t.Fatal(err, s.Failure())
	}
	down := func() (n uint32) {
		for i := range int32(s.Links().Len()) {
			if l := s.Links().At(i); l.Local == leaf1 && l.Phase() == Down {
				n = 10*n + l.LocalID
			}
		}
		return n
	}
	if got := down(); got != 1 {
		t.Errorf("down are %d, want the link of port 1", got)
	}
	for range 2 {
		if s.SetPortNumbers(leaf1, map[uint32]uint32{1: 2, 2: 1}); down() != 2 {
			t.Errorf("down are %d, want the link at port 1", down())
		}
	}
	if s.SetPortNumbers(leaf1, nil); down() != 1 {
		t.Errorf("down are %d, want the link of port 1", down())
	}
}

// TestHostsPutAgain: putting an unchanged host again returns the same host. A rack with two ports
// at one leaf counts once at this leaf.
func TestHostsPutAgain(t *testing.T) {
	s, _ := hostPair(t, &drains{}, twoPlanes())
	h := s.Host("h1").Host
	if at, err := s.PutHost(h); err != nil || at != s.Host("h1") || len(at.Rack().Hosts()) != 1 {
		t.Errorf("%v: %+v", err, at)
	}
	leaf := planeNode("leaf", 1, 1)
	at, err := s.PutHost(Host{Name: "twice", Address: netip.MustParseAddr("2001:db8::9"),
		At: ev.Attachment{leaf, "", leaf}, LeafPorts: []uint32{7, 0, 8}})
	if err != nil {
		t.Fatal(err)
	}
	if racks := s.hosts.racksAt[leaf]; len(racks) != 2 || len(s.hosts.racksAt[""]) != 0 {
		t.Errorf("%d racks at the leaf, %d at none", len(racks), len(s.hosts.racksAt[""]))
	}
	if s.SetPorts(leaf, map[uint32]bool{0: false, 8: false}); at.Usable() != hostapi.Ports(1) {
		t.Errorf("usable %#x, want port 1", at.Usable())
	}
	leaves := s.hosts.leaves(s.Fabric().Snapshot())
	if !slices.IsSorted(leaves) || len(leaves) != 4 {
		t.Errorf("leaves %v, want four in order", leaves)
	}
	if err := s.RemoveHost("twice"); err != nil {
		t.Fatal(err)
	}
	if s.Take(); len(s.hosts.racksAt[leaf]) != 1 {
		t.Errorf("%d racks at the leaf", len(s.hosts.racksAt[leaf]))
	}
	if err := s.RemoveHost("h1"); err != nil {
		t.Fatal(err)
	}
	s.Take()
	if _, ok := s.hosts.racksAt[leaf]; ok {
		t.Error("a leaf without racks is kept")
	}
}

// TestPeersInOrder: hosts that lack a port are in the order of their addresses, and told once.
func TestPeersInOrder(t *testing.T) {
	s, _ := hostPair(t, &drains{}, twoPlanes())
	for i := range 9 {
		name := fmt.Sprint("more", i)
		if _, err := s.PutHost(Host{Name: name,
			Address: netip.MustParseAddr(fmt.Sprint("2001:db8::1", 8-i)),
			At:      ev.Attachment{planeNode("leaf", 1, 1), planeNode("leaf", 2, 1)}}); err != nil {
			t.Fatal(err)
		}
		if err := s.PortStatus(name, hostapi.Ports(1)); err != nil {
			t.Fatal(err)
		}
	}
	if c := s.Take(); !c.Peers || len(s.Peers()) != 9 {
		t.Errorf("%+v, %d peers", c, len(s.Peers()))
	}
	if !slices.IsSortedFunc(s.Peers(),
		func(a, b hostapi.PeerPorts) int { return a.Peer.Compare(b.Peer) }) {
		t.Errorf("peers %v are not in order", s.Peers())
	}
	if err := s.PortStatus("more1", hostapi.Ports(1, 3)); err != nil {
		t.Fatal(err)
	}
	if c := s.Take(); c.Peers {
		t.Error("the same peers are others")
	}
	n := 0
	for range s.Hosts() {
		if n++; n == 3 {
			break
		}
	}
	if all := len(slices.Collect(s.Hosts())); n != 3 || all != 11 || all != s.HostCount() {
		t.Errorf("%d hosts of %d, %d are counted; want 3 of 11", n, all, s.HostCount())
	}
}

// TestPortThatItsHostReports: a port is held once its host reports the port up again, however often
// the State looks at further ports of the host while the port is down.
func TestPortThatItsHostReports(t *testing.T) {
	cfg := defaults().Restore
	var ps hostPorts
	ps.attach(ev.Attachment{"a", "b"})
	none := func(int) bool { return false }
	ps.up, ps.upKnown = hostapi.Ports(2), true
	ps.look(0, &cfg, none)
	if ps.release(time.Minute); !ps.list[1].held {
		t.Error("the hold of a port that is down has ended")
	}
	ps.up = hostapi.Ports(1, 2)
	if _, usable, waits := ps.look(time.Minute, &cfg, none); usable != hostapi.Ports(2) || !waits {
		t.Errorf("back: usable %#x, waits %v", usable, waits)
	}
}
