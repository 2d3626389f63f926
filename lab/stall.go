package lab

import (
	"fmt"
	"strings"
	"time"
)

// StallTime is how long, by the network's time, nothing of a mesh need arrive: more than the
// longest Local ACK Timeout (OCP MRC 1.0, table 7-1).
const StallTime = 30 * time.Second

// A Stall notices that nothing of a mesh arrives any more. The zero value has seen nothing.
type Stall struct {
	octets uint64
	since  time.Duration
}

// Look returns an error when an unfinished mesh has received nothing for too long.
func (s *Stall) Look(m *Mesh) error {
	octets := m.arrived()
	switch now := m.world.now; {
	case octets != s.octets || s.since == 0 || m.Done():
		s.octets, s.since = octets, now
	case now-s.since >= StallTime:
		return fmt.Errorf("lab: nothing has arrived for %v: %s", StallTime, m.waiting())
	}
	return nil
}

// arrived is the octets that are in the receivers' memory or acknowledged: it grows as long as a
// mesh gets on.
func (m *Mesh) arrived() (octets uint64) {
	for _, f := range m.Flows {
		octets += f.SinkQP.Counters().PayloadReceived + uint64(f.complete)
	}
	return octets
}

// waiting reports the unfinished flows, and what each waits for.
func (m *Mesh) waiting() string {
	const most = 3
	var out []string
	count := 0
	for _, f := range m.Flows {
		if f.complete == f.due && !m.repeat && !m.awaits(f) {
			continue
		}
		if count++; count > most {
			continue
		}
		c := f.QP.Counters()
		out = append(out, fmt.Sprintf(
			"%s to %s has %d of %d octets acknowledged, is %v with %d octets in flight, PSN %#x "+
				"acknowledged and %#x next, after %d timeouts and %d resent",
			f.From, f.To, f.complete, f.due, f.QP.Schedule(), f.QP.InFlight(), f.QP.UnackPSN(),
			f.QP.NextPSN(), c.Timeouts, c.RequestsResent))
	}
	if count > most {
		out = append(out, fmt.Sprintf("and %d more", count-most))
	}
	return strings.Join(out, "; ")
}
