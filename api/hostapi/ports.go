package hostapi

import (
	"math/bits"
	"net/netip"
)

// PortMask is a set of ports: bit n is port n. Ports are numbered from 1, so bit 0 is unused.
type PortMask uint32

// Ports is the set of some ports; numbers that no port has are left out.
func Ports(ports ...int) PortMask {
	var m PortMask
	for _, p := range ports {
		if p >= 1 && p <= MaxPort {
			m |= 1 << p
		}
	}
	return m
}

// FirstPorts is the set of ports 1 to n, which is at most MaxPort.
func FirstPorts(n int) PortMask { return 1<<(n+1) - 2 }

// Has reports whether a port is in the set.
func (m PortMask) Has(port int) bool { return port >= 1 && port <= MaxPort && m>>port&1 != 0 }

// Len is the number of ports.
func (m PortMask) Len() int { return bits.OnesCount32(uint32(m)) }

func (m PortMask) check(field string) *FieldError {
	if m&1 != 0 {
		return invalid(field, "%#x has bit 0, want ports from 1 on", uint32(m))
	}
	return nil
}

// PeerPorts names a peer that lacks some ports, and the ports that the peer has.
type PeerPorts struct {
	Peer  netip.Addr
	Ports PortMask
}

func (p PeerPorts) validate() *FieldError {
	if !isAddress(p.Peer) {
		return invalid("address", "%v, want an IPv6 or IPv4 address", p.Peer)
	}
	return p.Ports.check("ports")
}

// isAddress reports whether a host of MRC may have an address.
func isAddress(a netip.Addr) bool {
	return a.IsValid() && !a.Is4In6() && a.Zone() == ""
}
