package bgpls

import (
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// TestSessionChurn: sessions that start and end, at every stage of their lives, leave no goroutine
// behind, except the few that GoBGP leaks: GoBGP drains a closed queue only of the entries present
// at that moment, and a queue with entries never ends.
func TestSessionChurn(t *testing.T) {
	a := netip.MustParseAddr("127.0.4.9")
	router := newForeignPeer(t, a)
	collector := start(t, Config{ASN: 64999, RouterID: netip.MustParseAddr("10.255.0.1"),
		Collect: true, retryMax: retryMin})
	addPeer(t, collector, Peer{Address: a, Port: router.port(), ASN: testASN,
		LocalAddress: collectorAddress})
	node := wire.NLRI{Type: wire.NLRINode, Local: wire.NodeDescriptor{ASN: testASN,
		IGPRouterID: "\x0a\x00\x00\x09"}}
	rude := [][]byte{
		[]byte(strings.Repeat("x", wire.HeaderLen)), wire.AppendMessage(nil, wire.MessageOpen, []byte{4}),
		wire.AppendMessage(nil, 77, nil),
		wire.AppendMessage(nil, wire.MessageKeepalive, []byte{1}),
		wire.AppendMessage(nil, wire.MessageRouteRefresh, []byte{1}),
		updateMessage([]byte{0, 5, 0, 5, 0, 0, 0, 0}, nil),
	}
	before := leaked()
	for i := range 100 {
		s := router.session(t)
		if i%4 > 0 {
			s.send(t, updateMessage(node.Append(nil), nil))
		}
		switch i % 4 {
		case 2:
			s.send(t, wire.AppendMessage(nil, wire.MessageNotification, []byte{6, 4}))
		case 3:
			s.send(t, rude[i/4%len(rude)])
			<-s.over
		}
		s.conn.Close()
	}
	router.session(t).send(t, updateMessage(node.Append(nil), nil), endOfRIBMessage)
	await(t, collector, "the node", func(s *topology.Snapshot) bool {
		return s.Stale == nil && len(s.Nodes) == 1
	})
	// GoBGP ends those before the present session in the background.
	const lost = 5 // of 100; one was seen
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(10 * time.Second); leaked()-before > 1+lost; <-look.C {
		if time.Now().After(deadline) {
			t.Fatalf("%d queues of sessions are left after 100 sessions", leaked()-before)
		}
	}
}

// leaked counts the goroutines of GoBGP's queues to peers.
func leaked() int {
	stacks := make([]byte, 8<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]),
		"(*InfiniteChannel).infiniteBuffer(")
}

// TestPeerLimits: a peer that says more than its limit is cut with a NOTIFICATION and stays away
// for a while, and the topology of others goes on.
func TestPeerLimits(t *testing.T) {
	t.Parallel()
	a, b := netip.MustParseAddr("127.0.4.10"), netip.MustParseAddr("127.0.4.11")
	flooder, good := newForeignPeer(t, a), newForeignPeer(t, b)
	cuts := make(chan topology.Peer, 16)
	collector := start(t, Config{
		ASN: 64999, RouterID: netip.MustParseAddr("10.255.0.1"), Collect: true,
		CutPause: 50 * time.Millisecond,
		Changed: func(p topology.Peer) {
			if len(p.Notifications) > 0 && p.State == topology.PeerConnecting {
				cuts <- p
			}
		},
	})
	addPeer(t, collector, Peer{Address: a, Port: flooder.port(), ASN: testASN,
		LocalAddress: collectorAddress, Limits: Limits{Links: 100}})
	addPeer(t, collector, Peer{Address: b, Port: good.port(), ASN: testASN,
		LocalAddress: collectorAddress})
	node := func(i byte) wire.NodeDescriptor {
		return wire.NodeDescriptor{ASN: testASN, IGPRouterID: string([]byte{10, 0, 0, i})}
	}
	link := func(i int) []byte {
		n := wire.NLRI{
			Type: wire.NLRILink, Local: node(9), Remote: node(8),
			Link: wire.LinkDescriptor{IDs: wire.LinkIDs{Present: true, Local: uint32(i), Remote: uint32(i)}},
		}
		return updateMessage(n.Append(nil), nil)
	}
	for round := range 2 {
		s := flooder.session(t)
		for i := range 101 {
			s.send(t, link(i+1))
		}
		s.last(t, 6, 1)
		// Its links up to the limit stay, stale; another peer is heard.
		g := wire.NLRI{Type: wire.NLRINode, Local: node(byte(20 + round))}
		if round == 0 {
			good.session(t).send(t, updateMessage(g.Append(nil), nil), endOfRIBMessage)
		}
		snapshot := await(t, collector, "both peers", func(s *topology.Snapshot) bool {
			return len(s.Nodes) >= 1 && len(s.Links) > 99
		})
		if n := len(snapshot.Links); n > 101 {
			t.Errorf("%d links, want 101 at most", n)
		}
	}
	<-cuts
	p := <-cuts
	if want := "maximum number of prefixes reached (6/1): more than 100 links"; !strings.Contains(
		p.LastError, want) {
		t.Errorf("the reason is %q, want %q", p.LastError, want)
	}
	if len(p.Notifications) != 1 || p.Notifications[0].Code != 6 || p.Notifications[0].Subcode != 1 ||
		!p.Notifications[0].Sent || p.Notifications[0].Count != 2 {
		t.Errorf("notifications: %+v, want two that were sent", p.Notifications)
	}
}

// last waits for the end of a session, which a NOTIFICATION announces.
func (s *foreignSession) last(t *testing.T, code, subcode byte) {
	t.Helper()
	select {
	case <-s.over:
	case <-time.After(deadline):
		t.Fatal("the session goes on")
	}
	if want := string([]byte{code, subcode}); s.notified != want {
		t.Errorf("the peer got NOTIFICATION %x, want %x", s.notified, want)
	}
	s.conn.Close()
}

// TestLimitsOfAll: each limit counts its objects; a withdrawn or repeated object counts once.
func TestLimitsOfAll(t *testing.T) {
	o := device(1, 2, 3)
	all, err := o.advertisements()
	if err != nil {
		t.Fatal(err)
	}
	octets := 0
	for _, a := range all {
		nlris, _, err := wire.ParseNLRIs(a.nlri)
		if err != nil {
			t.Fatal(err)
		}
		octets += len(nlris[0].Raw) + len(a.attribute)
	}
	exact := Limits{Nodes: 1, Links: 2, Prefixes: 2, SIDs: 3, Octets: octets}
	for _, c := range []struct {
		limits func(*Limits)
		want   string
	}{
		{func(*Limits) {}, ""},
		{func(l *Limits) { l.Links = 1 }, "more than 1 links"},
		{func(l *Limits) { l.Prefixes = 1 }, "more than 1 prefixes"},
		{func(l *Limits) { l.SIDs = 2 }, "more than 2 SIDs"},
		{func(l *Limits) { l.Octets-- }, fmt.Sprintf("more than %d octets", octets-1)},
		{func(l *Limits) { l.Nodes = 0 }, "more than 0 nodes"},
	} {
		limits := exact
		c.limits(&limits)
		r := newRIB(time.Minute, nil)
		r.addPeer(peerA, topology.Scope{}, limits, epoch)
		r.peerUp(peerA, epoch)
		got := ""
		for range 3 { // again, and withdrawn and said again
			for _, withdrawn := range []bool{false, false, true, false} {
				for _, a := range all {
					nlris, _, err := wire.ParseNLRIs(a.nlri)
					if err != nil {
						t.Fatal(err)
					}
					u := &wire.Update{Reachable: nlris, Attribute: a.attribute}
					if withdrawn {
						u = &wire.Update{Unreachable: nlris}
					}
					if err := r.update(peerA, u); err != nil && got == "" {
						got = err.Error()
					}
				}
			}
		}
		if c.want == "" && got != "" || !strings.HasSuffix(got, c.want) {
			t.Errorf("limits %+v: %q, want %q", limits, got, c.want)
		}
	}
}

// TestScopeOfPeer: the collector ignores and counts objects of nodes outside a peer's scope,
// including the ends of other nodes' links.
func TestScopeOfPeer(t *testing.T) {
	scope, err := topology.ParseScope([]string{"10.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	r := newRIB(time.Minute, nil)
	r.addPeer(peerA, scope, DefaultLimits(), epoch)
	r.addPeer(peerB, topology.Scope{}, DefaultLimits(), epoch)
	r.peerUp(peerA, epoch)
	r.peerUp(peerB, epoch)
	own, other := device(1, 2), device(2, 1)
	tell(t, r, peerB, own, other)
	lie := device(2, 1, 3)
	tell(t, r, peerA, own, lie)
	expect(t, r, "with a liar", built(own, other))
	if n := r.peers[peerA].refused; n == 0 {
		t.Error("nothing is counted")
	}
}
