// Package kindtest has the one fake of the resources of a kind: a handle that keeps them in memory.
package kindtest

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
)

// State is the state that the kinds of one fake share.
type State struct {
	// Mu guards the resources of all kinds, and Version.
	Mu sync.Mutex
	// Version is the last that was given.
	Version uint64
	// Now is when everything happens.
	Now time.Time
}

// Memory implements [kind.Handle]. It has the rules of package resource, and plans nothing. Memory
// calls its functions under State.Mu, unless their comment says otherwise; each may be nil.
type Memory[S any, V api.Intended] struct {
	*State
	Kind *kind.Kind
	// Items are the resources, by name.
	Items map[string]V
	// Check completes a spec, and refuses one that is not valid.
	Check func(name string, spec *S) error
	// Show gives a resource that was put its status.
	Show func(v *V, created bool)
	// Changes and Removed are the changes of switches that the dry run of a Put or a Delete shows.
	Changes, Removed []api.SwitchChange
	// Fail is the error of List.
	Fail error
	// Before is called before a Put, and without the lock.
	Before func()
	// Look is called before a Get, and without the lock.
	Look func(name string)
	// Asked answers questions, without the lock.
	Asked func(ctx context.Context, name string, question any, pre resource.Precondition) (any, error)
	// InUse refuses a deletion.
	InUse func(name string) error
	// Changed is called after a change.
	Changed func()
	// Match applies the filters of lists.
	Match func(v *V, filter any) bool
	// Names returns what a field of a filter may name; nil: no filter has such a
	// field.
	Names func(of string) []string
}

// New returns a kind without resources. check may be nil.
func New[S any, V api.Intended](
	s *State, k *kind.Kind, check func(name string, spec *S) error,
) *Memory[S, V] {
	return &Memory[S, V]{State: s, Kind: k, Items: make(map[string]V), Check: check}
}

// Bound returns the kind with the resources.
func (m *Memory[S, V]) Bound() *kind.Kind { return m.Kind.With(m) }

// List implements [kind.Handle].
func (m *Memory[S, V]) List(_ context.Context, q kind.Query) (kind.Page[any], error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if m.Fail != nil {
		return kind.Page[any]{}, m.Fail
	}
	name := func(v *V) string { return m.Kind.NameOf(v) }
	p := kind.Select(slices.Collect(maps.Values(m.Items)), q, name, m.Match)
	return kind.Any(p), kind.Known(q, len(p.Items), m.Names)
}

// Get implements [kind.Handle].
func (m *Memory[S, V]) Get(_ context.Context, name string) (any, error) {
	if m.Look != nil {
		m.Look(name)
	}
	m.Mu.Lock()
	defer m.Mu.Unlock()
	v, ok := m.Items[name]
	if !ok {
		return v, resource.NotFound(m.what(name))
	}
	return v, nil
}

// Put implements [kind.Handle].
func (m *Memory[S, V]) Put(
	_ context.Context, name string, request any, pre resource.Precondition,
) (any, bool, error) {
	spec := request.(S)
	if m.Before != nil {
		m.Before()
	}
	m.Mu.Lock()
	defer m.Mu.Unlock()
	v, known := m.Items[name]
	version, had := v.Intent()
	err := pre.Check(m.what(name), version)
	switch {
	case err == nil && !known && !m.Kind.Creates:
		err = resource.NotFound(m.what(name))
	case err == nil && !known:
		err = api.ValidateName(name)
	}
	if err == nil && m.Check != nil {
		err = m.Check(name, &spec)
	}
	if err != nil || known && version != 0 && reflect.DeepEqual(had, any(spec)) {
		return v, false, err
	}
	next := m.Version + 1
	made := m.Kind.Make(kind.Draft{Name: name, Version: next, Spec: spec}, m.Now).(V)
	v = m.keep(v, made, known)
	if m.Show != nil {
		m.Show(&v, !known)
	}
	if pre.Trial != nil {
		pre.Trial.Changes = m.Changes
		return v, !known, nil
	}
	m.Version, m.Items[name] = next, v
	m.changed()
	return v, !known, nil
}

// keep gives a resource that was made anew the status that it had.
func (m *Memory[S, V]) keep(old, made V, known bool) V {
	if !known {
		return made
	}
	v := reflect.ValueOf(&made).Elem()
	for _, name := range []string{"Status", "Created"} {
		if f := v.FieldByName(name); f.IsValid() {
			f.Set(reflect.ValueOf(old).FieldByName(name))
		}
	}
	return made
}

// Delete implements [kind.Handle].
func (m *Memory[S, V]) Delete(_ context.Context, name string, pre resource.Precondition) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	v, known := m.Items[name]
	version, _ := v.Intent()
	err := pre.CheckExisting(m.what(name), version)
	if !known {
		err = resource.NotFound(m.what(name))
	}
	if err == nil && m.InUse != nil {
		err = m.InUse(name)
	}
	switch {
	case err != nil:
		return err
	case pre.Trial != nil:
		pre.Trial.Changes = m.Removed
		return nil
	case m.Kind.Creates:
		delete(m.Items, name)
	default: // the resource stays, without a spec
		var none S
		made := m.Kind.Make(kind.Draft{Name: name, Spec: none}, time.Time{}).(V)
		m.Items[name] = m.keep(v, made, true)
	}
	m.changed()
	return nil
}

// Ask implements [kind.Handle].
func (m *Memory[S, V]) Ask(
	ctx context.Context, name string, question any, pre resource.Precondition,
) (any, error) {
	if m.Asked == nil {
		return kind.Base{}.Ask(ctx, name, question, pre)
	}
	return m.Asked(ctx, name, question, pre)
}

func (m *Memory[S, V]) changed() {
	if m.Changed != nil {
		m.Changed()
	}
}

func (m *Memory[S, V]) what(name string) string { return fmt.Sprintf("%s %q", m.Kind.Noun, name) }
