package prove

import (
	"time"

	"github.com/weft-sdn/weft/controller/mrc/fabric"
)

// provenMisses is how many probes in a row make a link of the first round bad.
const provenMisses = 3

// round is the first round of probes after a start, over every link in use.
type round struct {
	ends time.Duration // at the latest
	done bool
	// refused counts, by link, the requests that hosts refused: the state of an earlier controller
	// denies hosts the port.
	refused map[int32]int
}

// begun reports whether the round has begun.
func (r *round) begun() bool { return r.ends > 0 }

// begin starts the first round.
func (pr *prober) begin() {
	pr.round.ends, pr.round.refused = pr.now+pr.restore.FirstRound.D(), make(map[int32]int)
}

// refuse counts a refused request to probe links, while the first round lasts.
func (r *round) refuse(places []int32) {
	if !r.begun() || r.done {
		return
	}
	for _, i := range places {
		r.refused[i]++
	}
}

// allReport reports whether every host is connected, and has reported its ports. Where no host
// probes, nothing else is to be awaited.
func (pr *prober) allReport() bool {
	for _, h := range pr.hosts {
		if !h.connected || !h.Reports() {
			return false
		}
	}
	return true
}

// runRound ends the first round: when every link in use was tried, or its time is
// over. The prover takes a link for bad over which no probe came, unless most links
// are such links: then the probes are bad. A link that hosts refuse to probe stays in
// use, and the round does not await it: only the state that hosts get after the round
// ends the refusals. While no host waits for the round, a link has the whole time of
// the round: at a first start the controller may still be programming switches.
func (pr *prober) runRound() {
	if pr.round.done || !pr.round.begun() {
		return
	}
	if !pr.probes() {
		pr.round.done = pr.allReport() || pr.now >= pr.round.ends
		return
	}
	proven, bad, open, refused := 0, 0, 0, 0
	awaited := pr.Awaited()
	for i := range int32(pr.links.Len()) {
		l := pr.links.At(i)
		switch {
		case l.Denied() || len(l.Leaves()) == 0 || !pr.Profiles.Needed(l.Leaves()):
		case l.Proven():
			proven++
		case l.Misses() >= provenMisses:
			bad++
		case pr.round.refused[i] >= provenMisses:
			refused++
		default:
			open++
		}
	}
	if (open > 0 || bad+refused > 0 && !awaited) && pr.now < pr.round.ends {
		return
	}
	pr.round.done = true
	if bad >= proven {
		return
	}
	for i := range int32(pr.links.Len()) {
		l := pr.links.At(i)
		if l.Phase() == fabric.Up && !l.Proven() && l.Misses() >= provenMisses {
			pr.links.Fail(i, "no probe came through")
		}
	}
}
