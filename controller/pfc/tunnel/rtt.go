package tunnel

import (
	"slices"
	"time"
)

// samples is how many measurements an estimate looks back.
const samples = 16

// An estimate is the round-trip time of a tunnel, as planned for the watermarks. The estimate
// follows a longer round trip at once, with an eighth in reserve. The estimate follows a shorter
// round trip when all recent measurements agree and the difference is worth the change. Too long an
// estimate costs buffer, too short an estimate costs packets.
type estimate struct {
	recent  []time.Duration // the newest last
	planned time.Duration   // 0: nothing measured
}

// add takes a measurement and reports whether the estimate has changed.
func (e *estimate) add(rtt time.Duration) bool {
	if len(e.recent) == samples {
		e.recent = slices.Delete(e.recent, 0, 1)
	}
	e.recent = append(e.recent, rtt)
	longest := slices.Max(e.recent)
	want := longest + longest/8
	if e.planned == 0 || longest > e.planned || len(e.recent) == samples &&
		want < e.planned-e.planned/4 {
		e.planned = want
		return true
	}
	return false
}

func (e *estimate) last() time.Duration {
	if len(e.recent) == 0 {
		return 0
	}
	return e.recent[len(e.recent)-1]
}

func (e *estimate) bounds() (shortest, longest time.Duration) {
	if len(e.recent) == 0 {
		return 0, 0
	}
	return slices.Min(e.recent), slices.Max(e.recent)
}
