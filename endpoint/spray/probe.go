package spray

import (
	"time"

	"github.com/weft-sdn/weft/endpoint/mrc"
	"github.com/weft-sdn/weft/packet"
)

// NextProbe is the time at which the next ASSUMED_BAD value must be probed. One whose port is down
// is not: that is known.
func (s *Set) NextProbe() (at time.Duration, ok bool) {
	e := s.firstProbe(AllPorts)
	if e == nil {
		return 0, false
	}
	return e.probeAt, true
}

// Probe is an ASSUMED_BAD value by one of these ports that a probe must be sent with now, the one
// that has waited longest. It is due again after twice the time.
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

// firstProbe is the value by one of these ports whose probe is due first; nil: there is none.
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
