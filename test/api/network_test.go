package api

import (
	"fmt"
	"net/netip"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/topology"
)

// Limits of the network below, low enough to be exceeded.
const (
	receiversPerEdge = 32
	branches         = 32
	srhOctets        = 512
	wideHosts        = 33 // behind leaf2
)

// hostAddress has the hosts by name: s1, s2 and r1 behind leaf1; r2 and w1 to
// w33 behind leaf2; i1, a1 and u1 where no tree gets (see fabric).
var hostAddress = addresses()

func addresses() map[string]string {
	out := make(map[string]string)
	for i, name := range []string{"s1", "s2", "r1", "r2", "i1", "a1", "u1"} {
		out[name] = fmt.Sprintf("2001:db8:1::%x", i+1)
	}
	for i := range wideHosts {
		out[fmt.Sprintf("w%d", i+1)] = fmt.Sprintf("2001:db8:1::1:%x", i+1)
	}
	return out
}

func wide(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("w%d", i+1)
	}
	return names
}

// fabric is leaf1 – spine – leaf2, and three switches that no tree reaches:
// island has no links, the topology does not have absent, and nobody programs
// router.
func fabric() (inventory.Inventory, *topology.Snapshot) {
	inv, b := inventory.Default(), topology.NewBuilder()
	inv.Limits.ReceiversPerEdge, inv.Limits.Branches, inv.Limits.SRHOctets = receiversPerEdge,
		branches, srhOctets
	// Everything that happens happens because of a request.
	inv.Intervals.Settle, inv.Intervals.Drain, inv.Intervals.Stall, inv.Intervals.Audit = 0, 0, 0, 0

	ids := make(map[string]topology.NodeID)
	for i, name := range []string{"leaf1", "spine", "leaf2", "island", "router", "absent"} {
		n := i + 1
		ids[name] = topology.NodeID(fmt.Sprintf("64512:10.0.0.%d", n))
		sw := inventory.Switch{Name: name, MAC: inventory.MAC{2, 5: byte(n)}}
		if name != "router" {
			sw.Address, sw.DeviceID = fmt.Sprintf("192.0.2.%d:9559", n), uint64(n)
		}
		inv.Switches = append(inv.Switches, sw)
		if name == "absent" {
			continue
		}
		locator := netip.MustParsePrefix(fmt.Sprintf("5f00:0:%x::/48", n))
		end := netip.MustParseAddr(fmt.Sprintf("5f00:0:%x:1::", n))
		b.SetNode(topology.Node{
			ID: ids[name], Name: name, Loopback: netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", n)),
			SRv6: &topology.SRv6Capabilities{}, Locators: []topology.Locator{{Prefix: locator}},
			SIDs: []topology.SID{{Address: end, Behavior: topology.BehaviorEnd,
				Structure: topology.SIDStructure{LocatorBlock: 32, LocatorNode: 16, Function: 16}}},
		})
	}
	link := func(from string, fromPort uint32, to string, toPort uint32) {
		b.SetLink(topology.Link{Local: ids[from], Remote: ids[to], LocalID: fromPort, RemoteID: toPort,
			IGPMetric: 10})
		b.SetLink(topology.Link{Local: ids[to], Remote: ids[from], LocalID: toPort, RemoteID: fromPort,
			IGPMetric: 10})
	}
	link("leaf1", 1, "spine", 1)
	link("leaf2", 1, "spine", 2)
	link("router", 1, "spine", 3)

	for sw, names := range map[string][]string{
		"leaf1": {"s1", "s2", "r1"}, "leaf2": append(wide(wideHosts), "r2"), "island": {"i1"},
		"absent": {"a1"}, "router": {"u1"},
	} {
		for i, name := range names {
			a := netip.MustParseAddr(hostAddress[name])
			h := inventory.Host{Name: name, Address: a, Switch: sw, Port: uint32(100 + i)}
			octets := a.As16()
			h.MAC = inventory.MAC{2, 1, octets[13], 0, octets[14], octets[15]}
			if name == "s1" {
				h.Prefixes = []netip.Prefix{netip.MustParsePrefix("2001:db8:5::/64")}
			}
			inv.Hosts = append(inv.Hosts, h)
		}
	}
	return inv, b.Build()
}
