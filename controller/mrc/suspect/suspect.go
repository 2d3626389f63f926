package suspect

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/topology"
)

// Suspect is a link that loses packets.
type Suspect struct {
	// Links has one link, or several links that every observed path takes together or not at all: the
	// evidence cannot tell them apart.
	Links []topology.LinkID
	// Loss is the loss rate of packets across the link, from 0 to 1, beyond the loss elsewhere.
	Loss float64
	// Confidence is the probability, from 0 to 1, that this link alone is bad, if all links and "no
	// bad link" are equally likely beforehand.
	Confidence float64
	// Sent and Lost count the packets behind this evidence, Paths the paths that they took.
	Sent, Lost uint64
	Paths      int
}

// tally is the evidence about a link, or about everything.
type tally struct {
	sent, lost float64
	paths      int
}

func (t *tally) add(c Counts) {
	t.sent += float64(c.Sent)
	t.lost += float64(c.Lost)
	t.paths++
}

// rate returns the loss rate. It adds half a packet to each count, so that little evidence says
// little.
func (t tally) rate() float64 { return (t.lost + 0.5) / (t.sent + 1) }

// likelihood returns the log-likelihood of the counts at a loss rate.
func (t tally) likelihood(rate float64) float64 {
	return t.lost*math.Log(rate) + (t.sent-t.lost)*math.Log1p(-rate)
}

// Suspects names the links that lose packets, the surest first.
func (l *Locator) Suspects(now time.Duration) []Suspect {
	l.advance(now)
	open := l.evidence()
	var found []Suspect
	for len(found) <= l.cfg.MaxSuspects {
		s, at := l.best(open)
		if at < 0 {
			return found
		}
		found = append(found, s)
		open = slices.DeleteFunc(open, func(e observed) bool {
			return slices.Contains(e.links, at) ||
				e.Lost > 0 && e.answers != nil && slices.ContainsFunc(s.Links, e.answers)
		})
	}
	return nil // too many
}

// observed is the evidence of a path.
type observed struct {
	links   []int32
	answers func(topology.LinkID) bool
	Counts
}

// evidence is the evidence of all paths packets took lately.
func (l *Locator) evidence() []observed {
	var all []observed
	for i := range l.paths {
		if c := l.paths[i].total(); c.Sent > 0 {
			all = append(all, observed{l.paths[i].links, l.paths[i].answers, c})
		}
	}
	return all
}

// best is the link that explains the evidence best, -1 when none does well
// enough.
func (l *Locator) best(open []observed) (Suspect, int32) {
	var all tally
	across := make([]tally, len(l.names))
	for _, e := range open {
		all.add(e.Counts)
		for _, i := range e.links {
			across[i].add(e.Counts)
		}
	}
	if all.lost == 0 {
		return Suspect{}, -1
	}
	// The gain in likelihood if a link has a rate of its own, less the gain by chance of an additional
	// rate for any link.
	gain := make([]float64, len(l.names))
	at := int32(-1)
	for i, t := range across {
		gain[i] = math.Inf(-1)
		rest := tally{sent: all.sent - t.sent, lost: all.lost - t.lost}
		if t.lost == 0 || t.rate() <= rest.rate() {
			continue
		}
		gain[i] = t.likelihood(t.rate()) + rest.likelihood(rest.rate()) - all.likelihood(all.rate()) -
			math.Log(float64(len(l.names))) - math.Log(all.sent)/2
		if at < 0 || gain[i] > gain[at] {
			at = int32(i)
		}
	}
	if at < 0 || gain[at] <= 0 {
		return Suspect{}, -1
	}
	// Links with the very paths of the best one are named with it.
	var same []int32
	for i := range across {
		if across[i] == across[at] && l.together(open, int32(i), at) {
			same = append(same, int32(i))
		}
	}
	t := across[at]
	rest := tally{sent: all.sent - t.sent, lost: all.lost - t.lost}
	elsewhere := rest.lost / max(rest.sent, 1)
	// A link that loses half of its packets is bad whatever links without a common lossy path lose
	// (for example a dead link's other direction).
	apart := func(i int32) bool {
		return t.lost/t.sent-elsewhere >= 0.5 && !slices.ContainsFunc(open, func(e observed) bool {
			return e.Lost > 0 && slices.Contains(e.links, i) && slices.Contains(e.links, at)
		})
	}
	sum := math.Exp(-gain[at]) // none
	for i, g := range gain {
		if g > math.Inf(-1) && !slices.Contains(same, int32(i)) && !apart(int32(i)) {
			sum += math.Exp(g - gain[at])
		}
	}
	s := Suspect{Loss: t.lost/t.sent - elsewhere, Confidence: 1 / (1 + sum),
		Sent: uint64(t.sent), Lost: uint64(t.lost), Paths: t.paths}
	if s.Loss < l.cfg.MinLoss || s.Confidence < l.cfg.Confidence {
		return Suspect{}, -1
	}
	for _, i := range same {
		s.Links = append(s.Links, l.names[i])
	}
	slices.SortFunc(s.Links, func(a,
		b topology.LinkID) int {
		return strings.Compare(string(a), string(b))
	})
	return s, at
}

// together reports whether every path takes both links or neither.
func (l *Locator) together(open []observed, a, b int32) bool {
	return !slices.ContainsFunc(open, func(e observed) bool {
		return slices.Contains(e.links, a) != slices.Contains(e.links, b)
	})
}
