package dataplane

import "iter"

// Drops yields the reasons for which packets are dropped, in the order in
// which a packet meets them, with the number of packets of each. Every packet
// is accounted: Received + Replicated is the sum of Transmitted, of all drops,
// of Multicast, and of what waits in the queues.
func (s Stats) Drops() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for _, d := range [...]struct {
			reason string
			n      uint64
		}{
			{"no_program", s.NoProgram},
			{"port_down", s.PortDown},
			{"empty", s.Empty},
			{"too_long", s.TooLong},
			{"input_full", s.InputFull},
			{"ingress", s.IngressDrop},
			{"no_group", s.NoGroup},
			{"bad_priority", s.BadPriority},
			{"queue_full", s.QueueFull},
			{"pause_buffer_full", s.PauseBufferFull},
			{"storm", s.StormDrop},
			{"egress", s.EgressDrop},
			{"recirculation_full", s.RecirculationFull},
			{"assert_failed", s.AssertFailed},
			{"pfc_refused", s.PFCRefused},
		} {
			if !yield(d.reason, d.n) {
				return
			}
		}
	}
}

// Dropped returns how many packets were dropped, for whatever reason.
func (s Stats) Dropped() uint64 {
	total := uint64(0)
	for _, n := range s.Drops() {
		total += n
	}
	return total
}

// Waiting returns how many packets wait for something other than Advance: for
// their queue's rate, or for the rate of recirculation.
func (s *Switch) Waiting() (queued, recirculated int) {
	return s.queues.Len(), s.again.Len()
}
