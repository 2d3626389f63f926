package tunnel

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/topology"
)

// Config is what a Core starts with. Take [Defaults] and change it.
type Config struct {
	Behaviors topology.PFCBehaviors
	// MaxSegments of a list, the service's SID and one's own included: what
	// switches write.
	MaxSegments int
	// Lists is how many segment lists a switch holds.
	Lists uint16

	Sizing Sizing

	// ProbeEvery is how often each tunnel is probed. A probe is lost when it has
	// not come back after ProbeTimeout and four round trips. ProbeLoss lost ones
	// in a row are a lost tunnel.
	ProbeEvery, ProbeTimeout time.Duration
	ProbeLoss                int
	// QueryEvery is how often switches are asked for the state of queues.
	QueryEvery time.Duration
	// Drain is how long what a path no longer uses stays, for the packets that
	// are on their way.
	Drain time.Duration
}

// Sizing defines what headroom and watermarks are computed from, beside what was
// measured.
type Sizing struct {
	// Quanta of the pauses sent, each 512 bit times (IEEE 802.1Q clause 36).
	Quanta uint16
	// RTT and HostRTT are assumed until a tunnel has been measured, and on the
	// links of hosts. Rate, in bit/s, is for links that do not advertise a rate.
	RTT, HostRTT time.Duration
	Rate         uint64
	// WANQueue is how many octets may wait at each node between two ends of a
	// tunnel, and arrive after the pause; MTU is the largest frame, in octets.
	WANQueue, MTU uint64
	// Share is the highest fill level of a buffer, in percent, at which a queue stops the upstream.
	Share uint64
}

// Defaults are the values for the Weft fabric program.
func Defaults() Config {
	return Config{
		Behaviors: topology.DefaultPFCBehaviors(), MaxSegments: 8, Lists: 1023,
		Sizing: Sizing{
			Quanta: 0xffff, RTT: 100 * time.Millisecond, HostRTT: 20 * time.Microsecond, Rate: 100e9,
			WANQueue: 128 << 10, MTU: 9216, Share: 75,
		},
		ProbeEvery: 100 * time.Millisecond, ProbeTimeout: 100 * time.Millisecond, ProbeLoss: 3,
		QueryEvery: time.Second,
		Drain:      50 * time.Millisecond,
	}
}

// Validate names the first field that cannot be used.
func (c *Config) Validate() error {
	s := &c.Sizing
	switch {
	case c.MaxSegments < 2:
		return fmt.Errorf("pfc: maxSegments %d, want 2 or more", c.MaxSegments)
	case c.Lists == 0:
		return fmt.Errorf("pfc: lists 0, want 1 or more")
	case s.Quanta == 0:
		return fmt.Errorf("pfc: quanta 0, want 1 or more")
	case s.RTT <= 0 || s.HostRTT <= 0:
		return fmt.Errorf("pfc: rtt %v, hostRtt %v, want more than 0", s.RTT, s.HostRTT)
	case s.Rate == 0 || s.MTU == 0:
		return fmt.Errorf("pfc: rate %d, mtu %d, want more than 0", s.Rate, s.MTU)
	case s.Share < 1 || s.Share > 100:
		return fmt.Errorf("pfc: share %d, want 1 to 100 percent", s.Share)
	case c.ProbeEvery <= 0 || c.ProbeTimeout <= 0 || c.QueryEvery <= 0:
		return fmt.Errorf("pfc: probeEvery %v, probeTimeout %v, queryEvery %v, want more than 0",
			c.ProbeEvery, c.ProbeTimeout, c.QueryEvery)
	case c.ProbeLoss < 1:
		return fmt.Errorf("pfc: probeLoss %d, want 1 or more", c.ProbeLoss)
	case c.Drain < 0:
		return fmt.Errorf("pfc: drain %v, want 0 or more", c.Drain)
	}
	return nil
}
