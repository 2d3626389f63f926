package lab

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
)

// fabricText is a lab file of an MRC fabric, with more sections after it.
const fabricText = `switches: [{name: A}, {name: B}, {name: C}]
hosts: [{name: H1, transport: %[1]s}, {name: H2, transport: %[1]s}]
links:
- {a: A, b: B, rate: 40000000, delay: 1ms}
- {a: B, b: C, rate: 40000000, delay: 1ms}
- {a: A, b: H1, rate: 40000000, delay: 1ms}
- {a: C, b: H2, rate: 40000000, delay: 1ms}
`

func withSettings(transport Transport, settings string) string {
	return fmt.Sprintf(fabricText, transport) + settings
}

// TestSettings: a file overrules the fields that it has; all others have the defaults that fit the
// network, and the controller gets the result.
func TestSettings(t *testing.T) {
	n, err := Parse([]byte(withSettings(MRC,
		"mrc:\n  mode: usid-f1616\n  probes: {rate: 40}\n  classes: {dataPackets: 99}\npfc: {dscp: 9, "+
			"defaults: {maxPause: 70ms}}\n")))
	if err != nil {
		t.Fatal(err)
	}
	want := MRCSettings(&n, ev.ModeF1616)
	if want.Probes.Rate == 40 || want.Classes.DataPackets == 99 ||
		want.Classes.ECNMin == inventory.DefaultClasses().ECNMin {
		t.Fatalf("the file says what is the default: %+v", want)
	}
	want.Probes.Rate, want.Classes.DataPackets = 40, 99
	pfc := inventory.Default().PFC
	pfc.DSCP, pfc.Defaults.MaxPause = 9, api.Duration(70*time.Millisecond)
	inv := n.Inventory(nil)
	if !reflect.DeepEqual(inv.MRC, *want) || inv.PFC != pfc {
		t.Errorf("settings are\n%+v\n%+v, want\n%+v\n%+v", inv.MRC, inv.PFC, *want, pfc)
	}
	if n, err = Parse([]byte(withSettings(MRC, "mrc: {maxEvs: 16}\n"))); err != nil ||
		n.MRC.Mode != "stev" || n.MRC.MaxEVs != 16 || n.PFC != nil {
		t.Errorf("settings without a mode are %+v and %v, %v", n.MRC, n.PFC, err)
	}
	if n, err = Parse([]byte(withSettings(MRC, ""))); err != nil || n.MRC != nil || n.PFC != nil {
		t.Errorf("without settings there are %+v, %+v, %v", n.MRC, n.PFC, err)
	}
}

// TestSettingsFaults: what is wrong with settings names the field and its place.
func TestSettingsFaults(t *testing.T) {
	for _, c := range []struct {
		transport Transport
		settings  string
		want      []string
	}{
		{MRC, "mrc: {mode: fast}\n", []string{"line 8: invalid network: mrc.mode: ",
			`is "fast": want ecmp, stev, usid-f3216, usid-f1616, usid-srh or usid-structured`}},
		{MRC, "mrc:\n  maxEvs: 0\n  probes: {timeout: 0s}\n",
			[]string{"line 9: invalid network: mrc.maxEvs: ",
				"line 10: invalid network: mrc.probes.timeout: "}},
		{MRC, "mrc: {speed: 3}\n", []string{"mrc.speed: unknown field"}},
		{MRC, "mrc: 3\n", []string{"line 8", "mrc: "}},
		{RoCE, "mrc: {mode: stev}\n",
			[]string{"line 8", "mrc: is given, and no host speaks MRC: want hosts with transport mrc"}},
		{RoCE, "pfc: {share: 101}\n",
			[]string{"line 8: invalid network: pfc.share: is 101: want 1 to 100"}},
		{RoCE, "pfc: {rtt: soon}\n", []string{"pfc.rtt: is \"soon\": want a duration"}},
	} {
		_, err := Parse([]byte(withSettings(c.transport, c.settings)))
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, ErrNetwork) {
				t.Errorf("%q: %v, want %q", c.settings, err, want)
			}
		}
	}
}

// TestSettingsInForce: the controller of a network obeys its settings.
func TestSettingsInForce(t *testing.T) {
	text, err := os.ReadFile("../docs/examples/fabric.yaml")
	if err != nil {
		t.Fatal(err)
	}
	n, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWorld(n, Options{Seed: 1, Managed: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewControl(w, DefaultLatencies())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if !w.Run(10*time.Second, w.Supplied) {
		t.Fatalf("hosts have no profiles: %v", c.Err())
	}
	if m := c.Paths.Core().Assignment().Format().Mode; m != ev.ModeF1616 {
		t.Errorf("mode is %v, want that of the file, %v", m, ev.ModeF1616)
	}
	h, err := w.MRCHost("H1")
	if err != nil {
		t.Fatal(err)
	}
	if p := h.State().ProfileTo(n.Hosts[3].Address); len(p.EVs) > 32 {
		t.Errorf("%d EVs, want at most 32", len(p.EVs))
	}
}
