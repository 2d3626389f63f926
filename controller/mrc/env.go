package mrc

import (
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
)

// env is what all parts of one core share.
type env struct {
	now time.Duration // of the present input
	// fabric is the network when nothing is down; nil before the first.
	fabric   *fabric
	mode     ev.Mode
	counters api.FabricCounters
	out      Ready // not taken yet
}

func (e *env) event(t api.EventType, object, message string) {
	e.out.Events = append(e.out.Events, Event{Time: e.now, Type: t, Object: object, Message: message})
}
