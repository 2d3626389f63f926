package mrc

import "time"

// provenMisses is how many probes in a row make a link of the first round bad.
const provenMisses = 3

// round is the first round of probes after a start, over every link in use.
type round struct {
	ends time.Duration // at the latest
	done bool
}

// begin starts the first round.
func (pr *prober) begin() { pr.round.ends = pr.now + pr.restore.FirstRound.D() }

// runRound ends the first round: when every link in use was tried, or its time is
// over. A link over which no probe came is taken for bad, unless that goes for
// most: then it is the probes that are. While no host waits for the round a link
// has all its time: at a first start switches may still be being programmed.
func (pr *prober) runRound() {
	if pr.round.done {
		return
	}
	proven, bad, open := 0, 0, 0
	awaited := pr.hosts.awaited()
	for i := range pr.links.all {
		l := &pr.links.all[i]
		switch {
		case l.phase != up || l.drained || len(l.leaves) == 0:
		case l.proven:
			proven++
		case l.misses >= provenMisses:
			bad++
		default:
			open++
		}
	}
	if (open > 0 || bad > 0 && !awaited) && pr.now < pr.round.ends {
		return
	}
	pr.round.done = true
	if bad >= proven {
		return
	}
	for i := range pr.links.all {
		if l := &pr.links.all[i]; l.phase == up && !l.proven && l.misses >= provenMisses {
			pr.links.fail(int32(i), "no probe came through")
		}
	}
}
