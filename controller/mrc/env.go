package mrc

import (
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
)

// env is what all parts of one core share.
type env struct {
	start    time.Time     // the wall-clock time at which now is 0
	now      time.Duration // of the present input
	state    *fabric.State
	mode     ev.Mode
	counters api.FabricCounters
	out      Ready // not taken yet
}

func (e *env) event(t api.EventType, object, message string) {
	e.out.Events = append(e.out.Events, api.Event{Time: e.wall(e.now), Type: t, Object: object, Message: message})
}

// wall returns the wall-clock time at a time of the core.
func (e *env) wall(at time.Duration) time.Time { return e.start.Add(at).UTC() }
