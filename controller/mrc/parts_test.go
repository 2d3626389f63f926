package mrc

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// smallFabric is two leaves below two spines, in one plane.
func smallFabric(t *testing.T) *fabric {
	t.Helper()
	w := newWorld(t, 1, nil).clos(1, 2, 2, 1)
	snap := w.net.Build()
	cfg := defaults()
	f, err := newFabric(snap, []topology.NodeID{leafID(1, 1), leafID(1, 2)}, &cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func newLinks(t *testing.T) (s *linkSet, renewed map[topology.LinkID]int) {
	cfg := defaults()
	renewed = make(map[topology.LinkID]int)
	s = &linkSet{
		env: &env{fabric: smallFabric(t)}, restore: &cfg.Restore, suspects: &cfg.Suspects, probed: true,
		renewed: func(id topology.LinkID) { renewed[id]++ }, waiting: make(map[int32]struct{}),
	}
	s.adopt(nil, func(*edge) bool { return false })
	return s, renewed
}

// TestLinkPhases: a link that fails is out at once, is held, then tried, and is used again
// when a probe came through and it is time to restore.
func TestLinkPhases(t *testing.T) {
	s, renewed := newLinks(t)
	const i = 0
	l := &s.all[i]
	at := func(now time.Duration, restoring bool, want phase) {
		t.Helper()
		s.now = now
		if s.run(restoring); l.phase != want {
			t.Fatalf("%v: the link is %v, want %v", now, l.phase, want)
		}
	}
	s.now = time.Second
	s.setPort(i, true)
	at(time.Second, true, down)
	if got := s.take(); !slices.Equal(got, []int32{i}) || len(s.take()) > 0 {
		t.Errorf("links %v went out, want link %d once", got, i)
	}
	if lost := s.lost(); !slices.Equal(lost, []topology.LinkID{l.ID}) {
		t.Errorf("lost: %v", lost)
	}
	s.now = 2 * time.Second
	s.setPort(i, false)
	at(2*time.Second, true, held)
	if next := s.next(time.Hour, time.Minute); next != 3*time.Second {
		t.Errorf("next run at %v, want 3s, when the back-off is over", next)
	}
	at(3*time.Second, true, trying)
	if !s.open([]int32{i}) || s.inUse([]int32{i}) {
		t.Error("a link that is tried must be open for probes, and not in use")
	}
	s.result(i, 2*time.Second, 1, 1) // of before
	at(4*time.Second, true, trying)
	s.result(i, 4*time.Second, 1, 1)
	at(4*time.Second, false, trying)
	at(5*time.Second, true, up)
	if !s.proven([]int32{i}) || len(s.take()) != 1 || len(s.waiting) != 0 {
		t.Error("a link that is restored must be proven, touched, and wait for nothing")
	}
	if renewed[l.ID] != 2 {
		t.Errorf("what is known of the link was forgotten %d times, want at its failure and its return", renewed[l.ID])
	}
	// The second failure within Calm is held twice as long.
	s.setPresent(i, false)
	s.setPresent(i, true)
	at(5*time.Second+1999*time.Millisecond, true, held)
	at(7*time.Second, true, trying)
	s.result(i, s.now, 2, 0)
	at(10*time.Second+999*time.Millisecond, true, held) // and the lost probe is the third
}

// TestUnprobeableLink: a link that no host can probe is restored after MaxHold.
func TestUnprobeableLink(t *testing.T) {
	s, _ := newLinks(t)
	s.hold(0, "of the test", 0, 1)
	s.run(true)
	s.setUnprobeable(0, true)
	s.now = s.restore.MaxHold.D()
	if s.run(true); s.all[0].phase != trying {
		t.Errorf("after %v the link is %v, want trying", s.now, s.all[0].phase)
	}
	s.now += time.Millisecond
	if s.run(true); s.all[0].phase != up {
		t.Errorf("after %v the link is %v, want up", s.now, s.all[0].phase)
	}
}

// TestAdoptedLinks: links keep their state in a fabric that has grown, and a new one is held.
func TestAdoptedLinks(t *testing.T) {
	s, _ := newLinks(t)
	s.setPort(1, true)
	before := s.fabric
	missing := *before
	missing.place = maps.Clone(before.place)
	delete(missing.place, before.edges[2].ID)
	drained := before.edges[3].ID
	s.adopt(&missing, func(e *edge) bool { return e.ID == drained })
	want := []phase{up, down, held, up}
	for i, p := range want {
		if s.all[i].phase != p || s.all[i].drained != (i == 3) {
			t.Errorf("link %d is %v, drained %v; want %v, %v", i, s.all[i].phase, s.all[i].drained, p, i == 3)
		}
	}
}

// TestLeafStates: a leaf that was gone is held before EVs use it.
func TestLeafStates(t *testing.T) {
	cfg := defaults()
	s := &leafSet{env: &env{}, restore: &cfg.Restore, states: make(map[topology.NodeID]*leaf)}
	s.setPresent("a", true)
	if len(s.states) != 0 {
		t.Error("a leaf that was never gone needs no state")
	}
	s.setPresent("a", false)
	s.setPresent("a", false)
	s.setPresent("a", true)
	s.setDrained("b", true)
	if got := s.take(); !slices.Equal(got, []topology.NodeID{"a", "b"}) {
		t.Errorf("touched: %v", got)
	}
	lost := s.lost()
	slices.Sort(lost)
	if !slices.Equal(lost, []topology.NodeID{"a", "b"}) || !s.waiting() {
		t.Errorf("lost: %v, waiting %v", lost, s.waiting())
	}
	s.now = cfg.Restore.Hold.D()
	s.run()
	s.setDrained("b", false)
	if lost := s.lost(); len(lost) > 0 || s.waiting() {
		t.Errorf("lost: %v, waiting %v", lost, s.waiting())
	}
}

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
	if p := s.planes(); !slices.Equal(p, []int{2}) {
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

// TestPortsOfAHost: a port is usable when leaf and host say it is up, and its hold is over.
func TestPortsOfAHost(t *testing.T) {
	cfg := defaults().Restore
	var ps hostPorts
	ps.attach(ev.Attachment{"a", "", "c"})
	down := false
	look := func(now time.Duration) (denied, usable hostapi.PortMask, waits bool) {
		return ps.look(now, &cfg, func(i int) bool { return i == 3 && down })
	}
	if denied, usable, _ := look(0); denied != 0 || usable != hostapi.Ports(1, 3) || ps.all() != usable || ps.has(2) || ps.has(0) || ps.has(4) {
		t.Errorf("denied %#x, usable %#x, attached %#x", denied, usable, ps.all())
	}
	down = true
	if denied, usable, _ := look(time.Second); denied != hostapi.Ports(3) || usable != hostapi.Ports(1) {
		t.Errorf("link down: denied %#x, usable %#x", denied, usable)
	}
	down = false
	if denied, usable, waits := look(2 * time.Second); denied != 0 || usable != hostapi.Ports(1) || !waits {
		t.Errorf("held: denied %#x, usable %#x, waits %v", denied, usable, waits)
	}
	if !ps.release(2900*time.Millisecond) || ps.release(3*time.Second) {
		t.Error("the hold must end after a second")
	}
	if _, usable, _ := look(3 * time.Second); usable != hostapi.Ports(1, 3) {
		t.Errorf("restored: usable %#x", usable)
	}
	ps.up, ps.upKnown = hostapi.Ports(3), true
	if denied, usable, _ := look(4 * time.Second); denied != 0 || usable != hostapi.Ports(3) {
		t.Errorf("the host says that port 1 is down: denied %#x, usable %#x", denied, usable)
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
