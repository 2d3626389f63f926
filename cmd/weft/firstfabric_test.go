package main

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/topology/bgpls"
)

// TestFirstFabric runs the commands of docs/first-fabric.md with its files, against the switches of
// Figure 1 under the switches' own addresses: once with direct peering, and once with two speakers
// that stand for reflectors.
func TestFirstFabric(t *testing.T) {
	page := document(t, "docs/first-fabric.md")
	var files []string
	for _, block := range strings.Split(page, "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```\n")
		files = append(files, text)
	}
	if len(files) != 3 {
		t.Fatalf("the page has %d files of YAML, want 3", len(files))
	}
	for _, way := range []string{"direct", "reflected"} {
		t.Run(way, func(t *testing.T) {
			steps, d := consoleOf(page), deployNetwork(t, lab.Figure1(), nil)
			direct, reflected := files[0], files[1]
			for i, sw := range d.inventory.Switches {
				direct = strings.Replace(direct, fmt.Sprintf("192.0.2.%d:9559", i+1), sw.Address, 1)
				p := d.inventory.BGP.Peers[i]
				direct = strings.Replace(direct, fmt.Sprintf("{address: 192.0.2.%d}", i+1),
					fmt.Sprintf("{address: %v, port: %d}", p.Address, p.Port), 1)
			}
			for _, h := range d.inventory.Hosts { // the hosts of a lab answer no neighbor discovery
				direct = strings.Replace(direct, fmt.Sprintf("{name: %s, address", h.Name),
					fmt.Sprintf("{name: %s, mac: %q, address", h.Name, h.MAC), 1)
			}
			controller := strings.Replace(direct, "127.0.0.1:8080", "127.0.0.1:0", 1)
			if way == "reflected" {
				for i := range 2 {
					reflected = strings.Replace(reflected, fmt.Sprintf("{address: 192.0.2.%d}", i+101),
						reflector(t, d, i+101), 1)
				}
				before, rest, _ := strings.Cut(controller, "bgp:\n")
				_, after, _ := strings.Cut(rest, "\napi:")
				controller = before + reflected + "api:" + after
				steps[0].want[0] = strings.Replace(steps[0].want[0], "6 BGP-LS peers", "2 BGP-LS peers", 1)
				for i := range steps {
					if strings.Contains(steps[i].command, "bgp-peers") {
						steps[i].want = steps[i].want[:3]
					}
				}
			}
			runFirstFabric(t, steps, map[string]string{"controller.yaml": controller,
				"group.yaml": files[2]})
		})
	}
}

// reflector starts a speaker that says the whole topology, and returns its peer in YAML.
func reflector(t *testing.T, d *deployment, n int) string {
	t.Helper()
	id := fmt.Sprintf("192.0.2.%d", n)
	speaker, err := bgpls.Start(t.Context(), bgpls.Config{ASN: lab.ASN,
		RouterID: netip.MustParseAddr(id),
		Listen:   netip.MustParseAddrPort(fmt.Sprintf("127.0.0.%d:0", n))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := speaker.Close(); err != nil {
			t.Error(err)
		}
	})
	var all []*bgpls.Objects
	err = d.network.Do(t.Context(), func(w *lab.World) error {
		for _, s := range w.Network.Switches {
			objects, err := w.Advertise(s.Name)
			if err != nil {
				return err
			}
			all = append(all, &objects)
		}
		return nil
	})
	if err == nil {
		err = speaker.Originate(all...)
	}
	if err == nil {
		err = speaker.AddPeer(t.Context(), bgpls.Peer{Address: netip.MustParseAddr("127.0.0.1"),
			ASN: lab.ASN, Passive: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("{address: 127.0.0.%d, port: %d}", n, speaker.ListenAddr().Port())
}

func runFirstFabric(t *testing.T, steps []guideStep, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	url := ""
	for _, s := range steps {
		words := strings.Fields(s.command)[1:]
		for i, w := range words {
			if strings.HasSuffix(w, ".yaml") {
				words[i] = filepath.Join(dir, w)
			}
		}
		if words[len(words)-1] == "&" {
			url = startProcess(t, append(words[1:len(words)-1], "--data-dir", filepath.Join(dir,
				"data"))...).url
			continue
		}
		s.prints(t, func() (text, said string) {
			var out, beside bytes.Buffer
			execute(t.Context(), words, environment{stdin: strings.NewReader(""), stdout: &out,
				stderr: &beside, getenv: func(name string) string {
					return map[string]string{"WEFT_SERVER": url}[name]
				}})
			return strings.ReplaceAll(out.String(), dir+"/", ""), beside.String()
		})
	}
}
