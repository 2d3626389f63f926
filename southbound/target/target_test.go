package target_test

import (
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/southbound/target"
	"github.com/weft-sdn/weft/southbound/target/cumulus"
	"github.com/weft-sdn/weft/southbound/target/eos"
	"github.com/weft-sdn/weft/southbound/target/frr"
	"github.com/weft-sdn/weft/southbound/target/sonic"
)

// TestPortOf: interface names read back as written, and no other text reads as a name.
func TestPortOf(t *testing.T) {
	for _, names := range []target.Names{"", "Ethernet{4}", "swp{n}", "Ethernet{n}/1"} {
		d := target.Device{System: target.SONiC, Ports: names}
		for port := uint32(1); port < 512; port++ {
			if got := d.PortOf(d.Interface(port)); got != port {
				t.Errorf("%q: %s is port %d, want %d", names, d.Interface(port), got, port)
			}
		}
		for _, other := range []string{"", "eth0", "Ethernet", "Ethernet08", "Ethernet3", "Ethernet8.1",
			"swp0", "swp+1", "Ethernet-8", "Ethernet0/1", "Ethernet1/2", "Ethernet99999999999/1"} {
			if got := d.PortOf(other); got != 0 && d.Interface(got) != other {
				t.Errorf("%q: %s is port %d", names, other, got)
			}
		}
	}
}

var update = flag.Bool("update", false, "rewrite golden files")

// models returns the models that the controller makes of a sample network.
const models = "../../controller/plan/node/testdata"

// model reads a model that the controller makes of a sample network.
func model(t testing.TB, name string) *api.SwitchModel {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(models, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	m := new(api.SwitchModel)
	if err := json.Unmarshal(text, m); err != nil {
		t.Fatal(err)
	}
	return m
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("differs from %s; run with -update and look at the diff\ngot:\n%s", path, got)
	}
}

var renderers = map[target.System]func(*target.Device, *api.SwitchModel) ([]byte, error){
	target.SONiC: sonic.Render, target.EOS: eos.Render, target.Cumulus: cumulus.Render,
	target.FRR: frr.Render, target.Linux: sonic.Render,
}

// TestFormats: the configuration of a leaf and a spine in every format, with the features that the
// system lacks.
func TestFormats(t *testing.T) {
	for _, system := range target.Systems() {
		for _, name := range []string{"links-leaf1", "nodes-leaf1", "nodes-spine2", "ecmp-leaf1"} {
			d := target.Device{Name: "leaf1", System: system}
			m := model(t, name)
			config, err := renderers[system](&d, m)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+"."+string(system), config)
			golden(t, name+"."+string(system)+".lint", []byte(target.Lines(d.Lint(m))))
			if system == target.SONiC && !json.Valid(config) {
				t.Errorf("%s: no JSON:\n%s", name, config)
			}
		}
	}
}

// TestLive: features that a release's gNMI server refuses are left out for a switch written by the
// controller, and included in a file.
func TestLive(t *testing.T) {
	for _, c := range []struct {
		version string
		live    bool
		without bool
	}{{"202505", true, true}, {"202505", false, false}, {"202511", true, false}, {"", true, false}} {
		d := target.Device{Name: "leaf1", System: target.SONiC, Version: c.version, Live: c.live}
		m := model(t, "nodes-leaf1")
		lines := target.Lines(d.Lint(m))
		config, err := sonic.Render(&d, m)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"WRED_PROFILE", "BUFFER_PROFILE"} {
			if strings.Contains(lines, "refuse rows of "+table) != c.without {
				t.Errorf("%+v: %s: findings are\n%s", c, table, lines)
			}
			if strings.Contains(string(config), table) == c.without {
				t.Errorf("%+v: %s: rows are\n%s", c, table, config)
			}
		}
	}
}

// TestLint: Lint names each feature that a system, version or hardware lacks or does wrong, with
// the reason, and no other feature.
func TestLint(t *testing.T) {
	for _, c := range []struct {
		system          target.System
		version, chip   string
		model, severity string
		want            string // part of a finding; "": none
	}{
		{target.Linux, "6.5", "", "links-leaf1", "cannot", "uA needs Linux 6.6 or later"},
		{target.Linux, "", "", "nodes-leaf1", "cannot", "Linux does not trim"},
		{target.SONiC, "202511", "", "links-leaf1", "cannot",
			"uA needs SONiC of August 2026 or later; P1-T0-3 runs 202511"},
		{target.SONiC, "202611", "", "links-leaf1", "", ""},
		{target.SONiC, "master", "", "links-leaf1", "", ""},
		{target.SONiC, "202411", "", "nodes-leaf1", "cannot", "uN needs SONiC 202505 or later"},
		{target.SONiC, "202411", "", "nodes-leaf1", "cannot",
			"packet trimming needs SONiC 202505 or later"},
		{target.SONiC, "", "", "stev-leaf1", "cannot", "only the P4 program does it"},
		{target.SONiC, "", "arista-7060x6", "srh-leaf1", "wrong", "uSID behind the active one is 0"},
		{target.SONiC, "", "arista-7060x6", "nodes-leaf1", "wrong",
			"trims to 206 octets only, and the fabric to 146"},
		{target.SONiC, "", "spectrum-4", "nodes-leaf1", "wrong",
			"trims to 256 to 4084 octets, and the fabric to 146"},
		{target.SONiC, "", "spectrum-3", "nodes-leaf1", "wrong", "accepts the setting and does nothing"},
		{target.SONiC, "", "spectrum-3", "nodes-leaf1", "wrong",
			"no test shows that spectrum-3 forwards by uSIDs"},
		{target.SONiC, "202505", "", "nodes-leaf1", "wrong", "until somebody makes a device sr0"},
		{target.SONiC, "202505.2", "", "nodes-leaf1", "wrong", "until somebody makes a device sr0"},
		{target.SONiC, "202511", "", "nodes-leaf1", "doubtful", "one of several local SIDs"},
		{target.SONiC, "202605", "", "nodes-leaf1", "", ""},
		{target.SONiC, "", "arista-7060x6", "nodes-leaf1", "doubtful", "sonic-mgmt#26216"},
		{target.SONiC, "", "sn5600", "nodes-leaf1", "doubtful", "SAI_ADAPTIVE_ROUTING_CIRCULATION_PORT"},
		{target.SONiC, "", "sn5600", "nodes-leaf1", "wrong", "trims to 256 to 4084 octets"},
		{target.SONiC, "", "sonic-vpp", "nodes-leaf1", "wrong", "accepts the setting and does nothing"},
		{target.SONiC, "", "sonic-vs", "nodes-leaf1", "wrong", "no test shows that sonic-vs forwards"},
		{target.SONiC, "", "spectrum-1", "nodes-leaf1", "wrong", "accepts the setting and does nothing"},
		{target.SONiC, "", "spectrum-4", "links-leaf1", "doubtful", "uA: SONiC has no test of it"},
		{target.SONiC, "", "spectrum-4", "nodes-leaf1", "doubtful", "uDT6: SONiC tests it on virtual"},
		{target.SONiC, "202505", "spectrum-4", "nodes-leaf1", "doubtful", "SONiC tests it from 202511"},
		{target.SONiC, "", "spectrum-4", "nodes-leaf1", "doubtful", "packets whose tunnel ends"},
		{target.Linux, "6.12", "", "links-leaf1", "wrong", "Linux 6.17 or later; P1-T0-3 runs 6.12"},
		{target.EOS, "4.36.1F", "", "nodes-spine2", "cannot",
			"EOS has no packet trimming that Weft knows a form of"},
		{target.EOS, "4.35", "", "nodes-spine2", "cannot", "uN needs EOS 4.36 or later"},
		{target.Cumulus, "5.14", "", "nodes-leaf1", "cannot", "ends no tunnel"},
		{target.Cumulus, "5.14", "", "links-spine2", "doubtful", "names blocks of 16 bits only"},
		{target.Cumulus, "5.14", "", "nodes-leaf1", "wrong",
			"the route to fc00:0:4::/48 has one over several ports"},
		{target.FRR, "10.3", "", "links-spine2", "cannot", "uA needs FRR 10.4 or later"},
		{target.FRR, "10.4", "", "links-spine2", "cannot", "FRR leaves queues to the kernel"},
	} {
		d := target.Device{Name: "P1-T0-3", System: c.system, Version: c.version,
			Chip: target.Hardware(c.chip)}
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
		all := d.Lint(model(t, c.model))
		found := slices.ContainsFunc(all, func(f target.Finding) bool {
			return string(f.Severity) == c.severity && strings.Contains(f.Text, c.want)
		})
		if c.want == "" && len(all) > 0 || c.want != "" && !found {
			t.Errorf("%s %s %s, %s: %q, want %s: %s", c.system, c.version, c.chip, c.model,
				target.Lines(all), c.severity, c.want)
		}
	}
}

// TestLintLeavesAlone: Lint does not name faults that a version or a piece of hardware is free of.
func TestLintLeavesAlone(t *testing.T) {
	for _, c := range []struct {
		system                     target.System
		version, chip, model, text string
	}{
		{target.SONiC, "202511", "", "nodes-leaf1", "sr0"},
		{target.SONiC, "", "", "nodes-leaf1", "sr0"},
		{target.SONiC, "202505", "", "nodes-leaf1", "one of several"},
		{target.SONiC, "202611", "", "nodes-leaf1", "one of several"},
		{target.SONiC, "202511", "spectrum-4", "links-leaf1", "no test of it"}, // it cannot
		{target.SONiC, "", "spectrum-4", "nodes-spine2", "tunnel ends"},
		{target.SONiC, "", "tomahawk-5", "nodes-leaf1", "26216"},
		{target.SONiC, "", "spectrum-4", "nodes-leaf1", "CIRCULATION"},
		{target.Cumulus, "", "sn5600", "nodes-leaf1", "CIRCULATION"},
		{target.SONiC, "", "sonic-vpp", "nodes-leaf1", "forwards by uSIDs"},
		{target.Linux, "6.17", "", "links-leaf1", "link-local"},
		{target.Linux, "", "", "links-leaf1", "link-local"},
		{target.Linux, "6.5", "", "links-leaf1", "link-local"}, // it cannot do uA at all
		{target.Linux, "6.12", "", "nodes-leaf1", "link-local"},
	} {
		d := target.Device{Name: "s1", System: c.system, Version: c.version,
			Chip: target.Hardware(c.chip)}
		if got := target.Lines(d.Lint(model(t, c.model))); strings.Contains(got, c.text) {
			t.Errorf("%s %s %s, %s: %q names %s", c.system, c.version, c.chip, c.model, got, c.text)
		}
	}
}

// TestLintStraySID: a SID that bgpcfgd leaves out is named.
func TestLintStraySID(t *testing.T) {
	d := target.Device{Name: "leaf1", System: target.SONiC}
	for want, change := range map[string]func(m *api.SwitchModel, s *api.ModelSID){
		"is outside of the block": func(_ *api.SwitchModel, s *api.ModelSID) {
			s.Prefix = netip.MustParsePrefix("2001:db8::/48")
		},
		"is outside of the locator": func(m *api.SwitchModel, s *api.ModelSID) {
			octets := m.Locator.Prefix.Addr().As16()
			octets[5]++
			s.Prefix = prefixOf(octets, s.Prefix.Bits())
		},
	} {
		m := model(t, "nodes-leaf1")
		for i := range m.SIDs {
			if m.SIDs[i].Behavior == api.BehaviorUN {
				change(m, &m.SIDs[i])
				break
			}
		}
		if got := target.Lines(d.Lint(m)); !strings.Contains(got, "wrong: uN: SID") ||
			!strings.Contains(got, want) {
			t.Errorf("%s: %q", want, got)
		}
	}
}

// TestLintNamesObjects: Lint names the owners of each feature that only the P4 program supports,
// and a SID with a uSID of 0 on hardware that drops it.
func TestLintNamesObjects(t *testing.T) {
	m := model(t, "nodes-leaf1")
	m.Extras = []api.ModelExtra{{Feature: api.ExtraMulticast, Object: "group g1"},
		{Feature: api.ExtraMulticast, Object: "group g2"}}
	d := target.Device{Name: "leaf1", System: target.SONiC, Chip: "arista-7060x6"}
	want := "reliable multicast: only the P4 program does it (group g1, group g2)"
	if got := target.Lines(d.Lint(m)); !strings.Contains(got, want) {
		t.Error(got)
	}
	if got := target.Lines(d.Lint(m)); strings.Contains(got, "drops a packet in transit") {
		t.Error(got)
	}
	for i := range m.SIDs {
		if m.SIDs[i].Behavior == api.BehaviorUN {
			octets := m.SIDs[i].Prefix.Addr().As16()
			octets[4], octets[5] = 0, 0
			m.SIDs[i].Prefix = prefixOf(octets, m.SIDs[i].Prefix.Bits())
		}
	}
	if got := target.Lines(d.Lint(m)); !strings.Contains(got, "drops a packet in transit") {
		t.Error(got)
	}
}

// TestLeavesOut: a configuration has nothing that the device cannot hold.
func TestLeavesOut(t *testing.T) {
	for _, c := range []struct {
		system  target.System
		version string
		model   string
		absent  []string
		present []string
	}{
		{target.SONiC, "202511", "links-leaf1", []string{`"uA"`},
			[]string{`"uN"`, `"uDT46"`, "SWITCH_TRIMMING"}},
		{target.SONiC, "202411", "links-leaf1",
			[]string{"SRV6", "TRIMMING", "tc_to_dscp_map", "BUFFER_QUEUE"},
			[]string{"STATIC_ROUTE", "WRED_PROFILE"}},
		{target.FRR, "8.4.4", "links-leaf1", []string{"segment-routing"},
			[]string{"ipv6 route fc00:0:3::/48"}},
		{target.FRR, "10.3", "links-leaf1", []string{"behavior uA"},
			[]string{"behavior uN", "behavior uDT6 vrf default"}},
		{target.Cumulus, "5.13", "links-leaf1", []string{"segment-routing", "packet-trim"},
			[]string{"congestion-control"}},
		{target.Cumulus, "5.14", "nodes-leaf1", []string{"uDT6"}, []string{"behavior uN"}},
		{target.EOS, "4.35", "nodes-leaf1", []string{"router srv6"}, []string{"ipv6 route"}},
	} {
		d := target.Device{Name: "leaf1", System: c.system, Version: c.version}
		config, err := renderers[c.system](&d, model(t, c.model))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range c.absent {
			if strings.Contains(string(config), x) {
				t.Errorf("%s %s has %s", c.system, c.version, x)
			}
		}
		for _, x := range c.present {
			if !strings.Contains(string(config), x) {
				t.Errorf("%s %s lacks %s", c.system, c.version, x)
			}
		}
	}
}

// TestDevice: a device that cannot be is refused, with the field.
func TestDevice(t *testing.T) {
	for want, d := range map[string]target.Device{
		`system is "ios": want one of sonic, eos, cumulus, frr, linux`: {System: "ios"},
		"version": {System: target.FRR, Version: "ten"},
		`hardware is "toaster": want one of arista-7060x6, `: {System: target.SONiC, Chip: "toaster"},
		"interfaces is ": {System: target.SONiC, Ports: "Ethernet"},
		"interfaces":     {System: target.SONiC, Ports: "Ethernet{n} {8}"},
		"interfaces is":  {System: target.SONiC, Ports: "Ethernet{0}"},
	} {
		if err := d.Validate(); err == nil || !strings.HasPrefix(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%+v: %v", d, err)
		}
	}
	for names, want := range map[target.Names]string{
		"": "Ethernet16", "Ethernet{4}": "Ethernet8", "Ethernet{n}/1": "Ethernet3/1", "swp{n}": "swp3",
	} {
		d := target.Device{System: target.SONiC, Ports: names}
		if got := d.Interface(3); d.Validate() != nil || got != want {
			t.Errorf("%q: %s, want %s", names, got, want)
		}
	}
}
