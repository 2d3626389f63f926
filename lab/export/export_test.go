package export

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/host/mrchost"
	"github.com/weft-sdn/weft/host/rocehost"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/topology/static"
)

const root = "../.."

func load(t *testing.T, name string) lab.Network {
	t.Helper()
	if n, ok := lab.Builtin(name); ok {
		return n
	}
	n, err := lab.Load(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCommitted: the labs of the repository are what the command makes.
func TestCommitted(t *testing.T) {
	for _, c := range []struct {
		network, dir string
		o            Options
	}{
		{"figure1", ".", Options{Tool: Compose, Data: "deploy/compose/figure1"}},
		{"docs/examples/fabric.yaml", "deploy/compose/fabric", Options{Tool: Compose}},
		{"figure1", "deploy/compose/cluster", Options{Tool: Compose, Controllers: 3}},
	} {
		files, err := Files(load(t, c.network), c.o)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(filepath.Join(root, c.dir, f.Name))
			if err != nil {
				t.Errorf("make labs: %v", err)
			} else if string(text) != f.Text {
				t.Errorf("%s of %s differs from what weft lab export makes: make labs", f.Name, c.dir)
			}
		}
	}
}

// TestFiles: the programs accept every configuration, of every built-in network and tool.
func TestFiles(t *testing.T) {
	networks := append(lab.BuiltinNames(), "docs/examples/fabric.yaml")
	for _, name := range networks {
		for _, tool := range Tools() {
			for _, controllers := range []int{1, 3} {
				if controllers > 1 && tool == string(Mininet) {
					continue
				}
				t.Run(fmt.Sprintf("%s %s %d", filepath.Base(name), tool, controllers), func(t *testing.T) {
					files, err := Files(load(t, name), Options{Tool: Tool(tool), Controllers: controllers})
					if err != nil {
						t.Fatal(err)
					}
					for _, f := range files {
						if err := check(f); err != nil {
							t.Errorf("%s: %v\n%s", f.Name, err, f.Text)
						}
					}
				})
			}
		}
	}
}

// TestIPv4Hosts: the topology of a lab contains the IPv6 addresses of hosts; a host without an IPv6
// address still gives valid files.
func TestIPv4Hosts(t *testing.T) {
	n := lab.Figure1()
	n.Hosts[0].Address = netip.MustParseAddr("10.1.0.10")
	files, err := Files(n, Options{Tool: Mininet})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := check(f); err != nil {
			t.Errorf("%s: %v\n%s", f.Name, err, f.Text)
		}
		if f.Name == "topology.yaml" && (strings.Contains(f.Text, "10.1.0.10") ||
			!strings.Contains(f.Text, "2001:db8:1:2::1/128")) {
			t.Errorf("%s: %s", f.Name, f.Text)
		}
	}
}

// check has the program that a file is for read it.
func check(f File) (err error) {
	switch {
	case strings.HasPrefix(f.Name, "hosts/"):
		if strings.Contains(f.Text, "transport: mrc") {
			_, err = mrchost.Load(f.Name, []byte(f.Text))
		} else {
			_, err = rocehost.Load(f.Name, []byte(f.Text))
		}
	case f.Name == "topology.yaml":
		_, err = static.Parse([]byte(f.Text))
	case strings.HasSuffix(f.Name, ".yaml") && f.Name != "group.yaml":
		var inv *inventory.Inventory
		if inv, err = inventory.Load([]byte(f.Text)); err == nil {
			err = inv.Validate()
		}
	case strings.HasSuffix(f.Name, ".yml") || f.Name == "group.yaml":
		var any map[string]any
		err = yaml.Unmarshal([]byte(f.Text), &any)
	}
	return err
}

var update = flag.Bool("update", false, "rewrite the golden files")

// small is a fabric of two planes, with a T1 each.
func small() lab.Network {
	return lab.Clos(lab.ClosConfig{T0: 2, T1: 1, Hosts: 2, Rate: 40_000_000})
}

// TestSwitches: labs with Linux or SONiC switches match the golden files, and the configurations of
// their controllers are valid.
func TestSwitches(t *testing.T) {
	for _, c := range []struct {
		tool  Tool
		to    lab.Switches
		shown func(name string) bool
	}{
		{Mininet, lab.SwitchesLinux, func(name string) bool { return name == "controller.yaml" }},
		{Mininet, lab.SwitchesMixed, func(name string) bool { return strings.HasSuffix(name, ".py") }},
		{Containerlab, lab.SwitchesLinux, func(string) bool { return true }},
		{Containerlab, SONiC, func(string) bool { return true }},
	} {
		name := fmt.Sprintf("%s-%s", c.tool, c.to)
		t.Run(name, func(t *testing.T) {
			n := small()
			files, err := Files(n, Options{Tool: c.tool, Switches: c.to})
			if err != nil {
				t.Fatal(err)
			}
			if n.Switches[0].System != "" {
				t.Error("the caller's network was changed")
			}
			var text strings.Builder
			for _, f := range files {
				if err := check(f); err != nil {
					t.Errorf("%s: %v\n%s", f.Name, err, f.Text)
				}
				if strings.HasPrefix(f.Name, "hosts/") || f.Name == "topology.yaml" || !c.shown(f.Name) {
					continue // as of other labs
				}
				fmt.Fprintf(&text, "-- %s --\n%s", f.Name, f.Text)
			}
			golden := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(golden); err != nil || string(want) != text.String() {
				t.Errorf("%s differs from (%v)\n%s", golden, err, text.String())
			}
		})
	}
}

// TestTools: the tools themselves accept their files.
func TestTools(t *testing.T) {
	for _, c := range []struct {
		tool     Tool
		program  string
		args     []string
		switches lab.Switches
	}{
		{tool: Compose, program: "docker-compose",
			args: []string{"--profile", "embedded", "--profile", "bmv2", "config", "-q"}},
		{tool: Mininet, program: "python3", args: []string{"-m", "py_compile", "clos.py"}},
		{Mininet, "python3", []string{"-m", "py_compile", "clos.py"}, lab.SwitchesMixed},
		{tool: Compose, program: "sh", args: []string{"-n", "bmv2.sh"}},
		{Containerlab, "sh", []string{"-n", "neighbors.sh"}, lab.SwitchesLinux},
		{Containerlab, "sh", []string{"-n", "sonic/p1-t0-1.sh"}, SONiC},
		{Containerlab, "shellcheck", []string{"neighbors.sh"}, lab.SwitchesLinux},
		{Containerlab, "shellcheck", []string{"sonic/p1-t0-1.sh"}, SONiC},
	} {
		t.Run(c.program+" "+string(c.switches), func(t *testing.T) {
			if _, err := exec.LookPath(c.program); err != nil {
				t.Skipf("%s is not on the PATH", c.program)
			}
			network := load(t, "clos")
			if c.switches != "" {
				network = small()
			}
			network.Name = "clos"
			files, err := Files(network, Options{Tool: c.tool, Switches: c.switches})
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := Write(dir, files); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), c.program, c.args...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestErrors: what cannot be exported is named.
func TestErrors(t *testing.T) {
	figure := lab.Figure1()
	twins, stev := lab.Figure1(), small()
	stev.MRC = lab.MRCSettings(&stev, ev.ModeStructured)
	twins.Switches[0].Name = "n_6"
	twins.Switches[5].Name = "N-6"
	for i := range twins.Links {
		for _, end := range []*string{&twins.Links[i].A, &twins.Links[i].B} {
			switch *end {
			case "N1":
				*end = "n_6"
			case "N6":
				*end = "N-6"
			}
		}
	}
	for _, c := range []struct {
		name string
		n    lab.Network
		o    Options
		want string
	}{
		{"tool", figure, Options{Tool: "kathara"},
			`tool "kathara": want one of compose, containerlab, mininet`},
		{"two controllers", figure, Options{Tool: Compose, Controllers: 2},
			"2 controllers: want 1, or 3 to 9"},
		{"controllers in Mininet", figure, Options{Tool: Mininet, Controllers: 3}, "want 1 with mininet"},
		{"data", figure, Options{Tool: Mininet, Data: "x"}, `a folder of data "x"`},
		{"switches", figure, Options{Tool: Mininet, Switches: "eos"},
			`switches "eos": want one of p4, linux, mixed, sonic`},
		{"SONiC in Mininet", small(), Options{Tool: Mininet, Switches: SONiC}, "want containerlab"},
		{"kernels of Compose", small(), Options{Tool: Compose, Switches: lab.SwitchesLinux},
			"want containerlab or mininet"},
		{"RoCEv2 over kernels", figure, Options{Tool: Mininet, Switches: lab.SwitchesLinux},
			"host S1 speaks RoCEv2"},
		{"names", twins, Options{Tool: Compose}, `N-6 is container "n-6", as is n_6`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Files(c.n, c.o); !errors.Is(err, ErrOptions) ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
	if _, err := Files(stev, Options{Tool: Mininet, Switches: lab.SwitchesMixed}); err == nil ||
		!strings.Contains(err.Error(), `"stev", which needs switches that run P4`) {
		t.Errorf("mode stev over kernels: %v", err)
	}
	if _, err := Files(lab.Network{}, Options{Tool: Compose}); !errors.Is(err, lab.ErrNetwork) {
		t.Errorf("a network without switches: %v", err)
	}
}

// TestParallelLinks: each of several links between two nodes has a network of its own.
func TestParallelLinks(t *testing.T) {
	n := lab.Network{Switches: []lab.Switch{{Name: "A"}, {Name: "B"}},
		Links: []lab.Link{{A: "A", B: "B"}, {A: "A", B: "B"}, {A: "A", B: "B"}}}
	files, err := Files(n, Options{Tool: Compose})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name == "docker-compose.yml" {
			for _, name := range []string{"  a_b: {internal", "  a_b_2: {internal", "  a_b_3: {internal"} {
				if strings.Count(f.Text, name) != 1 {
					t.Errorf("%q is there %d times", name, strings.Count(f.Text, name))
				}
			}
		}
	}
}
