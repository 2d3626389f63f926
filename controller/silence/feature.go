// Package silence has what people have taken notice of: causes that make no alert for a while.
//
// It keeps the resources and deletes them when their time is over. What a silence does to a cause
// is up to whoever shows causes.
package silence

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
)

type item = resource.Item[api.SilenceSpec, decided]

// decided is what the controller keeps of a silence beside its spec.
type decided struct {
	By string `json:"by,omitempty"`
}

// Feature has the silences of a controller.
type Feature struct {
	feature.Base
	env *feature.Env
	all *resource.Collection[api.SilenceSpec, decided]
}

// New returns the feature without silences.
func New(env *feature.Env) *Feature {
	return &Feature{env: env,
		all: resource.NewCollection[api.SilenceSpec, decided](Kind.Record, env.Versions)}
}

// Load implements feature.Feature.
func (f *Feature) Load(r store.Record) (ok bool, err error) { return f.all.Load(r) }

// Changes implements feature.Feature.
func (f *Feature) Changes() []store.Op { return f.all.Changes() }

// Records implements feature.Feature.
func (f *Feature) Records() []store.Record { return f.all.Records() }

// Tick implements feature.Feature: silences whose time is over are deleted.
func (f *Feature) Tick() {
	now := f.env.Wall()
	for _, s := range f.all.All() {
		if !now.Before(s.Spec.Until) {
			f.all.Delete(s.Name)
			f.tell(s.Name, "over: "+s.Spec.Cause)
		}
	}
}

// Next implements feature.Feature.
func (f *Feature) Next() (at time.Duration, ok bool) {
	for _, s := range f.all.All() {
		if d := s.Spec.Until.Sub(f.env.Start); !ok || d < at {
			at, ok = d, true
		}
	}
	return at, ok
}

func (f *Feature) tell(name, message string) {
	f.env.Event(api.EventSilenceChanged, name, message, nil)
}

// Silences returns the silences.
func (f *Feature) Silences() resource.Resources[api.SilenceSpec, api.Silence] {
	return resources{f}
}

// resources implements resource.Resources.
type resources struct{ *Feature }

// List returns the silences, by name.
func (f resources) List() []api.Silence { return resource.Views(f.all, view) }

// Get implements resource.Resources.
func (f resources) Get(name string) (api.Silence, error) { return resource.View(f.all, name, view) }

// Put implements resource.Resources.
func (f resources) Put(
	name string, spec api.SilenceSpec, pre resource.Precondition,
) (api.Silence, bool, error) {
	s, err := f.all.CheckPut(name, pre)
	if err != nil {
		return api.Silence{}, false, err
	}
	if s != nil && s.Spec.Equal(&spec) {
		return view(s), false, nil
	}
	err = spec.Validate(f.env.Wall())
	if err == nil && s == nil && f.all.Len() >= api.MaxSilences {
		err = &api.Error{Code: api.CodeLimit,
			Message: fmt.Sprintf("there are %d silences: want at most that many", api.MaxSilences)}
	}
	if err != nil {
		return api.Silence{}, false, err
	}
	created := s == nil
	s = f.all.Put(name, spec, f.env.Wall())
	s.Decided.By = pre.By
	f.tell(name, fmt.Sprintf("%s, until %s", spec.Cause, spec.Until.UTC().Format(time.RFC3339)))
	return view(s), created, nil
}

// Delete implements resource.Resources.
func (f resources) Delete(name string, pre resource.Precondition) error {
	if _, err := f.all.CheckDelete(name, pre); err != nil {
		return err
	}
	f.all.Delete(name)
	f.tell(name, "deleted")
	return nil
}

func view(s *item) api.Silence {
	v := api.Silence{Name: s.Name, Version: s.Version, Created: s.Created, Spec: s.Spec}
	v.Status.By = s.Decided.By
	v.Status.Conditions.Set(api.Accepted, true, "Accepted", "", s.Changed)
	return v
}
