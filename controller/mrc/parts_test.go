package mrc

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// TestDrainWaits: a drain is over when each host has applied its Set or is gone, and the
// last packets have left.
func TestDrainWaits(t *testing.T) {
	s := &drainSet{env: &env{}, linger: 50 * time.Millisecond}
	d := s.add(Target{Plane: 2}, nil)
	for host, seq := range map[string]uint64{"a": 3, "b": 1, "c": 1} {
		s.await(d, host, seq)
	}
	s.startLinger(d)
	applied := map[string]uint64{"a": 2, "b": 1}
	run := func(now time.Duration) api.Drain {
		s.now = now
		s.run(func(host string) (uint64, bool) { n, ok := applied[host]; return n, ok })
		return d.view()
	}
	if got := run(time.Second); got.Drained || !slices.Equal(got.Awaits, []string{"a"}) {
		t.Errorf("%+v, want to wait for a, which has applied 2 of 3", got)
	}
	if next := s.next(time.Hour); next != time.Hour {
		t.Errorf("next %v: time alone ends no drain that waits", next)
	}
	applied["a"] = 3
	if got := run(2 * time.Second); got.Drained || len(got.Awaits) > 0 {
		t.Errorf("%+v, want to linger", got)
	}
	if next := s.next(time.Hour); next != 2050*time.Millisecond {
		t.Errorf("next %v, want 2.05s", next)
	}
	if got := run(2050 * time.Millisecond); !got.Drained {
		t.Errorf("%+v, want drained", got)
	}
	if p := s.Planes(); !slices.Equal(p, []int{2}) {
		t.Errorf("planes %v", p)
	}
}

// TestEvidenceOfAHost: only what is new of a cumulative count is evidence, also after the
// counter has started again.
func TestEvidenceOfAHost(t *testing.T) {
	e := newEvidence()
	key := counterKey{profile: "p", ev: hostapi.EV{Port: 1}}
	for i, c := range []struct {
		n    counter
		want suspect.Counts
	}{
		{counter{100, 2}, suspect.Counts{Sent: 100, Lost: 2}},
		{counter{150, 3}, suspect.Counts{Sent: 50, Lost: 1}},
		{counter{150, 5}, suspect.Counts{Sent: 2, Lost: 2}}, // found lost later
		{counter{10, 1}, suspect.Counts{}},                  // started again, or wrapped
	} {
		if got := e.count(key, c.n); got != c.want {
			t.Errorf("count %d: %+v, want %+v", i, got, c.want)
		}
	}
	e.restart(true)
	if got := e.count(key, counter{1000, 100}); got != (suspect.Counts{}) {
		t.Errorf("%+v, want nothing: the host had counted before", got)
	}
	for port := range uint8(3) {
		e.assumed[counterKey{ev: hostapi.EV{Port: port + 1}}] = true
	}
	for _, port := range []uint8{1, 2, 3, 1} {
		if k := e.nextAssumed(); k.ev.Port != port {
			t.Errorf("EV of port %d, want %d: EVs take turns", k.ev.Port, port)
		}
	}
}

// TestUndrainBeforeFabric: drains of an earlier core end before the topology is known.
func TestUndrainBeforeFabric(t *testing.T) {
	w := newWorld(t, 1, nil).clos(2, 2, 2, 1)
	for _, target := range []Target{{Plane: 2}, {Node: leafID(1, 1)}, {Link: "gone"}, {Host: hostName(1, 1), Port: 1}} {
		w.core.ResumeDrain(target)
		if err := w.core.Undrain(target); err != nil || len(w.core.Drains()) > 0 {
			t.Fatalf("%v: %v, drains %v", target, err, w.core.Drains())
		}
	}
	w.start()
	w.run(time.Second)
	if n := w.check(func(topology.LinkID) bool { return false }, none); n != 0 {
		t.Errorf("%d EVs are denied, want none", n)
	}
}

// TestLinkCounters: what the counters of a link's two ends say is lost, also when one end starts again.
func TestLinkCounters(t *testing.T) {
	locator, err := suspect.New(suspect.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	const link = topology.LinkID("a")
	s := &suspectSet{env: &env{now: time.Second}, locator: locator, counts: map[topology.LinkID]linkCount{}}
	var want suspect.Counts
	for _, c := range []struct {
		name           string
		sent, received uint64
		more, lost     uint64
	}{
		{"the first says nothing", 1000, 900, 0, 0},
		{"100 are on the way still", 2000, 1900, 1000, 0},
		{"50 are lost", 3000, 2850, 1000, 50},
		{"nothing was sent", 3000, 2850, 0, 0},
		{"those on the way came in", 4000, 4000, 1000, 0},
		{"the receiver has started again", 5000, 100, 0, 0},
		{"its first count is where it begins", 6000, 1100, 1000, 0},
		{"10 are lost", 7000, 2090, 1000, 10},
		{"the sender has started again", 500, 2500, 0, 0},
		{"all are lost", 600, 2500, 100, 0},
		{"the receiver has lost one count", 700, 2499, 0, 0},
	} {
		s.counted(link, c.sent, c.received)
		want.Sent += c.more
		want.Lost += c.lost
		if got := locator.Across(link); got != want {
			t.Fatalf("%s: %+v of the link, want %+v", c.name, got, want)
		}
	}
}
