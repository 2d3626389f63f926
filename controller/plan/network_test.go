package plan

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/topology"
)

// TestTenantRouteIsBehindItsPort: a host at a port takes what is in its prefixes, and nothing
// wider.
func TestTenantRouteIsBehindItsPort(t *testing.T) {
	net := sample.Figure1()
	h := &net.Inventory.Hosts[1]
	h.Prefixes = []netip.Prefix{netip.MustParsePrefix("2001:db8:7::/48")}
	n := network(net)
	for prefix, want := range map[string]bool{"2001:db8:7::/48": true, "2001:db8:7:1::/64": true,
		"2001:db8:7::/47": false, "2001:db8::/32": false, "2001:db8:8::/48": false} {
		if hopSet, ok := n.Behind(h.Switch, h.Port, netip.MustParsePrefix(prefix)); ok != want ||
			ok && hopSet.Port != h.Port {
			t.Errorf("%s: behind %+v, %v; want %v", prefix, hopSet, ok, want)
		}
	}
	if _, ok := n.Behind(h.Switch, h.Port+50, h.Prefixes[0]); ok {
		t.Error("behind a port without hosts")
	}
}

// TestICMPErrors: a switch may send a burst at once, and then one each interval: the burst after
// the first is the tolerance.
func TestICMPErrors(t *testing.T) {
	e := inventory.ICMPErrors{Burst: 5}
	if got := ICMPErrors(e); got != nil {
		t.Errorf("without an interval: %v", got)
	}
	e.Interval = api.Duration(2 * time.Millisecond)
	if got := fmt.Sprint(ICMPErrors(e)); got != "[icmp_errors/default -> set_icmp(burst_time=8000, "+
		"spacing=2000)]" {
		t.Errorf("planned %s", got)
	}
}

// TestSIDsOfOtherAlgorithms: SIDs of an algorithm other than 0 are not programmed, and do not
// determine the function width in the locator of algorithm 0.
func TestSIDsOfOtherAlgorithms(t *testing.T) {
	net := sample.Figure1()
	node := *net.Topology.Build().Node(net.Node("n1"))
	other := netip.MustParseAddr("fbff:99:1:1::")
	node.SIDs = append([]topology.SID{{Address: other, Behavior: topology.BehaviorEnd, Algorithm: 128,
		Structure: topology.SIDStructure{LocatorBlock: 32, LocatorNode: 32, Function: 8}}}, node.SIDs...)
	net.Topology.SetNode(node)
	n := network(net)
	for _, e := range n.Links(n.switches["n1"]) {
		if strings.HasPrefix(fmt.Sprint(e), "local_sid/dst_addr="+other.String()) {
			t.Errorf("programmed: %s", e)
		}
	}
	sid, err := functionSID(n.nodes["n1"], 0x4321)
	if want := netip.MustParseAddr("fc00:0:1:4321::"); err != nil || sid != want {
		t.Errorf("function 0x4321 is %v, %v; want %v", sid, err, want)
	}
}

// TestDiscovery: a switch hands over four LLDP frames an interval, four at once; without discovery
// none.
func TestDiscovery(t *testing.T) {
	d := inventory.Discovery{Interval: api.Duration(time.Second), Missed: 3}
	if got := Discovery(&d); got != nil {
		t.Errorf("off: %v", got)
	}
	d.Protocol = inventory.DiscoveryLLDP
	if got := fmt.Sprint(Discovery(&d)); got != "[discovery/dst_addr=01:80:c2:00:00:0e -> "+
		"set_discovery(burst_time=750000, spacing=250000)]" {
		t.Errorf("planned %s", got)
	}
}
