// Package maintenance keeps the windows of time in which hosts leave parts of an MRC fabric unused.
//
// It keeps the resources, and reports which objects are to be drained now ([Feature.Held]). The
// views of the MRC fabric have the progress of drains, and the losses of jobs (feature.Env.Fabric).
package maintenance

import (
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/resource"
)

// decided holds the feature's decisions about a maintenance.
type decided struct {
	// Begun: its objects are drained; Ended: they are used again.
	Begun bool `json:"begun,omitempty"`
	Ended bool `json:"ended,omitempty"`

	look *Look // nil: nobody has looked yet
}

type item = resource.Item[api.MaintenanceSpec, decided]

// Look holds the losses by the objects of a maintenance. It does not change.
type Look struct {
	// Unknown has, for each object without losses, the reason; "" for the others.
	Unknown []string
	// Why is the reason why nothing is known; "": something is.
	Why string
	// Jobs lists all unfinished jobs with their losses.
	Jobs []Concern
	// losses holds the answers, jobs the Generation of Jobs.
	losses fabricview.Losses
	jobs   uint64
}

// Jobs gives access to the jobs that a maintenance may concern.
type Jobs interface {
	// Generation grows when a job changes.
	Generation() uint64
	// Concerns returns the jobs that have not ended, without their losses.
	Concerns() []ready.Concern
}

// Concern holds the losses of a job without the objects of a maintenance.
type Concern struct {
	ready.Concern
	ready.Impact
}

// Feature has the maintenances of a controller.
type Feature struct {
	feature.Kept[api.MaintenanceSpec, decided]
	env     *feature.Env
	changed bool // since the last call of Changed
	looking bool // Work is under way

	// Jobs gives access to the jobs of the controller.
	Jobs Jobs
}

// New returns the feature without maintenances.
func New(env *feature.Env) *Feature {
	return &Feature{env: env, changed: true,
		Kept: feature.Keep[api.MaintenanceSpec, decided](env, Kind.Record)}
}

// Fork implements feature.Feature.
func (f *Feature) Fork() func(feature.Feature) {
	looks := make(map[string]*Look)
	for _, m := range f.All.All() {
		looks[m.Name] = m.Decided.look
	}
	return func(to feature.Feature) {
		for _, m := range to.(*Feature).All.All() {
			m.Decided.look = looks[m.Name]
		}
	}
}

// Changed reports whether maintenances, or the objects to drain, have changed since the last call.
func (f *Feature) Changed() bool {
	changed := f.changed
	f.changed = false
	return changed
}

// holds reports whether the objects of a maintenance are to be drained at a time.
func holds(s *api.MaintenanceSpec, now time.Time) bool {
	return !now.Before(s.Drains()) && now.Before(s.Until)
}

// Held returns the parts that are to be drained now, each once.
func (f *Feature) Held() (out []api.Part) {
	now := f.env.Wall()
	for _, m := range f.All.All() {
		if !holds(&m.Spec, now) {
			continue
		}
		for _, p := range m.Spec.Parts() {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// LookAt computes the losses of jobs by a maintenance.
func LookAt(losses fabricview.Losses, s *api.MaintenanceSpec, jobs []ready.Concern) *Look {
	parts := s.Parts()
	l := &Look{Unknown: make([]string, len(parts)), losses: losses}
	for i, p := range parts {
		if l.Unknown[i] = losses.Unknown(p); l.Unknown[i] != "" {
			return l
		}
	}
	for _, c := range jobs {
		l.Jobs = append(l.Jobs, Concern{c, losses.Of(parts, c.Need)})
	}
	return l
}

// look returns the losses by a maintenance in the newest view of the fabric.
func (f *Feature) look(s *api.MaintenanceSpec) *Look {
	if v := f.env.Fabric; v.Losses == nil {
		return &Look{Why: v.NoLosses}
	}
	l := LookAt(f.env.Fabric.Losses, s, f.Jobs.Concerns())
	l.jobs = f.Jobs.Generation()
	return l
}

// Work returns the computation of the losses of unfinished maintenances, after a change of jobs or
// the fabric; nil: nothing has changed, or the computation runs already. While nothing is known,
// the last losses stay.
func (f *Feature) Work() feature.Work {
	losses, generation := f.env.Fabric.Losses, f.Jobs.Generation()
	if losses == nil || f.looking {
		return nil
	}
	var all []*item
	for _, m := range f.All.All() {
		look := m.Decided.look
		if !m.Decided.Ended && (look == nil || look.losses != losses || look.jobs != generation) {
			c := *m
			all = append(all, &c)
		}
	}
	if len(all) == 0 {
		return nil
	}
	jobs := f.Jobs.Concerns()
	f.looking = true
	return func() func() {
		for _, m := range all {
			m.Decided.look = LookAt(losses, &m.Spec, jobs)
			m.Decided.look.jobs = generation
		}
		return func() {
			f.looking = false
			for _, m := range all {
				if now := f.All.Get(m.Name); now != nil && now.Version == m.Version {
					now.Decided.look = m.Decided.look
				}
			}
		}
	}
}

// Tick implements feature.Feature.
func (f *Feature) Tick() {
	for _, m := range f.All.All() {
		f.begin(m)
	}
}

// begin begins and ends a maintenance whose time has come.
func (f *Feature) begin(m *item) {
	now, d := f.env.Wall(), &m.Decided
	if over := !now.Before(m.Spec.Until); over && !d.Ended {
		d.Ended, f.changed = true, true
		f.All.Save(m.Name)
		f.env.Event(api.EventMaintenanceEnded, m.Name, "ended: what was drained is used again", nil)
	} else if !over && !d.Begun && holds(&m.Spec, now) {
		d.Begun, f.changed = true, true
		f.All.Save(m.Name)
		f.env.Event(api.EventMaintenanceBegan, m.Name, "its objects are drained", nil)
	}
}

// Next implements feature.Feature.
func (f *Feature) Next() (at time.Duration, ok bool) {
	for _, m := range f.All.All() {
		next := m.Spec.Until
		switch {
		case m.Decided.Ended:
			continue
		case !m.Decided.Begun:
			next = m.Spec.Drains()
		}
		if d := next.Sub(f.env.Start); !ok || d < at {
			at, ok = d, true
		}
	}
	return at, ok
}

// Blocking returns the maintenances in the way of a version of a job, which ends at a time unless
// the time is zero: maintenances whose objects the job needs, and that drain them now, or before
// the job ends.
func (f *Feature) Blocking(job string, version uint64, ends time.Time) (out []ready.Other) {
	now := f.env.Wall()
	for _, m := range f.All.All() {
		drains := m.Spec.Drains()
		if !now.Before(m.Spec.Until) || now.Before(drains) && (ends.IsZero() || !drains.Before(ends)) {
			continue
		}
		o := ready.Other{Kind: ready.KindMaintenance, Object: m.Name,
			Want: "its end at " + m.Spec.Until.UTC().Format(time.RFC3339)}
		o.Why = "its objects are drained"
		if now.Before(drains) {
			o.Why = "it drains its objects at " + drains.UTC().Format(time.RFC3339) +
				", before the job ends"
		} else {
			o.Since = drains
		}
		c := m.Decided.look.of(job, version)
		switch {
		case c == nil:
			o.Why = "what the job loses by it is not known yet"
		case c.None():
			continue
		default:
			o.State = ready.Bad
			o.Why += fmt.Sprintf("; %d pairs of racks lose paths, and %d ranks are cut off",
				len(c.Pairs), len(c.CutOff))
			o.NICs = c.behind()
		}
		out = append(out, o)
	}
	return out
}

// of returns the losses of a version of a job; nil: unknown.
func (l *Look) of(job string, version uint64) *Concern {
	if l == nil {
		return nil
	}
	for i := range l.Jobs {
		if c := &l.Jobs[i]; c.Job == job && c.Version == version {
			return c
		}
	}
	return nil
}

// behind returns the ranks that lose something.
func (c *Concern) behind() func(rank int) bool {
	racks, cut := make(map[int32]bool), make(map[int32]bool)
	for _, p := range c.Pairs {
		racks[c.Need.Pairs[p.Pair][0]], racks[c.Need.Pairs[p.Pair][1]] = true, true
	}
	for _, r := range c.CutOff {
		cut[r] = true
	}
	return func(rank int) bool { return cut[int32(rank)] || racks[c.Need.Rack[rank]] }
}
