package fabric

import (
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/internal/damping"
)

// hostPorts are the ports of a host, with masks of the denied and the usable ports.
type hostPorts struct {
	up      hostapi.PortMask // as the host says, if upKnown
	upKnown bool
	list    []port // by port, from 1; list[0] is no port
	denied  hostapi.PortMask
	usable  hostapi.PortMask
}

// port is a port of a host.
type port struct {
	attached            bool
	linkDown, agentDown bool // as the leaf and the host say
	drained             bool
	failures            damping.Backoff
	until               time.Duration // held until then
	held                bool
}

// Port returns the state of a port of the host, without leaf name and drains; ok is false when the
// port is not attached.
func (h *Attached) Port(n uint8) (s api.HostPortStatus, ok bool) {
	if !h.ports.has(n) {
		return s, false
	}
	p := &h.ports.list[n]
	s = api.HostPortStatus{
		Leaf: h.At[n-1], Usable: h.ports.usable.Has(int(n)),
		LinkDown: p.linkDown, HostDown: p.agentDown, Held: p.held, Drained: p.drained,
	}
	if int(n) <= len(h.LeafPorts) {
		s.LeafPort = h.LeafPorts[n-1]
	}
	return s, true
}

// Reports reports whether the host has reported the states of its ports.
func (h *Attached) Reports() bool { return h.ports.upKnown }

// Usable returns the ports that peers may send to.
func (h *Attached) Usable() hostapi.PortMask { return h.ports.usable }

// Denied returns the ports that the host must not send by; see Denial.
func (h *Attached) Denied() hostapi.PortMask { return h.ports.denied }

// attach forgets all ports and makes those of an attachment.
func (ps *hostPorts) attach(at ev.Attachment) {
	ps.list = make([]port, len(at)+1)
	for i, leaf := range at {
		ps.list[i+1].attached = leaf != ""
	}
}

// has reports whether a port is attached.
func (ps *hostPorts) has(n uint8) bool { return int(n) < len(ps.list) && ps.list[n].attached }

// all are the ports that are attached.
func (ps *hostPorts) all() (mask hostapi.PortMask) {
	for i := range ps.list {
		if ps.list[i].attached {
			mask |= hostapi.Ports(i)
		}
	}
	return mask
}

// look finds the usable ports after a change of linkDown, the state by the leaves, or of the state
// by the host. waits reports whether time brings a port back.
func (ps *hostPorts) look(
	now time.Duration, cfg *inventory.Restore, linkDown func(i int) bool,
) (denied, usable hostapi.PortMask, waits bool) {
	for i := 1; i < len(ps.list); i++ {
		p := &ps.list[i]
		if !p.attached {
			continue
		}
		was := p.linkDown || p.agentDown
		p.linkDown = linkDown(i)
		p.agentDown = ps.upKnown && !ps.up.Has(i)
		is := p.linkDown || p.agentDown
		switch {
		case is && !was:
			p.failures.Failed(now, cfg.Calm.D())
			p.held = true
		case !is && was:
			p.until = now + p.failures.Hold(cfg.Hold.D(), cfg.MaxHold.D())
			waits = true
		}
		if p.denied() {
			denied |= hostapi.Ports(i)
		}
		if p.usable() {
			usable |= hostapi.Ports(i)
		}
	}
	return denied, usable, waits
}

// release ends the hold of ports whose time has come. waits reports whether there are
// others.
func (ps *hostPorts) release(now time.Duration) (waits bool) {
	for i := range ps.list {
		p := &ps.list[i]
		if p.held && !p.linkDown && !p.agentDown {
			if now >= p.until {
				p.held = false
			} else {
				waits = true
			}
		}
	}
	return waits
}

// look finds which ports of a host may be used.
func (s *hostSet) look(h *Attached) {
	denied, usable, waits := h.ports.look(s.now, s.restore, func(i int) bool {
		return i <= len(h.LeafPorts) && h.LeafPorts[i-1] != 0 &&
			s.ports.isDown(nodePort{h.At[i-1], h.LeafPorts[i-1]})
	})
	if waits {
		s.held[h.Name] = true
	}
	if denied != h.ports.denied {
		h.ports.denied = denied
		if s.changed == nil {
			s.changed = make(map[string]bool)
		}
		s.changed[h.Name] = true
	}
	if usable != h.ports.usable {
		h.ports.usable, s.remask = usable, true
	}
}

// lookAt looks at the hosts behind a port of a switch.
func (s *hostSet) lookAt(p nodePort) {
	for _, r := range s.racksAt[p.node] {
		for _, h := range r.hosts {
			if slices.Contains(h.LeafPorts, p.port) {
				s.look(h)
			}
		}
	}
}

// setDrained looks at a port of a host after it was drained or undrained.
func (s *hostSet) setDrained(name string, n uint8) {
	if h := s.byName[name]; h != nil && int(n) < len(h.ports.list) {
		h.ports.list[n].drained = s.drained(name, n)
		s.look(h)
	}
}

// runPorts brings back the ports whose time has come.
func (s *hostSet) runPorts() {
	for _, name := range slices.Sorted(maps.Keys(s.held)) {
		waits := false
		if h := s.byName[name]; h != nil {
			waits = h.ports.release(s.now)
			s.look(h)
		}
		if !waits {
			delete(s.held, name)
		}
	}
}
