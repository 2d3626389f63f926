package static

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/topology"
)

const pair = `
nodes:
- {name: a, routerId: 10.0.0.1, loopback: "2001:db8:0:1::1", locator: "5f00:0:1::/48"}
- {name: b, routerId: 10.0.0.2, loopback: "2001:db8:0:2::1", locator: "5f00:0:2::/48", prefixes: ["2001:db8:1:1::1/128"]}
links:
- {a: a, portA: 2, b: b, portB: 1, delay: 50us, rate: 10000000000, metric: 7}
`

// TestSnapshot: a link is there in both directions, with ports, metric, delay, rate and an End.X
// SID below the locator of the node that sends over it.
func TestSnapshot(t *testing.T) {
	d, err := Parse([]byte(pair))
	if err != nil {
		t.Fatal(err)
	}
	s := d.Snapshot()
	if len(s.Nodes) != 2 || len(s.Links) != 2 || len(s.Prefixes) != 5 {
		t.Fatalf("%d nodes, %d links, %d prefixes", len(s.Nodes), len(s.Links), len(s.Prefixes))
	}
	l := s.Link("64512:10.0.0.2,1~64512:10.0.0.1,2")
	if l == nil {
		t.Fatalf("no link from b to a: %v", s.Links[1].ID)
	}
	delay := topology.Delay{Known: true, Average: 50, Min: 50, Max: 50}
	if l.IGPMetric != 7 || l.MaxBandwidth != 10e9 || l.Delay != delay || l.LocalPort != 1 ||
		l.RemotePort != 2 ||
		len(l.EndX) != 1 || l.EndX[0].Address.String() != "5f00:0:2:101::" ||
		l.EndX[0].Behavior != topology.BehaviorEndX {
		t.Errorf("b to a: %+v", l)
	}
	if a, ok := d.Of("b", func(port uint32) bool { return port != 1 }); !ok || len(a.Links) != 0 ||
		len(a.Prefixes) != 3 {
		t.Errorf("with its port down b says %+v", a)
	}
	if _, ok := d.Of("c", nil); ok {
		t.Error("there is a node c")
	}
}

// TestFaults: an error names each invalid field, with its value and the expected value.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"name: b,", "name: a,",
			`line 4: nodes[1].name: is "a": want a name of its own; nodes[0] has it`},
		{"name: b,", "", `nodes[1].name: is "": want a name`},
		{"10.0.0.2", "10.0.0.1", "nodes[1].routerId: is 10.0.0.1: want a router-id of its own"},
		{"10.0.0.2", "\"2001:db8::1\"", "nodes[1].routerId: is 2001:db8::1: want an IPv4 address"},
		{"routerId: 10.0.0.2, ", "", "nodes[1].routerId: is missing: want an IPv4 address"},
		{"2001:db8:0:2::1", "2001:db8:0:1::1",
			"nodes[1].loopback: is 2001:db8:0:1::1: want an address of its own"},
		{"2001:db8:0:2::1", "fe80::1",
			"nodes[1].loopback: is fe80::1: want a global unicast IPv6 address"},
		{"5f00:0:2::/48", "5f00:0:1::/64",
			"nodes[1].locator: is 5f00:0:1::/64: want a locator that does not overlap that of nodes[0]"},
		{"5f00:0:2::/48", "5f00::/16",
			"nodes[1].locator: is 5f00::/16: want a locator that does not overlap that of nodes[0]"},
		{"5f00:0:2::/48", "5f00:0:2::/120",
			"nodes[1].locator: is 5f00:0:2::/120: want an IPv6 prefix of 1 to 112 bits"},
		{"5f00:0:2::/48", "5f00:0:2::1/48",
			"nodes[1].locator: is 5f00:0:2::1/48: want an IPv6 prefix of 1 to 112 bits without host bits"},
		{"2001:db8:1:1::1/128", "192.0.2.1/24",
			"nodes[1].prefixes[0]: is 192.0.2.1/24: want a prefix of IPv6 or IPv4 without host bits"},
		{"b: b,", "b: c,", `links[0].b: is "c": want the name of a node`},
		{"b: b,", "b: a,", `links[0].b: is "a": want another node than a`},
		{"portB: 1", "portB: 512", "links[0].portB: is 512: want a port from 1 to 511"},
		{"portB: 1, ", "", "links[0].portB: is 0: want a port from 1 to 511"},
		{"50us", "-1us", "links[0].delay: is -1µs: want 0 to"},
		{"50us", "50", `links[0].delay: is 50: want a duration such as 50us`},
		{"metric: 7", "metric: 16777216", "links[0].metric: is 16777216: want at most 16777215"},
		{"metric: 7", "mettric: 7", "links[0].mettric"},
		{"metric: 7}", "metric: 7}\n- {a: a, portA: 2, b: b, portB: 3}",
			"links[1].portA: is 2: want a port of its own; links[0] has it"},
		{"nodes:", "nodes: []\nothers:", "others"},
	} {
		text := strings.Replace(pair, c.old, c.new, 1)
		if text == pair {
			t.Fatalf("%q is not in the text", c.old)
		}
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %s: %v\nwant %s", c.new, c.old, err, c.want)
		}
	}
	if _, err := Parse(nil); err == nil ||
		!strings.Contains(err.Error(), "nodes: is \"0 nodes\": want 1 to") {
		t.Errorf("nothing: %v", err)
	}
}

// FuzzParse: an accepted description has each link in both directions, and only nodes that every
// graph has.
func FuzzParse(f *testing.F) {
	f.Add([]byte(pair))
	f.Add([]byte("asn: 4200000000\n" + pair))
	f.Add([]byte("nodes: [{}]\nlinks: [{}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		s := d.Snapshot()
		if len(s.Nodes) != len(d.Nodes) || len(s.Links) != 2*len(d.Links) {
			t.Fatalf("%d nodes, %d links of %+v", len(s.Nodes), len(s.Links), d)
		}
		for _, l := range s.Links {
			if s.Node(l.Local) == nil || s.Node(l.Remote) == nil {
				t.Fatalf("link %s lacks an end", l.ID)
			}
		}
	})
}

// TestLoadFaults: a fault in a file begins with the file and the line.
func TestLoadFaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "net.yaml")
	text := strings.Replace(pair, "name: b,", "name: a,", 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := path + `:4: nodes[1].name: is "a": want a name of its own; nodes[0] has it`
	if _, err := Load(path); !errors.Is(err, ErrInvalid) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
