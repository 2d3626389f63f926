package inventory

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/api"
)

// Neighbors define whether switches answer the neighbor discovery of hosts, and find hosts by it.
type Neighbors struct {
	Protocol string       `yaml:"protocol" doc:"'nd': switches answer the neighbor discovery of hosts, and the controller finds hosts by it ([neighbors.md](neighbors.md)). 'off': hosts need a static neighbor for their switch"`
	Interval api.Duration `yaml:"interval" doc:"time between two router advertisements out of a port, 4s to 10m"`
	MTU      uint32       `yaml:"mtu" doc:"octets of the largest IPv6 packet that links between switches carry; hosts are told of 176 less, what the largest encapsulation takes. Without it they are told of none" default:"–"`
	Rate     int          `yaml:"rate" doc:"messages of a port that a switch hands over to the controller in a second, 1 to 1000"`
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
	Port   uint32       `yaml:"port" doc:"a port that faces hosts, and has a prefix of its own, as in 'subnets: [{port: 3, prefix: \"2001:db8:0:3::/64\", learn: true}]' ([neighbors.md](neighbors.md)). Needs 'neighbors'" default:"required"`
	Prefix netip.Prefix `yaml:"prefix" doc:"its prefix, one of IPv6 of 16 to 127 bits and one of IPv4 of 8 to 31; hosts make addresses of a /64 by themselves" default:"required"`
	Learn  bool         `yaml:"learn" doc:"the port takes in hosts that are not in 'hosts', with addresses of the prefix" default:"false"`
}

// Gateway returns the address of the switch in the prefix: the even address of a /127 or an IPv4
// /31, and the second address of any other prefix.
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
			v.bad(field+".port", "is %d, the port of subnets[%d] too: want another", a.Port, first)
		}
		seen[of] = i
		p := a.Prefix
		switch {
		case !p.IsValid():
			v.bad(field+".prefix", "is missing")
		case p.Addr().Is4In6() || p != p.Masked() || !p.Addr().IsGlobalUnicast() ||
			p.Bits() >= p.Addr().BitLen() || p.Addr().Is6() && p.Bits() < 16 || p.Bits() < 8:
			v.bad(field+".prefix", "is %v: want a global unicast prefix of 16 to 127 bits, of IPv4 8 to "+
				"31, with nothing set beyond its length", p)
		}
		if !v.inv.Neighbors.On() {
			v.bad(field, "needs neighbors.protocol: %s", NeighborsND)
		}
	}
}

// hostMAC checks the MAC of a host. The MAC may be missing if the controller can find the MAC.
func (v *validator) hostMAC(at string, h *Host) {
	if v.macFound(at+".mac", h.MAC, h.Switch) && len(h.Ports) > 1 {
		v.bad(at+".mac", "is missing: it can be found where each port is at a switch of its own")
	}
}

// macFound checks the MAC of a host port at a switch, and reports whether the controller must find
// the MAC.
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
