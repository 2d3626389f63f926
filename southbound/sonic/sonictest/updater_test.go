package sonictest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/sonicdb"
	"github.com/weft-sdn/weft/southbound/sonic/sonictest"
	"github.com/weft-sdn/weft/southbound/target"
	"github.com/weft-sdn/weft/southbound/target/sonic"
)

type row = map[string]any

func add(path string, value any) sonictest.Op {
	return sonictest.Op{Op: "add", Path: path, Value: value}
}

func replace(path, value string) sonictest.Op {
	return sonictest.Op{Op: "replace", Path: path, Value: value}
}

func remove(path string) sonictest.Op { return sonictest.Op{Op: "remove", Path: path} }

var (
	uN      = row{"action": "uN", "decap_dscp_mode": "uniform"}
	locator = row{"prefix": "fcbb:bbbb:20::", "block_len": "32", "node_len": "16"}
	wred    = row{"ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": "430000",
		"green_max_threshold": "860000", "green_drop_probability": "100"}
	trim = row{"dynamic_th": "0", "pool": "egress_lossy_pool", "size": "0",
		"packet_discard_action": "trim"}
	headroom = row{"dynamic_th": "0", "pool": "egress_lossy_pool", "size": "0", "xoff": "1000"}
	static   = row{"nexthop": "fe80::2", "ifname": "Ethernet8"}
)

var (
	none = []string{}
	old  = []string{"202505"}
	all  = sonictest.Releases
)

// patches lists the inputs of an updater, in addition to the state of every switch, and the
// releases that refuse them.
var patches = []struct {
	name    string
	has     sonicdb.Database
	without string // a table that the switch does not have
	patch   []sonictest.Op
	refuse  []string
}{
	{name: "tables that are new", patch: []sonictest.Op{
		add("/SRV6_MY_LOCATORS", row{"weft": locator}),
		add("/SRV6_MY_SIDS", row{"weft|fcbb:bbbb:20::/48": uN})}, refuse: none},
	{name: "a row of a table that is not there", patch: []sonictest.Op{
		add("/SRV6_MY_LOCATORS/weft", locator)}, refuse: all},
	{name: "a table without rows", patch: []sonictest.Op{add("/SRV6_MY_LOCATORS", row{})},
		refuse: all},
	{name: "a SID of no locator", patch: []sonictest.Op{
		add("/SRV6_MY_SIDS", row{"weft|fcbb:bbbb:20::/48": uN})}, refuse: all},
	{name: "the last SID", has: sids("20"), patch: []sonictest.Op{
		remove("/SRV6_MY_SIDS/weft|fcbb:bbbb:20::~148")}, refuse: all},
	{name: "the last SID with its table", has: sids("20"),
		patch: []sonictest.Op{remove("/SRV6_MY_SIDS")}, refuse: none},
	{name: "one SID of two", has: sids("20", "21"), patch: []sonictest.Op{
		remove("/SRV6_MY_SIDS/weft|fcbb:bbbb:20::~148")}, refuse: none},
	{name: "the only SID for another", has: sids("20"), patch: []sonictest.Op{
		remove("/SRV6_MY_SIDS/weft|fcbb:bbbb:20::~148"),
		add("/SRV6_MY_SIDS/weft|fcbb:bbbb:21::~148", uN)}, refuse: none},
	{name: "a locator that a SID needs", has: sids("20"),
		patch: []sonictest.Op{remove("/SRV6_MY_LOCATORS")}, refuse: all},
	{name: "a locator with its SIDs", has: sids("20"), patch: []sonictest.Op{
		remove("/SRV6_MY_SIDS"), remove("/SRV6_MY_LOCATORS")}, refuse: none},
	{name: "what is not there", patch: []sonictest.Op{remove("/SRV6_MY_SIDS/weft")}, refuse: all},

	{name: "a route", patch: []sonictest.Op{
		add("/STATIC_ROUTE/default|fcbb:bbbb:30::~148", static)}, refuse: none},
	{name: "another next hop", has: routes(), patch: []sonictest.Op{
		replace("/STATIC_ROUTE/default|fcbb:bbbb:30::~148/nexthop", "fe80::3")}, refuse: none},

	{name: "a new table of WRED", patch: []sonictest.Op{add("/WRED_PROFILE", row{"weft_3": wred})},
		refuse: old},
	{name: "a new row of WRED", has: wreds("other"),
		patch: []sonictest.Op{add("/WRED_PROFILE/weft_3", wred)}, refuse: old},
	{name: "no row of WRED", has: wreds("other", "weft_3"),
		patch: []sonictest.Op{remove("/WRED_PROFILE/weft_3")}, refuse: old},
	{name: "no table of WRED", has: wreds("weft_3"), patch: []sonictest.Op{remove("/WRED_PROFILE")},
		refuse: old},
	{name: "another threshold of WRED", has: wreds("weft_3"), patch: []sonictest.Op{
		replace("/WRED_PROFILE/weft_3/green_min_threshold", "1000")}, refuse: none},
	{name: "another color of WRED", has: wreds("weft_3"), patch: []sonictest.Op{
		replace("/WRED_PROFILE/weft_3/wred_green_enable", "false")}, refuse: old},
	{name: "a WRED profile that is used", has: sonicdb.Database{"WRED_PROFILE": {"weft_3": wred,
		"other": wred}, "QUEUE": {"Ethernet8|3": {"wred_profile": "weft_3"}}},
		patch: []sonictest.Op{remove("/WRED_PROFILE/weft_3")}, refuse: all},

	{name: "a new buffer profile", patch: []sonictest.Op{add("/BUFFER_PROFILE/weft_trim", trim)},
		refuse: old},
	{name: "no buffer profile", has: profiles("weft_trim"),
		patch: []sonictest.Op{remove("/BUFFER_PROFILE/weft_trim")}, refuse: old},
	{name: "the table of buffer profiles", without: "BUFFER_PROFILE",
		patch: []sonictest.Op{add("/BUFFER_PROFILE", row{"weft_trim": trim})}, refuse: all},
	{name: "no table of buffer profiles", patch: []sonictest.Op{remove("/BUFFER_PROFILE")},
		refuse: all},
	{name: "a threshold of a profile", has: profiles("weft_trim"), patch: []sonictest.Op{
		replace("/BUFFER_PROFILE/weft_trim/dynamic_th", "1")}, refuse: old},
	{name: "a threshold of a profile with a number", has: profiles("weft_1"), patch: []sonictest.Op{
		replace("/BUFFER_PROFILE/weft_1/dynamic_th", "1")}, refuse: none},
	{name: "the headroom of a profile with a number",
		has: sonicdb.Database{"BUFFER_PROFILE": {"weft_1": headroom}}, patch: []sonictest.Op{
			replace("/BUFFER_PROFILE/weft_1/xoff", "2000")}, refuse: none},
	{name: "the size of a profile", has: profiles("weft_1"), patch: []sonictest.Op{
		replace("/BUFFER_PROFILE/weft_1/size", "1")}, refuse: all},
	{name: "a profile that trims", patch: []sonictest.Op{
		add("/BUFFER_PROFILE/egress_lossy_profile/packet_discard_action", "trim")}, refuse: old},
	{name: "a profile that trims no more", has: profiles("weft_1"), patch: []sonictest.Op{
		replace("/BUFFER_PROFILE/weft_1/packet_discard_action", "drop")}, refuse: old},
	{name: "a profile without a word of trimming", has: profiles("weft_1"), patch: []sonictest.Op{
		remove("/BUFFER_PROFILE/weft_1/packet_discard_action")}, refuse: all},
	{name: "a profile of no pool", has: profiles("weft_1"), patch: []sonictest.Op{
		add("/BUFFER_PROFILE/weft_trim", with(trim, "pool", "no_pool"))}, refuse: all},

	{name: "a map of no name", patch: []sonictest.Op{
		replace("/PORT_QOS_MAP/Ethernet8/dscp_to_tc_map", "no_map")}, refuse: all},
	{name: "a map that is used", patch: []sonictest.Op{remove("/DSCP_TO_TC_MAP")}, refuse: all},
	{name: "a queue of no scheduler", patch: []sonictest.Op{
		add("/QUEUE", row{"Ethernet8|3": row{"scheduler": "none"}})}, refuse: all},
	{name: "a queue of no port", has: wreds("weft_3"), patch: []sonictest.Op{
		add("/QUEUE", row{"Ethernet80|3": row{"wred_profile": "weft_3"}})}, refuse: all},
	{name: "a buffer of no profile", patch: []sonictest.Op{
		add("/BUFFER_QUEUE", row{"Ethernet8|3": row{"profile": "none"}})}, refuse: all},
	{name: "a buffer of no port", patch: []sonictest.Op{add("/BUFFER_QUEUE",
		row{"Ethernet80|3": row{"profile": "egress_lossy_profile"}})}, refuse: all},
	{name: "a binding of no port", patch: []sonictest.Op{
		add("/PORT_QOS_MAP/Ethernet80", row{"dscp_to_tc_map": "AZURE"})}, refuse: all},
	{name: "an interface of no port", patch: []sonictest.Op{
		add("/INTERFACE", row{"Ethernet80": row{"ipv6_use_link_local_only": "enable"}})}, refuse: all},
	{name: "an interface", patch: []sonictest.Op{
		add("/INTERFACE", row{"Ethernet8": row{"ipv6_use_link_local_only": "enable"}})}, refuse: none},
	{name: "trimming and hash", patch: []sonictest.Op{
		add("/SWITCH_TRIMMING", row{"GLOBAL": row{"size": "256", "dscp_value": "10"}}),
		add("/SWITCH_HASH", row{"GLOBAL": row{"ecmp_hash": []any{"SRC_IP", "DST_IP"}}})}, refuse: none},
}

func sids(numbers ...string) sonicdb.Database {
	t := make(sonictest.Table)
	for _, n := range numbers {
		t["weft|fcbb:bbbb:"+n+"::/48"] = uN
	}
	return sonicdb.Database{"SRV6_MY_LOCATORS": {"weft": locator}, "SRV6_MY_SIDS": t}
}

func routes() sonicdb.Database {
	return sonicdb.Database{"STATIC_ROUTE": {"default|fcbb:bbbb:30::/48": static}}
}

func wreds(names ...string) sonicdb.Database {
	t := make(sonictest.Table)
	for _, n := range names {
		t[n] = wred
	}
	return sonicdb.Database{"WRED_PROFILE": t}
}

func profiles(name string) sonicdb.Database {
	return sonicdb.Database{"BUFFER_PROFILE": {name: trim}}
}

func with(r row, field, value string) row {
	r = maps.Clone(r)
	r[field] = value
	return r
}

// configDB returns what a switch has.
func configDB(has sonicdb.Database, without string) sonicdb.Database {
	sw := sonictest.New("Ethernet0", "Ethernet8")
	out := make(sonicdb.Database)
	for _, table := range []string{"PORT", "DEVICE_METADATA", "STATIC_ROUTE", "DSCP_TO_TC_MAP",
		"PORT_QOS_MAP", "BUFFER_POOL", "BUFFER_PROFILE"} {
		if table != without {
			out[table] = sw.Rows("CONFIG_DB", table)
		}
	}
	for name, rows := range has {
		if out[name] == nil {
			out[name] = make(sonictest.Table)
		}
		maps.Copy(out[name], rows)
	}
	return out
}

// planned returns the rows on a leaf by release, and a patch with further rows from the model of a
// leaf with classes, ECN and trimming.
func planned(t *testing.T, release string, live bool) (has sonicdb.Database, out []sonictest.Op) {
	t.Helper()
	text, err := os.ReadFile("../../../controller/plan/node/testdata/nodes-leaf1.json")
	if err != nil {
		t.Fatal(err)
	}
	var m api.SwitchModel
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	d := target.Device{Name: "leaf1", System: target.SONiC, Version: release, Live: live}
	ports := make(sonictest.Table)
	for i := range m.Ports {
		ports[d.Interface(m.Ports[i].Port)] = row{"alias": fmt.Sprint("etp", i), "speed": "400000",
			"lanes": fmt.Sprint(i), "mtu": "9100", "admin_status": "up"}
	}
	has = configDB(sonicdb.Database{"PORT": ports}, "")
	for _, table := range sonic.Config(&d, &m) {
		if table.Name == "PORT" {
			continue // settings of ports go by OpenConfig
		}
		rows := make(row)
		for _, r := range table.Rows {
			fields := make(row)
			for _, f := range r.Fields {
				if fields[f.Name] = any(f.Value); f.List != nil {
					fields[f.Name] = f.List
				}
			}
			rows[r.Key] = fields
			if has[table.Name] != nil {
				out = append(out, add("/"+table.Name+"/"+strings.ReplaceAll(r.Key, "/", "~1"), fields))
			}
		}
		if has[table.Name] == nil {
			out = append(out, add("/"+table.Name, rows))
		}
	}
	return has, out
}

// TestPlanned: a release takes all that is planned for a switch that gNMI writes. 202505 would
// refuse what a file may have.
func TestPlanned(t *testing.T) {
	check := func(t *testing.T, release string, updater sonicdb.Updater) {
		now, patch := planned(t, release, true)
		if _, err := updater(patch, now); err != nil {
			t.Errorf("what gNMI writes: %v", err)
		}
		now, patch = planned(t, release, false)
		_, err := updater(patch, now)
		if refused := err != nil; refused != (release == "202505") {
			t.Errorf("what a file has: %v", err)
		}
	}
	for _, release := range sonictest.Releases {
		t.Run(release, func(t *testing.T) { check(t, release, sonictest.Updater(release)) })
	}
	t.Run("SONiC's own", func(t *testing.T) {
		updater, release := sonictest.Real(t)
		check(t, release, updater)
	})
}

// TestUpdaters: a SONiC release refuses exactly the patches in the list: by the updaters of this
// package, and by SONiC's own updater if available, which must then produce the same CONFIG_DB.
func TestUpdaters(t *testing.T) {
	check := func(t *testing.T, release string, updater sonicdb.Updater) {
		for _, c := range patches {
			t.Run(c.name, func(t *testing.T) {
				now := configDB(c.has, c.without)
				next, err := updater(c.patch, now)
				if refused := err != nil; refused != slices.Contains(c.refuse, release) {
					t.Errorf("%v, want a refusal by %v", err, c.refuse)
				} else if refused {
					t.Log(err)
					return
				}
				if want, err := sonicdb.Update(c.patch, now); !reflect.DeepEqual(next, want) {
					t.Errorf("it makes %v of CONFIG_DB, want %v (%v)", next, want, err)
				}
			})
		}
	}
	for _, release := range sonictest.Releases {
		t.Run(release, func(t *testing.T) { check(t, release, sonictest.Updater(release)) })
	}
	t.Run("SONiC's own", func(t *testing.T) {
		updater, release := sonictest.Real(t)
		check(t, release, updater)
	})
}
