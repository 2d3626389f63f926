package truth

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/selfprobe"
	"github.com/weft-sdn/weft/test/seeds"
)

// tally is what a host would report that sent its probes packet by packet: the number of those that
// are lost and marked is drawn for all probes of a target since the last tally together. The
// controller gets counts alone, so it cannot tell. Three probes lost in a row show at the end of a
// tally only.
type tally struct {
	*hostapi.SelfProbeCounts
	trips [][]*lossyWire // of the targets
	until time.Duration
	carry float64 // the part of a probe that is due besides
	asked int     // probes sent so far
}

// tallyBy has a host count by a plan.
func (h *host) tallyBy(p *hostapi.SelfProbes) {
	n := h.net
	t := &tally{SelfProbeCounts: &hostapi.SelfProbeCounts{Version: p.Version}, until: n.Now()}
	h.tally = t
	h.say(&hostapi.SelfProbeCounts{Version: p.Version})
	if len(p.Targets) == 0 {
		return
	}
	for i := range p.Targets {
		t.trips = append(t.trips, h.trip(p.Targets[i]))
		t.Counts = append(t.Counts, hostapi.SelfProbeCount{Target: i})
	}
	var report func()
	report = func() {
		if h.tally != t {
			return
		}
		if h.count(); !h.asleep {
			c := *t.SelfProbeCounts
			c.Counts = append([]hostapi.SelfProbeCount(nil), c.Counts...)
			h.say(&c)
		}
		n.After(p.Report, report)
	}
	n.After(time.Duration(n.rng.Int64N(int64(p.Report))), report)
}

// count draws what became of the probes since the last tally.
func (h *host) count() {
	n, t := h.net, h.tally
	if t == nil || len(t.trips) == 0 {
		return
	}
	passed := n.Now() - t.until
	if t.until = n.Now(); h.asleep {
		return
	}
	due := t.carry + float64(passed)/float64(h.plan.Interval)
	sent := int(due)
	t.carry = due - float64(sent)
	for i := range t.Counts {
		before := func(n int) int { return (n - i + len(t.trips) - 1) / len(t.trips) } // in turn
		of := before(t.asked+sent) - before(t.asked)
		if of == 0 {
			continue
		}
		survives := 1.0
		for _, w := range t.trips[i] {
			survives *= 1 - w.loss
		}
		c := &t.Counts[i]
		lost := n.binomial(of, 1-survives)
		c.Lost, c.Passed = c.Lost+uint64(lost), c.Passed+uint64(of-lost)
		c.Marked += uint64(n.binomial(of-lost, n.marked))
		// The last ones of a random order of the lost and the others.
		last := 0
		for last < lost && n.rng.IntN(of-last) < lost-last {
			last++
		}
		if last < of {
			c.Misses = 0
		}
		c.Misses += uint32(last)
		c.Missing = time.Duration(c.Misses) * h.plan.Interval * time.Duration(len(t.trips))
	}
	t.asked += sent
	n.probes += uint64(sent)
}

// binomial draws how many of so many happen that have a probability each: by the gaps between
// them, which are geometric.
func (n *thin) binomial(of int, p float64) (k int) {
	if p > 0.5 {
		return of - n.binomial(of, 1-p)
	}
	if p <= 0 {
		return 0
	}
	for at := 0.0; ; k++ {
		at += math.Floor(math.Log(1-n.rng.Float64())/math.Log1p(-p)) + 1
		if at > float64(of) {
			return k
		}
	}
}

// tallyAll has all hosts count what they have sent so far, before the network changes.
func (n *thin) tallyAll() {
	for _, h := range n.network.Hosts {
		n.hosts[h.Name].count()
	}
}

// mark sets the share of probes that come back with a congestion mark.
func (n *thin) mark(share float64) {
	n.tallyAll()
	n.marked = share
}

// inUse are the links that the controller uses.
func (n *thin) inUse() (out []wire) {
	up := make(map[wire]bool)
	for _, l := range n.core.Links() {
		up[wire{l.Status.FromName, l.Status.ToName}] = l.Status.Phase == "up" && !l.Status.Denied
	}
	for _, w := range n.links() {
		if up[w] && up[wire{w.to, w.from}] {
			out = append(out, w)
		}
	}
	return out
}

// TestManyProbesAccuseNothing: the controller accuses nothing while a fabric loses one of 10^5
// probes by chance, hosts sleep, agents restart, queues mark most packets and lose 4 %, and T1s
// reboot. A link that then loses 1 % is named, or its T0 where some of the T0's links are out of
// use and another one has just lost a probe by chance. WEFT_SEEDS=28 are 10^9 probes.
func TestManyProbesAccuseNothing(t *testing.T) {
	first, count := seeds.Range(t, 1, 1)
	length := 600 * time.Second
	if testing.Short() {
		length /= 20
	}
	var probes, lost uint64
	events := [5]int{}
	for seed := first; seed < first+count; seed++ {
		n := newTallied(t, seed, small, eachMs, nil)
		// Chance takes its share of each probe over a T1, which crosses four wires.
		errors := func(share float64) {
			n.tallyAll()
			for _, w := range n.wires {
				w.loss = share
			}
		}
		const chance = selfprobe.LossGood / 4
		errors(chance)
		for n.Now() < length {
			h := n.hosts[pick(n, n.network.Hosts).Name]
			what := n.rng.IntN(len(events))
			if what == 4 && n.rng.IntN(8) > 0 {
				what = 2 // T1s that reboot often are held back
			}
			switch events[what]++; what {
			case 0:
				h.count()
				h.asleep = true
				n.After(time.Duration(n.rng.Int64N(int64(2*time.Second))), func() {
					h.count()
					h.asleep = false
				})
			case 1:
				h.tally = nil
				n.restart(h)
			case 2: // marks without losses
				n.mark(n.rng.Float64())
			case 3: // and with
				n.mark(0.6 + 0.4*n.rng.Float64())
				errors(0.01)
				n.run(time.Duration(n.rng.Int64N(int64(time.Second))))
				errors(chance)
				n.mark(0)
			case 4:
				n.reboot(pick(n, n.switches("-T1-")), chance)
			}
			n.run(time.Duration(n.rng.Int64N(int64(2 * time.Second))))
		}
		n.run(20 * time.Second)
		probes += n.probes
		for _, x := range n.named {
			t.Errorf("seed %d: %s is accused after %v: %+v", seed, objectOf(&x.Suspect), x.at, x)
		}
		for _, h := range n.hosts {
			for _, c := range h.tally.Counts {
				lost += c.Lost
			}
		}
		n.named = nil
		n.mark(0)
		bad := pick(n, n.inUse())
		n.lose(bad.from, bad.to, 0.01, 0)
		n.run(2 * time.Second)
		if len(n.named) != 1 || !slices.Contains(n.named[0].Links, n.link(bad)) {
			t.Errorf("seed %d: %v loses 1 %%, and %+v is named", seed, bad, n.named)
		}
	}
	t.Logf("%d seeds, %d probes, %d counted as lost since the last restarts; %d pauses, "+
		"%d restarts, %d times marks, %d times losses of queues, %d reboots", count, probes, lost,
		events[0], events[1], events[2], events[3], events[4])
}
