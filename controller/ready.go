package controller

import (
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/store"
)

// Ready is what a [Core] wants done. Whoever takes it does all of it.
type Ready struct {
	// Saves must be kept before anything else is done.
	Saves []store.Op
	// Tasks are ordered by switch; each switch has at most one with an id under way.
	Tasks []reconcile.Task
	// PortTasks are ordered by port; each port has at most one under way.
	PortTasks []PortTask
	// Answers are to questions of clients, such as QueryState.
	Answers []feature.Answer
	// Events are for clients that watch.
	Events []api.Event
}

// Empty reports whether there is nothing to do.
func (r *Ready) Empty() bool {
	return len(r.Saves) == 0 && len(r.Tasks) == 0 && len(r.PortTasks) == 0 && len(r.Answers) == 0 && len(r.Events) == 0
}
