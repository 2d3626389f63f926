package tunnel

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// A monitor probes the path of tunnels (draft section 4).
type monitor struct {
	from, to topology.NodeID
	first    topology.NodeID
	source   netip.Addr
	sids     []netip.Addr
	delay    time.Duration // of the links there and back, -1 when unknown
	cookie   uint32
	users    int

	seq     uint32
	waiting []outstanding // in the order of seq
	inRow   int           // lost in a row
	down    bool
	rtt     estimate
	sent    uint64
	lost    uint64
	answers uint64
}

type outstanding struct {
	seq    uint32
	lostAt time.Duration
}

func (c *Core) watch(t *Tunnel) {
	key := t.measured()
	m := c.monitors[key]
	if m == nil {
		c.cookie++
		m = &monitor{from: t.From, to: t.To, first: t.Segments[1].Node, source: t.Source, delay: t.Delay,
			cookie: c.cookie, sids: append(slices.Clone(t.List), t.SID)}
		c.monitors[key], c.cookies[m.cookie] = m, m
	}
	m.users++
}

func (c *Core) unwatch(t *Tunnel) {
	key := t.measured()
	m := c.monitors[key]
	if m == nil {
		return
	}
	if m.users--; m.users == 0 {
		delete(c.monitors, key)
		delete(c.cookies, m.cookie)
	}
}

// planned returns the round trip that watermarks are made for.
func (m *monitor) planned(assumed time.Duration) (rtt time.Duration, measured bool) {
	switch {
	case m != nil && m.rtt.planned > 0:
		return m.rtt.planned, true
	case m != nil && m.delay >= 0:
		return m.delay + m.delay/8, false
	}
	return assumed, false
}

// runProbes sends what is due, and counts what has not come back.
func (c *Core) runProbes() {
	due := c.now >= c.probedAt+c.cfg.ProbeEvery || c.probedAt == 0 && c.now == 0
	if due {
		c.probedAt = c.now
	}
	for _, cookie := range c.sortedCookies() {
		m := c.cookies[cookie]
		lost := 0
		for lost < len(m.waiting) && m.waiting[lost].lostAt <= c.now {
			lost++
		}
		m.waiting = slices.Delete(m.waiting, 0, lost)
		m.lost += uint64(lost)
		m.inRow += lost
		if lost > 0 && !m.down && m.inRow >= c.cfg.ProbeLoss {
			m.down = true
			c.event(api.EventTunnelLost, c.ends(m), fmt.Sprintf("%d probes in a row are lost", m.inRow))
			c.touchMeasured(m)
		}
		if due {
			m.seq++
			m.sent++
			rtt, _ := m.planned(c.cfg.Sizing.RTT)
			m.waiting = append(m.waiting, outstanding{m.seq, c.now + c.cfg.ProbeTimeout + 4*rtt})
			c.out.Probes = append(c.out.Probes, Probe{From: m.from, First: m.first, Source: m.source,
				SIDs: m.sids, Cookie: m.cookie, Seq: m.seq})
		}
	}
}

func (c *Core) sortedCookies() []uint32 {
	out := make([]uint32, 0, len(c.cookies))
	for k := range c.cookies {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (c *Core) ends(m *monitor) string { return c.name(m.from) + " to " + c.name(m.to) }

// Answered records that a probe has come back to the node it came from, and how
// long it took.
func (c *Core) Answered(from topology.NodeID, cookie, seq uint32, rtt time.Duration) {
	m := c.cookies[cookie]
	if m == nil || m.from != from || rtt <= 0 {
		return
	}
	i := slices.IndexFunc(m.waiting, func(o outstanding) bool { return o.seq == seq })
	if i < 0 {
		return // late, or again
	}
	m.waiting = slices.Delete(m.waiting, i, i+1)
	m.inRow = 0
	m.answers++
	if m.down {
		m.down = false
		c.event(api.EventTunnelRecovered, c.ends(m), "")
		c.touchMeasured(m)
	}
	if m.answers == 1 {
		c.touchMeasured(m)
	}
	if m.rtt.add(rtt) {
		c.event(api.EventWatermarksChanged, c.ends(m), fmt.Sprintf("round trip %v, planned for %v",
			rtt.Round(time.Microsecond), m.rtt.planned.Round(time.Microsecond)))
		c.changed[m.from] = true
		c.touchMeasured(m)
	}
}

// touchMeasured has the PFC policies looked at whose tunnels a monitor measures.
func (c *Core) touchMeasured(m *monitor) {
	for _, p := range c.policies {
		for _, b := range p.held() {
			for name, d := range b.deployments {
				for i := range d.Tunnels {
					if c.monitors[d.Tunnels[i].measured()] == m {
						c.touch(name)
					}
				}
			}
		}
	}
}

// Quality is what probes say of a tunnel.
type Quality struct {
	Probed, Down     bool
	RTT, Least, Most time.Duration
	Planned          time.Duration
	Sent, Lost       uint64
}

// Quality returns what probes say of a tunnel.
func (c *Core) Quality(t *Tunnel) Quality {
	m := c.monitors[t.measured()]
	if m == nil {
		return Quality{}
	}
	q := Quality{Probed: m.answers > 0 || m.down, Down: m.down, RTT: m.rtt.last(), Sent: m.sent,
		Lost: m.lost}
	q.Planned, _ = m.planned(c.cfg.Sizing.RTT)
	q.Least, q.Most = m.rtt.bounds()
	return q
}
