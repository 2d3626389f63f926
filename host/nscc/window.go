package nscc

import "time"

// fastIncrease is the part of rule 3 for a network without queues.
type fastIncrease struct {
	octets int64 // acknowledged without a delay in a row
	on     bool
}

// adjust is rules 1 to 6, for octets newly acknowledged with this delay (table 8-1). share is how
// much of an increase the responder allows.
func (c *QPCC) adjust(now time.Duration, newly int64, delay time.Duration, marked bool,
	share float64) {
	c.aim()
	if c.quickAdapt(now, false, marked, delay) {
		return
	}
	switch late := delay >= c.target; {
	case !marked && late:
		c.stats.FairIncreases++
		c.inc += share * c.cfg.Fi * float64(newly)
	case !marked:
		c.grow(newly, delay, share)
	case late:
		c.cut(now)
		if c.cwnd <= int64(c.cfg.MinCwnd) {
			// A queue pair may send while cwnd > inflight: anything above one packet would be two.
			c.inc, share = 0, 0
		}
	}
	c.clamp()
	c.apply(now, share)
	c.clamp()
}

// grow is rule 3. There is no fast increase while the responder asks for less.
func (c *QPCC) grow(newly int64, delay time.Duration, share float64) {
	c.stats.ProportionalIncreases++
	if delay < c.cfg.FastDelay && share == 1 {
		c.fast.octets += newly
		c.fast.on = c.fast.on || c.fast.octets > c.cwnd
	} else {
		c.fast = fastIncrease{}
	}
	if c.fast.on {
		c.stats.FastIncreases++
		c.cwnd += int64(float64(newly) * c.cfg.FiScale)
		return
	}
	c.inc += share * c.cfg.Alpha * float64(newly) * (c.target - delay).Seconds()
}

// cut is rule 4: at most once a base round trip, by how far the average delay is above the target.
func (c *QPCC) cut(now time.Duration) {
	c.fast = fastIncrease{}
	target := float64(c.target)
	if c.avg <= target || now-c.lastCut <= c.base {
		return
	}
	c.stats.Cuts++
	c.lastCut = now
	c.cwnd = int64(float64(c.cwnd) * max(1-c.cfg.Gamma*(c.avg-target)/c.avg, c.cfg.MaxMDJump))
}

// apply is rule 6: the increases collected, over the window. Those of a window below a packet,
// which come with each packet, are in proportion to it.
func (c *QPCC) apply(now time.Duration, share float64) {
	passed := now - c.lastAdjust
	if c.received <= int64(c.cfg.AdjustBytes) && passed <= c.cfg.AdjustPeriod {
		return
	}
	inc := c.inc / float64(c.cwnd)
	if c.paced() {
		inc = c.inc / float64(c.cfg.MTU) * c.part()
		share *= c.part()
	}
	c.cwnd += int64(inc)
	if passed >= c.cfg.AdjustPeriod {
		c.cwnd += int64(share * c.cfg.Eta)
		c.lastAdjust = now
	}
	c.inc, c.received = 0, 0
}
