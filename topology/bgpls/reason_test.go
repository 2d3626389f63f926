package bgpls

import (
	"bytes"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// syncBuffer is written by several goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// A peer that refuses is named by its configured address, with the reason in the
// terms of the protocol: to Changed, in the status, and in the topology.
func TestPeerRefuses(t *testing.T) {
	t.Parallel()
	shutdown := append([]byte{6, 2, 11}, "maintenance"...)
	for i, c := range []struct {
		name string
		says []byte // to whoever connects; then it closes
		want string
	}{
		{"closes", nil, "the peer closed the connection"},
		{"bad AS", wire.AppendMessage(nil, wire.MessageNotification, []byte{2, 2}),
			"the peer sent NOTIFICATION OPEN message error, bad peer AS (2/2)"},
		{"shut down", wire.AppendMessage(nil, wire.MessageNotification, shutdown),
			`the peer sent NOTIFICATION cease, administrative shutdown (6/2): "maintenance"`},
		{"another AS", wire.AppendMessage(nil, wire.MessageOpen, []byte{4, 0, 1, 0, 90, 10, 0, 0, 9, 0}),
			"this speaker sent NOTIFICATION OPEN message error, bad peer AS (2/2)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 5, byte(1 + i)}),
				0).String())
			if err != nil {
				t.Fatal(err)
			}
			var serving sync.WaitGroup
			defer serving.Wait()
			defer l.Close()
			attempts := make(chan struct{}, 100)
			serving.Go(func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					attempts <- struct{}{}
					if c.says != nil {
						_, _ = conn.Write(c.says)
						// Closed with octets unread the connection would be reset.
						_ = conn.SetReadDeadline(time.Now().Add(deadline))
						_, _ = bytes.NewBuffer(nil).ReadFrom(conn)
					}
					conn.Close()
				}
			})
			refused(t, l.Addr().(*net.TCPAddr).AddrPort(), attempts, c.want)
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		free, err := freePort(netip.MustParseAddr("127.0.5.9"))
		if err != nil {
			t.Fatal(err)
		}
		refused(t, free, nil, "connection refused")
	})
}

// refused checks what a speaker says of a peer that refuses; attempts, if not nil,
// receives with each connection.
func refused(t *testing.T, peer netip.AddrPort, attempts <-chan struct{}, want string) {
	t.Helper()
	var log syncBuffer
	changed := make(chan topology.Peer, 100)
	collector := start(t, Config{
		ASN: 64999, RouterID: netip.MustParseAddr("10.255.0.1"), Collect: true,
		StartupGrace: time.Millisecond,
		Changed:      func(p topology.Peer) { changed <- p },
		Logger:       slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	addPeer(t, collector, Peer{Address: peer.Addr(), Port: peer.Port(), ASN: testASN})
	select {
	case p := <-changed:
		if p.Name() != peer.String() || p.State != topology.PeerConnecting || p.LastError != want ||
			p.Sessions != 0 || p.Heard {
			t.Errorf("%+v, want %s", p, want)
		}
	case <-time.After(deadline):
		t.Fatal("no report")
	}
	if p := collector.Peers(); len(p) != 1 || p[0].LastError != want {
		t.Errorf("%+v, want %s", p, want)
	}
	s := await(t, collector, "the reason", func(s *topology.Snapshot) bool {
		return s.Stale != nil && !s.Stale.Incomplete && strings.Contains(s.Stale.Reason, want)
	})
	if want := peer.String() + ": " + want; s.Stale.Reason != want {
		t.Errorf("stale: %q, want %q", s.Stale.Reason, want)
	}
	// Later attempts that end alike are not reported again: the second has ended when
	// the third connects.
	for n := 0; n < 3 && attempts != nil; n++ {
		select {
		case <-attempts:
		case <-time.After(deadline):
			t.Fatalf("%d attempts", n)
		}
	}
	select {
	case p := <-changed:
		t.Errorf("reported again: %+v", p)
	default:
	}
	if text := log.String(); strings.Contains(text, "127.83.") || attempts != nil &&
		!strings.Contains(text, peer.String()) {
		t.Errorf("the log names a relay, or not the peer %s:\n%s", peer, text)
	}
}

// TestPeerStatus: a peer's status reports its objects, and the number of its sessions.
func TestPeerStatus(t *testing.T) {
	t.Parallel()
	a := netip.MustParseAddr("127.0.4.7")
	router := newForeignPeer(t, a)
	changed := make(chan topology.Peer, 100)
	collector := start(t, Config{ASN: 64999, RouterID: netip.MustParseAddr("10.255.0.1"),
		Collect: true, Changed: func(p topology.Peer) { changed <- p }})
	addPeer(t, collector, Peer{Address: a, Port: router.port(), ASN: testASN,
		LocalAddress: collectorAddress})
	wait := func(ok func(topology.Peer) bool) topology.Peer {
		t.Helper()
		for timeout := time.After(deadline); ; {
			select {
			case p := <-changed:
				if ok(p) {
					return p
				}
			case <-timeout:
				t.Fatalf("no such change: %+v", collector.Peers())
			}
		}
	}
	node := func(n byte) []byte {
		nlri := wire.NLRI{Type: wire.NLRINode, Local: wire.NodeDescriptor{ASN: testASN,
			IGPRouterID: "\x0a\x00\x00" + string(rune(n))}}
		return updateMessage(nlri.Append(nil), nil)
	}
	session := router.session(t)
	session.send(t, node(1), node(2), node(2), endOfRIBMessage)
	await(t, collector, "two nodes", func(s *topology.Snapshot) bool {
		return s.Stale == nil && len(s.Nodes) == 2
	})
	if p := wait(func(p topology.Peer) bool { return p.State == topology.PeerEstablished }); p.Sessions != 1 || p.Since.IsZero() || p.LastError != "" {
		t.Errorf("%+v", p)
	}
	p := collector.Peers()[0]
	if p.NLRIs != (topology.PeerNLRIs{Nodes: 2}) || p.Updates != 4 || !p.Synced || !p.Heard {
		t.Errorf("%+v", p)
	}
	session.conn.Close()
	if p := wait(func(p topology.Peer) bool { return p.State != topology.PeerEstablished }); p.LastError == "" || p.Since.IsZero() {
		t.Errorf("%+v", p)
	}
	router.session(t).send(t, node(2), endOfRIBMessage)
	await(t, collector, "one node", func(s *topology.Snapshot) bool {
		return s.Stale == nil && len(s.Nodes) == 1
	})
	if p := wait(
		func(p topology.Peer) bool { return p.State == topology.PeerEstablished }); p.Sessions != 2 {
		t.Errorf("%+v", p)
	}
	if p := collector.Peers()[0]; p.NLRIs != (topology.PeerNLRIs{Nodes: 1}) {
		t.Errorf("%+v", p)
	}
}

func TestNotificationText(t *testing.T) {
	for text, body := range map[string][]byte{
		"the peer sent NOTIFICATION hold timer expired (4/0)": {4, 0},
		"the peer sent NOTIFICATION cease, maximum number of prefixes reached (6/1)": {6, 1, 0x40,
			4, 71},
		"the peer sent NOTIFICATION cease, administrative reset (6/4): \"so \\\"long\\\"\"": append(
			[]byte{6, 4, 9}, "so \"long\""...),
		"the peer sent NOTIFICATION cease, administrative shutdown (6/2)": {6, 2, 200,
			'x'},
		"the peer sent NOTIFICATION cease, administrative reset (6/4)": {6, 4, 1,
			0xff},
		"the peer sent NOTIFICATION OPEN message error, unsupported capability (2/7)": {2, 7, 1, 4,
			0, 1, 0, 1},
		"the peer sent NOTIFICATION send hold timer expired (8/0)": {8, 0},
		"the peer sent NOTIFICATION unknown error (77/1)":          {77, 1},
		"the peer sent NOTIFICATION unknown error (0/0)":           {4},
	} {
		if got := parseNotification(wire.AppendMessage(nil, wire.MessageNotification, body),
			false).Error(); got != text {
			t.Errorf("%x: %s\nwant %s", body, got, text)
		}
	}
}
