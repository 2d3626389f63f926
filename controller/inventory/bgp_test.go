package inventory

import (
	"strings"
	"testing"
)

// TestBGPPeers: an error about a peer names the field.
func TestBGPPeers(t *testing.T) {
	for peer, want := range map[string]string{
		`password: x, nodes: ["10.0.0.6", "64512:*"], limits: {links: 5}`: "",
		`password: x, passwordFile: y`: "bgp.peers[0].passwordFile: " +
			"goes with no password",
		`password: "` + strings.Repeat("x",
			81) + `"`: "bgp.peers[0].password: has 81 octets: want 80 at most",
		`nodes: ["10.0.0.6", n6]`: `bgp.peers[0].nodes[1]: node "n6": want a router-id`,
		`limits: {octets: -1}`:    "bgp.peers[0].limits.octets: is -1: want a positive number",
		`holdTime: 4s`:            "bgp.peers[0].holdTime: is no field",
	} {
		_, err := Load([]byte("bgp: {asn: 64512, routerId: 10.0.0.1, holdTime: 3s, peers: [{address: " +
			"192.0.2.1, " + peer + "}]}\n"))
		if want == "" && err != nil || want != "" &&
			(err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(want, ": is no field"))) {
			t.Errorf("%s: %v, want %q", peer, err, want)
		}
	}
	// One peer has one session, however its address is written. Speakers that listen at several ports
	// of an address are several peers; those that connect have no port.
	for last, twice := range map[string]string{
		`address: 192.0.2.1`:                                      "192.0.2.1",
		`address: "::ffff:192.0.2.1", port: 179`:                  "::ffff:192.0.2.1",
		`address: 192.0.2.1, port: 1790`:                          "",
		`address: 192.0.2.1, passive: true`:                       "",
		`address: 192.0.2.3, port: 1790, passive: true`:           "192.0.2.3",
		`address: "::ffff:192.0.2.2", port: 179, passive: false `: "",
	} {
		_, err := Load([]byte("bgp: {asn: 64512, routerId: 10.0.0.1, peers: [{address: 192.0.2.1}, " +
			"{address: 192.0.2.2, port: 1790}, {address: 192.0.2.3, passive: true}, {" + last + "}]}\n"))
		want := "bgp.peers[3].address: is " + twice + ", the address of bgp.peers["
		if twice == "" && err != nil || twice != "" && (err == nil ||
			!strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", last, err)
		}
	}
	for _, c := range []struct{ field, good, bad string }{
		{"holdTime", "3s", "2s"}, {"holdTime", "65535s", "65536s"}, {"holdTime", "4s", "3500ms"},
		{"stalePathTime", "1s", "999ms"}, {"stalePathTime", "1h", "1h1s"},
		{"lossTime", "1s", "999ms"}, {"lossTime", "24h", "24h1s"},
	} {
		load := func(value string) error {
			_, err := Load([]byte("bgp: {asn: 64512, routerId: 10.0.0.1, " + c.field + ": " + value +
				", peers: [{address: 192.0.2.1}]}\n"))
			return err
		}
		if err := load(c.good); err != nil {
			t.Errorf("%s %s: %v", c.field, c.good, err)
		}
		if err := load(c.bad); err == nil || !strings.Contains(err.Error(), "bgp."+c.field) {
			t.Errorf("%s %s: %v", c.field, c.bad, err)
		}
	}
}
