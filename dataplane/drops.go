package dataplane

import (
	"fmt"

	"github.com/weft-sdn/weft/dataplane/drop"
	"github.com/weft-sdn/weft/dataplane/trace"
)

// drop counts a packet that ends here and, if it is traced, says why.
func (s *Switch) drop(id trace.ID, reason drop.Reason) {
	s.stats.Drops[reason]++
	if id != 0 {
		s.traceDrop(id, reason, trace.Outcome{Reason: reason.Text()})
	}
}

// dropByProgram drops the packet in the context because its egress_spec is the drop port.
func (s *Switch) dropByProgram(reason drop.Reason) {
	s.stats.Drops[reason]++
	if id := s.ctx.ID; id != 0 {
		action, at := s.ctx.SpecSource()
		s.traceDrop(id, reason, trace.Outcome{
			Reason: fmt.Sprintf("egress_spec is the drop port %d", s.cfg.DropPort), Action: action, At: at,
		})
	}
}

// dropAborted drops the packet in the context because an assertion failed.
func (s *Switch) dropAborted() {
	s.stats.Drops[drop.AssertFailed]++
	s.traceDrop(s.ctx.ID, drop.AssertFailed, trace.Outcome{Reason: s.ctx.Failure()})
}

// dropNoGroup drops the packet in the context because its multicast group does not exist.
func (s *Switch) dropNoGroup(group uint16) {
	s.stats.Drops[drop.NoMulticastGroup]++
	if s.ctx.ID != 0 {
		id := group
		s.ctx.Tell(trace.Step{Replicate: &trace.Replicate{Group: &id, Missing: true}})
		s.traceDrop(s.ctx.ID, drop.NoMulticastGroup,
			trace.Outcome{Reason: fmt.Sprintf("there is no multicast group %d", group)})
	}
}

// traceDrop ends a traced packet that was dropped.
func (s *Switch) traceDrop(id trace.ID, reason drop.Reason, o trace.Outcome) {
	o.Result, o.Drop = trace.Dropped, reason.String()
	s.traceEnd(id, o)
}

// Waiting returns how many packets wait for something other than Advance: for
// their queue's rate, or for the rate of recirculation.
func (s *Switch) Waiting() (queued, recirculated int) {
	return s.queues.Len(), s.again.Len()
}
