package prove

import (
	"errors"
	"fmt"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/topology"
)

// assumedBad is how many lost packets an event ASSUMED_BAD stands for.
const assumedBad = 3

// EVEvents records EVs that a host found bad, or good again. Invalid events are errors: EVEvents
// counts each error, and applies the rest of the message.
func (p *Prover) EVEvents(h *Host, m *hostapi.EVEvents) error {
	p.Counters.LostEvents += m.Dropped
	var wrong error
	for _, e := range m.Events {
		x, err := p.find(h, e.Profile, e.EV)
		if err != nil {
			wrong = errors.Join(wrong, err)
			continue
		}
		key := counterKey{e.Profile, e.EV}
		switch e.State {
		case hostapi.EVAssumedBad:
			h.assumed[key], p.prober.assuming[h] = true, true
			p.observe(h, x, e.EV, suspect.Counts{Sent: assumedBad, Lost: assumedBad})
		case hostapi.EVGood:
			delete(h.assumed, key)
		default:
			p.Counters.BadEvents++
			wrong = errors.Join(wrong, fmt.Errorf(
				"host %s: EV %v: state %v, want ASSUMED_BAD or GOOD: %w", h.Name, e.EV, e.State,
				fabric.ErrMalformed))
		}
	}
	return wrong
}

// EVCounts records how many packets EVs carried, and how many of them were lost, since the host
// started. Impossible counts are errors: EVCounts counts each error, and applies the rest of the
// message.
func (p *Prover) EVCounts(h *Host, m *hostapi.EVCounts) error {
	var wrong error
	for _, n := range m.Counts {
		x, err := p.find(h, n.Profile, n.EV)
		if err != nil {
			wrong = errors.Join(wrong, err)
			continue
		}
		if n.Lost > n.Sent {
			p.Counters.BadCounts++
			wrong = errors.Join(wrong, fmt.Errorf(
				"host %s: EV %v: lost %d, want at most sent, %d: %w", h.Name, n.EV, n.Lost, n.Sent,
				fabric.ErrMalformed))
			continue
		}
		grown := h.count(counterKey{n.Profile, n.EV}, counter{n.Sent, n.Lost})
		x.carried.Sent += grown.Sent
		x.carried.Lost += grown.Lost
		p.observe(h, x, n.EV, grown)
	}
	return wrong
}

// LinkCounts records the packets sent at one end of a link and received at the other, since both
// ends began to count. Read the sent count before the received count: otherwise packets that arrive
// between the two readings seem lost.
func (p *Prover) LinkCounts(id topology.LinkID, sent, received uint64) {
	p.suspects.counted(id, sent, received)
}

// find returns the profile that a host speaks of.
func (p *Prover) find(h *Host, name string, v hostapi.EV) (*Profile, error) {
	x := p.Profiles.Named(name)
	var built *hostapi.Profile
	if x != nil && x.from == h.group {
		built = x.evs.Built()
	}
	if built == nil {
		p.Counters.UnknownEVs++
		return nil, fmt.Errorf("host %s: profile %.80q: %w", h.Name, name, ErrUnknownEV)
	}
	if built.Mode != hostapi.ModeAuto && x.evs.With(v) == nil {
		p.Counters.UnknownEVs++
		return nil, fmt.Errorf("host %s: profile %s: EV %v: %w", h.Name, name, v, ErrUnknownEV)
	}
	return x, nil
}

// observe hands what became of packets of an EV to the locator.
func (p *Prover) observe(h *Host, x *Profile, v hostapi.EV, n suspect.Counts) {
	if n.Sent == 0 {
		return
	}
	at, ok := x.paths[v]
	if !ok {
		if x.paths == nil {
			x.paths = make(map[hostapi.EV]pathOf)
		}
		at = pathOf{links: p.linksOf(x, v), id: make(map[string]suspect.PathID)}
		x.paths[v] = at
	}
	if at.links == nil {
		p.Counters.UnknownPaths++
		return
	}
	sender := h.Name
	if len(p.hosts) > apart {
		sender = "" // any
	}
	id, ok := at.id[sender]
	if !ok {
		id = p.suspects.locator.Path(p.ends(h, x.to, v.Port, at.links))
		at.id[sender] = id
	}
	p.suspects.accuse(h.Name, at.links, n)
	p.suspects.observe(id, n)
}
