package mrc

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// TestProbesBeforeSwitches: probes that are lost while a leaf is still being programmed make
// nothing a suspect; when a leaf loses packets that it did carry, it is something.
func TestProbesBeforeSwitches(t *testing.T) {
	w := newBed(t, 1, func(c *Config) { c.Probes.Rate, c.Probes.HostRate = 2000, 100 }).clos(2, 4, 4,
		2)
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
	for _, cell := range w.core.Probes() {
		lost += cell.Sent - cell.Received
	}
	if lost < 8 {
		t.Fatalf("%d probes lost, want 8 or more", lost)
	}
	loses(0)
	for range 30 {
		w.run(100 * time.Millisecond)
		if s := w.core.Suspects(); len(s) > 0 {
			t.Fatalf("%v: %+v", w.Now(), s)
		}
	}
	loses(0.5)
	w.run(2 * time.Second)
	if len(w.core.Suspects()) == 0 {
		t.Error("nothing is suspected of what loses half of its packets")
	}
}

// TestFirstRoundOfNewFabric: at a first start, links that carry nothing because their switches are
// still being programmed are not denied once they carry packets. A link that never carries packets
// is denied at the end of the round.
func TestFirstRoundOfNewFabric(t *testing.T) {
	w := newBed(t, 1, func(c *Config) { c.Probes.Rate, c.Probes.HostRate = 2000, 100 }).clos(2, 4, 4,
		2)
	late, never := leafID(1, 1), w.both(leafID(2, 2), spineID(2, 1))[0].ID
	for _, l := range w.net.Build().Links {
		if l.Remote == late || l.ID == never {
			w.black[l.ID] = 1
		}
	}
	w.start()
	w.run(5 * time.Second)
	maps.DeleteFunc(w.black, func(id topology.LinkID, _ float64) bool { return id != never })
	w.run(15 * time.Second)
	var denied []string
	for _, e := range w.events {
		if e.Type == api.EventLinkChanged {
			denied = append(denied, e.Object+" "+e.Message)
		}
	}
	if want := []string{string(never) + " denied: no probe came through"}; !slices.Equal(denied,
		want) {
		t.Errorf("%q, want %q", denied, want)
	}
}

// TestCountsBeforeController: losses under an earlier controller accuse no link; later losses do,
// and so do all losses of freshly started hosts.
func TestCountsBeforeController(t *testing.T) {
	for name, version := range map[string]hostapi.Version{"earlier controller": {Epoch: epoch - 1,
		Number: 5}, "just started": {}} {
		t.Run(name, func(t *testing.T) {
			w := newBed(t, 1, func(c *Config) {
				c.Probes.Rate, c.Restore.FirstRound = 0, api.Duration(100*time.Millisecond)
			}).clos(1, 4, 4, 1)
			w.core.SetTopology(w.net.Build())
			w.core.InSync()
			for _, host := range slices.Sorted(maps.Keys(w.made)) {
				w.hello(host, version)
			}
			w.pump()
			w.run(time.Second)
			bad := w.both("leaf1-1", "spine1-2")[0].ID
			tr := w.traffic(240, func(id topology.LinkID) float64 {
				if id == bad {
					return 0.1
				}
				return 0
			})
			for _, old := range []bool{version != hostapi.Version{}, false} {
				tr.report()
				w.run(500 * time.Millisecond)
				if s := w.core.Suspects(); (len(s) == 0) != old {
					t.Errorf("%v: %+v", w.Now(), s)
				}
			}
		})
	}
}

// TestDenialsBeforeProbes: after new states for hosts, the prober resumes EV probes in turn only
// when hosts have had time to apply the states.
func TestDenialsBeforeProbes(t *testing.T) {
	w := newBed(t, 1, func(c *Config) { c.Probes.Rate, c.Probes.HostRate = 2000, 100 }).clos(2, 4, 4,
		2)
	w.start()
	w.run(5 * time.Second)
	const (
		tellingTime = 100 * time.Millisecond // that hosts are left
		probeEvery  = 10 * time.Millisecond
	)
	probes := func(d time.Duration) int {
		before := len(w.probes)
		w.run(d)
		return len(w.probes) - before
	}
	if n := probes(tellingTime); n == 0 {
		t.Fatal("nothing is probed in turn")
	}
	w.remove(w.both(leafID(1, 1), spineID(1, 1)))
	if n := probes(tellingTime - probeEvery); n > 0 {
		t.Errorf("%d probes within %v of a denial, want 0", n, tellingTime)
	}
	if n := probes(tellingTime); n == 0 {
		t.Error("nothing is probed in turn any more")
	}
}
