// Package ibta holds the rules of IBTA volume 1 that RC and MRC queue pairs share.
package ibta

import (
	"math"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/packet"
)

const (
	// MaxMessage is the greatest length of a message in octets (§9.7.2).
	MaxMessage = 1 << 31
	// MaxWindow is the greatest number of PSNs distinguishable from already acknowledged PSNs.
	MaxWindow = 1<<23 - 1
)

// A partition key has 15 bits and a membership bit; two members may communicate if at least one is
// a full member (§10.9.3).
const (
	pkeyBase = 0x7FFF
	pkeyFull = 0x8000
)

// ValidPKey reports whether a partition key names a partition.
func ValidPKey(pkey uint16) bool { return pkey&pkeyBase != 0 }

// SamePartition reports whether members with these partition keys may talk to each other.
func SamePartition(a, b uint16) bool { return (a^b)&pkeyBase == 0 && (a|b)&pkeyFull != 0 }

// ValidQPN reports whether a queue pair can have a number: 0 and 1 are management queue pairs,
// 0xFFFFFF is InfiniBand's multicast.
func ValidQPN(qpn uint32) bool { return qpn > 1 && qpn < packet.PSNMask }

// ValidPMTU reports whether n is a path MTU, in octets of payload.
func ValidPMTU(n int) bool { return n >= 256 && n <= 4096 && n&(n-1) == 0 }

// Packets is the number of packets a message of n octets takes; a message of nothing takes one.
func Packets(n, pmtu int) int { return max(1, (n+pmtu-1)/pmtu) }

// Unicast reports whether a is an IPv6 address of one node.
func Unicast(a netip.Addr) bool {
	return a.Is6() && !a.Is4In6() && a.Zone() == "" && !a.IsMulticast() && !a.IsUnspecified()
}

// UnicastIP reports whether a is a unicast IPv6 or IPv4 address.
func UnicastIP(a netip.Addr) bool {
	return Unicast(a) || a.Is4() && !a.IsMulticast() && !a.IsUnspecified()
}

// wireOverhead is what Ethernet adds to a frame on the wire: preamble, frame check sequence and the
// gap between frames, in octets.
const wireOverhead = 8 + 4 + 12

// Serialization is the time a frame of n octets takes at a rate in bits per second, rounded up to a
// nanosecond.
func Serialization(n int, rate float64) time.Duration {
	return time.Duration(math.Ceil(float64(n+wireOverhead) * 8e9 / rate))
}
