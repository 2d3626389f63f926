package dataplane

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestLoadFabric(t *testing.T) {
	p := loadFile(t, fabricJSON)
	visible := map[string]TableInfo{}
	for _, ti := range p.Tables() {
		if !ti.Hidden {
			visible[ti.Name] = ti
		}
	}
	if len(visible) < 15 || len(visible) > 30 {
		t.Errorf("%d tables are not hidden", len(visible))
	}
	route := visible["FabricIngress.routing.ipv6_route"]
	if len(route.Keys) != 2 || route.Keys[0] != (KeyInfo{"vrf", Exact, 16}) || route.Keys[1] != (KeyInfo{"dst_addr", LPM, 128}) {
		t.Errorf("%+v", route)
	}
	if ecmp := visible["FabricIngress.routing.ecmp"]; !ecmp.Selector || ecmp.Profile != 0 {
		t.Errorf("%+v", ecmp)
	}
}

// TestLoadErrors replaces a piece of a good program and wants the error to say
// what and where.
func TestLoadErrors(t *testing.T) {
	for _, c := range []struct {
		program, old, new string
		kind              error
		says              []string
	}{
		{"basic", `{`, `[`, ErrBadProgram, nil},
		{"basic", `"version" : [2, 23]`, `"version" : [3, 0]`, ErrUnsupported, []string{"version [3 0]"}},
		{"basic", `"op" : "mark_to_drop"`, `"op" : "frobnicate"`, ErrUnsupported, []string{`primitive "frobnicate"`, "basic.p4:61", "action I.drop"}},
		{"basic", `"op" : "+"`, `"op" : "**"`, ErrUnsupported, []string{`operation "**"`, "basic.p4:68", "action I.rewrite"}},
		{"basic", `["ip", "dst"]`, `["ip", "dts"]`, ErrBadProgram, []string{`header "ip" has no field "dts"`}},
		{"basic", `"match_type" : "lpm",`, `"match_type" : "longest",`, ErrUnsupported, []string{`match kind "longest"`, "table I.route", "basic.p4:76"}},
		{"basic", `"next_state" : "tag"`, `"next_state" : "gat"`, ErrBadProgram, []string{`parser state "gat"`}},
		{"basic", `"init_table" : "I.port"`, `"init_table" : "nowhere"`, ErrBadProgram, []string{`node "nowhere"`}},
		{"basic", `"extern_instances" : []`, `"extern_instances" : [{"name":"x","type":"ext"}]`, ErrUnsupported, []string{`extern instance "x"`}},
		{"basic", `"name" : "standard_metadata",
      "id" : 1,
      "header_type"`, `"name" : "metadata",
      "id" : 1,
      "header_type"`, ErrBadProgram, nil},
		{"state", `"algo" : "xor16"`, `"algo" : "md5"`, ErrUnsupported, []string{`hash algorithm "md5"`}},
		{"state", `"rate_count" : 2`, `"rate_count" : 3`, ErrUnsupported, []string{"3 rates", "state.p4:42"}},
		{"state", `"type" : "indirect_ws"`, `"type" : "direct_ws"`, ErrUnsupported, []string{`table type "direct_ws"`}},
		{"parse", `"op" : "extract_VL"`, `"op" : "extract_XL"`, ErrUnsupported, []string{`parser operation "extract_XL"`, "parser state blob"}},
		{"checksum", `"type" : "generic"`, `"type" : "special"`, ErrUnsupported, []string{`type "special"`}},
	} {
		b, err := os.ReadFile("testdata/" + c.program + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), c.old) {
			t.Errorf("%s has no %s", c.program, c.old)
			continue
		}
		_, err = LoadProgram([]byte(strings.Replace(string(b), c.old, c.new, 1)))
		if !errors.Is(err, c.kind) {
			t.Errorf("%s with %s: %v, want %v", c.program, c.new, err, c.kind)
			continue
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s with %s: %q does not say %q", c.program, c.new, err, s)
			}
		}
	}
}
