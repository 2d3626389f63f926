package sonicdb_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/internal/sonicdb"
)

// TestUpdate: a patch is applied whole or not at all, and refused when a table is without rows
// then, or a reference leads nowhere; what there was stays as it is.
func TestUpdate(t *testing.T) {
	now := func() sonicdb.Database {
		return sonicdb.Database{
			"SRV6_MY_LOCATORS": {"weft": {"prefix": "fcbb:bbbb:20::"}},
			"SRV6_MY_SIDS":     {"weft|fcbb:bbbb:20::/48": {"action": "uN"}},
			"STATIC_ROUTE": {"default|::/0": {"nexthop": "::1"},
				"default|fcbb:bbbb:21::/48": {"nexthop": "::2"}},
		}
	}
	sid, locator := "/SRV6_MY_SIDS/weft|fcbb:bbbb:20::~148", "/SRV6_MY_LOCATORS/weft"
	route := "/STATIC_ROUTE/default|fcbb:bbbb:21::~148"
	remove := func(path string) sonicdb.Op { return sonicdb.Op{Op: "remove", Path: path} }
	for _, c := range []struct {
		name    string
		patch   []sonicdb.Op
		refused string
		tables  map[string]int // rows left
	}{
		{"a row of several", []sonicdb.Op{remove(route)}, "",
			map[string]int{"STATIC_ROUTE": 1, "SRV6_MY_SIDS": 1}},
		{"the last row", []sonicdb.Op{remove(sid)}, "empty tables", nil},
		{"the last row beside others", []sonicdb.Op{remove(route), remove(sid)}, "SRV6_MY_SIDS", nil},
		{"the table of the last row", []sonicdb.Op{remove("/SRV6_MY_SIDS")}, "",
			map[string]int{"SRV6_MY_SIDS": 0}},
		{"the last row for another", []sonicdb.Op{remove(sid), {Op: "add",
			Path: "/SRV6_MY_SIDS/weft|fcbb:bbbb:21::~148", Value: map[string]any{"action": "uN"}}}, "",
			map[string]int{"SRV6_MY_SIDS": 1}},
		{"a new table without rows", []sonicdb.Op{{Op: "add", Path: "/SWITCH_HASH",
			Value: map[string]any{}}}, "SWITCH_HASH", nil},
		{"what a row refers to", []sonicdb.Op{remove("/SRV6_MY_LOCATORS")}, "locator", nil},
		{"both", []sonicdb.Op{remove("/SRV6_MY_SIDS"), remove("/SRV6_MY_LOCATORS")}, "",
			map[string]int{"SRV6_MY_SIDS": 0, "SRV6_MY_LOCATORS": 0}},
		{"a row of no table", []sonicdb.Op{{Op: "add", Path: "/SWITCH_HASH/GLOBAL",
			Value: map[string]any{}}}, "not found", nil},
		{"what is not there", []sonicdb.Op{remove(locator + "x")}, "nothing is there", nil},
	} {
		before := now()
		next, err := sonicdb.Update(c.patch, before)
		if !reflect.DeepEqual(before, now()) {
			t.Errorf("%s: what there was is %v now", c.name, before)
		}
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v, want an error about %s", c.name, err, c.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for table, n := range c.tables {
			if _, there := next[table]; len(next[table]) != n || there != (n > 0) {
				t.Errorf("%s: %s has %v, want %d rows", c.name, table, next[table], n)
			}
		}
	}
}
