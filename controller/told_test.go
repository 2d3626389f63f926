package controller_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/southbound/sonic/sonictest"
	"github.com/weft-sdn/weft/topology"
)

// TestSONiCNeighbors: what SONiC hears by LLDP confirms links, names cables that are elsewhere, and
// neither makes a link nor takes one away. A record about a system outside of the inventory counts
// for nothing.
func TestSONiCNeighbors(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newSONiCBed(t)
		f.net.Inventory.Discovery.Protocol = "off"
		f.start()
		f.synced()
		// The link of leaf1 to spine1, with the names of the interfaces.
		net := f.net
		port := func(from, to string) (local, remote uint32) {
			t.Helper()
			for _, l := range net.Topology.Build().LinksFrom(net.Node(from)) {
				if l.Remote == net.Node(to) {
					return net.Inventory.Switch(from).Port(l.LocalID, l.LocalPort),
						net.Inventory.Switch(to).Port(l.RemoteID, l.RemotePort)
				}
			}
			t.Fatalf("no link from %s to %s", from, to)
			return 0, 0
		}
		at, far := port("leaf1", "spine1")
		d, e := net.Inventory.Switch("leaf1").Target(), net.Inventory.Switch("spine1").Target()
		hears := func(iface string, row map[string]any) {
			f.switches["leaf1"].Change("APPL_DB", "LLDP_ENTRY_TABLE", func(t sonictest.Table) {
				clear(t)
				if row != nil {
					t[iface] = row
				}
			})
			time.Sleep(10 * time.Second)
		}
		leaf := func() (s api.SwitchStatus) {
			t.Helper()
			return f.synced()["leaf1"]
		}
		// confirmed reports whether LLDP has the link from leaf1 to spine1, and no other.
		confirmed := func() bool {
			t.Helper()
			var links []*topology.Link
			if all := f.found.Load(); all != nil {
				for _, source := range *all {
					links = append(links, source.Snapshot.Links...)
					if source.Fills && len(source.Snapshot.Links) > 0 {
						t.Errorf("LLDP adds %v", source.Snapshot.Links)
					}
				}
			}
			return len(links) == 1 && links[0].Local == net.Node("leaf1") &&
				links[0].Remote == net.Node("spine1")
		}
		mac := net.Inventory.Switch("spine1").MAC.String()
		other := net.Inventory.Switch("spine2").MAC.String()
		for _, c := range []struct {
			name, iface string
			row         map[string]any
			confirmed   bool
			fault       string
		}{
			{"nothing", "", nil, false, ""},
			{"the far end", d.Interface(at), map[string]any{"lldp_rem_chassis_id": mac,
				"lldp_rem_port_desc": e.Interface(far), "lldp_rem_sys_name": "sonic"}, true, ""},
			{"the far end by its name, in capitals", d.Interface(at), map[string]any{
				"lldp_rem_chassis_id": strings.ToUpper(mac), "lldp_rem_port_id": e.Interface(far)}, true, ""},
			{"the far switch, at a port that says nothing", d.Interface(at), map[string]any{
				"lldp_rem_sys_name": "spine1.example", "lldp_rem_port_id": "etp1"}, true, ""},
			{"another switch", d.Interface(at), map[string]any{"lldp_rem_chassis_id": other,
				"lldp_rem_port_desc": e.Interface(far)}, false, "and LLDP has spine2/"},
			{"another port", d.Interface(at), map[string]any{"lldp_rem_chassis_id": mac,
				"lldp_rem_port_desc": e.Interface(far + 7)}, false, "and LLDP has spine1/"},
			{"somebody else", d.Interface(at), map[string]any{"lldp_rem_sys_name": "printer",
				"lldp_rem_chassis_id": "00:11:22:33:44:55"}, false, ""},
			{"a switch at a port of a host", d.Interface(net.Inventory.Hosts[0].Port), map[string]any{
				"lldp_rem_chassis_id": mac}, false, "configured for a host, and LLDP has spine1 there"},
			{"a switch where no link is", d.Interface(30), map[string]any{"lldp_rem_chassis_id": mac},
				false, ""},
			{"nothing again", "", nil, false, ""},
		} {
			hears(c.iface, c.row)
			s := leaf()
			i := slices.IndexFunc(s.Conditions, func(x api.Condition) bool {
				return x.Type == api.Miscabled
			})
			switch {
			case (i >= 0) != (c.fault != "") ||
				i >= 0 && !strings.Contains(s.Conditions[i].Message, c.fault):
				t.Errorf("%s: conditions %+v, want %q", c.name, s.Conditions, c.fault)
			case confirmed() != c.confirmed:
				t.Errorf("%s: the link is confirmed: %v, want %v", c.name, !c.confirmed, c.confirmed)
			}
		}
		if n := f.switches["leaf1"].Sets(); n != 1 {
			t.Errorf("leaf1 got %d Sets, want 1", n)
		}
		f.stop()
	})
}
