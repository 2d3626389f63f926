package job

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/job/ready"
)

// Groups gives access to the multicast groups of a controller that jobs make.
type Groups interface {
	// Made returns the groups that jobs have made.
	Made() []Group
	// Put makes a group for a job, or changes the job's. The error is an *api.Error.
	Put(job, name string, spec api.MulticastGroupSpec) error
	// Delete deletes a group of a job; Own gives the group to another job.
	Delete(name string)
	Own(name, job string)
	// Complete returns a spec with its defaults.
	Complete(spec api.MulticastGroupSpec) api.MulticastGroupSpec
	// State reports whether switches hold a group, and why not.
	State(name string) (programmed bool, why string)
}

// Group is a multicast group that a job has made.
type Group struct {
	Name, Job string
	Spec      api.MulticastGroupSpec
}

// groupsAgain is the pause before the next try to make refused groups.
const groupsAgain = 2 * time.Second

// grouping are the groups of all jobs.
type grouping struct {
	made Groups
	// due: the wishes of jobs may have changed. again is the time of the next attempt for refused
	// groups; 0: none.
	due   bool
	again time.Duration
	// of are the groups that jobs want, by job.
	of map[string][]*wanted
}

// wanted is a group that a job wants.
type wanted struct {
	job, communicator string
	ranks             []int // of the communicator
	source            int   // place in ranks
	own               string
	spec              api.MulticastGroupSpec
	waits             string // why there is nothing to make yet
	refused           string
	group             string // that carries it; "": none
	held              bool   // group is as wanted
}

// groupName returns the name of a group of a job.
func groupName(job string, c *api.JobCommunicator, k int) string {
	name := job + "-" + c.Name
	if c.Pattern == api.PatternAllGather {
		name += fmt.Sprintf("-%d", k)
	}
	return name
}

// wants returns the groups that a job wants. The spec of one with a reason to wait is not complete.
func (f *Feature) wants(j *item) (out []*wanted) {
	if over(j) || j.Decided.demand == nil || !j.Spec.HasGroups() {
		return nil
	}
	places, err := j.Spec.Places(expand)
	if err != nil {
		return nil
	}
	for i := range j.Spec.Communicators {
		c := &j.Spec.Communicators[i]
		members, err := c.Members(len(places))
		if c.Multicast == nil || err != nil {
			continue
		}
		waits := ""
		nics := make([]netip.Addr, len(members))
		for p, r := range members {
			name := j.Spec.MulticastNIC(c.Multicast, places[r])
			if h := f.nics[name]; h != nil {
				nics[p] = h.Address
			} else if waits == "" {
				waits = fmt.Sprintf("the inventory has no NIC %s any more", name)
			}
		}
		for k := range c.Groups(len(members)) {
			w := &wanted{job: j.Name, communicator: c.Name, ranks: members, source: k,
				own: groupName(j.Name, c, k), waits: waits}
			var known bool
			if w.spec, known = c.Group(k, nics); !known {
				w.waits = "the numbers of its queue pairs are not known: want qpn, or queuePairs"
			} else if waits == "" {
				w.spec = f.groups.made.Complete(w.spec)
			}
			out = append(out, w)
		}
	}
	return out
}

// Settle implements feature.Feature: it makes the groups of jobs, and removes groups that no job
// wants any more. Groups with equal members are one group.
func (f *Feature) Settle() (more bool) {
	f.answer()
	g := &f.groups
	if !g.due || g.made == nil {
		return false
	}
	g.due, g.again = false, 0
	before := g.of
	g.of = make(map[string][]*wanted)
	var all []*wanted
	for _, j := range f.All.All() {
		if w := f.wants(j); len(w) > 0 {
			g.of[j.Name] = w
			all = append(all, w...)
		}
	}
	made := g.made.Made()
	if len(all)+len(made) == 0 {
		return false
	}
	users := g.match(all, made)
	for i := range made {
		switch by := users[made[i].Name]; {
		case len(by) == 0:
			g.made.Delete(made[i].Name)
			more = true
		case !slices.Contains(by, made[i].Job):
			g.made.Own(made[i].Name, by[0])
		}
	}
	for _, w := range all {
		more = g.make(w, all) || more
		if w.refused != "" {
			g.again = f.env.Now + groupsAgain
		}
	}
	f.tellRefused(before)
	return more
}

// match finds existing groups for the requests of jobs, and returns the jobs that use each group,
// by group name.
func (g *grouping) match(all []*wanted, made []Group) map[string][]string {
	users := make(map[string][]string)
	byName := make(map[string]*Group, len(made))
	for i := range made {
		byName[made[i].Name] = &made[i]
	}
	changing := make(map[string]bool)
	use := func(w *wanted, m *Group) {
		name := m.Name
		w.group, w.held = name, w.waits != "" || m.Spec.Equal(&w.spec)
		changing[name] = !w.held
		if !slices.Contains(users[name], w.job) {
			users[name] = append(users[name], w.job)
		}
	}
	for _, w := range all { // also what waits keeps what it has
		if m := byName[w.own]; m != nil && m.Job == w.job {
			use(w, m)
		}
	}
	for _, w := range all {
		if w.group != "" || w.waits != "" {
			continue
		}
		for i := range made {
			if made[i].Spec.Equal(&w.spec) && !changing[made[i].Name] {
				use(w, &made[i])
				break
			}
		}
	}
	return users
}

// make creates a wanted group that is missing, or replaces a different group; changed reports
// whether make changed anything.
func (g *grouping) make(w *wanted, all []*wanted) (changed bool) {
	if w.waits != "" || w.held {
		return false
	}
	if w.group == "" { // one before it may have the same members
		for _, o := range all {
			if o != w && o.group != "" && o.refused == "" && o.waits == "" && o.spec.Equal(&w.spec) {
				w.group, w.held = o.group, true
				return false
			}
		}
	}
	err := g.made.Put(w.job, w.own, w.spec)
	if err == nil {
		w.group, w.held = w.own, true
		return true
	}
	var e *api.Error
	w.refused = err.Error()
	if errors.As(err, &e) && len(e.Fields) > 0 {
		f := &e.Fields[0]
		w.refused = fmt.Sprintf("%s is %s: want %s", f.Field, cmp.Or(f.Value, "missing"), f.Want)
	}
	return false
}

// tellRefused emits an event for each group that is refused for a new reason.
func (f *Feature) tellRefused(before map[string][]*wanted) {
	was := make(map[[2]string]string)
	for _, list := range before {
		for _, w := range list {
			was[[2]string{w.job, w.own}] = w.refused
		}
	}
	for _, j := range f.All.All() {
		for _, w := range f.groups.of[j.Name] {
			if w.refused != "" && was[[2]string{w.job, w.own}] != w.refused {
				f.env.Event(api.EventJobChanged, j.Name, fmt.Sprintf("no multicast group for %s: %s",
					w.communicator, w.refused), nil)
			}
		}
	}
}

// state returns how far a group is that a job wants.
func (f *Feature) state(w *wanted) (s api.JobGroupState, why string) {
	switch {
	case w.refused != "":
		return api.JobGroupRefused, w.refused
	case w.group == "":
		return api.JobGroupWaiting, cmp.Or(w.waits, "it is about to be made")
	case w.waits != "":
		return api.JobGroupWaiting, w.waits
	}
	if ok, why := f.groups.made.State(w.group); !ok {
		return api.JobGroupInstalling, why
	}
	return api.JobGroupProgrammed, ""
}

// groupsOf returns the groups that a job wants, as clients have them.
func (f *Feature) groupsOf(name string) (out []api.JobGroup) {
	for _, w := range f.groups.of[name] {
		g := api.JobGroup{Communicator: w.communicator, Source: w.ranks[w.source],
			Receivers: len(w.ranks) - 1, Group: w.group}
		g.State, g.Why = f.state(w)
		out = append(out, g)
	}
	return out
}

// GroupFacts returns the facts about the groups that a job depends on. Before a job runs, the queue
// pairs of its program are unknown, so a group that waits for queue pairs blocks only a running
// job.
func (f *Feature) GroupFacts(t *Task) (out []ready.Other) {
	for _, w := range f.groups.of[t.Name] {
		s, why := f.state(w)
		fact := ready.Fact{State: ready.Bad, Why: why}
		switch {
		case s == api.JobGroupProgrammed:
			fact = ready.IsGood()
		case s == api.JobGroupWaiting && !t.Running:
			continue
		case s == api.JobGroupWaiting:
			fact.State = ready.Unknown
		}
		is := make(map[int]bool, len(w.ranks))
		for _, r := range w.ranks {
			is[r] = true
		}
		out = append(out, ready.Other{Kind: ready.KindGroup, Object: w.own, Fact: fact,
			Want: "the multicast group, programmed at every switch of its tree",
			NICs: func(rank int) bool { return is[rank] }})
	}
	return out
}
