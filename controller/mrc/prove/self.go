package prove

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/selfprobe"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/topology"
)

const (
	// selfWitnesses is how many hosts probe each link.
	selfWitnesses = 3
	// planWait is the pause between a host's arrival and the next plans, so many hosts that connect at
	// once cause one plan. awayWait is the pause after a host has gone, because the host may return.
	planWait = 100 * time.Millisecond
	awayWait = 2 * time.Second
	// selfReport lies between two reports of a host's counters.
	selfReport = 100 * time.Millisecond
	// maxLooks bounds the links whose directions hosts probe at a time.
	maxLooks = 32
	// planStep bounds a step of a planning, so that a denial waits for milliseconds at most: links and
	// targets, or hosts.
	planStep = 512
)

// SelfPlan is what a host is to probe by itself.
type SelfPlan struct {
	Host string
	Plan *hostapi.SelfProbes
}

// selfProber has hosts send probes to themselves, and accuses what loses them.
type selfProber struct {
	*env
	cfg      *inventory.MRC
	epoch    uint64
	suspects *suspectSet
	judge    *selfprobe.Judge
	plan     *selfprobe.Plan // nil: none yet

	number uint64
	sent   map[string]*hostapi.SelfProbes // what hosts that probe were sent last
	// follows are the plans that a host may follow, by its name: the last that the host has
	// acknowledged, and those sent since. A host without an entry has acknowledged none: it may follow
	// a plan of an earlier controller.
	follows map[string][]followed
	out     []SelfPlan               // not taken yet
	looks   []int32                  // links up whose directions are probed
	dueAt   time.Duration            // when plans are made; 0: they need not be
	gaps    map[int32]*selfprobe.Gap // by link
	making  *making                  // nil: no plans are made
	step    int                      // links and targets, or hosts, in a step of making plans
}

// making has the state of plans between the steps that make them.
type making struct {
	f        *fabric.Fabric
	names    []string // of all hosts, in order
	planning *selfprobe.Planning
	plan     *selfprobe.Plan // nil: the planning goes on
	change   *selfprobe.Change
	given    int // of the names
}

// followed is a plan that a host may follow, and its targets in a fabric.
type followed struct {
	number  uint64
	in      *fabric.Fabric
	targets []selfprobe.Target
	acked   bool
	// awaited: a drain waits for the next plan, even if its targets are the same.
	awaited bool
}

// replan has plans made after a while, where there may be any.
func (s *selfProber) replan(wait time.Duration) {
	at := max(1, s.now+wait)
	if s.dueAt > 0 && at >= s.dueAt {
		return
	}
	if s.cfg.SelfProbes() || len(s.follows) > 0 {
		s.dueAt = at
		return
	}
	for _, h := range s.hosts {
		if h.selfProbes {
			s.dueAt = at
			return
		}
	}
}

// run makes plans when it is time, and judges what has come.
func (s *selfProber) run() {
	switch {
	case s.making != nil:
		s.goOn()
	case s.dueAt > 0 && s.now >= s.dueAt && s.State.Synced():
		s.makePlans()
	}
	if s.plan != nil && s.now >= s.judge.Next(s.now+1) {
		s.suspects.judged(s.judge.Run(s.now, s.open))
		s.look()
	}
}

// look has hosts probe the directions of the links with a verdict, and takes what they say.
func (s *selfProber) look() {
	var looks []int32
	for i := range s.suspects.judgements {
		x := &s.suspects.judgements[i]
		v := x.verdict
		if v.Link < 0 {
			continue
		}
		looks = append(looks, v.Link)
		if was := v.Direction; s.judge.Direct(v) != was {
			d := &v.Directions
			s.Event(api.EventSuspectChanged, s.suspects.objectOf(x), fmt.Sprintf("loses packets %s: %d "+
				"of %d probes up, %d of %d down", v.Direction, d.Lost[0], d.Sent[0], d.Lost[1], d.Sent[1]),
				x.says(api.EventNumbers{ProbesSent: new(d.Sent[0] + d.Sent[1]),
					ProbesLost: new(d.Lost[0] + d.Lost[1])}))
		}
	}
	slices.Sort(looks)
	if looks = looks[:min(len(looks), maxLooks)]; !slices.Equal(looks, s.looks) {
		s.looks = looks
		s.judge.Look(looks)
		s.replan(0)
	}
}

// next lowers a time to that of the next run.
func (s *selfProber) next(at time.Duration) time.Duration {
	if s.making != nil {
		return min(at, s.now)
	}
	if s.dueAt > 0 {
		at = min(at, max(s.dueAt, s.now))
	}
	if s.plan != nil {
		at = s.judge.Next(at)
	}
	return at
}

// open reports whether a link up is in use in both directions.
func (s *selfProber) open(place int32) bool {
	back := s.State.Fabric().Back(place)
	return back >= 0 && !s.links.At(place).Denied() && !s.links.At(back).Denied()
}

// avoid returns the parts that probes must not cross now: drained parts, and links that are down.
func (s *selfProber) avoid() selfprobe.Avoid {
	f := s.State.Fabric()
	return selfprobe.Avoid{
		Link: func(place int32) string {
			for _, i := range f.Both(place) {
				switch at := s.links.At(i); {
				case at.Drained():
					return "it is drained"
				case at.Phase() == fabric.Down:
					return "it is down"
				}
			}
			return ""
		},
		Port: func(host string, port uint8, leaf topology.NodeID) bool {
			h := s.hosts[host]
			if h == nil {
				return true
			}
			p, _ := h.Port(port)
			return p.Drained || s.State.LeafDrained(leaf)
		},
	}
}

// makePlans begins to plan the probes of the connected hosts, and takes the first step: in a small
// fabric it is the only one.
func (s *selfProber) makePlans() {
	m := &making{f: s.State.Fabric(), names: slices.Sorted(maps.Keys(s.hosts))}
	s.dueAt, s.making = 0, m
	if s.cfg.SelfProbes() {
		var hosts []selfprobe.Host
		for _, name := range m.names {
			if h := s.hosts[name]; h.connected && h.selfProbes {
				hosts = append(hosts, selfprobe.Host{Name: name, At: h.At, LeafPorts: h.LeafPorts})
			}
		}
		m.planning = selfprobe.NewPlanning(m.f, hosts, selfWitnesses, s.avoid(), s.looks)
	} else {
		m.plan = &selfprobe.Plan{}
		m.change = s.judge.Change(m.f, m.plan)
	}
	s.goOn()
}

// goOn takes a step of making plans: it plans, and then hands out changed plans. Hosts that have
// nothing to probe get an empty plan: they may follow an earlier one.
func (s *selfProber) goOn() {
	m := s.making
	if m.plan == nil {
		if m.plan = m.planning.Step(s.step); m.plan == nil {
			return
		}
		if m.change = s.judge.Change(m.f, m.plan); len(m.names) > s.step {
			return
		}
	}
	for end := min(len(m.names), m.given+s.step); m.given < end; m.given++ {
		name := m.names[m.given]
		if h := s.hosts[name]; h != nil && h.selfProbes {
			s.give(name, m.plan.Targets[name])
			m.change.Add(name, s.sent[name])
		}
	}
	if m.given < len(m.names) {
		return
	}
	s.making, s.plan, s.gaps = nil, nil, make(map[int32]*selfprobe.Gap)
	for i := range m.plan.Gaps {
		if g := &m.plan.Gaps[i]; g.Link >= 0 {
			s.gaps[g.Link] = g
		}
	}
	if s.cfg.SelfProbes() {
		s.plan = m.plan
		s.judge.Use(s.now, m.change)
	}
}

// give hands targets to a host, unless they are the targets of the last plan and no drain waits for
// the next.
func (s *selfProber) give(name string, targets []selfprobe.Target) {
	known := s.follows[name]
	evs := make([]hostapi.EV, len(targets))
	for i, t := range targets {
		evs[i] = t.EV
	}
	if last := len(known) - 1; last >= 0 && !known[last].awaited && slices.EqualFunc(
		known[last].targets, evs, func(t selfprobe.Target, v hostapi.EV) bool { return t.EV == v }) {
		known[last].in, known[last].targets = s.State.Fabric(), targets
		return
	}
	s.number++
	p := &hostapi.SelfProbes{
		Version: hostapi.Version{Epoch: s.epoch, Number: s.number},
		Timeout: s.cfg.Probes.SelfTimeout.D(), DeadAfter: selfprobe.DeadAfter, Report: selfReport,
		DSCP: s.cfg.ProbeDSCP(), Targets: evs,
	}
	delete(s.sent, name)
	if len(evs) > 0 {
		p.Interval = time.Second / time.Duration(s.cfg.Probes.Self)
		s.sent[name] = p
	}
	s.follows[name] = append(known, followed{number: s.number, in: s.State.Fabric(),
		targets: targets})
	s.out = append(s.out, SelfPlan{Host: name, Plan: p})
}

// acknowledged notes that a host follows the plan of a version, or a later one.
func (s *selfProber) acknowledged(name string, v hostapi.Version) {
	known := s.follows[name]
	i := slices.IndexFunc(known, func(k followed) bool { return k.number == v.Number })
	if v.Epoch != s.epoch || i < 0 {
		return
	}
	known[i].acked = true
	s.follows[name] = slices.Delete(known, 0, i)
}

// Leave has hosts stop to probe what was drained. There must be a fabric.
func (p *Prover) Leave() {
	s := p.self
	if s.dueAt = 0; !p.State.Synced() {
		return
	}
	s.makePlans()
	for s.plan == nil && s.making != nil {
		s.goOn() // StillProbes compares with plans in the present fabric
	}
}

// Return has hosts probe objects whose drain has ended.
func (p *Prover) Return() { p.self.replan(planWait) }

// StillProbes returns the number of the plan that a host has to acknowledge before its probes cross
// nothing that is drained; ok is false when they do not. A host that has never said whether it
// takes plans may follow one.
func (p *Prover) StillProbes(h *Host) (number uint64, ok bool) {
	if h.greeted && !h.selfProbes {
		return 0, false
	}
	known := p.self.follows[h.Name]
	f, avoid := p.State.Fabric(), p.self.avoid()
	crosses := func(k followed) bool {
		return slices.ContainsFunc(k.targets, func(t selfprobe.Target) bool {
			return avoid.Crosses(h.Name, &t)
		})
	}
	number = p.self.lastOf(h.Name)
	if last := len(known) - 1; p.self.making != nil && (last < 0 && h.selfProbes ||
		last >= 0 && known[last].in == f && crosses(known[last])) {
		number = p.self.number + 1 // of the plans that are made
		if last >= 0 {
			known[last].awaited = true
		}
	}
	if len(known) == 0 || !known[0].acked {
		return max(1, number), true
	}
	return number, slices.ContainsFunc(known, func(k followed) bool { return k.in != f || crosses(k) })
}

// lastOf returns the number of the last plan of a host; 0: none.
func (s *selfProber) lastOf(name string) uint64 {
	if known := s.follows[name]; len(known) > 0 {
		return known[len(known)-1].number
	}
	return 0
}

// Follows returns the number of the plan that a host has acknowledged; 0: none. A host that takes
// no plans follows the last of all.
func (p *Prover) Follows(h *Host) uint64 {
	switch known := p.self.follows[h.Name]; {
	case h.greeted && !h.selfProbes:
		return math.MaxUint64
	case len(known) > 0 && known[0].acked:
		return known[0].number
	}
	return 0
}

// renewed notes that the fabric is another.
func (s *selfProber) renewed() {
	s.plan, s.making, s.looks, s.suspects.judgements = nil, nil, nil, nil
	s.replan(0)
}

// forget drops a removed host, and stops its probes.
func (s *selfProber) forget(name string) {
	if s.lastOf(name) > 0 {
		s.give(name, nil)
	}
	delete(s.sent, name)
	delete(s.follows, name)
}

// moved notes that a link may have gone out of use, or come back.
func (s *selfProber) moved(id topology.LinkID) {
	f := s.State.Fabric()
	if s.plan == nil && s.making == nil || f == nil {
		return
	}
	i, ok := f.Place(id)
	if !ok {
		return
	}
	if !f.Edge(i).Rises() {
		if i = f.Back(i); i < 0 {
			return
		}
	}
	s.judge.Moved(i)
	s.replan(awayWait) // probes leave links that are down
}

// SetSelfProbes records whether a host that has a stream takes a plan of self-probes. Restarted
// says that its counters start anew.
func (p *Prover) SetSelfProbes(h *Host, takes, restarted bool) {
	h.selfProbes, h.greeted = takes, true
	if restarted {
		p.self.judge.Restarted(h.Name)
	}
	p.self.replan(planWait)
}

// SelfPlans returns the plans for hosts that were not taken before.
func (p *Prover) SelfPlans() []SelfPlan {
	out := p.self.out
	p.self.out = nil
	return out
}

// SelfProbeCounts records what became of the probes of a host to itself. The error is of kind
// fabric.ErrMalformed.
func (p *Prover) SelfProbeCounts(h *Host, c *hostapi.SelfProbeCounts) error {
	p.self.acknowledged(h.Name, c.Version)
	err := p.self.judge.Report(p.now, h.Name, c)
	if err != nil {
		p.Counters.BadCounts++
		return err
	}
	if p.State.Fabric() != nil {
		p.self.run()
	}
	return nil
}

// judged takes the verdicts about self-probes in force, and denies the accused links if the
// configuration allows that.
func (s *suspectSet) judged(found []selfprobe.Verdict) {
	f, before := s.State.Fabric(), s.judgements
	s.judgements = nil
	for _, v := range found {
		x := accused{verdict: &v, Suspect: suspect.Suspect{
			Links: verdictLinks(f, &v), Loss: float64(v.Lost) / float64(max(1, v.Sent)),
			Sent: v.Sent, Lost: v.Lost, Paths: v.Hosts,
			Confidence: 1 - 1/(1+float64(selfprobe.Alpha)),
		}, since: v.Since}
		if v.Kind == selfprobe.BlackHole {
			x.Loss = 1
		}
		known := slices.IndexFunc(before, func(o accused) bool { return o.verdict.Same(&v) })
		if known >= 0 && before[known].verdict.Kind == v.Kind {
			x.denied, x.why = before[known].denied, before[known].why
			v.Direction, v.Directions = before[known].verdict.Direction, before[known].verdict.Directions
		} else {
			s.Event(api.EventSuspectChanged, s.objectOf(&x), fmt.Sprintf("%s: %d of %d probes of %d hosts "+
				"to themselves are lost", wordsOf[v.Kind], v.Lost, v.Sent, v.Hosts),
				x.says(api.EventNumbers{ProbesSent: &v.Sent, ProbesLost: &v.Lost}))
			s.act(&x)
		}
		s.judgements = append(s.judgements, x)
	}
	// A denied link is judged anew when it is back in use; until then the link stays on the list.
	for _, x := range before {
		if !x.denied || slices.ContainsFunc(s.judgements, func(o accused) bool {
			return o.verdict.Same(x.verdict)
		}) {
			continue
		}
		if slices.ContainsFunc(x.verdict.Links, func(i int32) bool {
			return int(i) < s.links.Len() && s.links.At(i).Phase() != fabric.Up
		}) {
			s.judgements = append(s.judgements, x)
		}
	}
}

// wordsOf describes a kind of verdict.
var wordsOf = map[selfprobe.Kind]string{selfprobe.BlackHole: "a black hole",
	selfprobe.Grey: "loses packets"}

// verdictLinks returns both directions of the links of a verdict.
func verdictLinks(f *fabric.Fabric, v *selfprobe.Verdict) (out []topology.LinkID) {
	for _, i := range v.Links {
		for _, end := range f.Both(i) {
			out = append(out, f.Edge(end).ID)
		}
	}
	return out
}

// objectOf names what a verdict accuses.
func (s *suspectSet) objectOf(x *accused) string {
	o := x.objects()[0]
	if o.Kind != "node" {
		return o.ID
	}
	return cmp.Or(fabric.NameOf(s.State.Advertised(), x.verdict.Node), o.ID)
}

// says names what is accused, with figures.
func (x *accused) says(n api.EventNumbers) api.EventFields {
	return api.EventFields{Numbers: &n, Objects: x.objects()}
}

// objects are what is accused: one, if a verdict says so.
func (x *accused) objects() (out []api.EventObject) {
	links := x.Links
	if v := x.verdict; v != nil {
		switch {
		case v.Host != "":
			return []api.EventObject{{Kind: "host-port", ID: fmt.Sprintf("%s/%d", v.Host, v.Port)}}
		case v.Node != "":
			return []api.EventObject{{Kind: "node", ID: string(v.Node)}}
		}
		links = links[:1]
	}
	for _, id := range links {
		out = append(out, api.EventObject{Kind: "link", ID: string(id)})
	}
	return out
}

// act denies the links of a verdict, or notes why not.
func (s *suspectSet) act(x *accused) {
	v := x.verdict
	switch {
	case v.Host != "":
		x.why = "the link of a host: drain the host's port to keep packets from it"
	case v.Kind == selfprobe.BlackHole && !s.cfg.DenyBlackHoles:
		x.why = "black holes are not denied (suspects.denyBlackHoles)"
	case v.Kind == selfprobe.Grey && !s.cfg.Deny:
		x.why = "suspects are not denied (suspects.deny)"
	case v.Kind == selfprobe.Grey && x.Loss < s.cfg.DenyLoss:
		x.why = fmt.Sprintf("it loses %.2g, less than %.2g", x.Loss, s.cfg.DenyLoss)
	case v.Single:
		x.why = "one host alone probes it: want the reports of two"
	}
	if x.why != "" {
		return
	}
	cause := fmt.Sprintf("loses %.2g of its packets", x.Loss)
	for _, i := range v.Links {
		ends := s.State.Fabric().Both(i)
		if slices.ContainsFunc(ends, func(i int32) bool { return s.links.At(i).Phase() != fabric.Up }) {
			continue
		}
		if why := cmp.Or(s.LastPath(ends[0]), s.LastPath(ends[len(ends)-1])); why != "" {
			x.why = why
			continue
		}
		for _, i := range ends {
			s.links.Deny(i, cause)
		}
		x.denied = true
	}
}

// viewJudgement describes what a verdict accuses.
func (e *env) viewJudgement(x *accused, v *api.Suspect) {
	v.Kind, v.By = x.verdict.Kind.String(), "selfProbes"
	if v.Links == nil {
		v.Links = []topology.LinkID{}
	}
	now, f := e.State.Advertised(), e.State.Fabric()
	switch j := x.verdict; {
	case j.Host != "":
		v.Host, v.HostPort, v.FromName = j.Host, j.Port, j.Host
		if at := e.State.Host(j.Host); at != nil {
			v.To = at.Rack().Leaf(j.Port)
			v.ToName = fabric.NameOf(now, v.To)
		}
	case j.Node != "":
		v.Node, v.NodeName = j.Node, fabric.NameOf(now, j.Node)
	default:
		e := f.Edge(j.Link)
		v.Directions = []api.SuspectDirection{
			{From: e.Local, To: e.Remote, Sent: j.Directions.Sent[0], Lost: j.Directions.Lost[0]},
			{From: e.Remote, To: e.Local, Sent: j.Directions.Sent[1], Lost: j.Directions.Lost[1]}}
		switch j.Direction {
		case selfprobe.Unknown:
			v.Directions = nil
		case selfprobe.Both:
			v.Direction = "both"
		case selfprobe.Falling:
			e = f.Reverse(e)
			fallthrough
		case selfprobe.Rising:
			v.Direction, v.Links = "one", []topology.LinkID{e.ID}
		}
		v.From, v.To = e.Local, e.Remote
		v.FromName, v.ToName = fabric.NameOf(now, v.From), fabric.NameOf(now, v.To)
	}
}

// LinkTruth returns what self-probes and counters say about a link, and what was concluded; a part
// that says nothing is absent.
func (p *Prover) LinkTruth(place int32, wall func(time.Duration) time.Time) api.LinkTruth {
	var t api.LinkTruth
	f := p.State.Fabric()
	e := f.Edge(place)
	up, id := place, e.ID
	if back := f.Back(place); !e.Rises() && back >= 0 {
		up = back
	}
	if n, ok := p.suspects.counts[id]; ok {
		t.Counters = &api.LinkCounters{Sent: n.sent, Received: n.received, Missing: n.missing}
	}
	if p.self.plan != nil {
		w, since := p.self.judge.Link(up)
		if t.Probes = &w; w.Dead > 0 {
			w.DeadSince = wall(since)
		}
		if g := p.self.gaps[up]; g != nil {
			t.Probes.Gap = g.Why
		} else if w.Hosts == 0 && len(p.self.plan.Gaps) > 0 && p.self.plan.Gaps[0].Host == "" {
			t.Probes.Gap = p.self.plan.Gaps[0].Why
		}
	}
	for _, list := range [...][]accused{p.suspects.judgements, p.suspects.list} {
		for i := range list {
			if x := &list[i]; t.Concluded == nil && slices.Contains(x.Links, id) {
				s := p.viewSuspect(x, wall)
				t.Concluded = &api.LinkConclusion{Kind: s.Kind, Node: s.Node, Loss: s.Loss, Since: s.Since,
					Direction: s.Direction, Denied: s.Denied, Why: s.Why}
				if s.Direction == "one" && !slices.Contains(s.Links, id) {
					t.Concluded.Direction = "other"
				}
			}
		}
	}
	return t
}
