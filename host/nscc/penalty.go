package nscc

import "github.com/weft-sdn/weft/packet"

// penaltyPeriod is a period in which the responder asks the requester to send less (OCP MRC 1.0,
// §7.5.1).
type penaltyPeriod struct {
	on      bool
	saved   int64 // window before it; 0 when it does not come back
	restore bool  // restore_cwnd of the SACKs in it
}

// penalise subtracts the penalty from the window: all acknowledged octets for 127, about half of
// the window a round trip for 64, down to one packet. If the SACKs asked for that, the first SACK
// without a penalty restores the window saved at the beginning of the period. penalise ignores a
// SACK without news, which may be old.
//
// share is the part of increases that the penalty leaves, 0 to 1. Increases fit windows of this
// network's size: in full they would outweigh any penalty.
func (c *QPCC) penalise(newly int64, penalty uint8, restore bool) (share float64) {
	if newly <= 0 || c.cfg.IgnorePenalty {
		return 1
	}
	penalty = min(penalty, packet.MaxRcvCwndPenalty)
	p := &c.penalty
	if penalty == 0 {
		if p.on && p.restore {
			c.cwnd = max(c.cwnd, p.saved)
			c.clamp()
		}
		*p = penaltyPeriod{}
		return 1
	}
	c.stats.Penalties++
	if !p.on {
		*p = penaltyPeriod{on: true, saved: c.cwnd}
	}
	p.restore = restore
	cut := newly * int64(penalty) / packet.MaxRcvCwndPenalty
	c.cwnd = max(c.cwnd-cut, min(c.cwnd, int64(c.cfg.MTU)))
	c.clamp()
	return 1 - float64(penalty)/packet.MaxRcvCwndPenalty
}
