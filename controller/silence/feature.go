// Package silence has what people have taken notice of: causes that make no alert for a while.
//
// It keeps the resources and deletes them when their time is over. Readers of causes decide how to
// show a silenced cause.
package silence

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/resource"
)

type item = resource.Item[api.SilenceSpec, decided]

// decided is what the controller keeps of a silence beside its spec.
type decided struct {
	By string `json:"by,omitempty"`
}

// Feature has the silences of a controller.
type Feature struct {
	feature.Kept[api.SilenceSpec, decided]
	env *feature.Env
}

// New returns the feature without silences.
func New(env *feature.Env) *Feature {
	return &Feature{env: env, Kept: feature.Keep[api.SilenceSpec, decided](env, Kind.Record)}
}

// Tick implements feature.Feature: silences whose time is over are deleted.
func (f *Feature) Tick() {
	now := f.env.Wall()
	for _, s := range f.All.All() {
		if !now.Before(s.Spec.Until) {
			f.All.Delete(s.Name)
			f.tell(s.Name, "over: "+s.Spec.Cause, api.EventFields{State: api.StateEnded})
		}
	}
}

// Next implements feature.Feature.
func (f *Feature) Next() (at time.Duration, ok bool) {
	for _, s := range f.All.All() {
		if d := s.Spec.Until.Sub(f.env.Start); !ok || d < at {
			at, ok = d, true
		}
	}
	return at, ok
}

func (f *Feature) tell(name, message string, says api.EventFields) {
	f.env.Event(api.EventSilenceChanged, name, message, nil, says)
}

// Silences returns the silences.
func (f *Feature) Silences() resource.Resources[api.SilenceSpec, api.Silence] {
	return resource.Written[api.SilenceSpec, decided, api.Silence]{All: f.All, Env: f.env,
		Decide: f.decide, View: view, Gone: f.gone}
}

func (f *Feature) decide(old, s *item, pre resource.Precondition) error {
	if old != nil && old.Spec.Equal(&s.Spec) {
		return resource.ErrUnchanged
	}
	if err := s.Spec.Validate(f.env.Wall()); err != nil {
		return err
	}
	if old == nil && f.All.Len() >= api.MaxSilences {
		return &api.Error{Code: api.CodeLimit,
			Message: fmt.Sprintf("there are %d silences: want at most that many", api.MaxSilences)}
	}
	s.Decided.By = pre.By
	f.tell(s.Name, fmt.Sprintf("%s, until %s", s.Spec.Cause, s.Spec.Until.UTC().Format(time.RFC3339)),
		api.EventFields{State: api.StateWritten, Until: s.Spec.Until.UTC()})
	return nil
}

func (f *Feature) gone(s *item, _ resource.Precondition) error {
	f.tell(s.Name, "deleted", api.EventFields{State: api.StateDeleted})
	return nil
}

func view(s *item) api.Silence {
	v := api.Silence{Name: s.Name, Version: s.Version, Created: s.Created, Spec: s.Spec}
	v.Status.By = s.Decided.By
	v.Status.Conditions.Set(api.Accepted, true, "Accepted", "", s.Changed)
	return v
}
