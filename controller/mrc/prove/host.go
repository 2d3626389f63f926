package prove

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
)

// A Host is an attached host, its probe budget, and its reports about EVs. The Attached must not be
// changed.
type Host struct {
	*fabric.Attached
	group     *Group // nil: it holds no profiles
	connected bool
	canProbe  bool
	holds     bool
	// selfProbes reports whether it takes a plan of probes to itself, as the host has said if greeted.
	selfProbes, greeted bool

	evidence
	tokens   float64       // probes that may be sent
	filledAt time.Duration // when tokens were counted last
	peer     int           // turns among the hosts it probes
}

// Attach adds a host, not connected at first.
func (p *Prover) Attach(at *fabric.Attached) *Host {
	h := &Host{Attached: at, tokens: 1, filledAt: p.prober.at, evidence: newEvidence()}
	p.hosts[at.Name] = h
	return h
}

// Detach removes a host.
func (p *Prover) Detach(h *Host) {
	delete(p.hosts, h.Name)
	p.self.forget(h.Name)
	p.self.replan(planWait)
	p.named.forget(h.Name)
}

// Connect records that a host has a stream, and whether it can probe.
func (p *Prover) Connect(h *Host, canProbe bool) { h.connected, h.canProbe = true, canProbe }

// Gone records that the stream of a host has ended: requests to it have no answer.
func (p *Prover) Gone(h *Host) {
	h.connected = false
	p.prober.gone(h)
	p.self.replan(awayWait)
}

// Connected reports whether the host has a stream.
func (h *Host) Connected() bool { return h.connected }

// SetHolds records that the host holds a state: before, lost probes accuse no link.
func (h *Host) SetHolds() { h.holds = true }

// Restart discards all reports of the host, because the host starts its counts anew. With older,
// the host may have started to count already.
func (h *Host) Restart(older bool) { h.restart(older) }

// Recount discards all reports of the host. If the host may have counted before, its next counts
// are not evidence: they are for other profiles.
func (h *Host) Recount() { h.restart(h.older || len(h.counts) > 0) }

// Forget forgets which EVs of a profile the host has found bad: it does not have the profile any
// more.
func (h *Host) Forget(profile string) {
	maps.DeleteFunc(h.assumed, func(k counterKey, _ bool) bool { return k.profile == profile })
}

// AssumedBad returns the EVs that the host has found bad, by profile, in no order.
func (h *Host) AssumedBad() iter.Seq2[string, hostapi.EV] {
	return func(yield func(string, hostapi.EV) bool) {
		for k := range h.assumed {
			if !yield(k.profile, k.ev) {
				return
			}
		}
	}
}

// counterKey names an EV of a host.
type counterKey struct {
	profile string
	ev      hostapi.EV
}

func (k counterKey) compare(o counterKey) int {
	return cmp.Or(cmp.Compare(k.profile, o.profile), k.ev.Compare(o.ev))
}

// evidence has the reports of a host about its EVs.
type evidence struct {
	counts map[counterKey]counter
	// older reports whether the host may have counted before this core knew it: the first
	// count of an EV is then no news.
	older   bool
	assumed map[counterKey]bool // EVs that are ASSUMED_BAD
	// assumedAt is when an EV in assumed may be probed again; assumedLast is the EV probed last.
	assumedAt   time.Duration
	assumedLast counterKey
}

// counter is the last cumulative count of an EV.
type counter struct{ sent, lost uint64 }

func newEvidence() evidence {
	return evidence{counts: make(map[counterKey]counter), assumed: make(map[counterKey]bool)}
}

// restart forgets all: the host counts anew. With older it may have counted already.
func (e *evidence) restart(older bool) {
	clear(e.counts)
	clear(e.assumed)
	e.older = older
}

// count takes a cumulative count of an EV, and returns the increase.
func (e *evidence) count(key counterKey, n counter) suspect.Counts {
	before, known := e.counts[key]
	e.counts[key] = n
	if !known && e.older {
		return suspect.Counts{}
	}
	if n.sent < before.sent || n.lost < before.lost {
		return suspect.Counts{} // it has wrapped or started again; what happened in between is not known
	}
	// Packets found lost now may have been sent before.
	lost := n.lost - before.lost
	return suspect.Counts{Sent: max(n.sent-before.sent, lost), Lost: lost}
}

// nextAssumed returns the next ASSUMED_BAD EV, in order, after the EV returned last. At least one
// EV must be ASSUMED_BAD.
func (e *evidence) nextAssumed() counterKey {
	keys := slices.SortedFunc(maps.Keys(e.assumed), counterKey.compare)
	i := slices.IndexFunc(keys, func(k counterKey) bool { return k.compare(e.assumedLast) > 0 })
	e.assumedLast = keys[max(i, 0)]
	return e.assumedLast
}
