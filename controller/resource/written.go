package resource

import (
	"errors"
	"time"
)

// ErrUnchanged is the answer of [Written.Decide] to the present spec of a resource.
var ErrUnchanged = errors.New("the resource has this spec already")

// Written implements [Resources] for a kind whose specs S clients write, and whose views V clients
// read. A feature adds its functions. A function that returns an error changes nothing.
type Written[S, D, V any] struct {
	// All keeps the resources with the decisions D of the controller.
	All Collection[S, D]
	Env Env
	// Decide completes and checks next.Spec, and sets next.Decided. A nil error keeps next in place of
	// old, which has the same Decided; nil: a client creates the resource.
	Decide func(old, next *Item[S, D], pre Precondition) error
	// View returns a resource with its status.
	View func(*Item[S, D]) V
	// Gone lets go of a resource that a client deletes, or refuses.
	Gone func(i *Item[S, D], pre Precondition) error
	// Changed follows every change of All by a client; nil: nothing follows in the feature.
	Changed func()
}

// Env is the controller around the resources of a kind.
type Env interface {
	// Wall returns the time of the present input.
	Wall() time.Time
	// Allow refuses a spec with what the project of the resource may not have.
	Allow(k Kind, name string, spec any, pre Precondition) error
	// Settle has a change take effect on the whole controller. spec is nil after a deletion.
	Settle(k Kind, name string, spec any)
}

// List implements [Resources], by name.
func (w Written[S, D, V]) List() []V { return Views(w.All, w.View) }

// Get implements [Resources].
func (w Written[S, D, V]) Get(name string) (V, error) { return View(w.All, name, w.View) }

// Put implements [Resources].
func (w Written[S, D, V]) Put(
	name string, spec S, pre Precondition,
) (v V, created bool, err error) {
	if err := w.Env.Allow(w.All.of(), name, spec, pre); err != nil {
		return v, false, err
	}
	old, err := CheckPut(w.All, name, pre)
	if err != nil {
		return v, false, err
	}
	next := w.All.Try(name, spec, w.Env.Wall())
	switch err := w.Decide(old, next, pre); {
	case errors.Is(err, ErrUnchanged):
	case err != nil:
		return v, false, err
	default:
		w.All.keep(next)
		w.follow()
	}
	w.Env.Settle(w.All.of(), name, next.Spec)
	v, err = w.Get(name) // with the status that follows
	return v, old == nil, err
}

// Delete implements [Resources].
func (w Written[S, D, V]) Delete(name string, pre Precondition) error {
	i, err := CheckDelete(w.All, name, pre)
	if err == nil && w.Gone != nil {
		err = w.Gone(i, pre)
	}
	if err != nil {
		return err
	}
	w.All.Delete(name)
	w.follow()
	w.Env.Settle(w.All.of(), name, nil)
	return nil
}

func (w Written[S, D, V]) follow() {
	if w.Changed != nil {
		w.Changed()
	}
}
