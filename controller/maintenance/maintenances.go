package maintenance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/resource"
)

// Maintenances returns the maintenances.
func (f *Feature) Maintenances() resource.Resources[api.MaintenanceSpec, api.Maintenance] {
	return resource.Written[api.MaintenanceSpec, decided, api.Maintenance]{All: f.All, Env: f.env,
		Decide: f.decide, View: f.view, Gone: f.gone, Changed: func() { f.changed = true }}
}

func (f *Feature) decide(old, m *item, _ resource.Precondition) error {
	spec := &m.Spec
	if old != nil && old.Spec.Equal(spec) {
		return resource.ErrUnchanged
	}
	look := f.look(spec)
	err := spec.Validate(f.env.Wall(), func(i int) string {
		if i < len(look.Unknown) {
			return look.Unknown[i]
		}
		return ""
	})
	switch {
	case err != nil:
		return err
	case look.Why != "":
		return &api.Error{Code: api.CodeUnavailable,
			Message: "what would be drained is not known: " + look.Why}
	case old == nil && f.All.Len() >= api.MaxMaintenances:
		return &api.Error{Code: api.CodeLimit, Message: fmt.Sprintf(
			"there are %d maintenances, and may be no more", f.All.Len())}
	}
	if err := refusal(spec, look); err != nil {
		return err
	}
	m.Decided = decided{look: look}
	f.env.Event(api.EventMaintenanceChanged, m.Name, fmt.Sprintf("objects: %d, from %s until %s",
		len(spec.Objects), spec.From.UTC().Format(time.RFC3339),
		spec.Until.UTC().Format(time.RFC3339)), nil)
	f.begin(m)
	return nil
}

func (f *Feature) gone(m *item, _ resource.Precondition) error {
	f.env.Event(api.EventMaintenanceDeleted, m.Name, "deleted", nil)
	return nil
}

// refusal refuses a maintenance where running jobs of a higher priority lose something.
func refusal(s *api.MaintenanceSpec, look *Look) error {
	var found []string
	highest := 0
	for i := range look.Jobs {
		if c := &look.Jobs[i]; c.Running && c.Priority > s.Priority && !c.None() {
			found = append(found, fmt.Sprintf("job %q of priority %d loses %s", c.Job, c.Priority,
				losesText(c)))
			highest = max(highest, c.Priority)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return api.Refuse([]api.FieldError{{Field: "spec.priority", Code: api.CodeConflict,
		Value: fmt.Sprint(s.Priority), Want: fmt.Sprintf("%d or more, or a time at which they do not "+
			"run: %s", highest, strings.Join(found, "; "))}})
}

func losesText(c *Concern) string {
	return fmt.Sprintf("paths of %d pairs of racks and %d ranks", len(c.Pairs), len(c.CutOff))
}

// view returns a maintenance with its status.
func (f *Feature) view(m *item) api.Maintenance {
	v := api.Maintenance{Name: m.Name, Version: m.Version, Created: m.Created, Spec: m.Spec}
	s, now := &v.Status, f.env.Wall()
	s.Drains = m.Spec.Drains()
	s.Conditions.Set(api.Accepted, true, api.ReasonPlanned, "", m.Changed)
	switch {
	case m.Decided.Ended || !now.Before(m.Spec.Until):
		s.Phase = api.MaintenanceEnded
		s.Conditions.Set(api.Programmed, false, api.ReasonEnded, "it has ended", m.Spec.Until)
		return v
	case !now.Before(m.Spec.From):
		s.Phase = api.MaintenanceActive
	case holds(&m.Spec, now):
		s.Phase = api.MaintenanceDraining
	default:
		s.Phase = api.MaintenancePlanned
	}
	if look := m.Decided.look; look != nil {
		for i := range look.Jobs {
			if c := &look.Jobs[i]; !c.None() {
				s.Jobs = append(s.Jobs, c.view())
			}
		}
	}
	refused := f.objects(m, s)
	switch {
	case len(refused) > 0:
		s.Conditions.Set(api.Degraded, true, api.ReasonNotPlannable, strings.Join(refused, "; "),
			time.Time{})
	case len(s.Jobs) > 0:
		s.Conditions.Set(api.Degraded, true, api.ReasonJobsConcerned,
			fmt.Sprintf("jobs that lose something by it: %d", len(s.Jobs)), time.Time{})
	default:
		s.Conditions.Set(api.Degraded, false, api.ReasonHealthy, "", time.Time{})
	}
	return v
}

// objects describes the drains of a maintenance, and returns why some cannot be made.
func (f *Feature) objects(m *item, s *api.MaintenanceStatus) (refused []string) {
	if s.Phase == api.MaintenancePlanned {
		s.Conditions.Set(api.Programmed, false, api.ReasonPlanned, "its objects are in use",
			time.Time{})
		return nil
	}
	drained := 0
	for _, o := range m.Spec.Objects {
		of := func(h fabricview.Held) bool { return h.Part == o.Part() }
		state := api.MaintenanceObjectState{Object: o.String(), Why: "it is about to be drained"}
		if i := slices.IndexFunc(f.env.Fabric.Held, of); i >= 0 {
			h := &f.env.Fabric.Held[i]
			state.Drained, state.Why = h.Drained, h.Why
		}
		if state.Why != "" {
			refused = append(refused, state.Why)
		}
		if state.Drained {
			drained++
		}
		s.Objects = append(s.Objects, state)
	}
	if n := len(m.Spec.Objects); drained == n {
		s.Conditions.Set(api.Programmed, true, api.ReasonInstalled, "", time.Time{})
	} else {
		s.Conditions.Set(api.Programmed, false, api.ReasonInstalling,
			fmt.Sprintf("%d of %d objects are drained", drained, n), time.Time{})
	}
	return refused
}

// somePairs and someNICs bound the losses of a job listed in a status.
const (
	somePairs = 16
	someNICs  = 5
)

func (c *Concern) view() api.MaintenanceJob {
	v := api.MaintenanceJob{Name: c.Job, Priority: c.Priority, Running: c.Running,
		CutOff: len(c.CutOff), Left: 1, Lose: len(c.Pairs)}
	for _, r := range c.CutOff[:min(someNICs, len(c.CutOff))] {
		v.NICs = append(v.NICs, c.Need.NICs[r])
	}
	for _, p := range c.Pairs {
		v.Left = min(v.Left, float64(p.After)/float64(p.Before))
		pair := c.Need.Pairs[p.Pair]
		v.Pairs = append(v.Pairs, api.MaintenancePair{From: c.Need.Racks[pair[0]],
			To: c.Need.Racks[pair[1]], Before: int(p.Before), After: int(p.After)})
	}
	slices.SortStableFunc(v.Pairs, func(a, b api.MaintenancePair) int {
		return cmp.Compare(a.After*b.Before, b.After*a.Before)
	})
	v.Pairs = v.Pairs[:min(somePairs, len(v.Pairs))]
	return v
}
