package mrc

import (
	"cmp"
	"errors"
	"fmt"

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

// counter is the last cumulative count of an EV.
type counter struct{ sent, lost uint64 }

// linkCount is the last count of a link, and how many were missing then.
type linkCount struct{ sent, received, missing uint64 }

// profileOf returns the profile that a host speaks of.
func (c *Core) profileOf(h *host, name string, v hostapi.EV) (*profile, error) {
	p := c.byName[name]
	if p == nil || p.from != h.sender || p.err != nil {
		c.counters.UnknownEVs++
		return nil, fmt.Errorf("host %s: profile %.80q: %w", h.Name, name, ErrUnknownEV)
	}
	if p.built.Profile.Mode != hostapi.ModeAuto && p.holds(v) == nil {
		c.counters.UnknownEVs++
		return nil, fmt.Errorf("host %s: profile %s: EV %v: %w", h.Name, name, v, ErrUnknownEV)
	}
	return p, nil
}

// EVEvents tells of EVs that a host found bad, or good again. What is wrong is an
// error, is counted and changes nothing; the rest counts.
func (c *Core) EVEvents(name string, m *hostapi.EVEvents) error {
	h, err := c.host(name)
	if err != nil {
		return err
	}
	c.counters.LostEvents += m.Dropped
	var wrong error
	for _, e := range m.Events {
		p, err := c.profileOf(h, e.Profile, e.EV)
		if err != nil {
			wrong = errors.Join(wrong, err)
			continue
		}
		key := counterKey{e.Profile, e.EV}
		switch e.State {
		case hostapi.EVAssumedBad:
			h.assumed[key] = true
			c.observe(h, p, e.EV, suspect.Counts{Sent: c.cfg.AssumedBad, Lost: c.cfg.AssumedBad})
		case hostapi.EVGood:
			delete(h.assumed, key)
		default:
			c.counters.BadEvents++
			wrong = errors.Join(wrong, fmt.Errorf("host %s: EV %v: state %v, want ASSUMED_BAD or GOOD: %w", name, e.EV, e.State, ErrMalformed))
		}
	}
	return wrong
}

// EVCounts tells how many packets EVs carried, and how many of them were lost,
// since the host started. What cannot be is an error, is counted and changes
// nothing; the rest counts.
func (c *Core) EVCounts(name string, m *hostapi.EVCounts) error {
	h, err := c.host(name)
	if err != nil {
		return err
	}
	var wrong error
	for _, n := range m.Counts {
		p, err := c.profileOf(h, n.Profile, n.EV)
		if err != nil {
			wrong = errors.Join(wrong, err)
			continue
		}
		if n.Lost > n.Sent {
			c.counters.BadCounts++
			wrong = errors.Join(wrong, fmt.Errorf("host %s: EV %v: lost %d, want at most sent, %d: %w", name, n.EV, n.Lost, n.Sent, ErrMalformed))
			continue
		}
		key := counterKey{n.Profile, n.EV}
		before, known := h.counters[key]
		if !known && h.older {
			h.counters[key] = counter{n.Sent, n.Lost}
			continue
		}
		if n.Sent < before.sent || n.Lost < before.lost { // the counter has started again
			before = counter{}
		}
		h.counters[key] = counter{n.Sent, n.Lost}
		// What is found lost now may have been sent before.
		lost := n.Lost - before.lost
		c.observe(h, p, n.EV, suspect.Counts{Sent: max(n.Sent-before.sent, lost), Lost: lost})
	}
	return wrong
}

// LinkCounts tells how many packets one end of a link has sent and the other has
// received, since both count. What was received is to be read after what was
// sent: otherwise packets that came in between seem lost.
func (c *Core) LinkCounts(id topology.LinkID, sent, received uint64) error {
	if c.fabric == nil || c.fabric.snap.Link(id) == nil {
		return fmt.Errorf("link %s: %w", id, ErrUnknownTarget)
	}
	before, known := c.switches[id]
	// Both ends are not read at the same time: packets on the way are missing
	// once, and what came in between is there too early.
	missing := max(sent, received) - received
	if !known || sent < before.sent || received < before.received { // one end has started again
		c.switches[id] = linkCount{sent, received, missing}
		return nil
	}
	c.switches[id] = linkCount{sent, received, max(missing, before.missing)}
	if sent == before.sent {
		return nil
	}
	lost := max(missing, before.missing) - before.missing
	c.locator.Observe(c.now, c.locator.Path([]topology.LinkID{id}), suspect.Counts{Sent: sent - before.sent, Lost: min(lost, sent-before.sent)})
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
		at = pathOf{links: c.linksOf(p, v), id: make(map[string]suspect.PathID)}
		p.paths[v] = at
	}
	if at.links == nil {
		c.counters.UnknownPaths++
		return
	}
	sender := h.Name
	if len(c.hosts) > apart {
		sender = "" // any
	}
	id, ok := at.id[sender]
	if !ok {
		id = c.locator.Path(c.ends(h, p.to, v.Port, at.links))
		at.id[sender] = id
	}
	c.locator.Observe(c.now, id, n)
}

// linksOf returns the links of an EV, nil when a switch chooses some.
func (c *Core) linksOf(p *profile, v hostapi.EV) []topology.LinkID {
	held := p.holds(v)
	set, ok := c.pathSet(p, v.Port)
	if held == nil || !ok {
		return nil
	}
	wire, err := held.Expand(v)
	if err != nil {
		return nil
	}
	route, err := c.fabric.assign.Decode(set.Source().ID, set.Destination().ID, wire.Value)
	if err != nil {
		return nil
	}
	links := make([]topology.LinkID, 0, len(route.Hops))
	for _, hop := range route.Hops {
		if len(hop.Links) != 1 {
			return nil
		}
		links = append(links, hop.Links[0].ID)
	}
	return links
}

// apart is the number of hosts up to which what each sends is told from what
// others of its leaf send: beyond, there would be too many paths to look at.
const apart = 128

// ends adds the links of hosts to a path, so that a bad one is not taken for a
// bad link of the fabric: that of the host which sends, and, as an EV does not
// say who receives, all those of the last leaf's hosts.
func (c *Core) ends(h *host, to *rack, port uint8, links []topology.LinkID) []topology.LinkID {
	out := make([]topology.LinkID, 0, len(links)+2)
	if len(c.hosts) <= apart {
		out = append(out, hostLink(h.Name, port))
	} else {
		out = append(out, rackLink(h.rack.name, port)+" sending")
	}
	out = append(out, links...)
	return append(out, rackLink(to.name, port))
}

func hostLink(name string, port uint8) topology.LinkID {
	return topology.LinkID(fmt.Sprintf("host %s port %d", name, port))
}

func rackLink(name string, port uint8) topology.LinkID {
	return topology.LinkID(fmt.Sprintf("hosts of %s port %d", name, port))
}
