// Package sonictest has a SONiC switch for tests: the databases of package sonicdb, with daemons
// that copy local SIDs and routes from CONFIG_DB to APPL_DB, with the faults of August 2026: the
// daemons read names of ports and SIDs with counters once, and a Set may take effect and return an
// error.
package sonictest

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/grpc"

	"github.com/weft-sdn/weft/internal/sonicdb"
)

// Table is a table of a database: rows by key, fields by name. A field is a string, or a list.
type Table = sonicdb.Table

// Op is an operation of a JSON Patch (RFC 6902).
type Op = sonicdb.Op

// Switch is a SONiC switch.
type Switch struct {
	server *sonicdb.Server
	d      daemons
}

// daemons are what runs on the switch. The lock of the server guards the fields.
type daemons struct {
	mapped []string // interfaces whose counters have names, as read once
	refuse func(patch []Op) error
	warts  Warts
	lost   map[string]bool // keys of SIDs that FRR has lost, until their rows are written anew
	// counts holds packets and octets of the SIDs in APPL_DB. sids lists the SIDs whose counters have
	// names, as read once after the first SIDs appeared.
	counts map[netip.Prefix][2]uint64
	sids   []netip.Prefix
}

// Warts are what a switch may do wrong.
type Warts struct {
	// ErrorAfter is the number of Sets to come that take effect and still answer an error.
	ErrorAfter int
	// LoseSIDs is how many of the next written SIDs FRR loses.
	LoseSIDs int
	// CannotTrim makes the chip accept trimming settings and ignore them.
	CannotTrim bool
}

// New returns a switch with the named ports, all up, and with rows of its own.
func New(interfaces ...string) *Switch {
	ports, states := make(Table), make(Table)
	for i, name := range interfaces {
		ports[name] = map[string]any{"alias": fmt.Sprintf("etp%d", i+1), "lanes": fmt.Sprint(i),
			"speed": "400000", "mtu": "9100", "admin_status": "up"}
		states[name] = map[string]any{"oper_status": "up", "admin_status": "up", "speed": "400000",
			"mtu": "9100"}
	}
	dbs := sonicdb.Databases{
		"CONFIG_DB": {
			"PORT":            ports,
			"DEVICE_METADATA": {"localhost": {"hostname": "sonic", "type": "LeafRouter"}},
			"STATIC_ROUTE":    {"mgmt|::/0": {"nexthop": "2001:db8:ffff::1", "ifname": "eth0"}},
			"DSCP_TO_TC_MAP":  {"AZURE": {"0": "1", "8": "0"}},
			"PORT_QOS_MAP":    {},
			"BUFFER_POOL": {"egress_lossy_pool": {"type": "egress", "mode": "dynamic",
				"size": "33554432"}},
			"BUFFER_PROFILE": {"egress_lossy_profile": {"dynamic_th": "3", "pool": "egress_lossy_pool",
				"size": "1518"}},
		},
		"APPL_DB":  {"PORT_TABLE": states, "ROUTE_TABLE": {"fe80::/64": {"ifname": "Ethernet0"}}},
		"STATE_DB": {"SWITCH_CAPABILITY": {"switch": {"SWITCH_TRIMMING_CAPABLE": "true"}}},
	}
	for _, name := range interfaces { // as images have them
		dbs["CONFIG_DB"]["PORT_QOS_MAP"][name] = map[string]any{"dscp_to_tc_map": "AZURE",
			"pfc_enable": "3,4"}
	}
	s := &Switch{d: daemons{lost: make(map[string]bool), mapped: slices.Clone(interfaces)}}
	s.server = sonicdb.New(dbs, &s.d)
	s.SetUpdater(Updater("master"))
	return s
}

// SetUpdater makes u compute CONFIG_DB from each Set, instead of the updater of SONiC's master
// branch. Call SetUpdater before Register.
func (s *Switch) SetUpdater(u sonicdb.Updater) { s.server.SetUpdater(u) }

// Register adds the gNMI service to a gRPC server.
func (s *Switch) Register(at grpc.ServiceRegistrar) { s.server.Register(at) }

// Close ends subscriptions.
func (s *Switch) Close() { s.server.Close() }

// SetWarts changes what the switch does wrong.
func (s *Switch) SetWarts(w Warts) {
	s.server.Change(func(dbs sonicdb.Databases) {
		s.d.warts = w
		dbs["STATE_DB"]["SWITCH_CAPABILITY"] = Table{"switch": {
			"SWITCH_TRIMMING_CAPABLE": fmt.Sprint(!w.CannotTrim)}}
	})
}

// Refuse has f asked before each Set is carried out; nil: all that makes sense is taken.
func (s *Switch) Refuse(f func(patch []Op) error) {
	s.server.Change(func(sonicdb.Databases) { s.d.refuse = f })
}

// Sets returns how many Sets the switch has answered.
func (s *Switch) Sets() int { return s.server.Sets() }

// Rows returns a copy of a table.
func (s *Switch) Rows(db, table string) Table { return s.server.Rows(db, table) }

// Change changes a database as somebody at the switch does.
func (s *Switch) Change(db, table string, f func(Table)) {
	s.server.Change(func(dbs sonicdb.Databases) {
		t := dbs[db][table]
		if t == nil {
			t = make(Table)
			dbs[db][table] = t
		}
		f(t)
		if db == "CONFIG_DB" {
			s.d.apply(dbs)
		}
	})
}

// LoseSID has FRR lose a SID, by its row in CONFIG_DB.
func (s *Switch) LoseSID(key string) {
	s.server.Change(func(dbs sonicdb.Databases) {
		s.d.lost[key] = true
		s.d.apply(dbs)
	})
}

// Carry has packets go by a SID, if APPL_DB has it.
func (s *Switch) Carry(sid netip.Prefix, packets, octets uint64) {
	s.server.Change(func(sonicdb.Databases) {
		if n, ok := s.d.counts[sid]; ok {
			s.d.counts[sid] = [2]uint64{n[0] + packets, n[1] + octets}
		}
	})
}

// RestartGNMI has the gNMI server read the names of SIDs again.
func (s *Switch) RestartGNMI() { s.server.Change(func(sonicdb.Databases) { s.d.sids = nil }) }

// Check implements sonicdb.Daemons.
func (d *daemons) Check(patch []Op, _ sonicdb.Database) error {
	if d.refuse == nil {
		return nil
	}
	return d.refuse(patch)
}

// Apply implements sonicdb.Daemons.
func (d *daemons) Apply(dbs sonicdb.Databases, before sonicdb.Database) error {
	d.frr(before["SRV6_MY_SIDS"], dbs["CONFIG_DB"]["SRV6_MY_SIDS"])
	d.apply(dbs)
	if d.warts.ErrorAfter > 0 {
		d.warts.ErrorAfter--
		return errors.New("config save failed")
	}
	return nil
}

// Virtual implements sonicdb.Daemons: counters of ports and SIDs by the names of SAI. A port or a
// SID that came later has none.
func (d *daemons) Virtual(path string) (map[string]any, bool) {
	out := make(map[string]any)
	if path == "COUNTERS/SID:*" {
		if len(d.sids) == 0 {
			d.sids = slices.Collect(maps.Keys(d.counts))
		}
		for _, p := range d.sids {
			if n, ok := d.counts[p]; ok {
				out["SID:"+p.String()] = map[string]any{"SAI_COUNTER_STAT_PACKETS": fmt.Sprint(n[0]),
					"SAI_COUNTER_STAT_BYTES": fmt.Sprint(n[1])}
			}
		}
		return out, len(d.sids) > 0
	}
	if path != "COUNTERS/Ethernet*" {
		return nil, false
	}
	for _, name := range d.mapped {
		out[name] = map[string]any{"SAI_PORT_STAT_IF_IN_OCTETS": "1000",
			"SAI_PORT_STAT_IF_OUT_OCTETS": "2000", "SAI_PORT_STAT_IF_IN_UCAST_PKTS": "10",
			"SAI_PORT_STAT_IF_OUT_UCAST_PKTS": "20"}
	}
	return out, true
}

// frr simulates FRR when SIDs change: FRR may lose a new SID, and a removed SID no longer counts as
// lost.
func (d *daemons) frr(before, after Table) {
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if before[key] == nil && d.warts.LoseSIDs > 0 {
			d.warts.LoseSIDs--
			d.lost[key] = true
		}
	}
	maps.DeleteFunc(d.lost, func(key string, _ bool) bool { return after[key] == nil })
}

// apply makes APPL_DB of CONFIG_DB.
func (d *daemons) apply(dbs sonicdb.Databases) {
	config, sids := dbs["CONFIG_DB"], make(Table)
	before := d.counts
	d.counts = make(map[netip.Prefix][2]uint64)
	for key, fields := range config["SRV6_MY_SIDS"] {
		locator, prefix, _ := strings.Cut(key, "|")
		p, err := netip.ParsePrefix(prefix)
		l := config["SRV6_MY_LOCATORS"][locator]
		if err != nil || l == nil || d.lost[key] {
			continue
		}
		sids[fmt.Sprintf("%v:%v:0:0:%s", l["block_len"], l["node_len"], p.Addr())] =
			map[string]any{"action": strings.ToLower(fmt.Sprint(fields["action"]))}
		d.counts[p] = before[p]
	}
	routes := Table{"fe80::/64": {"ifname": "Ethernet0"}}
	for key, fields := range config["STATIC_ROUTE"] {
		if prefix, ok := strings.CutPrefix(key, "default|"); ok {
			routes[strings.TrimSuffix(prefix, "/128")] = maps.Clone(fields)
		}
	}
	dbs["APPL_DB"]["SRV6_MY_SID_TABLE"], dbs["APPL_DB"]["ROUTE_TABLE"] = sids, routes
	for name, fields := range config["PORT"] {
		if state := dbs["APPL_DB"]["PORT_TABLE"][name]; state != nil {
			state["admin_status"], state["mtu"] = fields["admin_status"], fields["mtu"]
		}
	}
}
