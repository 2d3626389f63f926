package nic

import (
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/spray"
)

// SelfProbe follows a valid plan of probes to the host itself, in place of the plan before. The
// results of the probes go to the reporter. Advance is to be called afterwards.
func (n *NIC) SelfProbe(now time.Duration, plan *hostapi.SelfProbes) { n.self.Set(now, plan) }

// probeSelf takes returned self-probes, sends due self-probes, and reports.
func (n *NIC) probeSelf(now time.Duration) {
	for p, ok := n.PollSelfProbe(); ok; p, ok = n.PollSelfProbe() {
		n.self.Received(p.ID, p.Marked)
	}
	for id, to, ok := n.self.Take(now); ok; id, to, ok = n.self.Take(now) {
		v, err := spray.NewSRv6(to.Value, int(to.Port))
		if err == nil {
			err = n.SendSelfProbe(now, id, mrc.Path{Port: int(to.Port), Route: v.Route}, n.self.DSCP())
		}
		if err != nil { // the port is down or denied: that says nothing of the path
			n.self.Unsent(id)
		}
	}
	if c := n.self.Report(now); c != nil && n.report != nil {
		n.report.SelfProbeCounts(c)
	}
}
