package bgpls

import (
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
	"github.com/weft-sdn/weft/topology/topologytest"
)

// A foreignPeer is a BGP speaker that is not GoBGP: it sends what it is told
// to, octet by octet, to whoever connects.
type foreignPeer struct {
	listener net.Listener
	sessions chan *foreignSession
}

type foreignSession struct {
	conn     net.Conn
	accepted chan struct{} // closed when the other side has sent a KEEPALIVE
	over     chan struct{} // closed when the other side has closed the connection
	notified string        // code and subcode of its NOTIFICATION; it can be read when over is closed
}

func newForeignPeer(t *testing.T, a netip.Addr) *foreignPeer {
	t.Helper()
	l, err := net.Listen("tcp", netip.AddrPortFrom(a, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	p := &foreignPeer{listener: l, sessions: make(chan *foreignSession, 16)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s := &foreignSession{conn: conn, accepted: make(chan struct{}), over: make(chan struct{})}
			go s.read()
			p.sessions <- s
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
		close(p.sessions)
		for s := range p.sessions {
			s.conn.Close()
			<-s.over
		}
	})
	return p
}

func (s *foreignSession) read() {
	defer close(s.over)
	accepted := false
	for {
		t, message, err := readMessage(s.conn)
		if err != nil {
			_, _ = io.Copy(io.Discard, s.conn)
			return
		}
		if t == wire.MessageNotification && len(message) >= wire.HeaderLen+2 {
			s.notified = string(message[wire.HeaderLen : wire.HeaderLen+2])
		}
		if t == wire.MessageKeepalive && !accepted {
			accepted = true
			close(s.accepted)
		}
	}
}

func (p *foreignPeer) port() uint16 { return uint16(p.listener.Addr().(*net.TCPAddr).Port) }

// session waits for a connection and opens a session on it.
func (p *foreignPeer) session(t *testing.T) *foreignSession {
	t.Helper()
	select {
	case s := <-p.sessions:
		t.Cleanup(func() {
			s.conn.Close()
			<-s.over
		})
		open := []byte{4, testASN >> 8, testASN & 0xff, 0, 90, 10, 0, 0, 9, 20, 2, 18,
			1, 4, 0x40, 0x04, 0, 71, // multiprotocol: BGP-LS
			64, 2, 0, 0, // graceful restart
			65, 4, 0, 0, testASN >> 8, testASN & 0xff, // four octets of AS
			70, 0} // enhanced route refresh
		s.send(t, wire.AppendMessage(nil, wire.MessageOpen, open),
			wire.AppendMessage(nil, wire.MessageKeepalive, nil))
		select {
		case <-s.accepted:
		case <-time.After(deadline):
			t.Fatal("the session is not accepted")
		}
		return s
	case <-time.After(deadline):
		t.Fatal("nobody connects")
		return nil
	}
}

func (s *foreignSession) send(t *testing.T, messages ...[]byte) {
	t.Helper()
	for _, m := range messages {
		if _, err := s.conn.Write(m); err != nil {
			t.Fatal(err)
		}
	}
}

var endOfRIBMessage = wire.AppendMessage(nil, wire.MessageUpdate, []byte{0, 0, 0, 6, 0x80, 15, 3,
	0x40, 0x04, 71})

func tlv(typ uint16, value ...byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, typ)
	b = binary.BigEndian.AppendUint16(b, uint16(len(value)))
	return append(b, value...)
}

// A logBuffer is what several goroutines log.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// A router that says what GoBGP does not know, or not well.
func TestForeignPeer(t *testing.T) {
	t.Parallel()
	a := netip.MustParseAddr("127.0.4.1")
	router := newForeignPeer(t, a)
	var logged logBuffer
	collector := start(t, Config{ASN: 64999, RouterID: netip.MustParseAddr("10.255.0.1"),
		Collect: true, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	addPeer(t, collector, Peer{Address: a, Port: router.port(), ASN: testASN,
		LocalAddress: collectorAddress})
	session := router.session(t)

	o := device(9, 8)
	local := wire.NodeDescriptor{ASN: testASN, IGPRouterID: "\x0a\x00\x00\x09"}
	say := func(n wire.NLRI, attribute ...[]byte) []byte {
		n.Protocol, n.Local = wire.ProtocolDirect, local
		var all []byte
		for _, a := range attribute {
			all = append(all, a...)
		}
		return updateMessage(n.Append(nil), all)
	}
	sid := o.Node.SIDs[0].Address
	endX := append([]byte{0, 5, 0, 0, 0, 0}, sid.AsSlice()...)
	link := wire.NLRI{Type: wire.NLRILink, Remote: wire.NodeDescriptor{ASN: testASN,
		IGPRouterID: "\x0a\x00\x00\x08"},
		Link: wire.LinkDescriptor{IDs: wire.LinkIDs{Present: true, Local: 8, Remote: 9}}}
	session.send(t,
		say(wire.NLRI{Type: wire.NLRINode}, tlv(1026, 'n', '9'), tlv(1038, 0x40, 0, 0, 0),
			tlv(999, 1, 2, 3)),
		say(wire.NLRI{Type: wire.NLRIPrefix6,
			Prefix: wire.PrefixDescriptor{Prefix: o.Node.Locators[0].Prefix}},
			tlv(1162, 0, 128, 0, 0, 0, 0, 0, 7)),
		// No MT-ID.
		say(wire.NLRI{Type: wire.NLRISRv6SID, SID: sid}, tlv(1250, 0, 1, 0, 0), tlv(1252, 32, 16, 16, 0)),
		// A sub-TLV of End.X that is unknown, and the two of a LAN.
		say(link, tlv(1095, 0, 0, 10), tlv(1106, append(endX, tlv(999, 1)...)...),
			tlv(1107, append([]byte{0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8}, sid.AsSlice()...)...),
			tlv(1108, append([]byte{0, 7, 0, 0, 0, 0, 10, 0, 0, 8}, sid.AsSlice()...)...)),
		// An attribute whose last TLV goes past its end: the NLRI counts as without one.
		say(wire.NLRI{Type: wire.NLRIPrefix6,
			Prefix: wire.PrefixDescriptor{Prefix: netip.MustParsePrefix("fd09::/64")}},
			tlv(1155, 0, 0, 0, 5), []byte{4, 128, 0, 9, 0}),
		// NLRIs of a type that is unknown, and without any descriptor.
		updateMessage([]byte{0, 5, 0, 4, 0, 0, 0, 0, 0, 1, 0, 9, 4, 0, 0, 0, 0, 0, 0, 0, 0}, nil),
		endOfRIBMessage,
	)
	s := await(t, collector, "the router's objects", func(s *topology.Snapshot) bool {
		return s.Stale == nil && s.Version > 0
	})
	n := s.Node(o.Node.ID)
	if n == nil || n.Name != "n9" || n.SRv6 == nil || !n.SRv6.OAM || len(n.Locators) != 1 ||
		n.Locators[0].Algorithm != 128 || n.Locators[0].Metric != 7 {
		t.Fatalf("the node is %+v", n)
	}
	if len(n.SIDs) != 1 || n.SIDs[0] != o.Node.SIDs[0] {
		t.Errorf("SIDs: %+v", n.SIDs)
	}
	links := s.LinksFrom(o.Node.ID)
	if len(links) != 1 || len(links[0].EndX) != 3 || links[0].EndX[1].Neighbor != "0000.0000.0008" ||
		links[0].EndX[2].Neighbor != "10.0.0.8" {
		t.Errorf("links: %+v", links)
	}
	if p := s.PrefixesOf(o.Node.ID); len(p) != 2 || p[1].Metric != 0 {
		t.Errorf("prefixes: %+v", p)
	}
	if stats := collector.Stats(); stats.UnknownTLVs != 2 || stats.DiscardedAttributes != 1 ||
		stats.UnknownNLRIs != 1 || stats.MalformedNLRIs != 1 || stats.Updates != 7 {
		t.Errorf("counters: %+v", stats)
	}
	if p := collector.Peers()[0]; p.MalformedNLRIs != 1 || p.DiscardedAttributes != 1 ||
		p.LastFault == nil || p.LastFault.Time.IsZero() || p.LastFault.Reason == "" {
		t.Errorf("the peer: %+v", p)
	}
	if text := logged.String(); strings.Count(text, "malformed: it is left out") != 1 ||
		!strings.Contains(text, "octets=0483000400000005") {
		t.Errorf("logged: %s", text)
	}

	// An UPDATE that cannot be divided ends the session. What was said stays.
	session.send(t, updateMessage([]byte{0, 5, 0, 5, 0, 0, 0, 0}, nil))
	lost := await(t, collector, "the loss", func(s *topology.Snapshot) bool { return s.Stale != nil })
	if d := topologytest.Differences(s, lost); len(d) > 0 {
		t.Errorf("the loss changed %q", d)
	}
	if stats := collector.Stats(); stats.MalformedUpdates != 1 {
		t.Errorf("counters: %+v", stats)
	}
	router.session(t).send(t, say(wire.NLRI{Type: wire.NLRINode}, tlv(1026, 'n', '9')),
		endOfRIBMessage)
	await(t, collector, "the return", func(s *topology.Snapshot) bool {
		return s.Stale == nil && len(s.Nodes) == 1 && len(s.Links)+len(s.Prefixes)+
			len(s.Nodes[0].SIDs) == 0
	})
}

// What is no BGP, or not yet a session, ends the connection and nothing else.
func TestForeignPeerWithoutManners(t *testing.T) {
	t.Parallel()
	a := netip.MustParseAddr("127.0.4.3")
	router := newForeignPeer(t, a)
	collector := start(t, Config{ASN: 64999, RouterID: netip.MustParseAddr("10.255.0.1"),
		Collect: true})
	addPeer(t, collector, Peer{Address: a, Port: router.port(), ASN: testASN,
		LocalAddress: collectorAddress})
	node := wire.NLRI{Type: wire.NLRINode, Local: wire.NodeDescriptor{ASN: testASN,
		IGPRouterID: "\x0a\x00\x00\x09"}}
	update := updateMessage(node.Append(nil), nil)
	for name, octets := range map[string][]byte{
		"another protocol":         []byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
		"a short message":          append(update[:16:16], 0, 18, 2),
		"an UPDATE before an OPEN": update,
		"an OPEN of another AS": wire.AppendMessage(nil, wire.MessageOpen,
			[]byte{4, 0, 1, 0, 90, 10, 0, 0, 9, 0}),
	} {
		select {
		case s := <-router.sessions:
			_, err := s.conn.Write(octets)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			select {
			case <-s.over:
			case <-time.After(deadline):
				t.Errorf("%s: the connection stays", name)
			}
			s.conn.Close()
		case <-time.After(deadline):
			t.Fatalf("%s: nobody connects", name)
		}
	}
	if p := collector.Peers(); len(p) != 1 || p[0].State == topology.PeerEstablished ||
		!p[0].Since.IsZero() || p[0].LastError == "" {
		t.Errorf("sessions: %+v", p)
	}
	router.session(t).send(t, update, endOfRIBMessage)
	await(t, collector, "the node", func(s *topology.Snapshot) bool {
		return s.Stale == nil && len(s.Nodes) == 1
	})
}

// A router that sends no End-of-RIB marker is taken to have said everything
// after a while.
func TestForeignPeerWithoutEndOfRIB(t *testing.T) {
	t.Parallel()
	a := netip.MustParseAddr("127.0.4.2")
	router := newForeignPeer(t, a)
	collector := start(t, Config{ASN: 64999, RouterID: netip.MustParseAddr("10.255.0.1"),
		Collect: true, SyncTimeout: 50 * time.Millisecond})
	addPeer(t, collector, Peer{Address: a, Port: router.port(), ASN: testASN,
		LocalAddress: collectorAddress})
	node := wire.NLRI{Type: wire.NLRINode, Local: wire.NodeDescriptor{ASN: testASN,
		IGPRouterID: "\x0a\x00\x00\x09"}}
	router.session(t).send(t, updateMessage(node.Append(nil), nil))
	await(t, collector, "the node", func(s *topology.Snapshot) bool {
		return s.Stale == nil && len(s.Nodes) == 1
	})
	if p := collector.Peers(); len(p) != 1 || !p[0].Synced {
		t.Errorf("sessions: %+v", p)
	}
}

// A router that falls silent is lost after the hold time, and told so.
func TestForeignPeerFallsSilent(t *testing.T) {
	t.Parallel()
	a := netip.MustParseAddr("127.0.4.4")
	router := newForeignPeer(t, a)
	collector := start(t, Config{ASN: 64999, RouterID: netip.MustParseAddr("10.255.0.1"),
		Collect: true, HoldTime: minHoldTime})
	addPeer(t, collector, Peer{Address: a, Port: router.port(), ASN: testASN,
		LocalAddress: collectorAddress})
	node := wire.NLRI{Type: wire.NLRINode, Local: wire.NodeDescriptor{ASN: testASN,
		IGPRouterID: "\x0a\x00\x00\x09"}}
	session := router.session(t)
	session.send(t, updateMessage(node.Append(nil), nil), endOfRIBMessage)
	await(t, collector, "the node", func(s *topology.Snapshot) bool {
		return s.Stale == nil && len(s.Nodes) == 1
	})
	s := await(t, collector, "the loss", func(s *topology.Snapshot) bool { return s.Stale != nil })
	if len(s.Nodes) != 1 || !strings.Contains(s.Stale.Reason, "hold timer expired (4/0)") {
		t.Errorf("%d nodes, stale %+v", len(s.Nodes), s.Stale)
	}
}
