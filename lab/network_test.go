package lab

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestFigure1Network(t *testing.T) {
	n := Figure1()
	if err := n.Complete(); err != nil {
		t.Fatal(err)
	}
	if sw, port := n.Uplink("R3"); sw != "N2" || port != 3 {
		t.Errorf("R3 hangs off %s port %d, want N2 port 3", sw, port)
	}
	if got := n.Switches[5].Loopback.String(); got != "2001:db8:0:6::1" {
		t.Errorf("loopback of N6 is %s", got)
	}
}

func TestParse(t *testing.T) {
	n, err := Parse([]byte("name: two\nswitches:\n- name: A\n- name: B\nhosts:\n- name: " +
		"H\nlinks:\n- {a: A, b: B, delay: 10us, rate: 1000000}\n- {a: A, b: H}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if l := n.Links[1]; l.PortA != 2 || l.PortB != 0 {
		t.Errorf("A-H uses ports %d and %d, want 2 and 0", l.PortA, l.PortB)
	}
}

// TestAllFaults: a description is read to its end, whatever is wrong with its beginning.
func TestAllFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"switches:\n- {name: A, colour: red}\nlinks:\n- {a: A, b: B, delay: soon}\n", `net.yaml:2: ` +
			`switches[0].colour: unknown field: want one of locator, loopback, name, pfc, routerId, system
net.yaml:4: links[0].delay: is "soon": want a duration such as 50us or 1.5ms`},
		{"switches:\n- name: 1\n- name: 1\n  loopback: 192.0.2.1\nlinks:\n- {a: 1, b: Z}\n",
			`net.yaml:3: switches[1].name: is "1", that of switches[0] too: want another
net.yaml:4: switches[1].loopback: is 192.0.2.1: want an IPv6 unicast address
net.yaml:6: links[0]: leads to "Z": want a switch or a host`},
	} {
		t.Chdir(t.TempDir())
		if err := os.WriteFile("net.yaml", []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load("net.yaml"); err == nil || err.Error() != c.want ||
			!errors.Is(err, ErrNetwork) {
			t.Errorf("got\n%v\nwant\n%s", err, c.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", "switches:\n- name: A\n  colour: red\n",
			"line 3: invalid network: switches[0].colour: unknown field: want one of "},
		{"no switches", "name: x\n", "switches: is empty"},
		{"twice the same name", "switches:\n- name: A\n- name: A\n",
			"line 3: invalid network: switches[1].name"},
		{"unknown end", "switches:\n- name: A\nlinks:\n- a: A\n  b: Z\n", "line 4"},
		{"port twice", "switches:\n- name: A\n- name: B\n- name: C\nlinks:\n- {a: A, b: B, portA: " +
			"7}\n- {a: A, b: C, portA: 7}\n", "is port 7 of A, in use by links[0]: want another"},
		{"port too high", "switches:\n- name: A\n- name: B\nlinks:\n- {a: A, b: B, portA: 501}\n",
			"want 1 to 500, as v1model has 9 bits for ports"},
		{"IPv4 loopback", "switches:\n- name: A\n  loopback: 192.0.2.1\n",
			"switches[0].loopback: is 192.0.2.1: want an IPv6 unicast address"},
		{"locator with host bits", "switches:\n- name: A\n  locator: 5f00:0:1::1/48\n",
			"switches[0].locator"},
		{"host without a link", "switches:\n- name: A\nhosts:\n- name: H\n", "hosts[0]: H has 0 links"},
		{"unknown transport", "switches:\n- name: A\nhosts:\n- name: H\n  transport: tcp\nlinks:\n- " +
			"{a: A, b: H}\n",
			`line 5: invalid network: hosts[0].transport: is "tcp": want roce or mrc`},
		{"RoCEv2 host with two links",
			"switches:\n- name: A\nhosts:\n- name: H\nlinks:\n- {a: A, b: H}\n- {a: A, b: H}\n",
			"hosts[0]: H has 2 links: want 1"},
		{"ports of an MRC host out of order",
			"switches:\n- name: A\nhosts:\n- {name: H, transport: mrc}\nlinks:\n- {a: A, b: H, portB: 2}\n",
			`is port 2 of host "H": want 1`},
		{"two hosts joined",
			"switches:\n- name: A\nhosts:\n- name: H\n- name: G\nlinks:\n- {a: G, b: H}\n", "both hosts"},
		{"bad duration", "switches:\n- name: A\n- name: B\nlinks:\n- {a: A, b: B, delay: soon}\n",
			"line 5: invalid network: links[0].delay: is \"soon\": want a duration such as "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(c.text))
			if err == nil {
				t.Fatal("no error")
			}
			if !errors.Is(err, ErrNetwork) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %q, want ErrNetwork with %q", err, c.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("name: two\nswitches:\n- name: A\n- name: B\nhosts:\n- name: H\nlinks:\n- {a: A, " +
		"b: B}\n- {a: A, b: H}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := Parse(text)
		if err != nil {
			return
		}
		if again := n.Complete(); again != nil {
			t.Errorf("a parsed network is not complete: %v", again)
		}
	})
}
