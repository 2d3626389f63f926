package mrc

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// counterKey names an EV of a host.
type counterKey struct {
	profile string
	ev      hostapi.EV
}

func (k counterKey) compare(o counterKey) int {
	return cmp.Or(cmp.Compare(k.profile, o.profile), k.ev.Compare(o.ev))
}

// evidence is what a host has said of its EVs.
type evidence struct {
	counts map[counterKey]counter
	// older reports whether the host may have counted before this core knew it: the first
	// count of an EV is then no news.
	older   bool
	assumed map[counterKey]bool // EVs that are ASSUMED_BAD
	// assumedAt is when an EV of assumed may be probed again, assumedLast the one
	// that was.
	assumedAt   time.Duration
	assumedLast counterKey
}

// counter is the last cumulative count of an EV.
type counter struct{ sent, lost uint64 }

func newEvidence() evidence {
	return evidence{counts: make(map[counterKey]counter), assumed: make(map[counterKey]bool)}
}

// restart forgets all: the host counts anew. With older it may have counted already.
func (e *evidence) restart(older bool) {
	clear(e.counts)
	clear(e.assumed)
	e.older = older
}

// count takes a cumulative count of an EV, and returns what is new of it.
func (e *evidence) count(key counterKey, n counter) suspect.Counts {
	before, known := e.counts[key]
	e.counts[key] = n
	if !known && e.older {
		return suspect.Counts{}
	}
	if n.sent < before.sent || n.lost < before.lost {
		return suspect.Counts{} // it has wrapped or started again; what happened in between is not known
	}
	// What is found lost now may have been sent before.
	lost := n.lost - before.lost
	return suspect.Counts{Sent: max(n.sent-before.sent, lost), Lost: lost}
}

// nextAssumed returns the EV after the last one returned, in order, of those that are
// ASSUMED_BAD. There must be one.
func (e *evidence) nextAssumed() counterKey {
	keys := slices.SortedFunc(maps.Keys(e.assumed), counterKey.compare)
	i := slices.IndexFunc(keys, func(k counterKey) bool { return k.compare(e.assumedLast) > 0 })
	e.assumedLast = keys[max(i, 0)]
	return e.assumedLast
}

// EVEvents records EVs that a host found bad, or good again. What is wrong is an
// error, is counted and changes nothing; the rest counts.
func (c *Core) EVEvents(name string, m *hostapi.EVEvents) error {
	h, err := c.hosts.find(name)
	if err != nil {
		return err
	}
	c.counters.LostEvents += m.Dropped
	var wrong error
	for _, e := range m.Events {
		p, err := c.profiles.find(h, e.Profile, e.EV)
		if err != nil {
			wrong = errors.Join(wrong, err)
			continue
		}
		key := counterKey{e.Profile, e.EV}
		switch e.State {
		case hostapi.EVAssumedBad:
			h.assumed[key] = true
			c.observe(h, p, e.EV, suspect.Counts{Sent: assumedBad, Lost: assumedBad})
		case hostapi.EVGood:
			delete(h.assumed, key)
		default:
			c.counters.BadEvents++
			wrong = errors.Join(wrong, fmt.Errorf("host %s: EV %v: state %v, want ASSUMED_BAD or GOOD: %w", name, e.EV, e.State, fabric.ErrMalformed))
		}
	}
	return wrong
}

// EVCounts records how many packets EVs carried, and how many of them were lost,
// since the host started. What cannot be is an error, is counted and changes
// nothing; the rest counts.
func (c *Core) EVCounts(name string, m *hostapi.EVCounts) error {
	h, err := c.hosts.find(name)
	if err != nil {
		return err
	}
	var wrong error
	for _, n := range m.Counts {
		p, err := c.profiles.find(h, n.Profile, n.EV)
		if err != nil {
			wrong = errors.Join(wrong, err)
			continue
		}
		if n.Lost > n.Sent {
			c.counters.BadCounts++
			wrong = errors.Join(wrong, fmt.Errorf("host %s: EV %v: lost %d, want at most sent, %d: %w", name, n.EV, n.Lost, n.Sent, fabric.ErrMalformed))
			continue
		}
		grown := h.count(counterKey{n.Profile, n.EV}, counter{n.Sent, n.Lost})
		p.carried.Sent += grown.Sent
		p.carried.Lost += grown.Lost
		c.observe(h, p, n.EV, grown)
	}
	return wrong
}

// LinkCounts records how many packets one end of a link has sent and the other has
// received, since both count. Read what was received after what was sent: otherwise
// packets that came in between seem lost.
func (c *Core) LinkCounts(id topology.LinkID, sent, received uint64) error {
	if f := c.state.Fabric(); f == nil || f.Snapshot().Link(id) == nil {
		return fmt.Errorf("link %s: %w", id, ErrUnknownTarget)
	}
	c.suspects.counted(id, sent, received)
	return nil
}

// observe hands what became of packets of an EV to the locator.
func (c *Core) observe(h *host, p *profile, v hostapi.EV, n suspect.Counts) {
	if n.Sent == 0 {
		return
	}
	at, ok := p.paths[v]
	if !ok {
		if p.paths == nil {
			p.paths = make(map[hostapi.EV]pathOf)
		}
		at = pathOf{links: c.profiles.linksOf(p, v), id: make(map[string]suspect.PathID)}
		p.paths[v] = at
	}
	if at.links == nil {
		c.counters.UnknownPaths++
		return
	}
	sender := h.Name
	if len(c.hosts.byName) > apart {
		sender = "" // any
	}
	id, ok := at.id[sender]
	if !ok {
		id = c.suspects.locator.Path(c.hosts.ends(h, p.to, v.Port, at.links))
		at.id[sender] = id
	}
	c.suspects.accuse(h.Name, at.links, n)
	c.suspects.observe(id, n)
}
