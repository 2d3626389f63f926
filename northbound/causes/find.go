package causes

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/natural"
)

// mostFollows bounds the listed consequences of a cause.
const mostFollows = 100

// anywhere stands for all faults below services: what nothing else explains follows from these.
const anywhere = "*"

// Find returns the causes: the findings that no other finding explains. Faults come first, then the
// oldest. Their order does not depend on what follows from them, which comes and goes.
func Find(k *Known) []api.Cause {
	v := newView(k)
	all := slices.Concat(v.controllerFindings(), v.peerFindings(), v.switchFindings(), v.drains,
		v.portFindings(), v.links, v.balanceFindings(), v.fabricFindings(), v.hostFindings(),
		v.profileFindings(), v.groupFindings(), v.policyFindings(), v.intentFindings())
	w := &roots{byID: make(map[string]*finding, len(all)), known: make(map[string][]string),
		anywhere: v.below.all()}
	for i := range all {
		w.byID[all[i].ID] = &all[i]
	}
	places := make(map[string]int)
	var found []api.Cause
	counted := make(map[string]map[string]bool) // by cause: the things that it concerns
	for i := range all {
		f := &all[i]
		for _, id := range w.of(f.ID) {
			at, ok := places[id]
			if !ok {
				at = len(found)
				places[id] = at
				root := w.byID[id]
				c := api.Cause{Finding: root.Finding, Follows: []api.Finding{},
					Counts: []api.CauseCount{}, Jobs: root.jobs}
				if c.Jobs == nil {
					c.Jobs = k.hurt(root.at)
				}
				if root.by != "" {
					c.Change = &api.CauseChange{Object: root.by}
				}
				found = append(found, c)
				counted[id] = map[string]bool{thing(&root.Finding): true}
			}
			if id == f.ID {
				continue
			}
			c := &found[at]
			c.Total++
			if len(c.Follows) < mostFollows {
				c.Follows = append(c.Follows, f.Finding)
			}
			// "Switches are being programmed" concerns no single object, and counts for none.
			if t := thing(&f.Finding); !counted[id][t] && f.Object != "switches" {
				counted[id][t] = true
				concern(c, f.Kind)
			}
		}
	}
	if f, ok := v.unready(found); ok {
		places[f.ID] = len(found)
		found = append(found, api.Cause{Finding: f, Follows: []api.Finding{}, Counts: []api.CauseCount{}})
	}
	for i := range k.Silences {
		s := &k.Silences[i]
		at, ok := places[s.Spec.Cause]
		if !ok {
			continue
		}
		// The silence of a cause that ends last counts.
		if c := &found[at]; c.Silence == nil || c.Silence.Spec.Until.Before(s.Spec.Until) {
			c.Silence = s
		}
	}
	slices.SortStableFunc(found, order)
	return found
}

// hurt returns the jobs that depend on one of some parts; nil: none does.
func (k *Known) hurt(parts []api.Part) *api.CauseJobs {
	if k.Dependents == nil {
		return nil
	}
	return causeJobs(dependentsOf(parts, k.Dependents))
}

// dependentsOf returns the jobs that depend on one of some parts, the most important job first.
func dependentsOf(parts []api.Part, of func(api.Part) []api.JobDependent) []api.JobDependent {
	most := make(map[string]api.JobDependent)
	for _, part := range parts {
		for _, j := range of(part) {
			if m, ok := most[j.Name]; !ok || j.Affected > m.Affected {
				most[j.Name] = j
			}
		}
	}
	return slices.SortedFunc(maps.Values(most), func(a, b api.JobDependent) int {
		return cmp.Or(b.Priority-a.Priority, natural.Compare(a.Name, b.Name))
	})
}

// causeJobs writes jobs into a cause; nil: there are none.
func causeJobs(all []api.JobDependent) *api.CauseJobs {
	if len(all) == 0 {
		return nil
	}
	jobs := &api.CauseJobs{Count: len(all)}
	for i := range min(len(all), api.MostCauseJobs) {
		jobs.Names = append(jobs.Names, all[i].Name)
	}
	return jobs
}

// concern counts one more thing of a kind.
func concern(c *api.Cause, kind string) {
	for i := range c.Counts {
		if c.Counts[i].Kind == kind {
			c.Counts[i].Count++
			return
		}
	}
	c.Counts = append(c.Counts, api.CauseCount{Kind: kind, Count: 1})
}

// thing names what a finding is about: two findings may be about the same thing.
func thing(f *api.Finding) string { return f.Kind + " " + f.Object }

// order compares new causes.
func order(a, b api.Cause) int {
	return cmp.Or(cmp.Compare(rank(&a), rank(&b)), compareSince(a.Since, b.Since),
		natural.Compare(a.ID, b.ID))
}

// rank is the first sort key of causes: silenced causes come last.
func rank(c *api.Cause) int {
	all := []api.Severity{api.SeverityFault, api.SeverityWarning, api.SeverityWork}
	if c.Silence != nil {
		return len(all)
	}
	return slices.Index(all, c.Severity)
}

// compareSince sorts by start time, earliest first; findings without a known start time come last.
func compareSince(a, b time.Time) int {
	switch {
	case a.IsZero() && b.IsZero():
		return 0
	case a.IsZero():
		return 1
	case b.IsZero():
		return -1
	}
	return a.Compare(b)
}

// roots finds the findings that others follow from in the end.
type roots struct {
	byID     map[string]*finding
	known    map[string][]string // by finding; nil: it is being looked for
	anywhere []string
}

// of returns the ids of the root findings behind a finding, or the finding itself without an
// explanation. A cycle of explanations does not count as an explanation.
func (w *roots) of(id string) []string {
	if found, ok := w.known[id]; ok {
		return found
	}
	w.known[id] = nil
	because := w.anywhere
	if id != anywhere {
		because = w.byID[id].because
	}
	var found []string
	for _, up := range because {
		if up != anywhere && w.byID[up] == nil {
			continue
		}
		for _, root := range w.of(up) {
			if !slices.Contains(found, root) {
				found = append(found, root)
			}
		}
	}
	if len(found) == 0 && id != anywhere {
		found = []string{id}
	}
	w.known[id] = found
	return found
}
