package inventory

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/p4"
)

const good = `
switches:
  - name: n6
    node: 10.0.0.6
    address: 127.0.0.1:9559
    deviceId: 6
    mac: 02:00:00:00:00:06
    ports: {11: 2}
    hostPorts: [1]
  - name: router
    mac: 02:00:00:00:00:99
hosts:
  - name: s1
    address: 2001:db8:ffff::1
    mac: 02:00:00:00:01:01
    switch: n6
    port: 1
    prefixes: ["2001:db8:ffff:1::/64"]
bgp:
  listen: 127.0.0.1:1790
  asn: 64512
  routerId: 10.0.0.100
  peers:
    - address: 127.0.0.1
      port: 1791
defaults:
  cnpWindow: 50us
intervals:
  drain: 0s
`

func TestLoad(t *testing.T) {
	inv, err := Load([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	n6 := inv.Switch("n6")
	if n6 == nil || !n6.Managed() || n6.Port(11, 11) != 2 || n6.Port(3, 3) != 3 ||
		inv.Switch("router").Managed() {
		t.Errorf("switches: %+v", inv.Switches)
	}
	// LinkID reverses Port, even for a port whose number is the link identifier of another port.
	for _, port := range []uint32{2, 3, 11} {
		if id := n6.LinkID(port); n6.Port(id, port) != port {
			t.Errorf("port %d has identifier %d, which is port %d", port, id, n6.Port(id, port))
		}
	}
	if h := inv.Host(inv.Hosts[0].Address); h == nil || h.AllPorts()[0] != 1 {
		t.Errorf("host: %+v", h)
	}
	// Fields that the text leaves out keep their defaults, also beside given fields.
	if inv.Defaults.CNPWindow.D() != 50*time.Microsecond || inv.Defaults.CNPLimit != 256 ||
		inv.Limits.Groups != 1024 ||
		inv.Intervals.Drain != 0 || inv.Intervals.RetryMin.D() != 100*time.Millisecond ||
		inv.SIDs.TLVType != 124 {
		t.Errorf("defaults: %+v %+v %+v", inv.Defaults, inv.Limits, inv.Intervals)
	}
	if empty, err := Load(nil); err != nil || len(empty.Switches) != 0 {
		t.Errorf("empty text: %v", err)
	}
}

func TestLoadErrors(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"default device id twice", "deviceId: 6\n    mac: 02:00:00:00:00:06\n    ports: {11: 2}\n    " +
			"hostPorts: [1]\n  - name: router\n",
			"mac: 02:00:00:00:00:06\n    ports: {11: 2}\n    hostPorts: [1]\n  - name: router\n    " +
				"address: 127.0.0.1:9559\n    deviceId: 1\n",
			"line 11: switches[1].deviceId: is 1, that of switches[0] at the same address"},
		{"unknown field", "deviceId: 6", "device: 6",
			"switches[0].device: unknown field: want one of address, deviceId"},
		{"unknown field line", "deviceId: 6", "device: 6", "line 6:"},
		{"wrong type", "deviceId: 6", "deviceId: six",
			`line 6: switches[0].deviceId: is "six": want a whole number of 64 bits`},
		{"duration", "50us", "50", "line 27: defaults.cnpWindow: is 50: want a duration"},
		{"address", "2001:db8:ffff::1", "2001:xyz::1", "line 14:"},
		{"BGP identifier", "10.0.0.100", "10.0.0.300",
			`bgp.routerId: is "10.0.0.300": want an IPv4 address such as 10.0.0.1`},
		{"MAC", "02:00:00:00:01:01", "02:00:00:00:01",
			`line 15: hosts[0].mac: is "02:00:00:00:01": want a MAC address`},
		{"MAC missing", "    mac: 02:00:00:00:00:99\n", "", "line 10: switches[1].mac: is missing"},
		{"multicast MAC", "02:00:00:00:01:01", "03:00:00:00:01:01",
			"line 15: hosts[0].mac: is 03:00:00:00:01:01, a multicast address: want one of a single"},
		{"MAC twice", "02:00:00:00:00:99", "02:00:00:00:00:06",
			"line 11: switches[1].mac: is 02:00:00:00:00:06, the MAC of switches[0] too: want another"},
		{"name twice", "name: router", "name: n6",
			`line 10: switches[1].name: is "n6", the name of switches[0] too: want another`},
		{"node twice", "name: router\n", "name: router\n    node: 10.0.0.6\n",
			`line 11: switches[1].node: is "10.0.0.6", the node of switches[0] too: want another`},
		{"node of a name", "node: 10.0.0.6", "node: router",
			`line 10: switches[1].name: is "router", its node too for want of another, and the node`},
		{"bad name", "name: router", "name: a/b", "line 10: switches[1].name"},
		{"no port in address", "127.0.0.1:9559", "localhost",
			`line 5: switches[0].address: is "localhost": want host:port`},
		{"port of the switch itself", "ports: {11: 2}", "ports: {11: 508}",
			"line 8: switches[0].ports.11: is 508: want a port from 1 to 507"},
		{"a system that is none", "deviceId: 6", "system: ios",
			`line 6: switches[0].system: is "ios": want p4, sonic or linux`},
		{"a system without a session", "deviceId: 6", "system: eos",
			`line 6: switches[0].system: is "eos": want p4, sonic or linux`},
		{"a release of P4", "deviceId: 6", `release: "202511"`,
			`line 6: switches[0].release: is "202511", of a switch that runs P4`},
		{"a device of SONiC", "deviceId: 6", "deviceId: 6\n    system: sonic",
			"line 6: switches[0].deviceId: is 6, of a switch without P4Runtime: want none"},
		{"a release that is none", "deviceId: 6", "system: sonic\n    release: new",
			`switches[0].release: is "new": want numbers`},
		{"hardware that is none", "deviceId: 6", "system: sonic\n    hardware: asic",
			`switches[0].hardware: is "asic": want one of`},
		{"names of interfaces that are none", "deviceId: 6", "system: sonic\n    interfaces: eth",
			`switches[0].interfaces: is "eth": want letters`},
		{"two gNMI servers of SONiC", "deviceId: 6",
			"system: sonic\n    gnmi: {address: '127.0.0.1:8080'}",
			`switches[0].gnmi.address: is "127.0.0.1:8080": want none`},
		{"no port in the address of gNMI", "deviceId: 6", "deviceId: 6\n    gnmi: {address: n6}",
			`line 7: switches[0].gnmi.address: is "n6": want host:port`},
		{"a dialect that is none", "deviceId: 6", "deviceId: 6\n    gnmi: {dialect: cisco}",
			`line 7: switches[0].gnmi.dialect: is "cisco"; want one of openconfig, sonic, stratum`},
		{"samples too often", "deviceId: 6", "deviceId: 6\n    gnmi: {sample: 1ms}",
			`line 7: switches[0].gnmi.sample: is 1ms; want 100ms to 1h0m0s`},
		{"no such discovery", "bgp:\n", "discovery: {protocol: cdp}\nbgp:\n",
			`discovery.protocol: is "cdp": want off or lldp`},
		{"discovery too often", "bgp:\n", "discovery: {protocol: lldp, interval: 1ms}\nbgp:\n",
			"discovery.interval: is 1ms: want 100ms to 1h0m0s"},
		{"a link for no missed frame", "bgp:\n", "discovery: {protocol: lldp, missed: 0}\nbgp:\n",
			"discovery.missed: is 0: want 1 to 100"},
		{"a port of hosts and links", "hostPorts: [1]", "hostPorts: [1]\n    linkPorts: [2, 1]",
			"switches[0].linkPorts[1]: is 1, which is in hostPorts too"},
		{"a link port of the switch itself", "hostPorts: [1]", "hostPorts: [1]\n    linkPorts: [508]",
			"switches[0].linkPorts[0]: is 508: want a port from 1 to 507"},
		{"a hold of ports above its bound", "bgp:\n", "ports: {hold: 2m}\nbgp:\n",
			"ports.maxHold: is 1m0s, below hold"},
		{"a collector nowhere", "bgp:\n", "telemetry: {otlp: {interval: 1s}}\nbgp:\n",
			"telemetry.otlp.endpoint: is missing: want host:port of a collector"},
		{"a collector without a port", "bgp:\n", "telemetry: {otlp: {endpoint: otel}}\nbgp:\n",
			`telemetry.otlp.endpoint: is "otel": want host:port`},
		{"no such protocol", "bgp:\n", "telemetry: {otlp: {endpoint: 'otel:1', protocol: udp}}\nbgp:\n",
			`telemetry.otlp.protocol: is "udp": want grpc or http`},
		{"a path of gRPC", "bgp:\n", "telemetry: {otlp: {endpoint: 'otel:1', path: /v1/metrics}}\nbgp:\n",
			`telemetry.otlp.path: is "/v1/metrics": gRPC has none`},
		{"a path without /", "bgp:\n",
			"telemetry: {otlp: {endpoint: 'otel:1', protocol: http, path: v1}}\nbgp:\n",
			`telemetry.otlp.path: is "v1": want one that begins with /`},
		{"exports too often", "bgp:\n",
			"telemetry: {otlp: {endpoint: 'otel:1', interval: 100ms}}\nbgp:\n",
			"telemetry.otlp.interval: is 100ms: want at least 1s"},
		{"half a certificate to a collector", "bgp:\n",
			"telemetry: {otlp: {endpoint: 'otel:1', tls: {cert: a}}}\nbgp:\n",
			"telemetry.otlp.tls: has cert or key without the other"},
		{"gNMI of a router", "  - name: router\n",
			"  - name: router\n    gnmi: {address: \"192.0.2.9:9339\"}\n",
			"switches[1].gnmi.address: is \"192.0.2.9:9339\", of a switch without an address"},
		{"a host on the port of PFC", "port: 1\n", "port: 508\n",
			"line 17: hosts[0].port: is 508: want a port from 1 to 507 (508 and above are the switch's own)"},
		{"a plane on the port of PFC", "prefixes:",
			"planes: [{switch: router, port: 508, mac: 02:00:00:00:02:01}]\n    prefixes:",
			"hosts[0].planes[0].port: is 508"},
		{"host port 0", "port: 1\n", "port: 0\n", "line 17: hosts[0].port: is 0"},
		{"unknown switch", "switch: n6", "switch: n7",
			`line 16: hosts[0].switch: is "n7": want a switch`},
		{"multicast host", "2001:db8:ffff::1", "224.0.0.1",
			"line 14: hosts[0].address: is 224.0.0.1: want a global unicast address of IPv6 or IPv4"},
		{"mapped host", "2001:db8:ffff::1", "::ffff:10.0.0.1",
			"line 14: hosts[0].address: is ::ffff:10.0.0.1: want a global unicast address of IPv6 or IPv4"},
		{"prefix", "2001:db8:ffff:1::/64", "2001:db8:ffff:1::1/64", "line 18: hosts[0].prefixes[0]"},
		{"plane at no switch", "prefixes:",
			"planes: [{switch: n9, port: 1, mac: 02:00:00:00:02:01}]\n    prefixes:",
			`hosts[0].planes[0].switch: is "n9": want a switch`},
		{"plane twice", "prefixes:", "planes: [{switch: n6, port: 2, mac: 02:00:00:00:02:01}]\n    " +
			"prefixes:", `hosts[0].planes[0].switch: is "n6", that of another plane`},
		{"plane without a port", "prefixes:",
			"planes: [{switch: router, mac: 02:00:00:00:02:01}]\n    prefixes:",
			"hosts[0].planes[0].port: is 0"},
		{"plane without a MAC", "prefixes:", "planes: [{switch: router, port: 2}]\n    prefixes:",
			"hosts[0].planes[0].mac: is missing"},
		{"AS", "asn: 64512", "asn: 0", "line 21: bgp.asn: is missing"},
		{"limit", "intervals:", "limits: {branches: 33}\nintervals:",
			"limits.branches: is 33: want 1 to 32"},
		{"function base", "intervals:", "sids: {functionBase: 0xF001}\nintervals:", "sids.functionBase"},
		{"tlv type", "intervals:", "sids: {tlvType: 1}\nintervals:",
			"sids.tlvType: is 1, which is a padding TLV"},
		{"negative", "drain: 0s", "drain: -1s", "line 29: intervals.drain: is -1s"},
		{"retries", "drain: 0s", "retryMax: 1ms", "line 29: intervals.retryMax: is 1ms, below retryMin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(good, c.old) {
				t.Fatalf("%q is not in the text", c.old)
			}
			_, err := Load([]byte(strings.Replace(good, c.old, c.new, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error:\n%v\nwant: %s", err, c.want)
			}
			var faults Faults
			errors.As(err, &faults)
			for _, f := range faults { // one form: FIELD: is VALUE: want WHAT
				if !form.MatchString(f.Message) {
					t.Errorf("%v: want what follows %s to begin as %v", f, f.Field, form)
				}
			}
		})
	}
}

// form is how what follows a field begins.
var form = regexp.MustCompile(`^((is|has|needs|goes with) |want |unknown field: want )`)

// TestLastPort: a link and a host may have the port before those of the program.
func TestLastPort(t *testing.T) {
	text := strings.Replace(good, "ports: {11: 2}", "ports: {11: 507}", 1)
	text = strings.Replace(text, "port: 1\n", "port: 507\n", 1)
	inv, err := Load([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if inv.Hosts[0].Port != p4.MaxLinkPort || inv.Switches[0].Ports[11] != p4.MaxLinkPort {
		t.Errorf("ports %d and %v, want %d", inv.Hosts[0].Port, inv.Switches[0].Ports, p4.MaxLinkPort)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("switches: [{name: a, mac: 02:00:00:00:00:01, ports: {1: 600}}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		inv, err := Load(text)
		if err == nil && inv.Validate() != nil {
			t.Error("loaded what is not valid")
		}
	})
}

// TestPFCBuffer: the default buffer of PFC policies is valid in a PFC policy.
func TestPFCBuffer(t *testing.T) {
	for buffer, good := range map[int]bool{
		1000: false, api.MinPFCBuffer - 1: false, api.MinPFCBuffer: true, api.MaxPFCBuffer: true,
		api.MaxPFCBuffer + 1: false,
	} {
		_, err := Load(fmt.Appendf(nil, "pfc: {defaults: {buffer: %d}}\n", buffer))
		want := fmt.Sprintf("pfc.defaults.buffer: is %d: want 4096 to 17179869184", buffer)
		if is := err == nil || !strings.Contains(err.Error(), "pfc.defaults.buffer"); is != good ||
			!good && !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", buffer, err)
		}
	}
}
