// Package fabricview defines what the MRC core and the core of switches tell each other: a [View]
// of the fabric, and the [Wants] of jobs and maintenances. Neither core waits for the other.
package fabricview

import (
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/job/lease"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/mrc/flows"
	"github.com/weft-sdn/weft/topology"
)

// View is the state of an MRC fabric at one time. A View is immutable.
type View struct {
	// Revision grows with every view of a core, from 1.
	Revision uint64
	// Leases are the links and the paths for leases; nil: they are not known, and Why has the reason.
	Leases *lease.Network
	Why    string
	// Wiring compares equal in the views of the same hosts, switches and links, whether up or down;
	// nil: they are not known.
	Wiring any
	// Losses computes the losses of jobs without parts of the fabric; nil: unknown, and NoLosses has
	// the reason.
	Losses   Losses
	NoLosses string
	// Fluid returns the fabric for simulations, with what is lost now: the caller's. Nil where Losses
	// is. Any goroutine may call it.
	Fluid func() (*flows.Network, *flows.State)
	// Jobs are the newest readings of [Wants.Jobs] so far; nil: nobody reads them.
	Jobs map[*ready.Need]*Reading
	// Held has the progress of the drains for [Wants.Held], or for the Held of earlier Wants.
	Held []Held
}

// Held is the progress of the drain of a part.
type Held struct {
	Part    api.Part
	Drained bool
	Why     string // why it is not drained; "": it is, or will be
}

// Losses answers what jobs lose without parts of a fabric, compared with the intact fabric. The
// same Losses always give the same answers. Any goroutine may use it.
type Losses interface {
	// Unknown returns why there is no such part; "": there is.
	Unknown(p api.Part) string
	// Of returns what a need loses without all of some known parts.
	Of(parts []api.Part, need *ready.Need) ready.Impact
	// Links returns the links that a known part covers, each in both directions, and the switch that
	// the part is.
	Links(p api.Part) (links []topology.LinkID, node topology.NodeID)
}

// Wants has the requests of the switch core to the core of an MRC fabric. Wants is immutable: newer
// Wants replace it.
type Wants struct {
	// Seq grows with every Wants of a core, from 1.
	Seq uint64
	// Jobs are those whose readiness matters.
	Jobs []Job
	// Held are the parts to be drained, each once, whatever clients want.
	Held []api.Part
}

// Job is what a job wants.
type Job struct {
	Need *ready.Need
	// Over: the job has ended, and its pairs need not talk any more.
	Over bool
	// Since is the Seq of the first Wants whose readings count for the job: they are made at once.
	Since uint64
}

// Talk returns the needs of the jobs that have not ended.
func (w *Wants) Talk() []*ready.Need {
	out := []*ready.Need{}
	for i := range w.Jobs {
		if j := &w.Jobs[i]; !j.Over {
			out = append(out, j.Need)
		}
	}
	return out
}

// Reading has the known state of a job's dependencies. A Reading is immutable.
type Reading struct {
	Need *ready.Need
	// Wants is the Seq of the newest Wants that were in force when the reading began.
	Wants  uint64
	Fabric ready.Fabric
	// Wiring is [View.Wiring] of then.
	Wiring any
}
