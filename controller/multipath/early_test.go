package multipath

import (
	"testing"
	"time"
)

// TestProbesBeforeSwitches: probes that are lost while a leaf is still being programmed make nothing a
// suspect; when a leaf loses packets that it did carry, it is something.
func TestProbesBeforeSwitches(t *testing.T) {
	w := newWorld(t, 1, func(c *Config) { c.ProbeRate, c.HostProbeRate = 2000, 100 }).clos(2, 4, 4, 2)
	late := leafID(1, 1) // which the first probes are for
	loses := func(share float64) {
		for _, l := range w.net.Build().Links {
			if l.Remote == late {
				w.black[l.ID] = share
			}
		}
	}
	loses(1)
	w.start()
	w.run(100 * time.Millisecond)
	lost := uint64(0)
	for _, cell := range w.core.Matrix() {
		lost += cell.Sent - cell.Received
	}
	if lost < 8 {
		t.Fatalf("%d probes lost, want 8 or more", lost)
	}
	loses(0)
	for range 30 {
		w.run(100 * time.Millisecond)
		if s := w.core.Suspects(); len(s) > 0 {
			t.Fatalf("%v: %+v", w.now, s)
		}
	}
	loses(0.5)
	w.run(2 * time.Second)
	if len(w.core.Suspects()) == 0 {
		t.Error("nothing is suspected of what loses half of its packets")
	}
}
