package inventory

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/topology"
)

func TestMRC(t *testing.T) {
	inv, err := Load([]byte(`
mrc:
  mode: usid-srh
  block: "5f00:7::/32"
  hops: nodes
  planes: admin-groups
  maxEvs: 64
  listen: 127.0.0.1:9560
  tls: {cert: c, key: k, ca: a}
  probes: {rate: 0, dscp: 40}
  classes: {dataPackets: 64, dscp: {control: 48}}
  suspects: {deny: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	m := &inv.MRC
	f := m.Format()
	switch {
	case !m.On() || f.Mode != ev.ModeSRH || f.Hops != ev.HopNodes || f.Block.Bits() != 32 ||
		m.PlaneRule() != topology.PlanesByAdminGroup:
		t.Errorf("%+v, format %+v", m, f)
	case m.Restore.Hold.D() != time.Second || m.Classes.ControlPackets != 2048 ||
		m.Classes.DSCP.Trimmable != 7 || m.Probes.HostRate != 100:
		t.Errorf("defaults: %+v", m)
	case m.Classes.DSCP.Control != 48 || *m.Probes.DSCP != 40 || !m.Suspects.Deny:
		t.Errorf("%+v", m)
	}
	if absent := Default(); absent.MRC.On() || absent.Validate() != nil {
		t.Errorf("there is MRC where nobody asked for it: %+v, %v", absent.MRC, absent.Validate())
	}
}

// TestIPv4Hosts: hosts with several planes have IPv4 addresses in mode ecmp alone, and where all
// switches run P4.
func TestIPv4Hosts(t *testing.T) {
	const text = `
switches:
- {name: a, address: "a:1", mac: "02:00:00:00:00:01", deviceId: 1}
- {name: b, address: "b:1", mac: "02:00:00:00:00:02", SYSTEM}
hosts:
- {name: h, address: 10.1.0.1, mac: "02:00:00:00:01:01", switch: a, port: 1,
   PLANES}
mrc: {mode: MODE}
`
	const want = "hosts[0].address: is 10.1.0.1: want one of IPv6"
	const planes = `planes: [{switch: b, port: 1, mac: "02:00:00:00:01:02"}]`
	for _, c := range []struct {
		mode, system, planes string
		ok                   bool
	}{{"ecmp", "deviceId: 2", planes, true}, {"stev", "deviceId: 2", planes, false},
		{"usid-f3216", "deviceId: 2", planes, false}, {"ecmp", "system: sonic", planes, false},
		{"stev", "deviceId: 2", "", true}} { // it speaks RoCE
		_, err := Load([]byte(strings.NewReplacer("SYSTEM", c.system, "MODE", c.mode, "PLANES",
			c.planes).Replace(text)))
		if refused := err != nil && strings.Contains(err.Error(), want); refused == c.ok {
			t.Errorf("mode %s, %s: %v", c.mode, c.system, err)
		}
	}
}

// TestBadMRC: the error names the wrong field, the value and the values that are allowed.
func TestBadMRC(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"maxEvs: 12", "mrc.mode: is missing: want ecmp"},
		{"mode: srv6", `mrc.mode: is "srv6": want ecmp, stev`},
		{"{mode: stev, block: '5f00::/16'}",
			"mrc.block: is 5f00::/16: 5f00::/16 with mode stev, want none"},
		{"{mode: usid-f3216, block: '5f00::/16'}", "mrc.block: is 5f00::/16"},
		{"{mode: stev, hops: both}", `mrc.hops: is "both": want links or nodes`},
		{"{mode: stev, planes: two}", `mrc.planes: is "two": want components or admin-groups`},
		{"{mode: stev, profiles: none}", `mrc.profiles: is "none": want all or jobs`},
		{"{mode: stev, maxEvs: 0}", "mrc.maxEvs: is 0: want 1 to 65536"},
		{"{mode: stev, maxEvs: 4, minActive: 5}", "mrc.minActive: is 5: want 0 to 4"},
		{"{mode: stev, ccProfile: 'a b'}", "mrc.ccProfile: "},
		{"{mode: stev, listen: here}", `mrc.listen: is "here": want host:port`},
		{"{mode: stev, tls: {cert: c, key: k}}", "mrc.tls.ca: is missing"},
		{"{mode: stev, counts: -1s}", "mrc.counts: is -1s: want a positive duration"},
		{"{mode: stev, classes: {dscp: {control: 64}}}",
			"mrc.classes.dscp: DSCP Control: 64, want at most 63"},
		{"{mode: stev, classes: {dataPriority: 8}}", "mrc.classes.dataPriority: is 8: want 0 to 7"},
		{"{mode: stev, classes: {dataPriority: 2, controlPriority: 1}}",
			"mrc.classes.controlPriority: is 1: want at least that of data, 2"},
		{"{mode: stev, classes: {dataPackets: 0}}", "mrc.classes.dataPackets: is 0: want 1 to"},
		{"{mode: stev, classes: {controlPackets: 2000000000}}",
			"mrc.classes.controlPackets: is 2000000000"},
		{"{mode: stev, classes: {ecnMin: 9, ecnMax: 8}}",
			"mrc.classes.ecnMin: is 9: want at most ecnMax, 8"},
		{"{mode: stev, classes: {trimSize: 81}}", "mrc.classes.trimSize: is 81: want 82 to 9216"},
		{"{mode: stev, numbering: [{planeBits: 4, planeShift: 10, indexBits: 10}]}",
			"mrc.numbering: of 1 tiers with mode stev, want none"},
		{"{mode: usid-structured, numbering: [{planeBits: 4, planeShift: 4, indexBits: 6}]}",
			"mrc.numbering[0]: the fields of plane and index overlap"},
		{"{mode: stev, icmpErrors: {burst: 0}}", "mrc.icmpErrors.burst: is 0"},
		{"{mode: stev, restore: {hold: 0s}}", "mrc.restore.hold: is 0s: want a positive duration"},
		{"{mode: stev, restore: {maxHold: 1ms}}", "mrc.restore.maxHold: is 1ms, below hold"},
		{"{mode: stev, suspects: {denyLoss: 2}}",
			"mrc.suspects.denyLoss: is 2: want more than 0 and at most 1"},
		{"{mode: stev, suspects: {confidence: 1}}", "mrc.suspects.confidence: is 1"},
		{"{mode: stev, suspects: {maxHold: 1ms}}", "mrc.suspects.maxHold: is 1ms, below hold"},
		{"{mode: stev, suspects: {probes: 0}}", "mrc.suspects.probes: is 0"},
		{"{mode: stev, probes: {rate: -1}}", "mrc.probes.rate: is -1: want 0 to 1000000"},
		{"{mode: stev, probes: {timeout: 11s}}", "mrc.probes.timeout: is 11s: want at most 10s"},
		{"{mode: stev, probes: {dscp: 64}}", "mrc.probes.dscp: is 64: want 0 to 63"},
		{"{mode: stev, probe: {}}", "unknown field"},
	} {
		text := "mrc: " + c.text
		if !strings.HasPrefix(c.text, "{") {
			text = "mrc: {" + c.text + "}"
		}
		_, err := Load([]byte(text))
		var faults Faults
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &faults) &&
			(len(faults) != 1 || faults[0].Line != 1) {
			t.Errorf("%s: %v, want %q at line 1", text, err, c.want)
		}
	}
}

// TestStructuredNeedsP4: mode stev is refused where a switch runs no P4 program; others are not.
func TestStructuredNeedsP4(t *testing.T) {
	for mode, want := range map[string]string{"usid-f3216": "",
		"stev": `mrc.mode: is "stev", which needs switches that run P4, and n6 runs SONiC: want ` +
			`another`} {
		text := strings.Replace(good, "deviceId: 6", "system: sonic", 1) + "mrc: {mode: " + mode + "}\n"
		_, err := Load([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil ||
			!strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", mode, err, want)
		}
	}
}
