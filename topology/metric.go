package topology

import "fmt"

// A Metric says what a path is measured by.
type Metric uint8

const (
	// MetricIGP is the IGP metric of each link.
	MetricIGP Metric = iota
	// MetricTE is the TE metric, and the IGP metric of links without one.
	MetricTE
	// MetricDelay is the minimum unidirectional delay in microseconds. A link without a delay counts
	// like the slowest link with a delay; if no link has a delay, MetricDelay equals MetricIGP.
	MetricDelay
	metrics
)

func (m Metric) String() string {
	switch m {
	case MetricIGP:
		return "igp"
	case MetricTE:
		return "te"
	case MetricDelay:
		return "delay"
	}
	return fmt.Sprintf("Metric(%d)", uint8(m))
}

// MarshalText writes the metric's name.
func (m Metric) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// costs returns what each link costs: igp, the costs by MetricIGP, where no link has another. A
// cost is at least 1: a cycle of links that cost nothing would make a path its own equal.
func (m Metric) costs(links []*Link, igp []uint32) []uint32 {
	var slowest uint32
	delays, other := false, m == MetricIGP
	for _, l := range links {
		if l.Delay.Known {
			delays = true
			slowest = max(slowest, l.Delay.Min)
		}
		other = other || m == MetricTE && l.TEMetric != 0 || m == MetricDelay && delays
	}
	if !other {
		return igp
	}
	costs := make([]uint32, len(links))
	for i, l := range links {
		c := l.IGPMetric
		switch {
		case m == MetricTE && l.TEMetric != 0:
			c = l.TEMetric
		case m == MetricDelay && delays && l.Delay.Known:
			c = l.Delay.Min
		case m == MetricDelay && delays:
			c = slowest
		}
		costs[i] = max(c, 1)
	}
	return costs
}
