package resource

import (
	"errors"
	"time"
)

// ErrUnchanged is what [Written.Decide] returns for the spec that a resource has already.
var ErrUnchanged = errors.New("the resource has this spec already")

// Written implements [Resources] for what clients write: specs S. All keeps the resources, with what
// the controller decides about each, D; clients read V. A feature adds three or four functions, and
// no function changes anything when it returns an error.
type Written[S, D, V any] struct {
	All *Collection[S, D]
	Env Env
	// Decide completes and checks the spec of next, and sets next.Decided. next is what will be kept;
	// old is what it replaces, with the same Decided; nil: a client creates the resource.
	Decide func(old, next *Item[S, D], pre Precondition) error
	// View returns a resource with its status.
	View func(*Item[S, D]) V
	// Gone lets go of a resource that a client deletes, or refuses.
	Gone func(i *Item[S, D], pre Precondition) error
	// Changed follows a change, when All has it; nil: nothing follows in the feature.
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
	if err := w.Env.Allow(w.All.kind, name, spec, pre); err != nil {
		return v, false, err
	}
	old, err := w.All.CheckPut(name, pre)
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
	w.Env.Settle(w.All.kind, name, next.Spec)
	v, err = w.Get(name) // with the status that follows
	return v, old == nil, err
}

// Delete implements [Resources].
func (w Written[S, D, V]) Delete(name string, pre Precondition) error {
	i, err := w.All.CheckDelete(name, pre)
	if err == nil && w.Gone != nil {
		err = w.Gone(i, pre)
	}
	if err != nil {
		return err
	}
	w.All.Delete(name)
	w.follow()
	w.Env.Settle(w.All.kind, name, nil)
	return nil
}

func (w Written[S, D, V]) follow() {
	if w.Changed != nil {
		w.Changed()
	}
}
