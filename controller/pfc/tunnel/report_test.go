package tunnel

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
)

// TestReports: a storm causes an event at its begin and at its end, both at once when the storm
// ended before the next report, and packets at a full queue cause an event each time. Counts of
// before the first report cause no event.
func TestReports(t *testing.T) {
	const name = "R1/7/3"
	began, ended, full := string(api.EventStorm)+" "+name, string(api.EventStormEnded)+" "+name,
		string(api.EventOverflow)+" "+name
	b := newBed(t, figure3())
	b.figure3()
	b.must(b.PutPFCPolicy(lossless("pfc")))
	b.work()
	q := Queue{"R1", 7, 3}
	for i, c := range []struct {
		r    Report
		want []string
	}{
		{Report{Storms: 3, Dropped: 2}, nil},
		{Report{Storms: 3, Dropped: 2}, nil},
		{Report{Storms: 4, Dropped: 2, Storm: true}, []string{began}},
		{Report{Storms: 5, Dropped: 2, Storm: true}, nil},
		{Report{Storms: 5, Dropped: 2}, []string{ended}},
		{Report{Storms: 6, Dropped: 2}, []string{began, ended}},
		{Report{Storms: 6, Dropped: 5}, []string{full}},
		{Report{Storms: 6, Dropped: 6}, []string{full}},
		{Report{Storms: 7, Dropped: 7, Storm: true}, []string{began, full}},
		{Report{}, []string{ended}},
	} {
		b.saw = nil
		b.step(time.Millisecond)
		b.Report(q, c.r)
		r, at, ok := b.LastReport(q)
		if b.work(); !slices.Equal(b.saw, c.want) || r != c.r || at != b.at || !ok {
			t.Errorf("report %d: events %q, want %q; last %+v at %v, %v", i, b.saw, c.want, r, at, ok)
		}
	}
	b.Report(Queue{"R2", 7, 3}, Report{Storm: true})
	b.Forget("R1")
	if _, _, ok := b.LastReport(q); ok {
		t.Error("a switch has lost its state, and its report stands")
	}
	if _, _, ok := b.LastReport(Queue{"R2", 7, 3}); !ok {
		t.Error("another switch has lost its state, and the report is gone")
	}
	b.work()
	b.saw = nil
	b.Report(q, Report{Storm: true, Dropped: 9})
	if b.work(); !slices.Equal(b.saw, []string{began}) {
		t.Errorf("the first report after that: events %q", b.saw)
	}
}

// TestReportTouches: a queue report makes the core check the PFC policies that use the queue.
func TestReportTouches(t *testing.T) {
	b := newBed(t, figure3())
	b.figure3()
	b.must(b.PutPFCPolicy(lossless("pfc")))
	b.work()
	own := b.deployment("wan", "pfc").Stages[0].Queues[0]
	for _, c := range []struct {
		q    Queue
		want []string
	}{{own, []string{"pfc"}}, {Queue{own.Node, own.Port, own.Priority + 1}, nil},
		{Queue{own.Node, own.Port + 1, own.Priority}, nil}} {
		b.Ready()
		b.Report(c.q, Report{})
		if got := b.Ready().Policies; !slices.Equal(got, c.want) {
			t.Errorf("%v: policies %q, want %q", c.q, got, c.want)
		}
		b.Forget(c.q.Node)
		if got := b.Ready().Policies; !slices.Equal(got, c.want) {
			t.Errorf("%v is forgotten: policies %q, want %q", c.q, got, c.want)
		}
	}
}

// TestPhases: a first path is in force as soon as the switches hold the path. A replacement path
// waits for the packets in flight.
func TestPhases(t *testing.T) {
	b := newBed(t, figure3())
	b.figure3()
	p := b.policies["wan"]
	b.step(10 * time.Millisecond)
	if p.phase != steady || p.active == nil || p.next != nil {
		t.Errorf("a first path: phase %v", p.phase)
	}
	b.must(b.PutSRv6Policy(SRv6Policy{Name: "wan", PathRequest: PathRequest{Headend: "R1",
		Endpoint: "R3", Via: node("R4")}}))
	old := p.active
	for i, want := range []phase{making, switching, draining} {
		if p.phase != want || p.active != old {
			t.Errorf("step %d: phase %v, want %v", i, p.phase, want)
		}
		b.Advance("wan")
	}
	if p.phase != draining { // which the switches do not end
		t.Errorf("phase %v, want %v", p.phase, draining)
	}
	b.Tick(b.at + b.cfg.Drain - 1)
	if p.phase != draining || p.active != old {
		t.Errorf("before the packets have arrived: phase %v", p.phase)
	}
	b.saw = nil
	b.Tick(b.at + b.cfg.Drain)
	if b.work(); p.phase != steady || p.active == old ||
		!slices.Contains(b.saw, string(api.EventPolicyPathChanged)+" wan") {
		t.Errorf("after that: phase %v, events %q", p.phase, b.saw)
	}
	b.Advance("wan")
	b.Advance("other")
	if p.phase != steady {
		t.Errorf("steady, and advances to %v", p.phase)
	}
}

// TestProbesAreNumbered: probes of a tunnel have numbers in order from 1.
func TestProbesAreNumbered(t *testing.T) {
	b := newBed(t, figure3())
	b.figure3()
	b.must(b.PutPFCPolicy(lossless("pfc")))
	seen := make(map[uint32][]uint32)
	b.rtt = func(p Probe) time.Duration {
		seen[p.Cookie] = append(seen[p.Cookie], p.Seq)
		return time.Millisecond
	}
	b.step(3 * b.cfg.ProbeEvery)
	if len(seen) == 0 {
		t.Fatal("no probes")
	}
	for cookie, seq := range seen {
		if len(seq) < 2 || !slices.Equal(seq[:2], []uint32{1, 2}) {
			t.Errorf("probes of %d are numbered %v", cookie, seq)
		}
	}
}

// TestLearnedOnce: a node looks for each SID once, in order.
func TestLearnedOnce(t *testing.T) {
	a, b, c := netip.MustParseAddr("fc00::1"), netip.MustParseAddr("fc00::2"),
		netip.MustParseAddr("fc00::3")
	w := nodeWork{c: &Core{cfg: Defaults()}, n: &Node{Learn: []netip.Addr{b, c, a, b, a}}}
	if got := w.finish().Learn; !slices.Equal(got, []netip.Addr{a, b, c}) {
		t.Errorf("%v", got)
	}
}
