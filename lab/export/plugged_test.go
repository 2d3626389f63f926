package export

import (
	"fmt"
	"net/netip"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/host/mrchost"
	"github.com/weft-sdn/weft/host/rocehost"
	"github.com/weft-sdn/weft/lab"
)

// told are the words by which a file tells somebody a neighbor: iproute2's, and those of CONFIG_DB.
var told = regexp.MustCompile(`\blladdr\b|\bnud\b|\bNEIGH\b|\barp -s\b`)

// attached is a port of a host, by its number from 1.
type attached struct {
	address netip.Addr
	port    int
}

// tellsNothing returns where the files of a lab tell a MAC of a host, or the gateway of one, at a
// switch that runs the P4 program. Without neighbor discovery the controller refuses hosts without
// MACs.
func tellsNothing(files []File) (out []string) {
	wrong := func(f File, format string, args ...any) {
		out = append(out, f.Name+": "+fmt.Sprintf(format, args...))
	}
	kernels := make(map[attached]bool) // ports at switches without the P4 program
	withoutP4 := false
	for _, f := range files {
		if !strings.Contains(f.Text, "docs/config.md, Controller.") {
			continue
		}
		inv, err := inventory.Load([]byte(f.Text))
		if err != nil {
			wrong(f, "%v", err)
			continue
		}
		for _, h := range inv.Hosts {
			for i, at := range h.Attachments() {
				if sw := inv.Switch(at.Switch); sw.WithoutP4() {
					kernels[attached{h.Address, i + 1}], withoutP4 = true, true
				} else if !at.MAC.IsZero() {
					wrong(f, "host %s has MAC %v at %s", h.Name, at.MAC, at.Switch)
				}
			}
		}
	}
	for _, f := range files {
		if word := told.FindString(f.Text); word != "" && !withoutP4 {
			wrong(f, "it has %q", word)
		}
		if path.Base(path.Dir(f.Name)) != "hosts" {
			continue
		}
		port := func(a netip.Addr, number int, mac, gateway inventory.MAC) {
			if kernels[attached{a, number}] {
				return
			}
			if !mac.IsZero() {
				wrong(f, "port %d has MAC %v", number, mac)
			}
			if !gateway.IsZero() {
				wrong(f, "port %d has gateway %v", number, gateway)
			}
		}
		if strings.Contains(f.Text, "transport: mrc") {
			c, err := mrchost.Load(f.Name, []byte(f.Text))
			if err != nil {
				wrong(f, "%v", err)
				continue
			}
			for i, p := range c.Ports {
				port(c.Address, i+1, p.MAC, p.Gateway)
			}
			continue
		}
		c, err := rocehost.Load(f.Name, []byte(f.Text))
		if err != nil {
			wrong(f, "%v", err)
			continue
		}
		port(c.Address, 1, c.MAC, c.Gateway)
	}
	return out
}

// TestHostsPlugIn: no lab tells a host its switch, or anybody a host, where the switch runs the P4
// program; of the others, each.
func TestHostsPlugIn(t *testing.T) {
	networks := append(lab.BuiltinNames(), "docs/examples/fabric.yaml", "docs/examples/wan.yaml")
	for _, name := range networks {
		for _, tool := range Tools() {
			t.Run(filepath.Base(name)+" "+tool, func(t *testing.T) {
				files, err := Files(load(t, name), Options{Tool: Tool(tool)})
				if err != nil {
					t.Fatal(err)
				}
				for _, text := range tellsNothing(files) {
					t.Error(text)
				}
			})
		}
	}
	for _, tool := range []Tool{Mininet, Containerlab} {
		files, err := Files(small(), Options{Tool: tool, Switches: lab.SwitchesMixed})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range tellsNothing(files) {
			t.Errorf("%s, mixed: %s", tool, text)
		}
	}
}

// TestToldHostsAreFound: the test above finds what a lab must not tell, in each kind of file.
func TestToldHostsAreFound(t *testing.T) {
	for _, c := range []struct {
		network, file, old, new, want string
	}{
		{"figure1", "controller.yaml", `::1", switch: N6`, `::1", mac: "02:00:00:00:01:02", switch: N6`,
			"host S1 has MAC 02:00:00:00:01:02 at N6"},
		{"docs/examples/fabric.yaml", "controller.yaml", "{switch: P2-T0-1",
			`{mac: "02:00:00:00:01:02", switch: P2-T0-1`, "host H1 has MAC 02:00:00:00:01:02 at P2-T0-1"},
		{"figure1", "hosts/r1.yaml", "address:", "gateway: \"02:00:00:00:00:01\"\naddress:",
			"port 1 has gateway 02:00:00:00:00:01"},
		{"figure1", "hosts/r1.yaml", "address:", "mac: \"02:00:00:00:00:01\"\naddress:",
			"port 1 has MAC 02:00:00:00:00:01"},
		{"docs/examples/fabric.yaml", "hosts/h1.yaml", "{interface: H1-eth2",
			`{gateway: "02:00:00:00:00:01", interface: H1-eth2`, "port 2 has gateway 02:00:00:00:00:01"},
		{"figure1", "figure1.py", "import os", "import os # lladdr", `it has "lladdr"`},
	} {
		files, err := Files(load(t, c.network), Options{Tool: Mininet})
		if err != nil {
			t.Fatal(err)
		}
		changed := false
		for i := range files {
			if f := &files[i]; f.Name == c.file {
				text := strings.Replace(f.Text, c.old, c.new, 1)
				changed = text != f.Text
				f.Text = text
			}
		}
		if got := tellsNothing(files); !changed || len(got) != 1 || got[0] != c.file+": "+c.want {
			t.Errorf("%s with %s: %q, want %q", c.file, c.new, got, c.want)
		}
	}
}
