package nscc

import "time"

// quickAdapt is the state of rule 1: a window far above what the network carries becomes what it
// was seen to carry, at once.
type quickAdapt struct {
	end      time.Duration // of the period in which octets are counted
	running  bool          // there is one
	achieved int64         // octets acknowledged in it
	trigger  bool          // a NACK has come
	toIgnore int64         // octets in flight when the window was set: what is said of them is known
	ignored  int64         // octets acknowledged or NACKed since
}

// restart begins a period: one in which the queue pair had nothing to send says nothing of the
// network.
func (q *quickAdapt) restart(end time.Duration) {
	q.running, q.end, q.achieved = true, end, 0
}

// quickAdapt applies rule 1, and reports whether to skip the other rules: because rule 1 set the
// window, or because the arrived packet is older than the last setting.
func (c *QPCC) quickAdapt(now time.Duration, loss, marked bool, delay time.Duration) bool {
	if c.cfg.DisableQA || c.paced() {
		return false
	}
	q := &c.adapt
	skip := false
	if marked && q.ignored < q.toIgnore {
		skip = true
	} else if !q.running || now > q.end {
		congested := q.trigger || loss || delay > c.cfg.QAThreshold
		if q.running && congested && q.achieved < c.maxCwnd>>c.cfg.QAGate {
			c.stats.QuickAdapts++
			c.cwnd = max(q.achieved, int64(c.cfg.MTU))
			c.clamp()
			q.toIgnore, q.ignored = c.inflight, 0
			q.trigger = false
			skip = true
		}
		q.restart(now + c.base + c.target)
	}
	if skip {
		c.inc, c.received = 0, 0
	}
	return skip
}
