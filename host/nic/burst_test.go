package nic_test

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/host/nic/nictest"
)

// TestBurstBalance: with bursts the entropy values of a profile get equal numbers of packets as
// without, but for a burst, and no more packets come out of order than a burst by each port.
func TestBurstBalance(t *testing.T) {
	const evs, ports, packets = 16, 2, 4096
	single := 0 // packets out of order
	for _, burst := range []int{1, 8} {
		f := nictest.New(t, 2, ports, 1, func(_ int, c *nic.Config) {
			c.Host.Burst = burst
			for i := range c.Host.Ports {
				c.Host.Ports[i].LineRate = 1e13 // a port that is busy ends a burst
			}
		})
		for i := range 2 {
			f.Hold(i, hostapi.State{Profiles: []*hostapi.Profile{nictest.Profile("p", evs, ports, 0, 1)}})
		}
		a, b := f.Pair(0, 1, 100)
		write(t, f, 0, 1, a, packets*4096).finish(t)
		least, most, sum := uint64(packets), uint64(0), uint64(0)
		for c := range f.NICs[0].Counts {
			least, most, sum = min(least, c.Sent), max(most, c.Sent), sum+c.Sent
		}
		ooo := b.Counters().MaxOOO
		t.Logf("bursts of %d: %d to %d packets a value, %d out of order at most, at %v", burst, least,
			most, ooo, f.Now().Round(time.Microsecond))
		if sum < packets || most-least > uint64(2*burst) {
			t.Errorf("bursts of %d: %d to %d packets a value, %d in all", burst, least, most, sum)
		}
		if burst == 1 {
			single = ooo
		}
		if ooo > single+burst*ports {
			t.Errorf("bursts of %d: %d packets out of order, of single packets %d", burst, ooo, single)
		}
	}
}
