package queues

import (
	"errors"
	"fmt"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// ErrConfig: a field of a configuration has a value that cannot be used.
var ErrConfig = errors.New("invalid fabric")

// Config describes a fabric. Start from DefaultConfig.
type Config struct {
	Planes       int // each is a Clos of its own; a host has one port on each: port p on plane p, from 1. 1 to packet.MaxPort
	Leaves       int // T0 switches of a plane
	Spines       int // T1 switches of a plane; every leaf has one link to each
	HostsPerLeaf int

	Rate  uint64        // bits per second of every link
	Delay time.Duration // of every link

	// Queue is what the data class of an output queue holds, in octets on the wire. Packets are marked with a probability that grows from 0 at MarkMin to 1 at MarkMax octets
	// in the queue, when they leave it.
	Queue, MarkMin, MarkMax int
	// ControlQueue is what the control class holds: control packets and what is left of trimmed ones, which leave before all data.
	ControlQueue int

	DSCP     packet.DSCPClasses
	TrimSize int // octets of a frame that trimming leaves; 0: nothing is trimmed

	// Spine, if not nil, is the field of a structured EV by which a leaf chooses the spine; a value that is no spine is dropped and counted. nil: ECMP, a hash
	// of addresses, ports and flow label.
	Spine *packet.EVField

	Seed uint64
}

// DefaultConfig is 2 planes of 4 leaves and 4 spines with 16 hosts, links of 400 Gb/s and 1 us, and queues for a PMTU of 4096: one bandwidth-delay product, marked from 0.2
// to 0.8 of it, trimming, structured EVs whose first 8 bits are the spine.
func DefaultConfig() Config {
	c := Config{
		Planes: 2, Leaves: 4, Spines: 4, HostsPerLeaf: 4,
		Rate: 400e9, Delay: time.Microsecond, ControlQueue: 4 << 20,
		DSCP: packet.DefaultDSCPClasses(), TrimSize: packet.MinTrimLen, Spine: &packet.EVField{Offset: 0, Width: 8},
	}
	c.Queue = c.BDP(FullFrame(4096))
	c.MarkMin, c.MarkMax = c.Queue/5, c.Queue*4/5
	return c
}

// FullFrame is the octets of a WRITE's frame with a payload of so many octets and a timestamp.
func FullFrame(payload int) int {
	return packet.EthernetLen + packet.IPv6Len + packet.UDPLen + packet.BTHLen + packet.METHLen + packet.TSETHLen + packet.RETHLen + payload + packet.ICRCLen
}

// ackFrame is the octets of a SACK's frame.
const ackFrame = packet.EthernetLen + packet.IPv6Len + packet.UDPLen + packet.BTHLen + packet.SETHLen + packet.ICRCLen

// hops is the number of links between hosts of different leaves.
const hops = 4

// RTT is the round trip of a frame of so many octets and its SACK between hosts of different leaves, all queues empty.
func (c Config) RTT(frame int) time.Duration {
	return hops * (2*c.Delay + c.serialization(frame) + c.serialization(ackFrame))
}

// BDP is the octets that one link carries in the round trip of a frame of so many octets.
func (c Config) BDP(frame int) int { return int(float64(c.Rate) / 8 * c.RTT(frame).Seconds()) }

// wireOverhead is what a frame takes on the wire beside its octets: preamble, frame check sequence and gap.
const wireOverhead = 8 + 4 + 12

// serialization is the time a frame of so many octets takes on a link.
func (c Config) serialization(octets int) time.Duration {
	return time.Duration(float64(octets+wireOverhead) * 8e9 / float64(c.Rate))
}

// Hosts is the number of hosts.
func (c Config) Hosts() int { return c.Leaves * c.HostsPerLeaf }

// Validate says which field cannot be used; the error wraps ErrConfig.
func (c Config) Validate() error {
	bad := func(field string, value any, want string) error {
		return fmt.Errorf("%s %v: want %s: %w", field, value, want, ErrConfig)
	}
	const many = 1 << 12
	switch {
	case c.Planes < 1 || c.Planes > packet.MaxPort:
		return bad("Planes", c.Planes, fmt.Sprintf("1 to %d", packet.MaxPort))
	case c.Leaves < 1 || c.Leaves > many:
		return bad("Leaves", c.Leaves, fmt.Sprintf("1 to %d", many))
	case c.Spines < 1 || c.Spines > many:
		return bad("Spines", c.Spines, fmt.Sprintf("1 to %d", many))
	case c.HostsPerLeaf < 1 || c.HostsPerLeaf > many:
		return bad("HostsPerLeaf", c.HostsPerLeaf, fmt.Sprintf("1 to %d", many))
	case c.Rate == 0:
		return bad("Rate", c.Rate, "above 0")
	case c.Delay < 0:
		return bad("Delay", c.Delay, "0 or more")
	case c.Queue < 1:
		return bad("Queue", c.Queue, "1 octet or more")
	case c.ControlQueue < 1:
		return bad("ControlQueue", c.ControlQueue, "1 octet or more")
	case c.MarkMin < 0 || c.MarkMax < c.MarkMin:
		return bad("MarkMin, MarkMax", fmt.Sprint(c.MarkMin, ", ", c.MarkMax), "0 <= MarkMin <= MarkMax")
	case c.TrimSize != 0 && c.TrimSize < packet.MinTrimLen:
		return bad("TrimSize", c.TrimSize, fmt.Sprintf("0 or at least %d", packet.MinTrimLen))
	}
	if err := c.DSCP.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if c.Spine != nil {
		if err := c.Spine.Validate(); err != nil {
			return fmt.Errorf("%w: Spine: %w", ErrConfig, err)
		}
	}
	return nil
}
