package prove

import (
	"cmp"
	"slices"
	"time"
)

const (
	// wantFor is how long a link is probed first after somebody has asked about it.
	wantFor = 5 * time.Second
	// wantEvery is how often it is probed then: a quarter of what may pass before the last probe is
	// too old.
	wantEvery = 500 * time.Millisecond
)

// wantedLinks are the links that are probed first.
type wantedLinks struct {
	until map[int32]time.Duration
	due   []int32 // those whose last probes are oldest come first
	at    time.Duration
}

// Want has a link probed before others for a while: somebody depends on it.
func (p *Prover) Want(place int32) {
	w := &p.prober.wanted
	if w.until == nil {
		w.until = make(map[int32]time.Duration)
	}
	w.until[place] = p.now + wantFor
}

// Active reports whether there is a host that probes.
func (p *Prover) Active() bool { return p.prober.active() }

// probeWanted probes links that somebody depends on, before their last probes are too old.
func (pr *prober) probeWanted() {
	w := &pr.wanted
	if pr.now >= w.at {
		w.at, w.due = pr.now+tellingTime, w.due[:0]
		for i, until := range w.until {
			switch {
			case pr.now >= until || int(i) >= pr.links.Len():
				delete(w.until, i)
			case pr.links.Idle(i, wantEvery):
				w.due = append(w.due, i)
			}
		}
		slices.SortFunc(w.due, func(a, b int32) int {
			return cmp.Or(cmp.Compare(pr.links.At(a).Heard(), pr.links.At(b).Heard()), cmp.Compare(a, b))
		})
	}
	for len(w.due) > 0 && pr.tokens >= 1 {
		i := w.due[0]
		w.due = w.due[1:]
		if pr.links.Idle(i, wantEvery) {
			pr.probeLink(i, 1)
		}
	}
}
