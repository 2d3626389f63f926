package mrc

import (
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// A phase is where one direction of a link stands between failure and use:
//
//	  ┌────────────── not advertised, port down ──────────────┐
//	  ▼                                                       │
//	down ── is back ──▶ held ── back-off over ──▶ trying ── probes came through ──▶ up
//	                     ▲  ▲                       │                               │
//	                     │  └───── probe lost ──────┘                               │
//	                     └──────────────────── suspect, denied ─────────────────────┘
//
// Packets cross a link that is up and not drained; EVs over all others are denied.
type phase uint8

const (
	up phase = iota
	down
	held
	trying
)

// String names the phase.
func (p phase) String() string {
	return [...]string{"up", "down", "held", "trying"}[p]
}

// A link is one direction of a link of the fabric.
type link struct {
	*topology.Link
	reverse int32
	leaves  []topology.NodeID // below it
	rises   bool              // paths climb by it; else they descend, if they use it at all

	phase    phase
	cause    string // why it is not up
	since    time.Duration
	until    time.Duration // held: when the back-off is over
	failures backoff       // of the link, and of probes over it
	bad      backoff       // found to lose packets
	ready    bool          // trying: probes came through, it is restored with others

	present  bool // advertised, as is its other direction, between nodes that may be crossed
	portDown bool // as a switch says
	drained  bool

	proven bool // a probe has come through since the start
	misses int  // probes in a row that did not
	need   int  // trying: probes that must come through, and got: that did
	got    int
	next   time.Duration // trying: not probed before
	spin   int           // turns which paths probe it
	alone  time.Duration // trying: since when no host can probe it; 0: one can
}

// out reports whether EVs over the link are denied.
func (l *link) out() bool { return l.phase != up || l.drained }

// changed notes that EVs over a link may have another state now.
func (c *Core) changed(i int32, before bool) {
	if c.fabric.links[i].out() != before {
		c.touched = append(c.touched, i)
	}
}

// enter moves a link to a phase.
func (c *Core) enter(i int32, p phase, cause string) {
	l := &c.fabric.links[i]
	before, was := l.out(), l.phase
	l.phase, l.cause, l.since, l.ready, l.alone, l.got = p, cause, c.now, false, 0, 0
	if p == up {
		l.cause, l.proven, l.misses = "", true, 0
	}
	c.wait(i, p == held || p == trying)
	if (was == up) != (p == up) {
		c.locator.Forget(l.ID)
		verb := "denied: " + cause
		if p == up {
			verb = "restored"
		}
		c.event(api.EventLinkChanged, string(l.ID), verb)
	}
	c.changed(i, before)
}

// hold keeps a link that is back from being used for a while.
func (c *Core) hold(i int32, cause string, d time.Duration, need int) {
	l := &c.fabric.links[i]
	l.until, l.need = c.now+d, need
	c.enter(i, held, cause)
}

// look moves a link after what is known of it has changed: present, portDown.
func (c *Core) look(i int32) {
	l := &c.fabric.links[i]
	gone := !l.present || l.portDown
	switch {
	case gone && l.phase != down:
		l.failures.failed(c.now, c.cfg.Calm)
		cause := "port down"
		if !l.present {
			cause = "not advertised"
		}
		c.enter(i, down, cause)
	case !gone && l.phase == down:
		c.hold(i, "was down", l.failures.hold(c.cfg.Hold, c.cfg.MaxHold), 1)
	}
}

// wait keeps the list of links that time moves on.
func (c *Core) wait(i int32, on bool) {
	if on {
		c.waiting[i] = struct{}{}
	} else {
		delete(c.waiting, i)
	}
}

// runLinks moves links on whose time has come.
func (c *Core) runLinks(restore bool) {
	for _, i := range c.waitingLinks() {
		l := &c.fabric.links[i]
		switch {
		case l.phase == held && c.now >= l.until:
			need := l.need
			c.enter(i, trying, l.cause)
			l.need, l.next = max(need, 1), c.now
			l.ready = c.cfg.ProbeRate == 0
		case l.phase == trying && l.alone > 0 && c.now >= l.alone+c.cfg.MaxHold:
			l.ready = true
		}
		if l.phase == trying && l.ready && restore {
			c.enter(i, up, "")
		}
	}
}

// probed moves a link on when probes that were sent at a time came through or
// did not.
func (c *Core) probed(i int32, at time.Duration, sent, received int) {
	l := &c.fabric.links[i]
	if at < l.since {
		return // it speaks of what was before
	}
	if received > 0 {
		l.proven, l.misses = true, 0
	} else {
		l.misses++
	}
	if l.phase != trying || l.ready {
		return
	}
	if received < sent && (l.need > 1 || received == 0) {
		cause, need, d := l.cause, l.need, time.Duration(0)
		if need > 1 {
			l.bad.failed(c.now, 2*c.cfg.SuspectMaxHold)
			d = l.bad.hold(c.cfg.SuspectHold, c.cfg.SuspectMaxHold)
		} else {
			l.failures.failed(c.now, c.cfg.Calm)
			d = l.failures.hold(c.cfg.Hold, c.cfg.MaxHold)
		}
		c.hold(i, cause, d, need)
		return
	}
	l.got += received
	l.ready = l.got >= l.need
}
