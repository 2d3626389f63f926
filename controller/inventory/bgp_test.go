package inventory

import (
	"strings"
	"testing"
)

// TestBGPPeers: what is wrong with a peer is said of the field.
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
	for _, hold := range []string{"2s", "3500ms", "20h"} {
		if _,
			err := Load([]byte("bgp: {asn: 64512, routerId: 10.0.0.1, holdTime: " + hold +
			", peers: [{address: 192.0.2.1}]}\n")); err == nil ||
			!strings.Contains(err.Error(), "bgp.holdTime") {
			t.Errorf("hold time %s: %v", hold, err)
		}
	}
}
