package nscc

import (
	"time"

	"github.com/weft-sdn/weft/host/mrc"
)

// OnNewData begins a new period of rule 1 when nothing was in flight: one in which the queue pair
// had nothing to send says nothing of the network.
func (c *QPCC) OnNewData(now time.Duration, _ int) {
	if c.inflight <= 0 {
		c.adapt.restart(now + c.base + c.target)
	}
}

// OnSend notes what is in flight.
func (c *QPCC) OnSend(s mrc.Sent) { c.inflight, c.lastSent = int64(s.InFlight), s.Now }

// OnSACK is rules 1 to 6, after the penalty of the responder.
func (c *QPCC) OnSACK(a mrc.SACK) {
	c.stats.SACKs++
	c.inflight = int64(a.InFlight)
	newly := int64(a.Newly)
	c.adapt.achieved += newly
	c.adapt.ignored += newly
	c.received += newly
	share := c.penalise(newly, a.Penalty, a.RestoreCwnd)

	delay := time.Duration(c.avg)
	switch {
	case !a.RTTValid:
	case a.Probe:
		// A probe is shorter than a data packet, so the round trip of a probe must not lower the base
		// RTT.
		delay = c.sample(max(a.RTT, c.base), a.Marked)
	default:
		c.lowerBase(a.RTT)
		delay = c.sample(a.RTT, a.Marked)
	}
	c.adjust(a.Now, newly, delay, a.Marked, share)
}

// OnNACK closes the window by the size of the packet, if rule 1 does not set it.
func (c *QPCC) OnNACK(n mrc.NACK) {
	c.stats.NACKs++
	if n.RTTValid {
		c.lowerBase(n.RTT)
	}
	c.average(c.cfg.NACKDelay)
	c.adapt.ignored += int64(n.Size)
	c.adapt.trigger = true
	// what was in flight when the network refused this packet
	c.inflight = int64(n.InFlight) + int64(n.Size)
	if !c.quickAdapt(n.Now, true, true, 0) {
		c.without(n.Size)
	}
	c.inflight = int64(n.InFlight)
}

// OnLoss shrinks the window by the size of a packet whose timer expired. A loss found by SACKs does
// not change the window, because the delay of arrived packets already signals congestion.
func (c *QPCC) OnLoss(l mrc.Loss) {
	c.inflight = int64(l.InFlight)
	if !l.Timeout {
		c.stats.Losses++
		return
	}
	c.stats.Timeouts++
	c.without(l.Size)
}

// without closes the window by the size of a packet, by a half at most.
func (c *QPCC) without(size int) {
	c.cwnd = max(c.cwnd-int64(size), c.cwnd/2)
	c.clamp()
}

// sample averages the delay of queues in a round trip and returns it.
func (c *QPCC) sample(rtt time.Duration, marked bool) time.Duration {
	delay := max(rtt-c.base, 0)
	if !marked && delay > c.target {
		// The queue has gone since: a sample that lags behind must not cut the window later.
		c.average(time.Duration(float64(c.base) * c.cfg.DelayRelief))
	} else {
		c.average(delay)
	}
	return delay
}

func (c *QPCC) average(delay time.Duration) {
	if c.paced() { // samples are round trips apart
		c.avg = float64(delay)
		return
	}
	c.avg += c.cfg.DelayWeight * (float64(delay) - c.avg)
}

func (c *QPCC) lowerBase(rtt time.Duration) {
	if rtt > 0 && rtt < c.base {
		c.base = rtt
		c.limit()
	}
}
