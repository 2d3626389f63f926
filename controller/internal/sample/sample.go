// Package sample has small networks for the tests of the controller.
package sample

import (
	"fmt"
	"net/netip"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/topology"
)

// Net is a network under construction: a topology and the inventory to it.
type Net struct {
	Inventory inventory.Inventory
	Topology  *topology.Builder

	nodes map[string]int // by switch: number
	ports map[string]uint32
	hosts int
}

// New returns an empty network.
func New() *Net {
	return &Net{Inventory: inventory.Default(), Topology: topology.NewBuilder(),
		nodes: make(map[string]int), ports: make(map[string]uint32)}
}

// Node returns the topology's id of a switch.
func (n *Net) Node(name string) topology.NodeID {
	return topology.NodeID(fmt.Sprintf("64512:10.0.%d.%d", n.nodes[name]>>8, n.nodes[name]&0xff))
}

// Locator returns the locator of a switch.
func (n *Net) Locator(name string) netip.Prefix {
	return netip.MustParsePrefix(fmt.Sprintf("fc00:0:%x::/48", n.nodes[name]))
}

func (n *Net) sid(name string, function int) netip.Addr {
	a := n.Locator(name).Addr().As16()
	a[6], a[7] = byte(function>>8), byte(function)
	return netip.AddrFrom16(a)
}

var structure = topology.SIDStructure{LocatorBlock: 32, LocatorNode: 16, Function: 16}

// Switches adds switches with a loopback, a locator, and an End and an End.DT6
// SID each.
func (n *Net) Switches(names ...string) *Net {
	for _, name := range names {
		n.nodes[name] = len(n.nodes) + 1
		i := n.nodes[name]
		n.Inventory.Switches = append(n.Inventory.Switches, inventory.Switch{
			Name: name, Address: fmt.Sprintf("192.0.2.%d:9559", i&0xff), DeviceID: uint64(i),
			MAC: inventory.MAC{2, 0, 0, 0, byte(i >> 8), byte(i)},
		})
		n.Topology.SetNode(topology.Node{
			ID: n.Node(name), Name: name, Loopback: netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", i)),
			SRv6: &topology.SRv6Capabilities{}, Locators: []topology.Locator{{Prefix: n.Locator(name)}},
			SIDs: []topology.SID{
				{Address: n.sid(name, 1), Behavior: topology.BehaviorEnd, Structure: structure},
				{Address: n.sid(name, 2), Behavior: topology.BehaviorEndDT6, Structure: structure},
			},
		})
	}
	return n
}

// Router adds nodes that the controller does not program.
func (n *Net) Router(names ...string) *Net {
	n.Switches(names...)
	for _, name := range names {
		n.Inventory.Switch(name).Address = ""
	}
	return n
}

// Link joins two switches, by the next free port of each, and returns the ids
// of its directions.
func (n *Net) Link(a, b string, metric uint32) (ab, ba topology.LinkID) {
	n.ports[a]++
	n.ports[b]++
	return n.LinkPorts(a, n.ports[a], b, n.ports[b], metric)
}

// LinkPorts joins two switches by the ports given.
func (n *Net) LinkPorts(
	a string, pa uint32, b string, pb uint32, metric uint32,
) (ab, ba topology.LinkID) {
	one := func(from string, fp uint32, to string, tp uint32) topology.LinkID {
		return n.Topology.SetLink(topology.Link{
			Local: n.Node(from), Remote: n.Node(to), LocalID: fp, RemoteID: tp, IGPMetric: metric,
			EndX: []topology.EndX{{SID: topology.SID{Address: n.sid(from, 0x100+int(fp)),
				Behavior: topology.BehaviorEndX, Structure: structure}}},
		})
	}
	return one(a, pa, b, pb), one(b, pb, a, pa)
}

// Links joins pairs of switches with metric 1.
func (n *Net) Links(pairs ...[2]string) *Net {
	for _, p := range pairs {
		n.Link(p[0], p[1], 1)
	}
	return n
}

// Hosts adds hosts behind a switch, each at a port of its own from 101 on.
func (n *Net) Hosts(sw string, names ...string) *Net {
	for _, name := range names {
		n.hosts++
		n.ports[sw+"#hosts"]++
		n.Inventory.Hosts = append(n.Inventory.Hosts, inventory.Host{
			Name: name, Address: HostAddress(n.hosts), MAC: inventory.MAC{2, 1, 0, 0, byte(n.hosts >> 8),
				byte(n.hosts)},
			Switch: sw, Port: 100 + n.ports[sw+"#hosts"],
		})
	}
	return n
}

// HostAddress returns the address of the i-th host, counted from 1.
func HostAddress(i int) netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("2001:db8:1::%x", i))
}

// Address returns the address of a host.
func (n *Net) Address(host string) netip.Addr {
	for _, h := range n.Inventory.Hosts {
		if h.Name == host {
			return h.Address
		}
	}
	panic("no host " + host)
}

// Figure1 is the reference topology of the draft, section 4.2.
func Figure1() *Net {
	n := New().Switches("n1", "n2", "n3", "n4", "n5", "n6")
	n.Links([2]string{"n6", "n4"}, [2]string{"n6", "n5"}, [2]string{"n4", "n1"}, [2]string{"n4", "n2"},
		[2]string{"n5", "n2"}, [2]string{"n5", "n3"})
	return n.Hosts("n6", "s1").Hosts("n1", "r1", "r2").Hosts("n2", "r3").Hosts("n3", "r4", "r5")
}

// Clos is two tiers: every leaf has a link to every spine. Hosts are named
// "h1" and so on, leaf by leaf.
func Clos(leaves, spines, hostsPerLeaf int) *Net {
	n := New()
	for i := range leaves {
		n.Switches(fmt.Sprintf("leaf%d", i+1))
	}
	for i := range spines {
		n.Switches(fmt.Sprintf("spine%d", i+1))
	}
	for i := range leaves {
		for j := range spines {
			n.Link(fmt.Sprintf("leaf%d", i+1), fmt.Sprintf("spine%d", j+1), 1)
		}
		for range hostsPerLeaf {
			n.Hosts(fmt.Sprintf("leaf%d", i+1), fmt.Sprintf("h%d", n.hosts+1))
		}
	}
	return n
}

// Spec returns the completed spec of a group. Its proxy address is
// 2001:db8:ffff::i and receivers have the queue pairs from QPN(i) + 1 on.
func (n *Net) Spec(i int, source string, receivers ...string) api.MulticastGroupSpec {
	s := api.MulticastGroupSpec{
		ProxyAddress: netip.MustParseAddr(fmt.Sprintf("2001:db8:ffff::%x", i)), DesignatedQPN: 0xabc,
		Source: api.GroupSource{Address: n.Address(source), QPN: QPN(i)}, InitialPSN: 1000,
	}
	for k, r := range receivers {
		s.Receivers = append(s.Receivers, api.GroupReceiver{Address: n.Address(r),
			QPN: QPN(i) + 1 + uint32(k)})
	}
	return n.Inventory.Defaults.Complete(s)
}

// QPN returns the queue pair of the source of the i-th group. The next 255 are the group's too.
func QPN(i int) uint32 { return uint32((i-1)&0xfff)<<12 | 0x100 }
