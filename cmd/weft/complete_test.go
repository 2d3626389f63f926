package main

import (
	"bytes"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/northbound/northboundtest"
)

// TestCompletion: shells are given the names that the controller knows, and values.
func TestCompletion(t *testing.T) {
	multipath, snap := northboundtest.NewFabric(ev.ModeStructured)
	api, err := newFakeAPI(func(c *northbound.Config) { c.Multipath = multipath })
	if err != nil {
		t.Fatal(err)
	}
	api.Snapshot = snap
	server := httptest.NewServer(api.handler)
	defer server.Close()
	for _, c := range []struct {
		line string
		want string
	}{
		{"get sw", "switch switches"},
		{"get switch ", "n1 n6 n9"},
		{"get switch n1 ", ""},
		{"get entries n1 ", "ipv6_route node"},
		{"get counters n1 --counter p", "port_rx"},
		{"get ev-profile a1:", "a1:a1 a1:b1 a1:c1"},
		{"get ev-profiles --host ", "h1 h2 h3 h4"},
		{"get evs a1:b1 --state ", "ASSUMED_BAD DENIED GOOD"},
		{"get path a1:b1 0x8", "0x80000000@1 0x80000000@2"},
		{"get links --node x", "x1 x2"},
		{"get groups -o ", "json jsonpath= name table wide yaml"},
		{"describe ho", "host host-port"},
		{"describe host h", "h1 h2 h3 h4"},
		{"drain node ", "a1 a2 b1 b2 c1 x1 x2 y1 y2"},
		{"drain plane ", "1 2"},
		{"drain port h1 ", "1 2"},
		{"drain link a1 x", "x1 x2"},
		{"delete cc-profile ", ""},
		{"reset group ", ""},
	} {
		complete := func(server string) string {
			var out, errs bytes.Buffer
			env := environment{stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
				getenv: func(name string) string {
					if name == "WEFT_SERVER" {
						return server
					}
					return ""
				}}
			if status := execute(t.Context(), append([]string{"__completeNoDesc"},
				strings.Split(c.line, " ")...), env); status != exitOK {
				t.Errorf("%s: status %d: %s", c.line, status, errs.String())
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			names := lines[:len(lines)-1] // the last is the directive
			slices.Sort(names)
			return strings.Join(names, " ")
		}
		if got := complete(server.URL); got != c.want {
			t.Errorf("weft %s: %q, want %q", c.line, got, c.want)
		}
		gone := httptest.NewServer(nil)
		gone.Close()
		complete(gone.URL) // nothing but what is known anyway, and no error
	}
}
