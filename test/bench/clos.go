package main

import (
	"fmt"
	"math/rand/v2"
	"net/netip"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/topology"
)

// A Clos of three tiers. A pod has 16 leaves and 8 aggregation switches, each joined with each.
// There are 8 core switches for every pod, in 8 planes: aggregation switch i of every pod is joined
// with all cores of plane i. So p pods are 32 p switches.
const (
	podLeaves    = 16
	podSpines    = 8
	podSwitches  = podLeaves + podSpines + podSpines
	hostsPerLeaf = 4
)

type clos struct {
	topology  *topology.Builder
	inventory inventory.Inventory
	ports     []uint32 // used so far, by switch
}

var sidStructure = topology.SIDStructure{LocatorBlock: 32, LocatorNode: 16, Function: 16}

// newClos builds a Clos with a number of pods, in the form that BGP-LS and a configuration file
// would describe.
func newClos(pods int) *clos {
	c := &clos{topology: topology.NewBuilder(), inventory: inventory.Default()}
	tier := func(name string, n int) []int {
		var added []int
		for i := range n {
			added = append(added, c.add(fmt.Sprintf("%s%d", name, i)))
		}
		return added
	}
	leaves, spines, cores := tier("leaf", podLeaves*pods), tier("spine", podSpines*pods),
		tier("core", podSpines*pods)
	for pod := range pods {
		for i := range podSpines {
			spine := spines[pod*podSpines+i]
			for _, leaf := range leaves[pod*podLeaves : (pod+1)*podLeaves] {
				c.link(leaf, spine)
			}
			for _, core := range cores[i*pods : (i+1)*pods] {
				c.link(spine, core)
			}
		}
	}
	for _, leaf := range leaves {
		c.attach(leaf)
	}
	return c
}

func nodeID(i int) topology.NodeID {
	return topology.NodeID(fmt.Sprintf("64512:10.0.%d.%d", i>>8, i&0xff))
}

func (c *clos) sid(i int, function uint16) netip.Addr {
	return netip.AddrFrom16([16]byte{0x5f, 0, 0, 0, byte(i >> 8), byte(i), byte(function >> 8),
		byte(function)})
}

func (c *clos) add(name string) int {
	c.ports = append(c.ports, 0)
	i := len(c.ports)
	c.inventory.Switches = append(c.inventory.Switches, inventory.Switch{
		Name: name, Address: name + ":9559", DeviceID: 1, MAC: inventory.MAC{2, 0, 0, 0, byte(i >> 8),
			byte(i)},
	})
	loopback := netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, 0, byte(i >> 8), byte(i), 15: 1})
	locator := netip.PrefixFrom(c.sid(i, 0), 48)
	c.topology.SetNode(topology.Node{
		ID: nodeID(i), Name: name, Loopback: loopback, SRv6: &topology.SRv6Capabilities{},
		Locators: []topology.Locator{{Prefix: locator}},
		SIDs: []topology.SID{
			{Address: c.sid(i, 1), Behavior: topology.BehaviorEnd, Structure: sidStructure},
			{Address: c.sid(i, 2), Behavior: topology.BehaviorEndDT6, Structure: sidStructure},
		},
	})
	for _, p := range []netip.Prefix{netip.PrefixFrom(loopback, 128), locator} {
		c.topology.SetPrefix(topology.Prefix{PrefixKey: topology.PrefixKey{Node: nodeID(i), Prefix: p}})
	}
	return i
}

func (c *clos) link(a, b int) {
	c.ports[a-1]++
	c.ports[b-1]++
	direction := func(from, to int) {
		port := c.ports[from-1]
		c.topology.SetLink(topology.Link{
			Local: nodeID(from), Remote: nodeID(to), LocalID: port, RemoteID: c.ports[to-1], IGPMetric: 10,
			EndX: []topology.EndX{{SID: topology.SID{Address: c.sid(from, 0x100+uint16(port)),
				Behavior: topology.BehaviorEndX, Structure: sidStructure}}},
		})
	}
	direction(a, b)
	direction(b, a)
}

// attach joins a leaf with its hosts. The hosts' addresses share one prefix.
func (c *clos) attach(leaf int) {
	subnet := netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, 1, byte(leaf >> 8), byte(leaf)})
	c.topology.SetPrefix(topology.Prefix{PrefixKey: topology.PrefixKey{Node: nodeID(leaf),
		Prefix: netip.PrefixFrom(subnet, 64)}})
	sw := &c.inventory.Switches[leaf-1]
	for i := range hostsPerLeaf {
		c.ports[leaf-1]++
		a := subnet.As16()
		a[15] = byte(i + 1)
		c.inventory.Hosts = append(c.inventory.Hosts, inventory.Host{
			Name: fmt.Sprintf("%s-%d", sw.Name, i), Address: netip.AddrFrom16(a),
			MAC:    inventory.MAC{2, 0, 1, byte(leaf >> 8), byte(leaf), byte(i)},
			Switch: sw.Name, Port: c.ports[leaf-1],
		})
	}
}

// groups are n groups of so many receivers, at hosts drawn at random. No two have a queue pair in
// common.
func (c *clos) groups(n, receivers int) []api.MulticastGroupSpec {
	rng := rand.New(rand.NewPCG(1, 2))
	specs := make([]api.MulticastGroupSpec, n)
	for g := range specs {
		hosts := rng.Perm(len(c.inventory.Hosts))[:receivers+1]
		s := api.MulticastGroupSpec{
			ProxyAddress: netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0xff, 0xff, 14: byte(g >> 8),
				15: byte(g)}),
			DesignatedQPN: 0xd0d0,
			Source: api.GroupSource{Address: c.inventory.Hosts[hosts[0]].Address,
				QPN: uint32(0x100 + g)},
		}
		for _, h := range hosts[1:] {
			s.Receivers = append(s.Receivers, api.GroupReceiver{Address: c.inventory.Hosts[h].Address,
				QPN: uint32(0x10000 + g)})
		}
		specs[g] = c.inventory.Defaults.Complete(s)
	}
	return specs
}
