package spray

import (
	"time"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/packet"
)

// NextProbe returns the time of the next probe of an ASSUMED_BAD value. The set does not probe
// values on a port that is down, because their fault is known.
func (s *Set) NextProbe() (at time.Duration, ok bool) {
	e := s.firstProbe(AllPorts)
	if e == nil {
		return 0, false
	}
	return e.probeAt, true
}

// Probe returns the path of the ASSUMED_BAD value on these ports that is due for a probe and has
// waited longest. Its next probe is due after twice the time.
func (s *Set) Probe(now time.Duration, ports packet.PortMask) (p mrc.Path, ok bool) {
	e := s.firstProbe(ports)
	if e == nil || e.probeAt > now {
		return mrc.Path{}, false
	}
	e.probeWait = min(2*e.probeWait, s.cfg.ProbeMaxInterval)
	e.probeAt = now + e.probeWait
	e.counts.Probes++
	return e.path, true
}

// firstProbe returns the value on one of these ports with the earliest probe; nil: no value needs a
// probe.
func (s *Set) firstProbe(ports packet.PortMask) *slot {
	if s.bad == 0 {
		return nil
	}
	var first *slot
	for i := range s.evs {
		e := &s.evs[i]
		if e.state == AssumedBad && s.up(e) && ports.Has(e.Port) &&
			(first == nil || e.probeAt < first.probeAt) {
			first = e
		}
	}
	return first
}
