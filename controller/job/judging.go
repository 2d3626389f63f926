package job

import (
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/job/ready"
)

// judgeEvery is how often the feature judges a job without readings of the fabric. The feature
// judges other jobs at each reading.
const judgeEvery = 500 * time.Millisecond

// judging has the pending judgements and questions.
type judging struct {
	// Others returns further obstacles of a job, with the known facts of the fabric.
	Others func(t *Task, fabric *ready.Fabric) []ready.Other

	seen  *fabricview.View // that jobs were judged on
	under bool             // a judgement is under way
	fresh bool             // jobs may be to be judged that were not when seen came
	again time.Duration    // when jobs without readings are judged
	asked []question
}

// question asks for the facts of jobs; the answer waits for newer readings of all these jobs.
type question struct {
	id    uint64
	names []string
	since uint64
}

// Known is the answer to a question about a job.
type Known struct {
	Task
	Reading *fabricview.Reading // nil: the fabric is not read
	Facts   *ready.Facts
	behind  bool // connected hosts do not hold all that they were told
}

// renew has a job judged on what is read of the fabric from now on.
func (f *Feature) renew(j *item) {
	j.Decided.readiness, j.Decided.since = nil, f.env.Wanted+1
}

// Changed reports whether jobs or their needs have changed since the last call.
func (f *Feature) Changed() bool {
	changed := f.changed
	f.changed = false
	return changed
}

// Wants returns what the jobs whose readiness matters want of the MRC fabric.
func (f *Feature) Wants() (out []fabricview.Job) {
	for _, j := range f.All.All() {
		if d := j.Decided.demand; d != nil && (f.phase(j) != api.PhaseDone || f.asks(j.Name)) {
			out = append(out, fabricview.Job{Need: &d.Need, Over: over(j), Since: j.Decided.since})
		}
	}
	return out
}

// reading returns the newest reading that counts for a job; ok is false while it is awaited.
func (f *Feature) reading(j *item) (r *fabricview.Reading, ok bool) {
	if f.env.Fabric.Jobs == nil || j.Decided.demand == nil {
		return nil, true
	}
	r = f.env.Fabric.Jobs[&j.Decided.demand.Need]
	return r, r != nil && r.Wants >= j.Decided.since
}

// due reports whether a job is to be judged now, on a reading.
func (f *Feature) due(j *item) (r *fabricview.Reading, due bool) {
	r, ok := f.reading(j)
	last := j.Decided.readiness
	switch {
	case !ok || f.phase(j) == api.PhaseDone,
		f.env.Fabric.Revision == 0 && f.env.Inventory().MRC.On(): // the first view is about to come
		return nil, false
	case last == nil || last.version != j.Version || last.reading != r:
		return r, true
	}
	return r, r == nil && f.env.Now >= last.at+judgeEvery
}

// Work judges the due jobs; nil: no job is due, or a judgement is running.
func (f *Feature) Work() feature.Work {
	if f.under || f.seen == f.env.Fabric && !f.fresh && (f.again == 0 || f.env.Now < f.again) {
		return nil
	}
	f.seen, f.fresh, f.again = f.env.Fabric, false, 0
	var all []Known
	var switches map[string]ready.Fact
	for _, j := range f.All.All() {
		r, due := f.due(j)
		switch {
		case due:
			if switches == nil {
				switches = f.Switches()
			}
			all = append(all, f.knownOf(j, r, switches))
		case r == nil && j.Decided.readiness != nil && f.phase(j) != api.PhaseDone:
			f.again = f.env.Now + judgeEvery
		}
	}
	if len(all) == 0 {
		return nil
	}
	f.under = true
	return func() func() {
		out := make([]api.JobReadiness, len(all))
		for i := range all {
			all[i].behind = behind(all[i].Facts)
			out[i] = ready.Judge(all[i].Name, all[i].Facts, all[i].Last)
		}
		return func() {
			f.under, f.fresh = false, true
			for i := range all {
				k := &all[i]
				f.SetReadiness(&k.Task, out[i], k.behind, k.Reading)
			}
		}
	}
}

// behind reports whether connected hosts do not hold all that they were told.
func behind(f *ready.Facts) bool {
	return slices.ContainsFunc(f.Fabric.NICs, func(n ready.NIC) bool {
		return n.Stream.State == ready.Good && n.Holds.State != ready.Good
	})
}

// SetReadiness reports the readiness of a job for a task, judged on a reading of the fabric, nil
// without one. behind: connected hosts do not hold all the state sent to them. SetReadiness ignores
// a result for another version of the job, and a result from before the end of the job.
func (f *Feature) SetReadiness(
	t *Task, r api.JobReadiness, behind bool, on *fabricview.Reading,
) {
	name, version := t.Name, t.Version
	j := f.All.Get(name)
	if j == nil || j.Version != version || over(j) != t.Over {
		return
	}
	before, phase := j.Decided.readiness, f.phase(j)
	next := &judged{version: version, JobReadiness: r, behind: behind, since: r.At, reading: on,
		at: f.env.Now}
	if before != nil && before.Go == r.Go {
		next.since = before.since
	}
	j.Decided.readiness = next
	switch {
	case over(j):
	case r.Go && (before == nil || !before.Go):
		f.env.Event(api.EventJobReady, name, "GO", nil)
	case !r.Go && (before == nil || before.Go || !sameCauses(before.Blockers, r.Blockers)):
		f.env.Event(api.EventJobBlocked, name, ready.Summary(&r), nil)
	}
	if now := f.phase(j); now != phase {
		f.env.Event(api.EventJobChanged, name, string(now), nil)
		f.changed = f.changed || now == api.PhaseDone
	}
}

// sameCauses reports whether two lists of blockers have the same causes.
func sameCauses(a, b []api.JobBlocker) bool {
	if len(a) != len(b) {
		return false
	}
	is := make(map[[3]string]bool, len(a))
	for i := range a {
		is[[3]string{a[i].Kind, a[i].Object, a[i].State}] = true
	}
	for i := range b {
		if !is[[3]string{b[i].Kind, b[i].Object, b[i].State}] {
			return false
		}
	}
	return true
}

// knownOf returns the known state of a job's dependencies.
func (f *Feature) knownOf(j *item, r *fabricview.Reading, switches map[string]ready.Fact) Known {
	t := task(j)
	facts := &ready.Facts{At: f.env.Wall(), Need: &ready.Need{}}
	k := Known{Task: t, Reading: r, Facts: facts}
	if t.Demand == nil {
		facts.Fabric.Known = ready.Fact{State: ready.Bad,
			Why: "the spec of the job is not valid any more"}
		return k
	}
	facts.Need, facts.Switches, facts.Groups = &t.Demand.Need, switches, f.GroupFacts(&t)
	switch {
	case r != nil:
		facts.Fabric = r.Fabric
	case f.env.Inventory().MRC.On():
		facts.Fabric.Known = ready.Fact{Why: "the controller has just started"}
	default:
		facts.Fabric.Known = ready.Fact{State: ready.Bad, Why: "the configuration has no MRC fabric"}
	}
	if f.Others != nil {
		facts.Others = f.Others(&t, &facts.Fabric)
	}
	return k
}

// Task is a request for the readiness of a job.
type Task struct {
	Name    string
	Version uint64
	Spec    api.JobSpec
	Demand  *Demand
	// Last is the readiness that was reported last; nil: none was.
	Last     *api.JobReadiness
	Priority int
	Running  bool
	// Ends is the end of the job's lease without a renewal; zero: never.
	Ends time.Time
	// Over: the job has ended, and hosts may still hold what followed from it.
	Over bool
}

func task(j *item) Task {
	t := Task{Name: j.Name, Version: j.Version, Spec: j.Spec, Demand: j.Decided.demand, Over: over(j),
		Priority: j.Spec.Priority, Running: j.Spec.State == api.JobRunning && !over(j), Ends: ends(j)}
	if r := j.Decided.readiness; r != nil {
		t.Last = &r.JobReadiness
	}
	return t
}

// Switches returns whether the switches that the controller programs hold all that they should.
func (f *Feature) Switches() map[string]ready.Fact {
	out := make(map[string]ready.Fact)
	inv := f.env.Inventory()
	for i := range inv.Switches {
		sw := &inv.Switches[i]
		if !sw.Managed() {
			continue
		}
		out[sw.Name] = f.programmed(sw.Name)
	}
	return out
}

// programmed reports whether a switch holds all its entries, according to the last read-back.
func (f *Feature) programmed(sw string) ready.Fact {
	d, ok := f.env.Switches.Status(sw)
	fact := ready.Fact{State: ready.Bad, Since: f.env.Start.Add(d.Since).UTC()}
	switch {
	case !ok:
		return ready.Fact{}
	case !d.Connected:
		fact.Why = "not connected: " + d.Reason
	case f.env.Net.Node(sw) == nil:
		fact.Since, fact.Why = time.Time{}, "not in the topology"
	case !f.env.Underlay.Ready(sw):
		fact.Since, fact.Why = time.Time{}, "it does not have its routes"
	case d.Pending > 0 || d.Blocked:
		fact.Since, fact.Why = time.Time{}, fmt.Sprintf("%d updates to make", d.Pending)
	default:
		return ready.IsGood()
	}
	return fact
}

// Ask asks for the facts of jobs, read anew. The answer, a []Known of the remaining jobs, comes
// under the id.
func (f *Feature) Ask(names []string) (id uint64) {
	q := question{id: f.env.Question(), names: names, since: f.env.Wanted + 1}
	for _, name := range names {
		if j := f.All.Get(name); j != nil && j.Decided.demand != nil {
			j.Decided.since = q.since
		}
	}
	f.asked, f.changed = append(f.asked, q), true
	return q.id
}

// asks reports whether somebody waits for what is known of a job.
func (f *Feature) asks(name string) bool {
	return slices.ContainsFunc(f.asked, func(q question) bool {
		return slices.Contains(q.names, name)
	})
}

// answer answers the questions whose readings are there.
func (f *Feature) answer() {
	f.asked = slices.DeleteFunc(f.asked, func(q question) bool {
		out := []Known{}
		for _, name := range q.names {
			j := f.All.Get(name)
			if j == nil {
				continue
			}
			r, _ := f.reading(j)
			if f.env.Fabric.Jobs != nil && j.Decided.demand != nil && (r == nil || r.Wants < q.since) {
				return false
			}
			out = append(out, f.knownOf(j, r, f.Switches()))
		}
		f.env.Answer(q.id, out)
		f.changed = true // what is read for them may not be wanted any more
		return true
	})
}
