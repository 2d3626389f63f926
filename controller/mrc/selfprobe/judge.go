package selfprobe

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/topology"
)

// Kind is the kind of fault that a Verdict names.
type Kind uint8

const (
	// BlackHole forwards nothing, with all ports up.
	BlackHole Kind = iota + 1
	// Grey loses a part of the packets.
	Grey
)

// String returns the name of the kind as the API has it.
func (k Kind) String() string { return [...]string{"", "blackHole", "grey"}[k] }

// A Verdict names what loses probes. One of Link, Node and Host is set.
type Verdict struct {
	Kind Kind
	// Link is the place of a link up; -1: no link. Probes cross both directions of the link; Direction
	// tells which direction loses them.
	Link int32
	Node topology.NodeID // a switch
	Host string          // the cable of a host's port, or the port at either end
	Port uint8
	// Links has the places of the links up that the verdict takes packets from.
	Links []int32
	// Since is when the first of the lost probes was sent, Named when the verdict was reached.
	Since, Named time.Duration
	Sent, Lost   uint64 // probes that say so
	Hosts        int    // that have lost some of them
	// Single reports that one host alone can say so.
	Single bool
	// Direction of the Link by probes of single directions; Directions has their counts.
	Direction  Direction
	Directions Directions
}

// Same reports whether two verdicts name the same object.
func (v *Verdict) Same(o *Verdict) bool {
	return v.Link == o.Link && v.Node == o.Node && v.Host == o.Host && v.Port == o.Port
}

// A Judge concludes from the fate of self-probes what loses packets. Its methods must not be called
// concurrently.
//
// Grey. Each link has a sum S of log likelihood ratios between a loss of LossBad and one of
// LossGood, which does not fall below 0 (Page's test). A link is named when S reaches Threshold.
// While it loses LossGood or less, that takes at least e^Threshold = 10^10 probes on average
// (alpha: Lorden's bound). A link that loses a share p is named after Threshold / (p ln(LossBad /
// LossGood) - (LossBad - LossGood)) probes on average: 510 at 1 %, 6,400 at 0.1 %. It is named
// within 20,000 probes in 99 of 100 cases at 0.1 % (beta 0.01), within 2,000 at 1 %.
//
// Black hole. A host calls a target dead after three missed probes in a row. The Judge names a link
// when two hosts, and at least half of the hosts that probe the link, call it dead; or the only
// host. The Judge waits for one round of probes and their reports, in which the probes over the
// other links of a switch show whether the switch is bad. At a loss of LossGood two hosts call a
// link dead by chance once in 10^30 probes.
//
// The Judge sets lost probes aside that prove nothing about a link: those over links that the
// control plane has out of use, those of a host with a bad cable, those of a switch with a verdict,
// those among many congestion marks, and those over a link or cable that no probe ever passed,
// because its switches may lack their entries.
type Judge struct {
	now        time.Duration
	f          *fabric.Fabric
	plan       *Plan
	hosts      map[string]*hostEvidence
	links      map[int32]*linkEvidence
	nodes      map[topology.NodeID][]int32 // links up that begin or end at a switch, with evidence
	seats      map[topology.NodeID][]*seatEvidence
	said       []Verdict             // in force
	directions map[int32]*Directions // by place of the link up, of links with a verdict
	// hot are the links, and hotLeaves the leaves of cables, whose probes have been lost lately.
	hot       map[int32]bool
	hotLeaves map[topology.NodeID]bool
	// moved are the links whose use by the control plane may have changed.
	moved map[int32]bool
	// heard reports whether there is something new to judge.
	heard bool
}

// The loss rates between which the test decides, of a probe, and when it does.
const (
	LossGood  = 1e-5
	LossBad   = 1e-3
	Threshold = 23.02585092994046 // ln Alpha
	// Alpha is the probes over a link of LossGood until it is named by chance, on average.
	Alpha = 1e10
)

const (
	// perLoss and perPass are what a probe adds to the sum and takes from it.
	perLoss = 4.605170185988091     // ln (LossBad / LossGood)
	perPass = 0.0009904953467533396 // ln ((1 - LossGood) / (1 - LossBad))
	// maxMarked is the share of probes with congestion marks above which losses are congestion.
	maxMarked = 0.05
	// amongMarks is how many times as many probes must then be missed in a row.
	amongMarks = 3
	// clearPasses is the probes that must pass in a row before a verdict ends, and clearFactor the
	// expected losses among them at the loss named.
	clearPasses = 512
	clearFactor = 7
	// settleAtMost bounds the wait for the other links of a switch, and apart is how much longer
	// reports about them may be under way.
	settleAtMost = 500 * time.Millisecond
	apart        = 500 * time.Microsecond
	// staleReports is the reports that a host may miss before what it said before counts no more.
	staleReports = 4
)

// hostEvidence is the report of a host.
type hostEvidence struct {
	name    string
	version hostapi.Version
	round   time.Duration // in which every target is probed once
	report  time.Duration // between reports
	stale   time.Duration // after which what it said of a target is too old
	targets []*targetEvidence
	seats   map[uint8]*seatEvidence
}

// seatEvidence is the port of a host.
type seatEvidence struct {
	host   *hostEvidence
	port   uint8
	leaf   topology.NodeID
	target *targetEvidence // the probe to the leaf
	test   test
	bad    time.Duration // since when the test or the target says so; 0: they do not
}

// targetEvidence is what became of the probes to a target.
type targetEvidence struct {
	seat  *seatEvidence
	climb []int32
	// trip and asks of a target that crosses a single direction of a link; else trip is empty.
	trip  []int32
	asks  int32
	last  hostapi.SelfProbeCount // as reported
	heard time.Duration
	dead  bool
	since time.Duration // of the misses
	held  heldCount
	// Since the test of the last link of the climb was at 0: own probes, and those lost to the leaf.
	sent, lost, lostBelow uint64
}

// heldCount is the last report of a target. It counts when the next report comes: if queues mark
// packets then, they may have lost these probes, and hosts report losses later than marks.
type heldCount struct {
	passed, lost  uint64
	marked, after bool // among many congestion marks; after a report that was
}

// test is Page's test of a sequence of probes.
type test struct {
	sum    float64
	passes uint64        // in a row
	since  time.Duration // when the sum was at 0 last
	sent   uint64        // since then
	lost   uint64
	proven bool // a probe has passed
}

// add takes probes, and reports whether the sum is at 0.
func (t *test) add(now time.Duration, passed, lost uint64) (zero bool) {
	t.proven = t.proven || passed > 0
	if lost > 0 {
		t.passes = 0
		if t.sum == 0 {
			t.since, t.sent, t.lost = now, 0, 0
		}
	} else {
		t.passes += passed
	}
	t.sent, t.lost = t.sent+passed+lost, t.lost+lost
	t.sum = max(0, t.sum+float64(lost)*perLoss-float64(passed)*perPass)
	return t.sum == 0
}

// linkEvidence is a link up.
type linkEvidence struct {
	place   int32
	targets []*targetEvidence
	*kept
	// bad is since when the evidence says so of a kind, which may still change; 0: it does not.
	bad  time.Duration
	kind Kind
}

// kept is the evidence about a link that stays when plans change. From [Change.Add] on both plans
// share it, since the former plan still counts until [Judge.Use].
type kept struct {
	test test
	open bool // the control plane has it in use
}

// NewJudge returns a Judge without a plan.
func NewJudge() *Judge {
	return &Judge{hosts: make(map[string]*hostEvidence), links: make(map[int32]*linkEvidence),
		hot: make(map[int32]bool), hotLeaves: make(map[topology.NodeID]bool),
		moved: make(map[int32]bool), directions: make(map[int32]*Directions)}
}

// A Change has the evidence about the next plan that hosts follow. The caller adds the hosts one by
// one, so that no step takes long. The Judge keeps to the former plan until [Judge.Use].
type Change struct {
	j     *Judge
	f     *fabric.Fabric
	plan  *Plan
	hosts map[string]*hostEvidence
	links map[int32]*linkEvidence
	nodes map[topology.NodeID][]int32
	seats map[topology.NodeID][]*seatEvidence
	moved map[int32]bool // links that are new
}

// Change begins a change to a plan.
func (j *Judge) Change(f *fabric.Fabric, p *Plan) *Change {
	return &Change{j: j, f: f, plan: p, hosts: make(map[string]*hostEvidence),
		links: make(map[int32]*linkEvidence), nodes: make(map[topology.NodeID][]int32),
		seats: make(map[topology.NodeID][]*seatEvidence), moved: make(map[int32]bool)}
}

// Add takes the plan that a host was sent; nil: none. Hosts come in the order of their names. A
// host with an unchanged version keeps its evidence. Links keep their evidence unless the fabric
// changed.
func (c *Change) Add(name string, m *hostapi.SelfProbes) {
	targets := c.plan.Targets[name]
	if m == nil || len(targets) == 0 {
		return
	}
	h := c.j.hosts[name]
	if h == nil || h.version != m.Version || c.j.f != c.f {
		h = c.newHostEvidence(name, m, targets)
	}
	c.hosts[name] = h
	for _, port := range slices.Sorted(maps.Keys(h.seats)) {
		s := h.seats[port]
		c.seats[s.leaf] = append(c.seats[s.leaf], s)
	}
	for _, t := range h.targets {
		if len(t.climb) == 0 {
			continue
		}
		place := t.climb[len(t.climb)-1]
		l := c.links[place]
		if l == nil {
			l = &linkEvidence{place: place, kept: new(kept)}
			if known := c.j.links[place]; known != nil && c.j.f == c.f {
				l.kept = known.kept
			} else {
				c.moved[place] = true
			}
			c.links[place] = l
			for _, node := range []topology.NodeID{c.f.Edge(place).Local, c.f.Edge(place).Remote} {
				c.nodes[node] = append(c.nodes[node], place)
			}
		}
		l.targets = append(l.targets, t)
	}
}

// Use replaces the plan of the Judge by the plan of a Change.
func (j *Judge) Use(now time.Duration, c *Change) {
	j.now = max(j.now, now)
	if j.f != c.f {
		j.said = nil
		clear(j.directions)
		clear(j.hot)
		clear(j.hotLeaves)
	}
	maps.Copy(j.moved, c.moved)
	j.hosts, j.links, j.nodes, j.seats, j.f, j.plan = c.hosts, c.links, c.nodes, c.seats, c.f, c.plan
}

// newHostEvidence returns the evidence of a host with a new plan. It keeps the earlier evidence
// about the cables of the host, and which targets are dead until the host says more. A new target
// counts as heard: hosts report dead ones at once, and others with the next report, before which a
// switch must not seem to have dead ones alone.
func (c *Change) newHostEvidence(name string, m *hostapi.SelfProbes,
	targets []Target) *hostEvidence {
	before := c.j.hosts[name]
	known := make(map[hostapi.EV]*targetEvidence)
	if before != nil && c.j.f == c.f {
		for i, t := range c.j.plan.Targets[name] {
			known[t.EV] = before.targets[i]
		}
	}
	h := &hostEvidence{name: name, version: m.Version, report: m.Report,
		seats: make(map[uint8]*seatEvidence),
		round: min(settleAtMost, m.Interval*time.Duration(len(targets)))}
	h.stale = staleReports * (m.Report + m.Interval*time.Duration(len(targets)) + m.Timeout)
	for _, t := range targets {
		s := h.seats[t.EV.Port]
		if s == nil {
			s = &seatEvidence{host: h, port: t.EV.Port, leaf: t.Leaf}
			if before != nil && before.seats[t.EV.Port] != nil {
				s.test = before.seats[t.EV.Port].test
			}
			h.seats[t.EV.Port] = s
		}
		e := &targetEvidence{seat: s, climb: t.Climb, trip: t.Trip, asks: t.Asks, heard: c.j.now}
		if o := known[t.EV]; o != nil {
			e.heard, e.dead, e.since = o.heard, o.dead, o.since
		}
		if e.toLeaf() {
			s.target = e
		}
		h.targets = append(h.targets, e)
	}
	return h
}

// Restarted forgets the counters of a host: it counts anew.
func (j *Judge) Restarted(host string) {
	if h := j.hosts[host]; h != nil {
		for _, t := range h.targets {
			t.last, t.dead = hostapi.SelfProbeCount{}, false
		}
	}
}

// Moved notes that a link up may have gone out of use, or come back: the next Run asks.
func (j *Judge) Moved(place int32) {
	if j.links[place] != nil {
		j.moved[place], j.heard = true, true
	}
}

// forget drops the evidence about a link.
func (j *Judge) forget(place int32) {
	if l := j.links[place]; l != nil {
		l.test, l.bad = test{proven: l.test.proven}, 0
		for _, t := range l.targets {
			t.sent, t.lost, t.lostBelow, t.held = 0, 0, 0, heldCount{}
		}
	}
}

// Report takes the counts of a host. Invalid counts are an error and change nothing. Report ignores
// counts of earlier plans without an error.
func (j *Judge) Report(now time.Duration, host string, c *hostapi.SelfProbeCounts) error {
	j.now = max(j.now, now)
	h := j.hosts[host]
	if h == nil || h.version != c.Version {
		return nil
	}
	j.heard = true
	for i, n := range c.Counts {
		if n.Target < 0 || n.Target >= len(h.targets) {
			return fmt.Errorf("host %s: counts[%d].target: %d, want less than %d: %w", host, i, n.Target,
				len(h.targets), fabric.ErrMalformed)
		}
	}
	// Probes to leaves come first: they explain the others.
	for _, climbs := range []bool{false, true} {
		for i := range c.Counts {
			if t := h.targets[c.Counts[i].Target]; t.toLeaf() != climbs {
				j.count(t, &c.Counts[i])
			}
		}
	}
	return nil
}

// count takes the counters of a target.
func (j *Judge) count(t *targetEvidence, n *hostapi.SelfProbeCount) {
	if n.Passed < t.last.Passed || n.Lost < t.last.Lost || n.Marked < t.last.Marked {
		t.last = hostapi.SelfProbeCount{} // it has started again
	}
	passed, lost, marked := n.Passed-t.last.Passed, n.Lost-t.last.Lost, n.Marked-t.last.Marked
	t.last, t.heard = *n, j.now
	if len(t.trip) > 0 {
		if float64(marked) <= maxMarked*float64(passed) {
			j.countDirection(t, passed, lost)
		}
		return
	}
	was := t.held
	t.held = heldCount{passed, lost, float64(marked) > maxMarked*float64(passed), was.marked}
	misses := uint32(DeadAfter)
	if was.marked || t.held.marked {
		misses *= amongMarks
	}
	if t.dead, t.since = n.Misses >= misses, j.now-n.Missing; t.dead {
		t.test(j).passes = 0
		if t.toLeaf() {
			j.hotLeaves[t.seat.leaf] = true
		} else {
			j.hot[t.climb[len(t.climb)-1]] = true
		}
	}
	if passed, lost = was.passed, was.lost; lost > 0 && (was.marked || was.after || t.held.marked) {
		return
	}
	if t.toLeaf() {
		if lost > 0 {
			j.hotLeaves[t.seat.leaf] = true
		}
		t.seat.test.add(j.now, passed, lost)
		for _, o := range t.seat.host.targets {
			if o.seat == t.seat && len(o.climb) > 0 {
				o.lostBelow += lost
			}
		}
		return
	}
	l := j.links[t.climb[len(t.climb)-1]]
	if lost > 0 {
		j.hot[l.place] = true
	}
	if !l.test.proven && passed == 0 || !l.open {
		return
	}
	t.sent, t.lost = t.sent+passed+lost, t.lost+lost
	if l.test.add(j.now, passed, lost) {
		for _, o := range l.targets {
			o.sent, o.lost, o.lostBelow = 0, 0, 0
		}
	}
}

// toLeaf reports whether the leaf sends the probes of a target back.
func (t *targetEvidence) toLeaf() bool { return len(t.climb)+len(t.trip) == 0 }

// test returns the test of the object that a target examines: a cable, or the last link of its
// climb.
func (t *targetEvidence) test(j *Judge) *test {
	if len(t.climb) == 0 {
		return &t.seat.test
	}
	return &j.links[t.climb[len(t.climb)-1]].test
}

// DeadAfter is the probes lost in a row that make a target dead, as plans tell hosts.
const DeadAfter = 3

// Link returns what the probes over a link up say, and, if hosts call the link dead, when the first
// of the missed probes was sent.
func (j *Judge) Link(place int32) (p api.LinkProbes, deadSince time.Duration) {
	l := j.links[place]
	if l == nil {
		return p, 0
	}
	for _, t := range l.targets {
		p.Hosts++
		p.Passed, p.Lost = p.Passed+t.last.Passed, p.Lost+t.last.Lost
		p.SetAside += t.last.SetAside
		if t.dead {
			if p.Dead++; p.Dead == 1 || t.since < deadSince {
				deadSince = t.since
			}
		}
	}
	return p, deadSince
}
