package bgpls

import (
	"context"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// A collector turns the BMP stream of the server, and the End-of-RIB markers
// that come beside it, into events of a rib. It belongs to one goroutine.
type collector struct {
	rib *rib
	// seen is how far the BMP stream has got with each peer, pending how far
	// it must get until the peer has said everything.
	seen      map[netip.Addr]progress
	pending   map[netip.Addr]progress
	upSince   map[netip.Addr]time.Time // peers that have yet to say everything
	malformed uint64
}

// progress is a point in what a peer sent.
type progress struct {
	sessions int // begun
	updates  int // received, over all sessions
}

func newCollector(c *Config) *collector {
	return &collector{
		rib:     newRIB(c.StartupGrace, c.Ports),
		seen:    make(map[netip.Addr]progress),
		pending: make(map[netip.Addr]progress),
		upSince: make(map[netip.Addr]time.Time),
	}
}

// monitor takes in a BMP message.
func (c *collector) monitor(m wire.BMPMessage) {
	if m.PostPolicy {
		return
	}
	a := m.Peer.Unmap()
	at := c.seen[a]
	switch m.Type {
	case wire.BMPPeerUp:
		at.sessions++
		now := time.Now()
		c.rib.peerUp(a, now)
		c.upSince[a] = now
	case wire.BMPPeerDown:
		delete(c.upSince, a)
		c.rib.peerDown(a, downReason(m.Body), time.Now())
	case wire.BMPRouteMonitoring:
		at.updates++
		if u, err := wire.ParseUpdate(m.Body); err != nil {
			// The server has reset the session over it.
			c.malformed++
		} else {
			c.rib.update(a, &u)
		}
	default:
		return
	}
	c.seen[a] = at
	c.caughtUp(a)
}

// endOfRIB notes that a peer has said everything that the BMP stream has up to
// a point, which may still be to come.
func (c *collector) endOfRIB(a netip.Addr, at progress) {
	c.pending[a] = at
	c.caughtUp(a)
}

func (c *collector) caughtUp(a netip.Addr) {
	want, ok := c.pending[a]
	at := c.seen[a]
	if !ok || at.sessions < want.sessions || at.sessions == want.sessions && at.updates < want.updates {
		return
	}
	delete(c.pending, a)
	if at.sessions == want.sessions {
		delete(c.upSince, a)
		c.rib.endOfRIB(a)
	}
}

// giveUp ends the synchronization of peers that send no End-of-RIB marker, and
// returns when it has to be called again.
func (c *collector) giveUp(now time.Time, timeout time.Duration) (next time.Time, ok bool) {
	for a, since := range c.upSince {
		switch end := since.Add(timeout); {
		case !now.Before(end):
			delete(c.upSince, a)
			c.rib.endOfRIB(a)
		case !ok || end.Before(next):
			next, ok = end, true
		}
	}
	return next, ok
}

// downReason words the reason of a peer down message (RFC 7854 section 4.9).
func downReason(body []byte) string {
	if len(body) > 0 {
		switch body[0] {
		case 1:
			return "session closed by us with a notification"
		case 2:
			return "session closed by us"
		case 3:
			return "session closed by the peer with a notification"
		case 4:
			return "connection lost"
		case 5:
			return "peer is no longer configured"
		}
	}
	return "session lost"
}

// run owns the collector: it applies events and publishes snapshots.
func (s *Speaker) run(ctx context.Context) {
	c := newCollector(&s.config)
	wake := time.NewTimer(0)
	defer wake.Stop()
	var touched time.Time // since when there is something to publish
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-s.events:
			event(c)
		case <-wake.C:
		}
		now := time.Now()
		next, waiting := c.giveUp(now, s.config.SyncTimeout)
		if at, ok := c.rib.tick(now); ok && (!waiting || at.Before(next)) {
			next, waiting = at, true
		}
		quiet := len(s.events) == 0
		if c.rib.touched && touched.IsZero() {
			touched = now
		}
		if s.config.Collect && c.rib.touched && (quiet && !now.Before(touched.Add(settle)) || now.After(touched.Add(settleMax))) {
			touched = time.Time{}
			s.publish(c)
		}
		if c.rib.touched && (!waiting || touched.Add(settle).Before(next)) {
			next, waiting = touched.Add(settle), true
		}
		if waiting {
			wake.Reset(max(next.Sub(now), 0))
		}
	}
}

func (s *Speaker) publish(c *collector) {
	snapshot := c.rib.snapshot()
	s.mu.Lock()
	s.stats = c.rib.stats
	s.stats.MalformedUpdates = c.malformed
	for a, p := range s.peers {
		r := c.rib.peers[a]
		p.status.Synced = r != nil && r.synced
	}
	s.mu.Unlock()
	s.publisher.Publish(snapshot)
}
