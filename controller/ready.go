package controller

import (
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/store"
)

// Ready is what a [Core] wants done. Whoever takes it does all of it.
type Ready struct {
	// Saves are to be kept before anything else is done.
	Saves []store.Op
	// Tasks are ordered by switch; each switch has at most one with an id under way.
	Tasks []reconcile.Task
	// States answer QueryState.
	States []StateAnswer
	// Events are for watching clients.
	Events []api.Event
}

// Empty reports whether there is nothing to do.
func (r *Ready) Empty() bool {
	return len(r.Saves) == 0 && len(r.Tasks) == 0 && len(r.States) == 0 && len(r.Events) == 0
}

// StateAnswer is the answer to [Core.QueryState].
type StateAnswer struct {
	ID    uint64
	State api.GroupState
}
