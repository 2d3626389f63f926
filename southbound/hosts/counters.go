package hosts

import "sync/atomic"

// Counters count what a Server did, over all hosts and since its start.
type Counters struct {
	Streams       uint64 // opened and welcomed
	Replaced      uint64 // ended because the host opened another
	Denied        uint64 // refused: a wrong name or version, or the observer
	Malformed     uint64 // ended because of a message that breaks a rule
	Silent        uint64 // ended because an update was not answered
	Snapshots     uint64 // updates sent that were one
	Deltas        uint64 // updates sent that were none
	Applied       uint64 // updates that hosts applied
	Refused       uint64 // updates that hosts did not
	Messages      uint64 // received
	Paced         uint64 // of those, such as had to wait for the rate
	Events        uint64 // EV events handed on
	EventsDropped uint64 // EV events that hosts report they lost
	UnknownEVs    uint64 // events and counts of EVs that the host does not hold: not handed on
	Counts        uint64 // EV counters handed on
	Probes        uint64 // probe requests sent
	ProbesLost    uint64 // probe requests that were waiting when a stream ended
	Results       uint64 // probe results handed on
}

type counters struct {
	streams, replaced, denied, malformed, silent, snapshots, deltas, applied, refused, messages, paced,
	events, eventsDropped, unknownEVs, counts,
	probes, probesLost, results atomic.Uint64
}

// Counters are the counts so far.
func (s *Server) Counters() Counters {
	c := &s.count
	return Counters{
		Streams: c.streams.Load(), Replaced: c.replaced.Load(), Denied: c.denied.Load(),
		Malformed: c.malformed.Load(), Silent: c.silent.Load(),
		Snapshots: c.snapshots.Load(), Deltas: c.deltas.Load(), Applied: c.applied.Load(),
		Refused: c.refused.Load(), Messages: c.messages.Load(),
		Paced: c.paced.Load(), Events: c.events.Load(), EventsDropped: c.eventsDropped.Load(),
		UnknownEVs: c.unknownEVs.Load(),
		Counts:     c.counts.Load(), Probes: c.probes.Load(), ProbesLost: c.probesLost.Load(),
		Results: c.results.Load(),
	}
}
