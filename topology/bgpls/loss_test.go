package bgpls

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
	"github.com/weft-sdn/weft/topology/topologytest"
)

const (
	testStalePaths = time.Minute
	testLossTime   = time.Hour
)

// ring is a ring of n devices, numbered from 1.
func ring(n int) (all []*Objects) {
	for i := range n {
		all = append(all, device(i+1, (i+1)%n+1, (i+n-1)%n+1))
	}
	return all
}

// without is a topology after the devices of some numbers have died: their neighbours have no links
// to them any more.
func without(all []*Objects, dead ...int) (left []*Objects) {
	for i, o := range all {
		if slices.Contains(dead, i+1) {
			continue
		}
		n := *o
		n.Links = slices.DeleteFunc(slices.Clone(o.Links), func(l topology.Link) bool {
			return slices.Contains(dead, int(l.LocalID))
		})
		left = append(left, &n)
	}
	return left
}

// lossRIB is a rib with the times of losses in which a peer has said some devices.
func lossRIB(t *testing.T, devices []*Objects, peers ...peerKey) *rib {
	t.Helper()
	r := newTestRIB(peers...)
	r.stalePaths, r.lossTime = testStalePaths, testLossTime
	for _, a := range peers {
		tell(t, r, a, devices...)
		r.endOfRIB(a)
	}
	r.tick(epoch)
	r.snapshot()
	return r
}

// unsay makes a peer withdraw the objects of the devices before that are missing from the devices
// after.
func unsay(t *testing.T, r *rib, peer peerKey, before, after []*Objects) {
	t.Helper()
	left := make(map[string]bool)
	for _, o := range after {
		all, err := o.advertisements()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			left[string(a.nlri)] = true
		}
	}
	for _, o := range before {
		all, err := o.advertisements()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			if !left[string(a.nlri)] {
				r.update(peer, &wire.Update{Unreachable: []wire.Received{received(t, a.nlri)}})
			}
		}
	}
}

// TestEarlyEndOfRIB: a restarting speaker may send End-of-RIB before it has routes: its earlier
// objects count until the speaker has had time to advertise them again, and longer if they make up
// most of a topology.
func TestEarlyEndOfRIB(t *testing.T) {
	whole := ring(8)
	for _, c := range []struct {
		name  string
		again []*Objects // what the peer says in its second session
		kept  time.Duration
	}{
		{"nothing", nil, testLossTime},
		{"half of the nodes", whole[:4], testLossTime},
		{"all but two switches", without(whole, 1, 5), testStalePaths},
		{"all but a switch", without(whole, 3), testStalePaths},
	} {
		r := lossRIB(t, whole, peerA)
		r.peerDown(peerA, "lost", epoch)
		r.peerUp(peerA, epoch)
		tell(t, r, peerA, c.again...)
		r.endOfRIB(peerA)
		r.tick(epoch)
		s := expect(t, r, c.name+", at End-of-RIB", built(whole...))
		kept := r.peers[peerA].kept
		if kept == nil {
			t.Fatalf("%s: nothing is kept", c.name)
		}
		if want := (c.kept == testLossTime); kept.Implausible != want ||
			kept.NLRIs.Nodes != 8-len(c.again) ||
			!kept.Since.Equal(epoch) || !kept.Until.Equal(epoch.Add(c.kept)) {
			t.Errorf("%s: kept %+v", c.name, kept)
		}
		if s.Stale == nil || s.Incomplete() || !s.Stale.Since.Equal(epoch) {
			t.Errorf("%s: stale %+v", c.name, s.Stale)
		}
		if next, ok := r.tick(epoch.Add(c.kept - 1)); !ok || !next.Equal(epoch.Add(c.kept)) {
			t.Errorf("%s: to be called again at %v, %v", c.name, next.Sub(epoch), ok)
		}
		expect(t, r, c.name+", just before the end", built(whole...))
		r.tick(epoch.Add(c.kept))
		if s := expect(t, r, c.name+", at the end", built(c.again...)); s.Stale != nil ||
			r.peers[peerA].kept != nil {
			t.Errorf("%s: stale %+v", c.name, s.Stale)
		}
	}
}

// TestKeptAcrossSessions: the time counts from an End-of-RIB of the present session.
func TestKeptAcrossSessions(t *testing.T) {
	whole := ring(8)
	r := lossRIB(t, whole, peerA)
	at := func(d time.Duration) time.Time { return epoch.Add(d) }
	session := func(d time.Duration) {
		r.peerDown(peerA, "lost", at(d))
		r.tick(at(d))
		r.snapshot()
		r.peerUp(peerA, at(d))
		tell(t, r, peerA, without(whole, 3)...)
	}
	session(0)
	r.endOfRIB(peerA)
	r.tick(at(0))
	r.snapshot()
	session(testStalePaths - 1)
	r.tick(at(3 * testStalePaths))
	expect(t, r, "without an End-of-RIB", built(whole...))
	r.endOfRIB(peerA)
	r.tick(at(3 * testStalePaths))
	expect(t, r, "at the second End-of-RIB", built(whole...))
	r.tick(at(4*testStalePaths - 1))
	expect(t, r, "before the end", built(whole...))
	r.tick(at(4 * testStalePaths))
	expect(t, r, "at the end", built(without(whole, 3)...))

	// What is said again is no loss.
	session(5 * testStalePaths)
	r.update(peerA, announce(t, wire.NLRI{Type: wire.NLRINode, Protocol: wire.ProtocolDirect,
		Local: wire.NodeDescriptor{ASN: testASN, IGPRouterID: "\x0a\x00\x00\x01"}}, nil))
	r.endOfRIB(peerA)
	r.tick(at(5 * testStalePaths))
	if r.snapshot(); r.peers[peerA].kept != nil || len(r.peers[peerA].gone) != 0 {
		t.Errorf("kept %+v", r.peers[peerA].kept)
	}
}

// TestImplausibleLoss: an object withdrawn in a live session is gone at once, if the loss is
// plausible.
func TestImplausibleLoss(t *testing.T) {
	whole := ring(8)
	cut := slices.Clone(whole)
	first := *whole[0]
	first.Links = first.Links[:1]
	cut[0] = &first
	silent := func(n int) (out []*Objects) { // without SIDs of the first n
		for i, o := range whole {
			c := *o
			if i < n {
				c.Node.SIDs = nil
			}
			out = append(out, &c)
		}
		return out
	}
	star := []*Objects{device(1, 2, 3, 4), device(2, 1), device(3, 1), device(4, 1)}
	for _, c := range []struct {
		name          string
		before, after []*Objects
		kept          bool
	}{
		{"a direction of a link", whole, cut, false},
		{"a switch", whole, without(whole, 1), false},
		{"three switches, and one cut off", whole, without(whole, 1, 3, 4), true},
		{"three switches, and nobody cut off", whole, without(whole, 1, 2, 3), false},
		{"half of the switches", whole, without(whole, 1, 2, 3, 4), true},
		{"all switches", whole, nil, true},
		{"the middle of a star", star, without(star, 1), false},
		{"SIDs of three", whole, silent(3), false},
		{"SIDs of four", whole, silent(4), true},
		{"two of two", ring(8)[:2], nil, true},
		{"one of two", ring(8)[:2], ring(8)[:1], false},
	} {
		r := lossRIB(t, c.before, peerA)
		unsay(t, r, peerA, c.before, c.after)
		r.tick(epoch)
		s := r.snapshot()
		gone := topologytest.Differences(built(c.after...), s)
		kept := r.peers[peerA].kept
		if (len(gone) == 0) == c.kept || (kept != nil) != c.kept ||
			kept != nil && !kept.Implausible || (s.Stale != nil) != c.kept {
			t.Errorf("%s: kept %+v, stale %+v, differs %q", c.name, kept, s.Stale, gone)
		}
		// It is not kept for ever, and comes to an end when the peer says it again.
		r.tick(epoch.Add(testLossTime))
		expect(t, r, c.name+", after the time", built(c.after...))
		if p := r.peers[peerA]; len(p.gone) != 0 || p.goneOctets != 0 {
			t.Errorf("%s: %d objects are left, of %d octets", c.name, len(p.gone), p.goneOctets)
		}
		tell(t, r, peerA, c.before...)
		expect(t, r, c.name+", said again", built(c.before...))
	}
}

// A loss that others confirm is believed.
func TestConfirmedLoss(t *testing.T) {
	whole := ring(8)
	left := without(whole, 1, 2, 3, 4)
	r := lossRIB(t, whole, peerA, peerB)
	unsay(t, r, peerA, whole, left)
	r.tick(epoch)
	if s := expect(t, r, "the other peer says it", built(whole...)); s.Stale != nil {
		t.Errorf("stale: %+v", s.Stale)
	}
	unsay(t, r, peerB, whole, left)
	r.tick(epoch)
	if s := expect(t, r, "both have withdrawn it", built(left...)); s.Stale != nil {
		t.Errorf("stale: %+v", s.Stale)
	}

	r = lossRIB(t, whole, peerA)
	dead := map[topology.NodeID]bool{}
	r.dead = func() map[topology.NodeID]bool { return dead }
	unsay(t, r, peerA, whole, left)
	r.tick(epoch)
	expect(t, r, "the switches are alive", built(whole...))
	r.tick(epoch) // looks at them
	for i := range 4 {
		dead[whole[i].Node.ID] = true
	}
	if next, ok := r.tick(epoch.Add(weighPause - 1)); !ok || r.touched ||
		!next.Equal(epoch.Add(weighPause)) {
		t.Errorf("to be called again at %v, %v", next.Sub(epoch), ok)
	}
	r.tick(epoch.Add(weighPause))
	expect(t, r, "the switches are dead", built(left...))
}

// A port has one link: the one that the peer says in this session.
func TestRelinkedPort(t *testing.T) {
	whole := ring(8)
	r := lossRIB(t, whole, peerA)
	r.peerDown(peerA, "lost", epoch)
	r.peerUp(peerA, epoch)
	moved := slices.Clone(whole)
	first := *whole[0]
	first.Links = slices.Clone(first.Links)
	first.Links[0].Remote, first.Links[0].RemoteID = whole[4].Node.ID, 9
	first.Links[0].RemotePort = 9
	moved[0] = &first
	tell(t, r, peerA, moved...)
	r.endOfRIB(peerA)
	r.tick(epoch)
	if s := expect(t, r, "moved", built(moved...)); s.Stale != nil {
		t.Errorf("stale: %+v", s.Stale)
	}
}

// TestKeptWithinLimits: objects kept from a peer's earlier session give way if they and the peer's
// current objects exceed the limits.
func TestKeptWithinLimits(t *testing.T) {
	whole := ring(8)
	r := newRIB(time.Minute, nil)
	r.stalePaths, r.lossTime = testStalePaths, testLossTime
	limits := DefaultLimits()
	limits.Nodes = 9
	r.addPeer(peerA, topology.Scope{}, limits, epoch)
	for session := range 2 {
		r.peerUp(peerA, epoch)
		for i := range 8 {
			n := wire.NLRI{Type: wire.NLRINode, Local: wire.NodeDescriptor{ASN: 1,
				IGPRouterID: string([]byte{10, 0, byte(session), byte(i)})}}
			if i == 0 {
				r.endOfRIB(peerA) // before all that it says
			}
			if err := r.update(peerA, announce(t, n, nil)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s := r.snapshot(); len(s.Nodes) != 8 {
		t.Errorf("%d nodes", len(s.Nodes))
	}

	// The octets limit applies to withdrawn objects as it does to advertised objects.
	r = lossRIB(t, whole, peerA)
	p := r.peers[peerA]
	p.limits.Octets = p.octets - 1
	unsay(t, r, peerA, whole, nil)
	if p.goneOctets > p.limits.Octets || len(p.said) != 0 || p.octets != 0 ||
		p.nlris != (topology.PeerNLRIs{}) {
		t.Errorf("%d octets of %d objects are kept, and %+v", p.goneOctets, len(p.gone), p.nlris)
	}
}

// A real session: two nodes and End-of-RIB, and then End-of-RIB alone.
func TestEarlyEndOfRIBOfASession(t *testing.T) {
	t.Parallel()
	a, collectorAddress := netip.MustParseAddr("127.0.4.9"), netip.MustParseAddr("127.0.4.109")
	router := newForeignPeer(t, a)
	collector := start(t, Config{ASN: 64999, RouterID: netip.MustParseAddr("10.255.0.1"),
		Collect: true, StalePathTime: time.Hour, LossTime: 2 * time.Hour})
	addPeer(t, collector, Peer{Address: a, Port: router.port(), ASN: testASN,
		LocalAddress: collectorAddress})
	node := func(n byte) []byte {
		nlri := wire.NLRI{Type: wire.NLRINode, Local: wire.NodeDescriptor{ASN: testASN,
			IGPRouterID: "\x0a\x00\x00" + string(rune(n))}}
		return updateMessage(nlri.Append(nil), nil)
	}
	session := router.session(t)
	session.send(t, node(1), node(2), endOfRIBMessage)
	await(t, collector, "two nodes", func(s *topology.Snapshot) bool {
		return s.Stale == nil && len(s.Nodes) == 2
	})
	session.conn.Close()
	session = router.session(t)
	session.send(t, endOfRIBMessage)
	await(t, collector, "two nodes that are kept", func(s *topology.Snapshot) bool {
		p := collector.Peers()[0]
		if p.Sessions == 2 && p.Synced && len(s.Nodes) != 2 {
			t.Fatalf("%d nodes after an early End-of-RIB", len(s.Nodes))
		}
		return p.Sessions == 2 && p.Synced && p.Kept != nil && p.Kept.Implausible && s.Stale != nil &&
			p.Kept.NLRIs == (topology.PeerNLRIs{Nodes: 2})
	})
	session.send(t, node(1), node(2))
	await(t, collector, "two nodes again", func(s *topology.Snapshot) bool {
		return s.Stale == nil && len(s.Nodes) == 2 && collector.Peers()[0].Kept == nil
	})
}
