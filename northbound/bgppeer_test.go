package northbound

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/northbound/northboundtest"
	"github.com/weft-sdn/weft/topology"
)

// testPeers returns a synced peer, a peer that refuses connections, a peer with a lost session, and
// a peer that never sent End-of-RIB.
func testPeers() northboundtest.Peers {
	a := netip.MustParseAddr
	return northboundtest.Peers{
		{Address: a("192.0.2.1"), Port: 179, ASN: 64512, State: topology.PeerEstablished,
			Since: epochStart, Synced: true, Heard: true,
			Sessions: 1, Updates: 9, NLRIs: topology.PeerNLRIs{Nodes: 2, Links: 3, Prefixes: 4, SIDs: 5}},
		{Address: a("192.0.2.2"), Port: 179, ASN: 64513, State: topology.PeerConnecting,
			LastError: "connection refused"},
		{Address: a("192.0.2.3"), ASN: 64512, State: topology.PeerConnecting,
			Since: epochStart.Add(time.Second), Heard: true, Sessions: 3, LastError: "hold timer expired"},
		{Address: a("2001:db8::4"), Port: 1790, ASN: 64512, State: topology.PeerEstablished,
			Since: epochStart, Sessions: 1, NLRIs: topology.PeerNLRIs{Nodes: 1},
			MalformedNLRIs: 3, DiscardedAttributes: 1, LastFault: &topology.PeerFault{Time: epochStart,
				Object: topology.FaultNLRI, Octets: "000100", Length: 30, Reason: "bgpls: malformed"}},
	}
}

func TestBGPPeers(t *testing.T) {
	s, _, _ := newTestServer(t, func(c *Config) { c.BGP = testPeers() })
	for target, want := range map[string]string{
		"/v1/bgp-peers": `{"items":[` +
			`{"name":"192.0.2.1:179","address":"192.0.2.1","port":179,"asn":64512,"state":"established",` +
			`"since":"2026-01-02T03:04:05Z","synced":true,"sessions":1,"updates":9,"nlris":{"nodes":2,` +
			`"links":3,"prefixes":4,"sids":5}},` +
			`{"name":"192.0.2.2:179","address":"192.0.2.2","port":179,"asn":64513,"state":"connecting",` +
			`"lastError":"nothing listens at its address: the connection was refused","synced":false,` +
			`"sessions":0,"updates":0,"nlris":{"nodes":0,"links":0,"prefixes":0,"sids":0}},` +
			`{"name":"192.0.2.3","address":"192.0.2.3","asn":64512,"state":"connecting",` +
			`"since":"2026-01-02T03:04:06Z","lastError":"hold timer expired","synced":false,"sessions":3,` +
			`"updates":0,"nlris":{"nodes":0,"links":0,"prefixes":0,"sids":0}},` +
			`{"name":"[2001:db8::4]:1790","address":"2001:db8::4","port":1790,"asn":64512,` +
			`"state":"established","since":"2026-01-02T03:04:05Z","synced":false,"sessions":1,` +
			`"updates":0,"nlris":{"nodes":1,"links":0,"prefixes":0,"sids":0},"malformedNlris":3,` +
			`"discardedAttributes":1,"lastFault":{"time":"2026-01-02T03:04:05Z","object":"nlri",` +
			`"octets":"000100","length":30,"reason":"malformed"}}]}`,
		"/v1/bgp-peers/%5B2001:db8::4%5D:1790": `{"name":"[2001:db8::4]:1790","address":"2001:db8::4",` +
			`"port":1790,"asn":64512,"state":"established","since":"2026-01-02T03:04:05Z","synced":false,` +
			`"sessions":1,"updates":0,"nlris":{"nodes":1,"links":0,"prefixes":0,"sids":0},` +
			`"malformedNlris":3,"discardedAttributes":1,"lastFault":{"time":"2026-01-02T03:04:05Z",` +
			`"object":"nlri","octets":"000100","length":30,"reason":"malformed"}}`,
	} {
		want = strings.ReplaceAll(want, "2026-01-02T03:04:05Z", epochStart.UTC().Format(time.RFC3339))
		want = strings.ReplaceAll(want, "2026-01-02T03:04:06Z",
			epochStart.Add(time.Second).UTC().Format(time.RFC3339))
		if w := do(s, "GET", target, ""); w.Code != 200 || strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s: %d\n%s\nwant\n%s", target, w.Code, w.Body, want)
		}
	}
	if w := do(s, "GET", "/v1/bgp-peers/192.0.2.9:179", ""); w.Code != 404 ||
		!strings.Contains(w.Body.String(), "192.0.2.9:179") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	none, _, _ := newTestServer(t)
	if w := do(none, "GET", "/v1/bgp-peers",
		""); strings.TrimSpace(w.Body.String()) != `{"items":[]}` {
		t.Errorf("without BGP: %d %s", w.Code, w.Body)
	}
	body := do(s, "GET", "/metrics", "").Body.String()
	for _, want := range []string{
		`weft_bgp_peer_established{peer="192.0.2.1:179"} 1`,
		`weft_bgp_peer_established{peer="192.0.2.2:179"} 0`,
		`weft_bgp_peer_synced{peer="[2001:db8::4]:1790"} 0`,
		`weft_bgp_peer_sessions_total{peer="192.0.2.3"} 3`,
		`weft_bgp_peer_updates_total{peer="192.0.2.1:179"} 9`,
		`weft_bgp_peer_nlris{peer="192.0.2.1:179",type="node"} 2`,
		`weft_bgp_peer_nlris{peer="192.0.2.1:179",type="link"} 3`,
		`weft_bgp_peer_nlris{peer="192.0.2.1:179",type="prefix"} 4`,
		`weft_bgp_peer_nlris{peer="192.0.2.1:179",type="sid"} 5`, "weft_ready 0",
		`weft_bgp_peer_malformed_total{object="nlri",peer="[2001:db8::4]:1790"} 3`,
		`weft_bgp_peer_malformed_total{object="attribute",peer="[2001:db8::4]:1790"} 1`,
		`weft_bgp_peer_malformed_total{object="nlri",peer="192.0.2.3"} 0`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
}

// A peer that never was in sync makes the controller not ready; one that was, and a
// stale topology, are shown and no more.
func TestReadinessOfPeers(t *testing.T) {
	all := testPeers()
	for _, c := range []struct {
		name  string
		peers []topology.Peer
		stale *topology.Staleness
		code  int
		check string
	}{
		{"in sync", all[:1], nil, 200, `{"name":"bgp-peer/192.0.2.1:179","ok":true}`},
		{"refused", all[:2], nil, 503,
			`{"name":"bgp-peer/192.0.2.2:179","ok":false,"message":"no session was ever established: ` +
				`nothing listens at its address: the connection was refused"}`},
		{"lost", all[2:3], nil, 200,
			`{"name":"bgp-peer/192.0.2.3","ok":false,"advisory":true,"message":"the session is lost: hold ` +
				`timer expired"}`},
		{"lost with what it alone said", all[2:3], staleness("192.0.2.3: hold timer expired"), 200,
			`{"name":"bgp-ls","ok":false,"advisory":true,"message":"192.0.2.3: hold timer expired"}`},
		{"not yet in sync", all[3:], nil, 503,
			`{"name":"bgp-peer/[2001:db8::4]:1790","ok":false,"message":"it has not sent all that it has"}`},
	} {
		s, f, _ := newTestServer(t, func(cfg *Config) { cfg.BGP = northboundtest.Peers(c.peers) })
		b := f.Snapshot.Builder()
		b.SetStale(c.stale)
		f.Snapshot = b.Build()
		if w := do(s, "GET", "/readyz", ""); w.Code != c.code ||
			!strings.Contains(w.Body.String(), c.check) {
			t.Errorf("%s: %d %s\nwant %d %s", c.name, w.Code, w.Body, c.code, c.check)
		}
		ready := "weft_ready 0"
		if c.code == 200 {
			ready = "weft_ready 1"
		}
		if body := do(s, "GET", "/metrics", "").Body.String(); !strings.Contains(body, ready) {
			t.Errorf("%s: no %s", c.name, ready)
		}
	}
}
