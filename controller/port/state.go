package port

import (
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/internal/damping"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/gnmi"
)

// maxFailed limits, for each switch, the remembered failures of ports beyond the reported ports.
const maxFailed = 4096

// switchState is the known state of a switch.
type switchState struct {
	southbound.Ports
	byPort map[uint32]*gnmi.Interface
	failed map[uint32]*failure // ports that failed, until a calm has passed
}

// failure is the state of a port that was down.
type failure struct {
	damping.Backoff
	down  bool
	out   bool          // the link is not used
	until time.Duration // not down: when the link is used again
	flaps uint64
}

// set replaces what is known of a switch's ports. It returns the ports that went out.
func (s *switchState) set(
	x southbound.Ports, now time.Duration, cfg *inventory.Ports,
) (went []uint32) {
	s.Ports = x
	s.byPort = make(map[uint32]*gnmi.Interface, len(x.Interfaces))
	for i := range x.Interfaces {
		if p := &x.Interfaces[i]; p.Port != 0 && (s.byPort[p.Port] == nil || p.Oper == gnmi.OperUp) {
			s.byPort[p.Port] = p
		}
	}
	for port, up := range x.Up {
		f := s.failed[port]
		if up || f != nil && f.down {
			continue
		}
		if f == nil {
			f = &failure{}
			if s.failed == nil {
				s.failed = make(map[uint32]*failure)
			}
			s.failed[port] = f
		}
		f.Failed(now, cfg.Calm.D())
		f.down = true
		f.flaps++
		if !f.out {
			f.out = true
			went = append(went, port)
		}
	}
	for _, port := range slices.Collect(maps.Keys(s.failed)) {
		f := s.failed[port]
		up, known := x.Up[port]
		if f.down && (up || !known) {
			f.down, f.until = false, now+f.Hold(cfg.Hold.D(), cfg.MaxHold.D())
		}
		if !known && len(s.failed) > maxFailed {
			delete(s.failed, port) // a switch cannot fill the memory with ports that come and go
		}
	}
	slices.Sort(went)
	return went
}

// ethernetHeader is what a frame has before its packet, in octets.
const ethernetHeader = 14

// MTU returns the largest packet of a port, in octets: what the switch reports of its configuration
// by gNMI, as the longest frame. 0: unknown.
func (f *Feature) MTU(sw string, port uint32) uint32 {
	s := f.switches[sw]
	if s == nil || s.byPort[port] == nil {
		return 0
	}
	m := s.byPort[port].Config.MTU
	if m == nil || *m <= ethernetHeader {
		return 0
	}
	return *m - ethernetHeader
}

// clone returns a copy that shares nothing that changes.
func (s *switchState) clone() *switchState {
	out := *s
	out.failed = make(map[uint32]*failure, len(s.failed))
	for port, f := range s.failed {
		with := *f
		out.failed[port] = &with
	}
	return &out
}

// tick returns the ports whose hold is over, and forgets those whose failures no longer count.
func (s *switchState) tick(now time.Duration, cfg *inventory.Ports) (back []uint32) {
	for port, f := range s.failed {
		if f.out && !f.down && now >= f.until {
			f.out = false
			back = append(back, port)
		}
		if !f.out && f.Calm(now, cfg.Calm.D()) {
			delete(s.failed, port)
		}
	}
	slices.Sort(back)
	return back
}

// next lowers a time to that of the next tick.
func (s *switchState) next(at time.Duration, ok bool) (time.Duration, bool) {
	for _, f := range s.failed {
		if f.out && !f.down && (!ok || f.until < at) {
			at, ok = f.until, true
		}
	}
	return at, ok
}

// out reports whether the link of a port is not used.
func (s *switchState) out(port uint32) bool {
	f := s.failed[port]
	return f != nil && f.out
}
