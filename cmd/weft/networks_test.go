package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology/bgpls"
	"github.com/weft-sdn/weft/topology/static"
)

// chain describes nodes in a row: the port to the next is 2, to the one before 1.
func chain(metric int, nodes ...int) string {
	text := "nodes:\n"
	for _, n := range nodes {
		text += fmt.Sprintf("- {name: n%d, routerId: 10.0.0.%d, loopback: '2001:db8:0:%d::1', locator: "+
			"'5f00:0:%d::/48'}\n", n, n, n, n)
	}
	text += "links:\n"
	for i := range len(nodes) - 1 {
		text += fmt.Sprintf("- {a: n%d, portA: 2, b: n%d, portB: 1, metric: %d}\n", nodes[i], nodes[i+1],
			metric)
	}
	return text
}

// TestNetworks: the topology is what BGP-LS, a network of the API and a file say together; each
// link names what it is known from. A network outlives the controller.
func TestNetworks(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	speaks := netip.MustParseAddr("127.0.6.1")
	speaker, err := bgpls.Start(t.Context(), bgpls.Config{ASN: static.DefaultASN,
		RouterID: netip.MustParseAddr("10.0.0.1"), Listen: netip.AddrPortFrom(speaks, 0)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := speaker.Close(); err != nil {
			t.Error(err)
		}
	})
	collector := netip.MustParseAddr("127.0.6.2")
	if err := speaker.AddPeer(t.Context(), bgpls.Peer{Address: collector, ASN: static.DefaultASN,
		Passive: true}); err != nil {
		t.Fatal(err)
	}
	file := write("net.yaml", chain(10, 1, 2, 3))
	config := write("weft.yaml", fmt.Sprintf(`
topology: {file: %s}
bgp: {asn: 64512, routerId: 10.255.255.254, peers: [{address: %v, port: %d, localAddress: %v}]}
api: {listen: "127.0.0.1:0"}
`, file, speaks, speaker.ListenAddr().Port(), collector))
	flags := []string{"--config", config, "--data-dir", filepath.Join(dir, "data")}

	p := startProcess(t, flags...)
	links := func(want map[string]string) {
		t.Helper()
		var got map[string]string
		p.until(fmt.Sprintf("links %v", want), func() bool {
			a, err := p.rest.Get(t.Context(), "/v1/topology", nil)
			if err != nil {
				return false
			}
			var seen api.Topology
			if err := json.Unmarshal(a.Body, &seen); err != nil {
				t.Fatal(err)
			}
			got = make(map[string]string)
			for _, l := range seen.Links {
				got[string(l.Local[len("64512:10.0.0."):]+l.Remote[len("64512:10.0.0."):])] = fmt.Sprintf(
					"%d %v", l.IGPMetric, l.Sources)
			}
			return maps.Equal(got, want)
		})
	}
	links(map[string]string{"12": "10 [file]", "21": "10 [file]", "23": "10 [file]",
		"32": "10 [file]"})

	spec, err := static.Parse([]byte(chain(20, 3, 4)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.rest.Do(t.Context(), http.MethodPut, "/v1/networks/net", nil,
		map[string]any{"spec": spec}); err != nil {
		t.Fatal(err)
	}
	// n3 is the network's: it has no link to n2 there.
	described := map[string]string{"12": "10 [file]", "21": "10 [file]", "23": "10 [file]",
		"34": "20 [network net]", "43": "20 [network net]"}
	links(described)

	// n1 speaks for itself, and has two links: one that the file has too.
	said, err := static.Parse([]byte(chain(30, 1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	of, _ := said.Of("n1", nil)
	objects := bgpls.Objects(of)
	if err := speaker.Originate(&objects); err != nil {
		t.Fatal(err)
	}
	described["12"] = "30 [bgp-ls file]"
	links(described)
	a, err := p.rest.Get(t.Context(), "/v1/networks/net", nil)
	var n api.Network
	if err != nil || json.Unmarshal(a.Body, &n) != nil || n.Status.Links != 2 ||
		n.Status.InForce != 2 || !n.Status.Conditions.Is(api.Accepted) {
		t.Errorf("the network: %+v, %v", n, err)
	}

	p.kill()
	p = startProcess(t, flags...)
	links(described)
	if _, err := p.rest.Do(t.Context(), http.MethodDelete, "/v1/networks/net", nil, nil); err != nil {
		t.Fatal(err)
	}
	links(map[string]string{"12": "30 [bgp-ls file]", "21": "10 [file]", "23": "10 [file]",
		"32": "10 [file]"})
	if _, err := p.rest.Do(t.Context(), http.MethodPut, "/v1/networks/net", nil,
		map[string]any{"spec": map[string]any{"nodes": []any{}}}); err == nil {
		t.Error("a network without nodes is taken")
	}
	p.kill()
}
