package inventory

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/api"
)

// Neighbors define whether switches answer the neighbor discovery of hosts, and find hosts by it.
type Neighbors struct {
	// Protocol is NeighborsOff or NeighborsND. Default NeighborsOff: hosts need static neighbors, and
	// the configuration their MACs.
	Protocol string `yaml:"protocol"`
	// Interval is the time between two router advertisements out of a port. Default 200s.
	Interval api.Duration `yaml:"interval"`
	// MTU is the largest IPv6 packet that the links between switches carry, in octets. Hosts are told
	// of what is left of it without the largest encapsulation. 0, the default: they are told nothing.
	MTU uint32 `yaml:"mtu"`
	// Rate is how many messages of a port a switch hands over in a second. Default 20.
	Rate int `yaml:"rate"`
}

// The protocols of neighbors.
const (
	NeighborsOff = "off"
	NeighborsND  = "nd"
)

// Bounds of Neighbors. Hosts keep a router for RouterLifetime.
const (
	RouterLifetime    = 1800 * time.Second
	minAdvertisements = 4 * time.Second // RFC 4861 §6.2.1
	maxAdvertisements = RouterLifetime / 3
	maxNeighborRate   = 1000
	maxMTU            = 65535
	minMTU            = 1280 // that of IPv6 (RFC 8200 §5)
)

// A Subnet defines what hosts at a port may have without being in the configuration.
type Subnet struct {
	Port uint32 `yaml:"port"`
	// Prefix of the port. Hosts make addresses of one of 64 bits by themselves (SLAAC).
	Prefix netip.Prefix `yaml:"prefix"`
	// Learn has the controller take hosts in that use an address of the prefix.
	Learn bool `yaml:"learn"`
}

// Gateway returns the address of the prefix that the switch has: the even one of a /127, and of a
// /31 of IPv4, and the one after the first of every other.
func (a *Subnet) Gateway() netip.Addr {
	first := a.Prefix.Masked().Addr()
	if a.Prefix.Bits() == a.Prefix.Addr().BitLen()-1 {
		return first
	}
	return first.Next()
}

// Subnet returns the subnet of a port in IPv6, or nil.
func (s *Switch) Subnet(port uint32) *Subnet { return s.SubnetOf(port, netip.IPv6Unspecified()) }

// SubnetOf returns the subnet of a port in the family of an address, or nil.
func (s *Switch) SubnetOf(port uint32, a netip.Addr) *Subnet {
	for i := range s.Subnets {
		if s.Subnets[i].Port == port && s.Subnets[i].Prefix.Addr().Is4() == a.Is4() {
			return &s.Subnets[i]
		}
	}
	return nil
}

// On reports whether neighbor discovery of hosts is answered.
func (n *Neighbors) On() bool { return n.Protocol == NeighborsND }

// Encapsulation is the largest that switches put around a packet of a host, in octets: an IPv6
// header, and an SRH with the eight segments of a policy.
const Encapsulation = 40 + 8 + 8*16

// HostMTU returns the largest packet that hosts may send, 0: unknown.
func (n *Neighbors) HostMTU() uint32 {
	if n.MTU < minMTU+Encapsulation {
		return 0
	}
	return n.MTU - Encapsulation
}

func defaultNeighbors() Neighbors {
	return Neighbors{Protocol: NeighborsOff, Interval: api.Duration(200 * time.Second), Rate: 20}
}

func (v *validator) neighbors() {
	n := &v.inv.Neighbors
	if n.Protocol != NeighborsOff && n.Protocol != NeighborsND && n.Protocol != "" {
		v.bad("neighbors.protocol", "is %q: want %s or %s", n.Protocol, NeighborsOff, NeighborsND)
	}
	for i := range v.inv.Switches {
		v.subnets(fmt.Sprintf("switches[%d]", i), &v.inv.Switches[i])
	}
	if !n.On() {
		return
	}
	if i := n.Interval.D(); i < minAdvertisements || i > maxAdvertisements {
		v.bad("neighbors.interval", "is %v: want %v to %v", i, minAdvertisements, maxAdvertisements)
	}
	if n.Rate < 1 || n.Rate > maxNeighborRate {
		v.bad("neighbors.rate", "is %d: want 1 to %d", n.Rate, maxNeighborRate)
	}
	if m := n.MTU; m != 0 && (m < minMTU+Encapsulation || m > maxMTU) {
		v.bad("neighbors.mtu", "is %d: want %d to %d, or 0", m, minMTU+Encapsulation, maxMTU)
	}
}

// subnets checks the subnets of a switch.
func (v *validator) subnets(at string, s *Switch) {
	type family struct {
		port uint32
		ipv4 bool
	}
	seen := make(map[family]int)
	for i := range s.Subnets {
		a, field := &s.Subnets[i], fmt.Sprintf("%s.subnets[%d]", at, i)
		v.port(field+".port", a.Port)
		of := family{a.Port, a.Prefix.Addr().Is4()}
		if first, twice := seen[of]; twice {
			v.bad(field+".port", "%d is also the port of subnets[%d]", a.Port, first)
		}
		seen[of] = i
		p := a.Prefix
		switch {
		case !p.IsValid():
			v.bad(field+".prefix", "is missing")
		case p.Addr().Is4In6() || p != p.Masked() || !p.Addr().IsGlobalUnicast() ||
			p.Bits() >= p.Addr().BitLen() || p.Addr().Is6() && p.Bits() < 16 || p.Bits() < 8:
			v.bad(field+".prefix", "%v is not a global unicast prefix of 16 to 127 bits, of IPv4 8 to 31, "+
				"with nothing set beyond its length", p)
		}
		if !v.inv.Neighbors.On() {
			v.bad(field, "needs neighbors.protocol: %s", NeighborsND)
		}
	}
}

// hostMAC checks the MAC of a host, which may be missing where it can be found.
func (v *validator) hostMAC(at string, h *Host) {
	if v.macFound(at+".mac", h.MAC, h.Switch) && len(h.Ports) > 1 {
		v.bad(at+".mac", "is missing: it can be found where each port is at a switch of its own")
	}
}

// macFound checks the MAC of a port of a host at a switch, and reports whether it is to be found.
func (v *validator) macFound(field string, m MAC, at string) bool {
	if !m.IsZero() || !v.inv.Neighbors.On() {
		v.mac(field, m)
		return false
	}
	if s := v.inv.Switch(at); s != nil && !s.ProgramsP4() {
		v.bad(field, "is missing: it can be found at a switch that runs the P4 program, and %s does not",
			at)
	}
	return true
}

// Found is a host, and how it was found.
type Found struct {
	Host
	// By is FoundConfigured or FoundNeighbor; "" of a host of the configuration that was not found.
	By string
	// Since it is bound, Seen when it was heard last; zero: unknown.
	Since, Seen time.Time
}

// How hosts are found.
const (
	FoundConfigured = "inventory"
	FoundNeighbor   = "neighbor"
)
