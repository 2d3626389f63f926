//go:build linux

package figure1

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/lab"
)

// TestDiscoveryOnEmbedded finds the links of the reference topology by LLDP on embedded switches.
func TestDiscoveryOnEmbedded(t *testing.T) {
	network := lab.Figure1()
	if err := network.Complete(); err != nil {
		t.Fatal(err)
	}
	discover(t, network, nil)
}

// discover runs a controller that knows nodes without links from a file, and has no BGP-LS. It must
// find all links by LLDP, program every switch, and lose a link that is cut. Switches that run
// elsewhere have no gNMI: the configuration names their ports.
func discover(t *testing.T, network lab.Network, elsewhere map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), programTimeout)
	defer cancel()
	nodes := network.Topology()
	nodes.Links = nil
	text, err := json.Marshal(nodes) // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "nodes.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	ids := make(map[string]string)
	for _, s := range network.Switches {
		ids[s.Name] = string(lab.NodeID(s))
	}
	want := make(map[string]bool)
	ports := make(map[string][]uint32)
	for _, l := range network.Links {
		if ids[l.A] != "" && ids[l.B] != "" {
			want[fmt.Sprintf("%s,%d~%s,%d", ids[l.A], l.PortA, ids[l.B], l.PortB)] = true
			want[fmt.Sprintf("%s,%d~%s,%d", ids[l.B], l.PortB, ids[l.A], l.PortA)] = true
			ports[l.A], ports[l.B] = append(ports[l.A], l.PortA), append(ports[l.B], l.PortB)
		}
	}
	live, err := lab.StartLive(ctx, lab.LiveOptions{Network: network, Listen: "127.0.0.1:0",
		Elsewhere: elsewhere, Tune: func(inv *inventory.Inventory) {
			inv.BGP, inv.Topology.File = inventory.BGP{}, file
			inv.Discovery.Protocol = inventory.DiscoveryLLDP
			for i := range inv.Switches {
				if sw := &inv.Switches[i]; elsewhere != nil {
					sw.LinkPorts = ports[sw.Name]
				}
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	}()
	links := func(what string, want map[string]bool) {
		t.Helper()
		var got map[string]bool
		if err := live.Wait(ctx, what, func() (bool, error) {
			var list api.List[api.Link]
			if err := getJSON(live.URL()+"/v1/links", &list); err != nil {
				return false, err
			}
			got = make(map[string]bool)
			for _, l := range list.Items {
				got[string(l.ID)] = len(l.Status.Sources) == 1 && l.Status.Sources[0] == "lldp"
			}
			return maps.Equal(got, want), nil
		}); err != nil {
			t.Fatalf("%v: links %v, want %v", err, got, want)
		}
	}
	links("all links are found", want)
	if err := live.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	if elsewhere != nil {
		return // its links are not the lab's to cut
	}
	do(t, live, func() error { return live.World.SetLink("N6", "N4", false) })
	for id := range want {
		if a, b := ids["N6"], ids["N4"]; id == fmt.Sprintf("%s,2~%s,1", a, b) ||
			id == fmt.Sprintf("%s,1~%s,2", b, a) {
			delete(want, id)
		}
	}
	links("the link that is cut is gone", want)
}

func getJSON(url string, v any) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(v)
}
