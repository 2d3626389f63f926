package lab

import (
	"net/netip"

	"github.com/weft-sdn/weft/controller/inventory"
)

// Inventory returns the configuration of a controller of the network: its switches, hosts and
// settings. The controller learns the topology by itself. addresses maps names of switches to their
// P4Runtime servers; for a switch without an address, a placeholder name serves as long as nothing
// dials it.
func (n *Network) Inventory(addresses map[string]string) inventory.Inventory {
	inv := inventory.Default()
	for _, s := range n.Switches {
		address := addresses[s.Name]
		if address == "" {
			address = s.Name + ":9559"
		}
		sw := inventory.Switch{Name: s.Name, Address: address, MAC: inventory.MAC(s.MAC),
			System: s.System}
		if !s.IsKernel() {
			sw.DeviceID = deviceID
		}
		inv.Switches = append(inv.Switches, sw)
	}
	for _, h := range n.Hosts {
		host := inventory.Host{Name: h.Name, Address: h.Address, MAC: inventory.MAC(h.MAC)}
		if h.IPv6.IsValid() {
			host.Prefixes = append(host.Prefixes, netip.PrefixFrom(h.IPv6, h.IPv6.BitLen()))
		}
		host.Switch, host.Port = n.Uplink(h.Name)
		plane := 0
		for sw, port := range n.Uplinks(h.Name) {
			if plane++; plane > 1 {
				host.Planes = append(host.Planes, inventory.Attachment{Switch: sw, Port: port,
					MAC: inventory.MAC(h.PortMAC(plane))})
			}
		}
		inv.Hosts = append(inv.Hosts, host)
	}
	if n.MRC != nil {
		inv.MRC = *n.MRC
	}
	if n.PFC != nil {
		inv.PFC = *n.PFC
	}
	return inv
}
