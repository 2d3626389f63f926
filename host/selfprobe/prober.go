package selfprobe

import (
	"math/rand/v2"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/internal/ring"
)

// Prober follows a plan of self-probes. It is not safe for concurrent use.
type Prober struct {
	rng  *rand.Rand
	plan *hostapi.SelfProbes // nil: none
	now  time.Duration       // the latest

	targets []target
	next    int           // place of the target whose turn it is
	due     time.Duration // when that target is probed
	wanted  time.Duration // when Take should have been called at the latest
	out     ring.Ring[sent]
	first   uint16 // id of the oldest probe in out
	late    int    // how many of out, from the oldest, have taken longer than the timeout

	taken    bool          // the plan is to be acknowledged
	reportAt time.Duration // when counters are due
	changed  []int         // targets with news
	urgent   []int         // of these, targets that have died or come back to life
}

// target is a destination of probes, with their results.
type target struct {
	hostapi.SelfProbeCount
	order   uint64        // of the last probe that came back, and sent of the last probe
	sent    uint64        // probes so far
	missing time.Duration // when the first of the misses was sent
	news    bool          // it is in changed
}

// sent is a probe under way.
type sent struct {
	target int
	order  uint64 // among the target's probes
	at     time.Duration
	over   bool // its fate is known
}

// maxOut bounds the probes under way: ids have 16 bits, and a late probe must not have the id of
// another one.
const maxOut = 1 << 15

// New returns a Prober without a plan. The seed draws when the first probe of a plan leaves, so
// that hosts do not probe in step.
func New(seed uint64) *Prober { return &Prober{rng: rand.New(rand.NewPCG(seed, 0x5e1f))} }

// Set follows a valid plan from now on, which the next Report says. The plan with the version that
// the Prober has changes nothing else.
func (p *Prober) Set(now time.Duration, plan *hostapi.SelfProbes) {
	p.taken = true
	if p.plan != nil && plan.Version == p.plan.Version {
		return
	}
	p.advance(now)
	p.plan, p.targets, p.next = plan, make([]target, len(plan.Targets)), 0
	p.changed, p.urgent = nil, nil
	p.first += uint16(p.out.Len())
	p.out, p.late = ring.Ring[sent]{}, 0
	for i := range p.targets {
		p.targets[i].Target = i
	}
	if len(plan.Targets) == 0 {
		return
	}
	round := plan.Interval * time.Duration(len(plan.Targets))
	p.due = p.now + time.Duration(p.rng.Int64N(int64(round)))
	p.wanted, p.reportAt = p.due, p.now+plan.Report
}

// active reports whether there is something to probe.
func (p *Prober) active() bool { return p.plan != nil && len(p.plan.Targets) > 0 }

// patience is how much later than wanted a call may come before the host counts as asleep: what
// waits for it may have come in time.
func (p *Prober) patience() time.Duration { return p.plan.Timeout / 4 }

// gone is how long after a probe was sent it is lost. Between the timeout and then it is late: what
// comes back then was not lost, but held up.
func (p *Prober) gone() time.Duration { return min(lateTimeouts*p.plan.Timeout, maxLate) }

const (
	lateTimeouts = 8
	maxLate      = 2 * time.Second
)

// Take returns the next probe to send now; ok is false when none is due. It also gives up the
// probes that have taken too long.
func (p *Prober) Take(now time.Duration) (id uint16, to hostapi.EV, ok bool) {
	p.advance(now)
	if !p.active() || p.now < p.due || p.out.Len() >= maxOut {
		return 0, hostapi.EV{}, false
	}
	i := p.next
	p.next = (p.next + 1) % len(p.targets)
	p.due += p.plan.Interval
	t := &p.targets[i]
	t.sent++
	p.out.Push(sent{target: i, order: t.sent, at: p.now})
	p.settle()
	return p.first + uint16(p.out.Len()-1), p.plan.Targets[i], true
}

// advance sets the time, and decides about the probes whose time is over.
func (p *Prober) advance(now time.Duration) {
	p.now = max(p.now, now)
	if !p.active() {
		return
	}
	if p.now > p.wanted+p.patience() {
		p.awake()
	}
	for ; p.late < p.out.Len() && p.out.At(p.late).at+p.plan.Timeout <= p.now; p.late++ {
		if x := p.out.At(p.late); !x.over {
			p.miss(x)
		}
	}
	for p.late > 0 && (p.out.At(0).over || p.out.At(0).at+p.gone() <= p.now) {
		if x := p.out.At(0); !x.over {
			p.targets[x.target].Lost++
			p.tell(x.target)
		}
		p.out.Pop()
		p.first++
		p.late--
	}
	p.settle()
}

// awake sets the probes under way aside: the host has slept. It goes on from now.
func (p *Prober) awake() {
	for i := range p.out.Len() {
		if x := p.out.At(i); !x.over {
			x.over = true
			p.targets[x.target].SetAside++
			p.tell(x.target)
		}
	}
	p.due = max(p.due, p.now)
}

// settle notes when the next call is wanted.
func (p *Prober) settle() {
	p.wanted = p.due
	if p.late < p.out.Len() {
		p.wanted = min(p.wanted, p.out.At(p.late).at+p.plan.Timeout)
	}
	if p.late > 0 {
		p.wanted = min(p.wanted, p.out.At(0).at+p.gone())
	}
	p.wanted = max(p.wanted, p.now)
}

// miss counts a probe that did not come back in time among the misses in a row.
func (p *Prober) miss(x *sent) {
	t := &p.targets[x.target]
	p.tell(x.target)
	if x.order < t.order {
		return // a later probe has come back
	}
	if t.Misses++; t.Misses == 1 {
		t.missing = x.at
	}
	if int(t.Misses) == p.plan.DeadAfter {
		p.urgent = append(p.urgent, x.target)
	}
}

// Unsent sets a probe of Take aside that could not be sent.
func (p *Prober) Unsent(id uint16) {
	if x := p.find(id); x != nil {
		x.over = true
		p.targets[x.target].SetAside++
		p.tell(x.target)
	}
}

// Received counts a probe that has come back, with a congestion mark or without; a late one is set
// aside. A probe that is unknown, or was lost already, is ignored.
func (p *Prober) Received(id uint16, marked bool) {
	x := p.find(id)
	if x == nil {
		return
	}
	x.over = true
	t := &p.targets[x.target]
	switch {
	case p.now >= x.at+p.plan.Timeout:
		t.SetAside++
	case marked:
		t.Passed++
		t.Marked++
	default:
		t.Passed++
	}
	p.tell(x.target)
	if x.order < t.order {
		return
	}
	t.order = x.order
	if p.plan.DeadAfter <= int(t.Misses) {
		p.urgent = append(p.urgent, x.target)
	}
	t.Misses, t.missing = 0, 0
}

// find returns a probe under way; nil: there is none with the id.
func (p *Prober) find(id uint16) *sent {
	i := int(id - p.first)
	if i >= p.out.Len() || p.out.At(i).over {
		return nil
	}
	return p.out.At(i)
}

// tell notes that a target has news.
func (p *Prober) tell(i int) {
	if t := &p.targets[i]; !t.news {
		t.news = true
		p.changed = append(p.changed, i)
	}
}

// Report returns what there is to say now: that the Prober follows another plan, and the targets
// that have died or come back to life, at once; all others with news when a report is due. nil:
// nothing.
func (p *Prober) Report(now time.Duration) *hostapi.SelfProbeCounts {
	p.now = max(p.now, now)
	if p.plan == nil {
		return nil
	}
	tell, taken := p.urgent, p.taken
	p.urgent, p.taken = nil, false
	if p.active() && p.now >= p.reportAt {
		p.reportAt = p.now + p.plan.Report
		tell, p.changed = p.changed, nil
		for _, i := range tell {
			p.targets[i].news = false
		}
	}
	if len(tell) == 0 && !taken {
		return nil
	}
	out := &hostapi.SelfProbeCounts{Version: p.plan.Version}
	for _, i := range tell {
		c := p.targets[i].SelfProbeCount
		if c.Misses > 0 {
			c.Missing = p.now - p.targets[i].missing
		}
		out.Counts = append(out.Counts, c)
	}
	return out
}

// Next returns when Take and Report should be called next; pending is false without targets, when
// all has been said.
func (p *Prober) Next() (at time.Duration, pending bool) {
	if p.taken || len(p.urgent) > 0 {
		return p.now, true
	}
	if !p.active() {
		return 0, false
	}
	at = p.wanted
	if len(p.changed) > 0 {
		at = min(at, p.reportAt)
	}
	return max(at, p.now), true
}

// DSCP is the codepoint of the probes of the plan.
func (p *Prober) DSCP() uint8 { return p.plan.DSCP }
