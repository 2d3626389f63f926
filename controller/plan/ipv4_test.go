package plan

import (
	"net/netip"
	"testing"

	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/southbound/target"
)

// TestIPv4Routes: in an MRC fabric of mode ecmp every switch has a route to a host with an IPv4
// address, by the IPv4-mapped address; the leaf has one to its port. In other fabrics only the leaf
// has one.
func TestIPv4Routes(t *testing.T) {
	mapped := netip.MustParseAddr("::ffff:10.1.0.1")
	for _, c := range []struct {
		mode   string
		system target.System // of one switch
		routed bool
	}{{"ecmp", "", true}, {"stev", "", false}, {"", "", false}, {"ecmp", target.SONiC, false}} {
		net := sample.Clos(2, 2, 1)
		at := &net.Inventory.Hosts[0]
		at.Address = netip.MustParseAddr("10.1.0.1")
		next := &net.Inventory.Hosts[1] // at the other leaf
		next.Address = netip.MustParseAddr("10.1.0.0")
		net.Inventory.MRC.Mode = c.mode
		for i := range net.Inventory.Switches {
			if s := &net.Inventory.Switches[i]; s.Name != at.Switch {
				s.System = c.system
			}
		}
		n := network(net)
		for i := range net.Inventory.Switches {
			sw := &net.Inventory.Switches[i]
			table := tableOf(t, n.Routes(sw))
			got := table.lookup(mapped)
			if sw.Name == at.Switch {
				want := tableOf(t, n.EachRoute(sw))[netip.PrefixFrom(mapped, 128)]
				if got == "" || got != want {
					t.Errorf("mode %q: %s sends %q, want %q, to the port of the host", c.mode, sw.Name, got, want)
				}
			} else if (got != "") != c.routed {
				t.Errorf("mode %q, system %q: %s sends to %v by %q", c.mode, c.system, sw.Name, at.Address, got)
			}
			if other := table.lookup(netip.MustParseAddr("::ffff:10.1.0.0")); c.routed && other == got {
				t.Errorf("%s sends to %v and %v by %q", sw.Name, at.Address, next.Address, got)
			}
		}
	}
}
