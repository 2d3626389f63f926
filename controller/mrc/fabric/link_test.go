package fabric

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// TestWhatMayBeProbed: a link on trial wants its remaining probes. A link in use without a proof is
// untried; with an old last result it is idle. No link may be probed while drained, before its
// time, or without a path across it.
func TestWhatMayBeProbed(t *testing.T) {
	const now, old = 10 * time.Second, 3 * time.Second
	type may struct {
		wants         int
		untried, idle bool
	}
	for _, c := range []struct {
		name   string
		change func(l *Link)
		want   may
	}{
		{"up", func(*Link) {}, may{untried: true, idle: true}},
		{"up, proven", func(l *Link) { l.proven = true }, may{idle: true}},
		{"up, heard of as long ago", func(l *Link) { l.heard = now - old },
			may{untried: true, idle: true}},
		{"up, heard of since", func(l *Link) { l.heard = now - old + 1 }, may{untried: true}},
		{"up, before its time", func(l *Link) { l.tryAt = now + 1 }, may{}},
		{"up, at its time", func(l *Link) { l.tryAt = now }, may{untried: true, idle: true}},
		{"up, drained", func(l *Link) { l.drained = true }, may{}},
		{"up, crossed by no path", func(l *Link) { l.Edge = &Edge{Link: l.Link} }, may{}},
		{"down", func(l *Link) { l.phase = Down }, may{}},
		{"held", func(l *Link) { l.phase = Held }, may{}},
		{"trying", func(l *Link) { l.phase = Trying }, may{wants: 3}},
		{"trying, with one result", func(l *Link) { l.phase, l.trial.got = Trying, 1 }, may{wants: 2}},
		{"trying, ready", func(l *Link) { l.phase, l.trial.ready = Trying, true }, may{}},
		{"trying, drained", func(l *Link) { l.phase, l.drained = Trying, true }, may{}},
		{"trying, before its time", func(l *Link) { l.phase, l.tryAt = Trying, now+1 }, may{}},
		{"trying, at its time", func(l *Link) { l.phase, l.tryAt = Trying, now }, may{wants: 3}},
	} {
		s, _ := newLinks(t)
		s.now = now
		l := &s.all[0]
		l.own().trial.need = 3
		c.change(l)
		if got := (may{s.Wants(0), s.Untried(0), s.Idle(0, old)}); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if s, _ := newLinks(t); !s.Idle(0, time.Hour) {
		t.Error("a link that was never heard of is not idle at the start")
	}
}

// TestTimeOfProbes: a link is not probed before a time, which may be set earlier but not later. A
// place that the fabric does not have is ignored then.
func TestTimeOfProbes(t *testing.T) {
	s, _ := newLinks(t)
	s.Defer(0, 5)
	s.Hasten(0, 7)
	s.Hasten(int32(s.Len()), 1)
	if s.all[0].tryAt != 5 {
		t.Errorf("probed from %d on, want 5", s.all[0].tryAt)
	}
	if s.Hasten(0, 3); s.all[0].tryAt != 3 {
		t.Errorf("probed from %d on, want 3", s.all[0].tryAt)
	}
	s.adopt(s.fabric, func(*Edge) bool { return false })
	if s.all[0].tryAt != 0 {
		t.Errorf("probed from %d on in another fabric, want from now on", s.all[0].tryAt)
	}
}

// TestResultsOfProbes: each result sets the time when a link was last heard of, and whether the
// link is proven. A link on trial is ready after enough probes. It is held again after a loss: any
// of several probes, or all probes sent when one is needed.
func TestResultsOfProbes(t *testing.T) {
	type result struct{ sent, received int }
	for _, c := range []struct {
		name    string
		phase   Phase
		need    int
		results []result
		want    Phase
		got     int
		ready   bool
		misses  int
		proven  bool
	}{
		{"in use", Up, 0, []result{{1, 1}}, Up, 0, false, 0, true},
		{"in use, two lost", Up, 0, []result{{1, 0}, {4, 0}}, Up, 0, false, 2, false},
		{"in use, lost and not", Up, 0, []result{{1, 0}, {2, 1}}, Up, 0, false, 0, true},
		{"in use, not and lost", Up, 0, []result{{2, 1}, {1, 0}}, Up, 0, false, 1, true},
		{"held", Held, 1, []result{{1, 0}}, Held, 0, false, 1, false},
		{"one needed", Trying, 1, []result{{1, 1}}, Trying, 1, true, 0, true},
		{"one of two", Trying, 1, []result{{2, 1}}, Trying, 1, true, 0, true},
		{"none of two", Trying, 1, []result{{2, 0}}, Held, 0, false, 1, false},
		{"ready, and lost then", Trying, 1, []result{{1, 1}, {1, 0}}, Trying, 1, true, 1, true},
		{"three needed", Trying, 3, []result{{2, 2}}, Trying, 2, false, 0, true},
		{"three needed, four sent", Trying, 3, []result{{2, 2}, {2, 2}}, Trying, 4, true, 0, true},
		{"two needed, one lost", Trying, 2, []result{{2, 1}}, Held, 0, false, 0, true},
	} {
		s, _ := newLinks(t)
		l := &s.all[0]
		l.phase, l.own().trial.need, l.own().cause = c.phase, c.need, "of the test"
		for _, r := range c.results {
			s.Result(0, 0, r.sent, r.received)
		}
		if l.phase != c.want || l.trial.got != c.got || l.trial.ready != c.ready ||
			l.Misses() != c.misses || l.Proven() != c.proven || l.cause != "of the test" || l.Heard() != 1 {
			t.Errorf("%s: %v, %q, %+v, %d misses, proven %v, heard %v; want %v, %d came, ready %v, %d, %v",
				c.name, l.phase, l.cause, l.trial, l.Misses(), l.Proven(), l.Heard(), c.want, c.got, c.ready,
				c.misses, c.proven)
		}
		s.now = time.Minute
		if s.Result(0, s.now, 1, 1); l.Heard() != time.Minute {
			t.Errorf("%s: heard %v, want 1m", c.name, l.Heard())
		}
	}
}

// TestBackInUse: a link back in use counts as proven, without a cause of denial and without missed
// results.
func TestBackInUse(t *testing.T) {
	s, _ := newLinks(t)
	s.enter(0, Held, "of the test")
	l := &s.all[0]
	l.proven, l.misses = false, 3
	s.enter(0, Up, "tried")
	if l.cause != "" || !l.Proven() || l.Misses() != 0 || l.Denied() {
		t.Errorf("%q, proven %v, %d misses, denied %v", l.cause, l.Proven(), l.Misses(), l.Denied())
	}
}

// TestLostTrials: each lost trial lengthens the hold of a link. For a link that was down, a lost
// trial counts like a failure; for a suspect, like a denial.
func TestLostTrials(t *testing.T) {
	s, _ := newLinks(t)
	restore, suspects := s.restore.Hold.D(), s.suspects.Hold.D()
	for _, c := range []struct {
		need  int
		first func()
		want  time.Duration
	}{
		{1, func() { s.Fail(0, "of the test") }, restore},
		{2, func() { s.Deny(0, "of the test") }, suspects},
	} {
		s.now += 24 * time.Hour
		c.first()
		l := &s.all[0]
		l.own().trial.need = c.need
		for range 3 {
			if l.Until() != s.now+c.want {
				t.Errorf("%d needed: held until %v, want %v from now, %v", c.need, l.Until(), c.want, s.now)
			}
			s.now = l.Until()
			if s.run(true); l.Until() != 0 || l.phase != Trying {
				t.Errorf("%d needed: %v, held until %v", c.need, l.phase, l.Until())
			}
			c.want *= 2
			s.Result(0, s.now, 2, 0)
		}
	}
}

// TestSuspectsAreForgiven: twice the longest hold after its last denial, a link gets the initial
// hold again. A denial before that gets a longer hold.
func TestSuspectsAreForgiven(t *testing.T) {
	for times, want := range map[time.Duration]time.Duration{1: 2, 2: 2, 3: 1} {
		s, _ := newLinks(t)
		s.Deny(0, "of the test")
		s.now = times * s.suspects.MaxHold.D() * 9 / 10
		s.Deny(0, "again")
		if got := s.At(0).Until() - s.now; got != want*s.suspects.Hold.D() {
			t.Errorf("after %v the link is held for %v, want %d times %v", s.now, got, want, s.suspects.Hold)
		}
	}
}

// maxHold is how long a link that no host can probe is tried.
var maxHold = defaults().Restore.MaxHold.D()

// TestNextRun: the next run is due at the end of a back-off, when ready links may be restored, or
// when an unprobeable link is accepted as good; no other state sets a time.
func TestNextRun(t *testing.T) {
	const restoreAt = 40 * time.Second
	for _, c := range []struct {
		name   string
		change func(s *Links)
		want   time.Duration
	}{
		{"up", func(*Links) {}, time.Hour},
		{"down", func(s *Links) { s.setPresent(0, false) }, time.Hour},
		{"held", func(s *Links) { s.hold(0, "", 7*time.Second, 1) }, 17 * time.Second},
		{"two held", func(s *Links) { s.hold(0, "", 7*time.Second, 1); s.hold(1, "", 5*time.Second, 1) },
			15 * time.Second},
		{"the back-off is over", func(s *Links) { s.hold(0, "", 0, 1); s.now += time.Second },
			11 * time.Second},
		{"trying", func(s *Links) { s.hold(0, "", 0, 1); s.run(false) }, time.Hour},
		{"ready", func(s *Links) { s.hold(0, "", 0, 1); s.run(false); s.Result(0, s.now, 1, 1) },
			restoreAt},
		{"unprobeable", func(s *Links) { s.hold(0, "", 0, 1); s.run(false); s.SetUnprobeable(0, true) },
			10*time.Second + maxHold},
		{"unprobeable at first", func(s *Links) {
			s.now = 0
			s.hold(0, "", 0, 1)
			s.run(false)
			s.SetUnprobeable(0, true)
		}, maxHold + 1},
	} {
		s, _ := newLinks(t)
		s.now = 10 * time.Second
		if c.change(s); s.next(time.Hour, restoreAt) != c.want {
			t.Errorf("%s: the next run is at %v, want %v", c.name, s.next(time.Hour, restoreAt), c.want)
		}
		if s.next(time.Second, restoreAt) > time.Second {
			t.Errorf("%s: the next run is after what else is due", c.name)
		}
	}
}

// TestUnprobeable: only a link on trial can be unprobeable, from the first time that no host could
// probe it. A new back-off ends this state.
func TestUnprobeable(t *testing.T) {
	s, _ := newLinks(t)
	s.SetUnprobeable(0, true)
	if s.all[0].past != &never {
		t.Error("a link in use waits for a host to probe it")
	}
	l := &s.all[0]
	s.hold(0, "of the test", time.Second, 1)
	if s.SetUnprobeable(0, true); l.trial.alone != 0 {
		t.Error("a link that is held waits for a host to probe it")
	}
	s.now = time.Second
	s.run(false)
	if s.SetUnprobeable(0, false); l.trial.alone != 0 {
		t.Error("a link that a host can probe waits for one")
	}
	s.SetUnprobeable(0, true)
	s.now = 2 * time.Second
	if s.SetUnprobeable(0, true); l.trial.alone != time.Second {
		t.Errorf("no host can probe the link since %v, want 1s", l.trial.alone)
	}
	s.now = time.Second + maxHold
	if s.run(false); !l.trial.ready || l.phase != Trying {
		t.Errorf("the link is %v, ready %v", l.phase, l.trial.ready)
	}
	s.adopt(s.fabric, func(*Edge) bool { return false })
	if l = &s.all[0]; l.trial.alone != 0 || l.phase != Trying ||
		!slices.Equal(s.Waiting(), []int32{0}) {
		t.Errorf("in another fabric: %+v, %v waiting", l.trial, s.Waiting())
	}
	s.hold(0, "of the test", time.Second, 1)
	if l.trial.ready || l.trial.got != 0 || l.phase != Held {
		t.Errorf("held again: %+v", l.trial)
	}
}

// TestUnprobed: where hosts probe no links, one is ready when its back-off is over.
func TestUnprobed(t *testing.T) {
	s, _ := newLinks(t)
	s.probed = false
	s.hold(0, "of the test", time.Second, 0)
	s.now = time.Second
	if s.run(false); s.all[0].phase != Trying || s.all[0].trial.need != 1 {
		t.Errorf("the link is %v, %+v", s.all[0].phase, s.all[0].trial)
	}
	if s.run(true); s.all[0].phase != Up {
		t.Errorf("the link is %v, want up", s.all[0].phase)
	}
}

// TestEventsOfLinks: going out of use gives one event, and coming back gives one event, whatever
// the phases between.
func TestEventsOfLinks(t *testing.T) {
	s, renewed := newLinks(t)
	l := &s.all[0]
	var events []string
	s.event = func(e api.EventType, object, message string, says ...api.EventFields) {
		if used := says[0].State == api.StateUsed; used != (message == "restored") {
			t.Errorf("%q says %+v", message, says[0])
		}
		if e != api.EventLinkChanged || object != string(l.ID) {
			t.Errorf("event %v of %q", e, object)
		}
		events = append(events, message)
	}
	s.setPresent(0, false)
	s.setPort(0, true)
	if s.setPort(0, true); l.phase != Down || l.cause != "not advertised" {
		t.Errorf("the link is %v: %s", l.phase, l.cause)
	}
	s.setPresent(0, true)
	s.setPort(0, false)
	if l.phase != Held || l.until != s.now+s.restore.Hold.D() {
		t.Errorf("after one failure the link is %v until %v", l.phase, l.until)
	}
	s.Defer(0, time.Hour)
	s.now, l.misses = l.until, 7
	s.run(true)
	if s.Wants(0) != 1 {
		t.Error("a link that is tried is not probed at once")
	}
	s.Result(0, s.now, 1, 1)
	s.run(true)
	if l.phase != Up || l.Cause() != "" || l.Misses() != 0 || !l.Proven() || len(s.denied) != 0 {
		t.Errorf("restored: %v, %q, %d misses, denied %v", l.phase, l.Cause(), l.Misses(), s.denied)
	}
	s.setPort(0, true)
	want := []string{"denied: not advertised", "restored", "denied: port down"}
	if !slices.Equal(events, want) || renewed[l.ID] != 3 || l.Cause() != "port down" ||
		l.Since() != s.now || l.present != true {
		t.Errorf("events %q, want %q; renewed %d times, %q since %v", events, want, renewed[l.ID],
			l.Cause(), l.Since())
	}
}

// TestDrainedLinks: after a drain, a link that was in use is first tried with one probe.
func TestDrainedLinks(t *testing.T) {
	for _, c := range []struct {
		phase Phase
		want  Phase
	}{{Up, Held}, {Down, Down}, {Held, Held}, {Trying, Trying}} {
		s, _ := newLinks(t)
		l := &s.all[0]
		l.phase = c.phase
		if c.phase != Up {
			l.own().cause = "of the test"
			s.denied[0] = struct{}{}
		}
		s.setDrained(0, false)
		if l.phase != c.phase {
			t.Errorf("a link that was %v and not drained is %v", c.phase, l.phase)
		}
		s.setDrained(0, true)
		if l.phase != c.phase || !l.Drained() || !l.Denied() ||
			!slices.Equal(s.lost((*Link).Denied), []topology.LinkID{l.ID}) {
			t.Errorf("a drained link that was %v is %v, denied %v", c.phase, l.phase, l.Denied())
		}
		s.setDrained(0, false)
		if cause := map[bool]string{true: "was drained", false: "of the test"}[c.phase == Up]; l.phase !=
			c.want || l.Drained() || l.Cause() != cause {
			t.Errorf("a link that was %v, drained and not, is %v: %s", c.phase, l.phase, l.Cause())
		}
		if touched := slices.Compact(s.take()); len(touched) != map[bool]int{true: 1}[c.phase == Up] {
			t.Errorf("of links of which one was %v these went out or came back: %v", c.phase, touched)
		}
		if s.run(false); c.phase == Up && s.Wants(0) != 1 {
			t.Errorf("a link that was drained comes back with %d probes, want 1", s.Wants(0))
		}
	}
}

// TestReturning: a link that was drained has not failed while it is probed, unless several probes
// in a row do not come through.
func TestReturning(t *testing.T) {
	s, _ := newLinks(t)
	l := &s.all[0]
	s.setDrained(0, true)
	if l.Returning() {
		t.Error("a drained link comes back")
	}
	s.setDrained(0, false)
	for n := range lostTrials {
		s.now = l.until
		s.run(true)
		if l.Phase() != Trying || !l.Returning() {
			t.Fatalf("after %d lost probes the link is %v: %s", n, l.Phase(), l.Cause())
		}
		s.Result(0, s.now, 1, 0)
	}
	if l.Returning() || l.Phase() != Held {
		t.Errorf("after %d lost probes the link is %v: %s", lostTrials, l.Phase(), l.Cause())
	}
	s.Fail(0, "of the test")
	if l.Returning() {
		t.Error("a link that has failed comes back from maintenance")
	}
}

// TestCountOfLinks: Count counts the links that paths cross, and the denied links among them.
func TestCountOfLinks(t *testing.T) {
	s, _ := newLinks(t)
	every := func(*Link) bool { return true }
	s.Deny(0, "of the test")
	s.setDrained(3, true)
	if all, denied := s.Count(every); all != 8 || denied != 2 {
		t.Errorf("%d links, %d denied; want 8, 2", all, denied)
	}
	s.all[0].Edge = &Edge{Link: s.all[0].Link}
	if all, denied := s.Count(every); all != 7 || denied != 1 {
		t.Errorf("%d links that paths cross, %d denied; want 7, 1", all, denied)
	}
	all, denied := s.Count(func(l *Link) bool { return l.Local == leaf1 })
	if all != 1 || denied != 0 {
		t.Errorf("%d links from a leaf, %d denied; want 1, 0", all, denied)
	}
}

// TestLeavesComeBack: a leaf is held longer each time it comes back, and is denied while gone, held
// or drained. Only changed leaves are touched.
func TestLeavesComeBack(t *testing.T) {
	cfg := defaults()
	s := &leafSet{env: &env{}, restore: &cfg.Restore, states: make(map[topology.NodeID]*leaf)}
	for _, hold := range []time.Duration{1, 2, 4} {
		hold *= cfg.Restore.Hold.D()
		s.setPresent("a", false)
		l := s.states["a"]
		if s.run(); !l.denied() || !l.isDown() || s.waiting() {
			t.Errorf("gone: %+v", l)
		}
		s.setPresent("a", true)
		s.setPresent("a", true)
		s.now += hold - 1
		if s.run(); !l.denied() || l.isDown() || !s.waiting() {
			t.Errorf("back for almost %v: %+v", hold, l)
		}
		if touched := s.take(); !slices.Equal(touched, []topology.NodeID{"a"}) {
			t.Errorf("touched %v", touched)
		}
		s.now++
		if s.run(); l.denied() || s.waiting() || !slices.Equal(s.take(), []topology.NodeID{"a"}) {
			t.Errorf("back for %v: %+v", hold, l)
		}
	}
	// At time 0 as well.
	cfg.Restore.Hold, s.now = 0, 0
	s.setPresent("b", false)
	s.setPresent("b", true)
	if s.run(); !s.states["b"].denied() {
		t.Error("a leaf that is back at time 0 is not held")
	}
	if s.now = 1; s.states["b"].held() {
		s.run()
	}
	if s.states["b"].denied() {
		t.Errorf("b: %+v", s.states["b"])
	}
	if s.take(); len(s.take()) != 0 {
		t.Error("what was touched is taken again")
	}
}
