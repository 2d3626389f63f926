package queues

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/endpoint/spray"
	"github.com/weft-sdn/weft/test/seeds"
)

// allToAll has every host write octets to every other.
func allToAll(t testing.TB, c Config, octets int, profile func(number uint64) spray.Profile) *experiment {
	t.Helper()
	e := newExperiment(t, c, octets)
	for from := range c.Hosts() {
		for i := 1; i < c.Hosts(); i++ {
			e.connect(from, (from+i)%c.Hosts(), 1, 0, profile(uint64(len(e.flows))), nil)
		}
	}
	e.finish(time.Second)
	return e
}

// TestSpread: in an all-to-all with more than 1,000 packets a link, the uplinks of a plane carry the same with entropy values by path, and not with one entropy a
// connection. So do those down from the spines.
func TestSpread(t *testing.T) {
	large(t)
	first, n := seeds.Range(t, 1, 1)
	for seed := first; seed < first+n; seed++ {
		c := DefaultConfig()
		c.Seed = seed
		e := allToAll(t, c, 170*payload, func(uint64) spray.Profile { return spinePaths(t, c) })
		ecmp := c
		ecmp.Spine = nil
		one := allToAll(t, ecmp, 60*payload, func(number uint64) spray.Profile {
			p := spray.Auto(seed<<16|number, 1, c.Planes)
			p.EVs = p.EVs[number%uint64(c.Planes):][:1]
			return p
		})
		for plane := 1; plane <= c.Planes; plane++ {
			up, down, single := e.fabric.Spread(LeafUp, plane), e.fabric.Spread(SpineDown, plane), one.fabric.Spread(LeafUp, plane)
			t.Logf("seed %d plane %d: up %.5f, down %.5f; one entropy a connection %.3f", seed, plane, up, down, single)
			if up < 0.98 || down < 0.98 {
				t.Errorf("seed %d plane %d: Jain's index %.4f up, %.4f down, want 0.98", seed, plane, up, down)
			}
			if single > 0.97 {
				t.Errorf("seed %d plane %d: one entropy a connection spreads too: the fabric's hash is none", seed, plane)
			}
		}
		for _, l := range e.fabric.Links() {
			if n := l.Stats().Packets; l.Tier == LeafUp && n < 1000 {
				t.Errorf("%s has %d packets, want 1,000", l.Name(), n)
			}
		}
	}
}
