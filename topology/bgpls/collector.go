package bgpls

import (
	"context"
	"time"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// A collector is a rib and what is still waited for. It belongs to one
// goroutine.
type collector struct {
	rib *rib
	// syncing has the peers that have yet to say everything, and since when.
	syncing   map[peerKey]time.Time
	malformed uint64
	// reportFaults, when not nil, takes what a peer sent malformed, once in faultPause.
	reportFaults func(peerKey, faultReport)
}

func newCollector(c *Config) *collector {
	r := newRIB(c.StartupGrace, c.Ports)
	r.stalePaths, r.lossTime, r.dead = c.StalePathTime, c.LossTime, c.Dead
	return &collector{rib: r, syncing: make(map[peerKey]time.Time)}
}

func (c *collector) peerUp(k peerKey, now time.Time) {
	c.rib.peerUp(k, now)
	c.syncing[k] = now
}

func (c *collector) peerDown(k peerKey, reason string, malformed bool, now time.Time) {
	if malformed {
		c.malformed++
	}
	delete(c.syncing, k)
	c.rib.peerDown(k, reason, now)
}

func (c *collector) peerFailed(k peerKey, reason string) { c.rib.peerFailed(k, reason) }

func (c *collector) update(k peerKey, u *wire.Update) error {
	if err := c.rib.update(k, u); err != nil {
		delete(c.syncing, k) // it does not say everything
		return err
	}
	if u.EndOfRIB {
		delete(c.syncing, k)
		c.rib.endOfRIB(k)
	}
	return nil
}

func (c *collector) removePeer(k peerKey) {
	delete(c.syncing, k)
	c.rib.removePeer(k)
}

// tick does what is due: it ends the waiting for End-of-RIB markers, and reports faults. It returns
// the time of the next call.
func (c *collector) tick(now time.Time, timeout time.Duration) (next time.Time, ok bool) {
	for k, since := range c.syncing {
		switch end := since.Add(timeout); {
		case !now.Before(end):
			delete(c.syncing, k)
			c.rib.endOfRIB(k)
		case !ok || end.Before(next):
			next, ok = end, true
		}
	}
	if end, more := c.rib.tick(now); more && (!ok || end.Before(next)) {
		next, ok = end, true
	}
	for k, p := range c.rib.peers {
		report, due, again := p.faults.report(now)
		if due && c.reportFaults != nil {
			c.reportFaults(k, report)
		}
		if !again.IsZero() && (!ok || again.Before(next)) {
			next, ok = again, true
		}
	}
	return next, ok
}

// collect owns the collector: it applies events and publishes snapshots, until
// the context ends.
func (s *Speaker) collect(ctx context.Context) {
	c := newCollector(&s.config)
	c.reportFaults = s.logFaults
	wake := time.NewTimer(0)
	defer wake.Stop()
	var touched time.Time // since when there is something to publish
	var rest time.Time    // no snapshot before
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-s.events:
			event(c)
		case <-wake.C:
		}
		now := time.Now()
		next, waiting := c.tick(now, s.config.SyncTimeout)
		if c.rib.touched {
			if touched.IsZero() {
				touched = now
			}
			quiet := len(s.events) == 0 && !now.Before(touched.Add(settle))
			due := touched.Add(settle)
			if due.Before(rest) {
				due = rest
			}
			if !now.Before(rest) && (quiet || !now.Before(touched.Add(settleMax))) {
				touched = time.Time{}
				s.publish(c)
				end := time.Now()
				rest = end.Add(min(restShare*end.Sub(now), restMax))
			} else if !waiting || due.Before(next) {
				next, waiting = due, true
			}
		}
		if c.rib.refused && len(s.events) == 0 {
			s.count(c)
		}
		if waiting {
			wake.Reset(max(next.Sub(now), 0))
		}
	}
}

func (s *Speaker) publish(c *collector) {
	snapshot := c.rib.snapshot()
	s.count(c)
	s.publisher.Publish(snapshot)
}

// count puts the counters of the collector where others can read them.
func (s *Speaker) count(c *collector) {
	c.rib.refused = false
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats = c.rib.stats
	s.stats.MalformedUpdates = c.malformed
	for k, p := range s.sessions {
		r := c.rib.peers[k]
		p.status.Synced = r != nil && r.synced && p.status.State == topology.PeerEstablished
		if r != nil {
			p.status.Heard, p.status.Updates, p.status.NLRIs, p.status.Refused = r.ever, r.updates, r.nlris,
				r.refused
			p.status.Kept, p.status.UnplacedSIDs = r.kept, r.homeless
			p.status.MalformedNLRIs, p.status.DiscardedAttributes = r.faults.nlris, r.faults.attributes
			if last := r.faults.last; last.Object != "" {
				p.status.LastFault = &last
			}
		}
	}
}

// logFaults logs what a peer sent malformed.
func (s *Speaker) logFaults(k peerKey, r faultReport) {
	if s.config.Logger != nil {
		s.config.Logger.Warn("a BGP-LS peer sends what is malformed: it is left out", "peer",
			topology.PeerName(k),
			"nlris", r.nlris, "attributes", r.attributes, "object", r.last.Object, "octets", r.last.Octets,
			"length", r.last.Length, "reason", r.last.Reason)
	}
}
