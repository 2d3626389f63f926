// Package sonictest has a SONiC switch for tests: a gNMI server over databases in memory, with
// daemons that bring local SIDs and routes from CONFIG_DB to APPL_DB.
//
// It answers as sonic-gnmi of August 2026 does (sonic_data_client/mixed_db_client.go,
// db_client.go): elements of a Set are the pointer of a JSON Patch as they are, a table without
// rows is not found, TARGET_DEFINED is refused for the databases, SAMPLE is at least 1 s, names of
// ports that counters go by are read once, and a Set may answer an error and take effect. It checks
// references between tables as the YANG models do, and nothing else of them.
package sonictest

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
)

// Table is a table of a database: rows by key, fields by name. A field is a string, or a list.
type Table map[string]map[string]any

// Switch is a SONiC switch.
type Switch struct {
	gpb.UnimplementedGNMIServer

	mu      sync.Mutex
	dbs     map[string]map[string]Table // by database and table
	changed chan struct{}               // closed and replaced when a database changes
	mapped  []string                    // interfaces whose counters have names, as read once
	sets    int
	done    chan struct{}

	refuse func(patch []Op) error
	warts  Warts
	lost   map[string]bool // keys of SIDs that FRR has lost, until their rows are written anew
}

// Warts are what a switch may do wrong.
type Warts struct {
	// ErrorAfter has the next Sets take effect and answer an error, so many of them.
	ErrorAfter int
	// LoseSIDs has FRR lose the next SIDs that are written, so many of them.
	LoseSIDs int
	// CannotTrim has the chip take settings of trimming and do nothing.
	CannotTrim bool
}

// Op is an operation of a JSON Patch (RFC 6902).
type Op struct {
	Op, Path string
	Value    any
}

// New returns a switch with ports, which are up, named as given, and with rows that are not Weft's.
func New(interfaces ...string) *Switch {
	s := &Switch{changed: make(chan struct{}), done: make(chan struct{}),
		lost: make(map[string]bool), mapped: slices.Clone(interfaces)}
	ports, states := make(Table), make(Table)
	for i, name := range interfaces {
		ports[name] = map[string]any{"alias": fmt.Sprintf("etp%d", i+1), "lanes": fmt.Sprint(i),
			"speed": "400000", "mtu": "9100", "admin_status": "up"}
		states[name] = map[string]any{"oper_status": "up", "admin_status": "up", "speed": "400000",
			"mtu": "9100"}
	}
	s.dbs = map[string]map[string]Table{
		"CONFIG_DB": {
			"PORT":            ports,
			"DEVICE_METADATA": {"localhost": {"hostname": "sonic", "type": "LeafRouter"}},
			"STATIC_ROUTE":    {"mgmt|::/0": {"nexthop": "2001:db8:ffff::1", "ifname": "eth0"}},
			"DSCP_TO_TC_MAP":  {"AZURE": {"0": "1", "8": "0"}},
			"PORT_QOS_MAP":    {},
		},
		"APPL_DB":  {"PORT_TABLE": states, "ROUTE_TABLE": {"fe80::/64": {"ifname": "Ethernet0"}}},
		"STATE_DB": {"SWITCH_CAPABILITY": {"switch": {"SWITCH_TRIMMING_CAPABLE": "true"}}},
	}
	for _, name := range interfaces { // as images have them
		s.dbs["CONFIG_DB"]["PORT_QOS_MAP"][name] = map[string]any{"dscp_to_tc_map": "AZURE",
			"pfc_enable": "3,4"}
	}
	return s
}

// Register adds the gNMI service to a gRPC server.
func (s *Switch) Register(at grpc.ServiceRegistrar) { gpb.RegisterGNMIServer(at, s) }

// Close ends subscriptions.
func (s *Switch) Close() { close(s.done) }

// Set changes what the switch does wrong.
func (s *Switch) SetWarts(w Warts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warts = w
	capable := s.dbs["STATE_DB"]["SWITCH_CAPABILITY"]["switch"]
	capable["SWITCH_TRIMMING_CAPABLE"] = fmt.Sprint(!w.CannotTrim)
}

// Refuse has f asked before each Set is carried out; nil: all that makes sense is taken.
func (s *Switch) Refuse(f func(patch []Op) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = f
}

// Sets returns how many Sets the switch has answered.
func (s *Switch) Sets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sets
}

// Rows returns a copy of a table.
func (s *Switch) Rows(db, table string) Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	return clone(s.dbs[db][table])
}

// Change changes a database as somebody at the switch does.
func (s *Switch) Change(db, table string, f func(Table)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.dbs[db][table]
	if t == nil {
		t = make(Table)
		s.dbs[db][table] = t
	}
	f(t)
	if db == "CONFIG_DB" {
		s.apply()
	}
	s.wake()
}

// LoseSID has FRR lose a SID, by its row in CONFIG_DB.
func (s *Switch) LoseSID(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost[key] = true
	s.apply()
	s.wake()
}

// wake is called with mu held.
func (s *Switch) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// apply is what the daemons do: it makes APPL_DB of CONFIG_DB. mu is held.
func (s *Switch) apply() {
	config, sids := s.dbs["CONFIG_DB"], make(Table)
	for key, fields := range config["SRV6_MY_SIDS"] {
		locator, prefix, _ := strings.Cut(key, "|")
		p, err := netip.ParsePrefix(prefix)
		l := config["SRV6_MY_LOCATORS"][locator]
		if err != nil || l == nil || s.lost[key] {
			continue
		}
		action := strings.ToLower(fmt.Sprint(fields["action"]))
		sids[fmt.Sprintf("%v:%v:0:0:%s", l["block_len"], l["node_len"], p.Addr())] =
			map[string]any{"action": strings.Replace(action, "udt46", "udt46", 1)}
	}
	routes := Table{"fe80::/64": {"ifname": "Ethernet0"}}
	for key, fields := range config["STATIC_ROUTE"] {
		if prefix, ok := strings.CutPrefix(key, "default|"); ok {
			routes[strings.TrimSuffix(prefix, "/128")] = maps.Clone(fields)
		}
	}
	s.dbs["APPL_DB"]["SRV6_MY_SID_TABLE"], s.dbs["APPL_DB"]["ROUTE_TABLE"] = sids, routes
	for name, fields := range config["PORT"] {
		if state := s.dbs["APPL_DB"]["PORT_TABLE"][name]; state != nil {
			state["admin_status"], state["mtu"] = fields["admin_status"], fields["mtu"]
		}
	}
}

func clone(t Table) Table {
	out := make(Table, len(t))
	for k, fields := range t {
		out[k] = maps.Clone(fields)
	}
	return out
}
