package controller

import (
	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/notification"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// Ready is the work that a [Core] asks for. The caller that takes a Ready does all of the work. A
// core or a feature can store records only through Ready.
type Ready struct {
	// Saves must be kept.
	Saves []store.Op

	// The following outputs rest on kept records.

	// Tasks are ordered by switch; each switch has at most one with an id under way.
	Tasks []reconcile.Task
	// PortTasks are ordered by port; each port has at most one under way.
	PortTasks []PortTask
	// Discovered are the sources of the topology that LLDP is; nil: they have not changed.
	Discovered []topology.Source

	// Work may be done by another goroutine; the outcome goes to [Core.Worked].
	Work []feature.Work

	// The following outputs may rest on Saves, and wait until these and all earlier records are kept.

	// Answers are to questions of clients, such as QueryState.
	Answers []feature.Answer
	// Events are for clients that watch.
	Events []api.Event
	// Posts are messages of notifications. Each has at most one under way.
	Posts []notification.Post
	// Networks are the sources of the topology that clients describe; nil: they have not changed.
	Networks []topology.Source
	// Projects are the projects with their members; nil: they have not changed.
	Projects *access.Projects
	// Wants are what jobs and maintenances want of the MRC fabric; nil: they have not changed.
	Wants *fabricview.Wants
}

// Empty reports whether there is nothing to do.
func (r *Ready) Empty() bool {
	return len(r.Saves)+len(r.Tasks)+len(r.PortTasks)+len(r.Answers)+len(r.Events)+len(r.Posts)+
		len(r.Work) == 0 &&
		r.Discovered == nil && r.Networks == nil && r.Projects == nil && r.Wants == nil
}
