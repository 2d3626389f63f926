package tunnel

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// TestHeadroom against worked examples.
func TestHeadroom(t *testing.T) {
	s := Defaults().Sizing
	if got := packet.PauseTime(0xffff, 100e9).Round(time.Microsecond); got != 336*time.Microsecond {
		t.Errorf("65,535 quanta at 100 Gb/s are %v, want 336us", got)
	}
	for _, c := range []struct {
		name string
		feed Feed
		want uint64
	}{
		// 20 ms + 1 ms at 10 Gb/s are 26,250,000 octets; one node of 131,072; two frames of 9,216.
		{"10 Gb/s, 20 ms", Feed{RTT: 20 * time.Millisecond, Refresh: time.Millisecond, Rate: 10e9,
			Nodes: 1}, 26_250_000 + 131_072 + 18_432},
		{"a link", Feed{Rate: 8e9, RTT: time.Microsecond}, 1000 + 18_432},
		{"rounded up", Feed{Rate: 1, RTT: time.Nanosecond}, 1 + 18_432},
		{"beyond all bounds", Feed{Rate: math.MaxUint64, RTT: math.MaxInt64}, math.MaxUint64},
	} {
		if got := s.Headroom(c.feed); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestQueueOfSeveralFeeds: a queue shared by several PFC policies obeys the strictest policy, and
// gets the largest buffer.
func TestQueueOfSeveralFeeds(t *testing.T) {
	s := Defaults().Sizing
	of := func(port uint32, buffer, xoff, xon uint64, limit time.Duration, rate uint64) feed {
		speed := uint64(1e9)
		if port == 2 {
			speed = 4e9 // pauses end four times as soon
		}
		return feed{Feed: Feed{RTT: time.Millisecond, Rate: 1e9}, Upstream: Upstream{Port: port},
			speed: speed, PFCPolicy: &PFCPolicy{Buffer: buffer, XOFF: xoff, XON: xon}, limit: limit,
			rate: rate}
	}
	feeds := []feed{of(1, 30<<20, 9<<20, 5<<20, 3*time.Second, 5),
		of(2, 40<<20, 8<<20, 6<<20, 2*time.Second, 9), of(3, 20<<20, 0, 0, 4*time.Second, 7)}
	for range feeds {
		feeds = append(feeds[1:], feeds[0])
		q := s.queue(Queue{"n", 1, 3}, feeds)
		if q.Marks.Buffer != 40<<20 || q.Marks.XOFF != 8<<20 || q.Marks.XON != 5<<20 ||
			q.MaxPause != 2*time.Second || q.Rate != 9 || len(q.Upstreams) != 3 || q.Fill != 3e9 {
			t.Errorf("queue %+v of %v", q, feeds)
		}
		if want := packet.PauseTime(s.Quanta, 4e9) / 2; q.Refresh != want {
			t.Errorf("refreshed every %v, want %v", q.Refresh, want)
		}
	}
}

func TestMarks(t *testing.T) {
	s := Sizing{MTU: 1000, Share: 75}
	for _, c := range []struct {
		name                        string
		buffer, headroom, xoff, xon uint64
		want                        Marks
		fits                        bool
	}{
		{"share", 100_000, 10_000, 0, 0, Marks{100_000, 10_000, 75_000, 56_250}, true},
		{"headroom", 100_000, 60_000, 0, 0, Marks{100_000, 60_000, 40_000, 30_000}, true},
		{"just", 100_000, 98_000, 0, 0, Marks{100_000, 98_000, 2_000, 1_500}, true},
		{"too small", 100_000, 99_000, 0, 0, Marks{100_000, 99_000, 2_000, 1_500}, false},
		{"far too small", 1_000, 99_000, 0, 0, Marks{1_000, 99_000, 1_000, 750}, false},
		{"given", 100_000, 10_000, 80_000, 100, Marks{100_000, 10_000, 80_000, 100}, true},
		{"given too high", 100_000, 10_000, 95_000, 0, Marks{100_000, 10_000, 95_000, 71_250}, false},
		{"XON equal to XOFF", 100_000, 10_000, 80_000, 80_000, Marks{100_000, 10_000, 80_000, 60_000},
			true},
		{"XON just below XOFF", 100_000, 10_000, 80_000, 79_999, Marks{100_000, 10_000, 80_000, 79_999},
			true},
		{"XON above a computed XOFF", 100_000, 98_000, 0, 50_000, Marks{100_000, 98_000, 2_000, 1_500},
			true},
	} {
		got := s.Marks(c.buffer, c.headroom, c.xoff, c.xon)
		if got != c.want || got.Fits() != c.fits {
			t.Errorf("%s: %+v (fits: %v), want %+v", c.name, got, got.Fits(), c.want)
		}
		if got.XON >= got.XOFF || got.XOFF > c.buffer {
			t.Errorf("%s: %+v are out of order", c.name, got)
		}
	}
}

// TestMaxPause: a queue may stay paused longer than the queues downstream, by the time in which
// these empty at an eighth of their rate and a pause runs out.
func TestMaxPause(t *testing.T) {
	s := Sizing{Quanta: 62500, Rate: 1e9} // 32 ms at 1 Gb/s
	d := &Deployment{Stages: []Stage{{Rate: 1e9, Speed: 1e9}, {Rate: 1e9, Speed: 1e9}, {Rate: 500e6}}}
	r := &PFCPolicy{Buffer: 1_000_000, MaxPause: 100 * time.Millisecond}
	// 8 Mbit: 64 ms at 125 Mb/s, 128 ms at half of that
	for stage, want := range []time.Duration{100 + 160 + 96, 100 + 160, 100} {
		if got := s.MaxPause(d, stage, r); got != want*time.Millisecond {
			t.Errorf("stage %d: %v, want %v", stage, got, want*time.Millisecond)
		}
	}
	if got := s.MaxPause(d, 0, &PFCPolicy{Buffer: math.MaxUint64,
		MaxPause: time.Second}); got != math.MaxInt64 {
		t.Errorf("a buffer beyond all bounds: %v", got)
	}
}

// TestEstimate: a longer round trip counts at once, a shorter one when it lasts and is much
// shorter, noise not at all.
func TestEstimate(t *testing.T) {
	ms := time.Millisecond
	var e estimate
	if !e.add(20*ms) || e.planned != 22500*time.Microsecond {
		t.Fatalf("first: %v", e.planned)
	}
	for i := range 100 {
		if e.add(time.Duration(18+i%5) * ms) {
			t.Fatalf("noise has moved it to %v", e.planned)
		}
	}
	if !e.add(40*ms) || e.planned != 45*ms {
		t.Errorf("longer: %v", e.planned)
	}
	changed := 0
	for i := range 40 {
		if e.add(10 * ms) {
			changed++
			if i < samples-1 {
				t.Errorf("shortened after %d", i+1)
			}
		}
	}
	if changed != 1 || e.planned != 11250*time.Microsecond {
		t.Errorf("shorter: %d changes, %v", changed, e.planned)
	}
	if lo, hi := e.bounds(); lo != 10*ms || hi != 10*ms || e.last() != 10*ms {
		t.Errorf("bounds %v to %v, last %v", lo, hi, e.last())
	}
}

// TestEstimateBoundaries: a longest round trip equal to the estimate is no reason to move it, and a
// shorter estimate is taken when it is more than a quarter below, and sixteen measurements agree.
func TestEstimateBoundaries(t *testing.T) {
	start := func() *estimate {
		e := &estimate{}
		if !e.add(80) || e.planned != 90 {
			t.Fatalf("planned %d", e.planned)
		}
		return e
	}
	e := start()
	if e.add(89) || e.add(90) {
		t.Error("moved by a round trip that is no longer than planned")
	}
	if !e.add(91) || e.planned != 91+91/8 {
		t.Errorf("a longer round trip: planned %d", e.planned)
	}
	// A quarter of 90 is 22: 68 is worth nothing, 67 is.
	for rtt, want := range map[time.Duration]time.Duration{61: 90, 60: 67} {
		e := start()
		for range samples {
			e.add(rtt)
		}
		if e.planned != want {
			t.Errorf("%d round trips of %d: planned %d, want %d", samples, rtt, e.planned, want)
		}
	}
	e = start()
	for range samples - 1 {
		e.add(60)
	}
	if e.planned != 90 {
		t.Errorf("shortened while a longer measurement is among the last %d", samples)
	}
	e.add(60)
	if e.planned != 67 {
		t.Errorf("planned %d, want 67", e.planned)
	}
}

// TestOctetsBounds has what a rate carries bounded by what a number holds.
func TestOctetsBounds(t *testing.T) {
	const second = uint64(time.Second)
	for _, c := range []struct {
		rate uint64
		d    time.Duration
		want uint64
	}{
		{8, time.Second, 1}, {9, time.Second, 2}, {8, 0, 0}, {8, -1, 0},
		{1 << 63, time.Duration(16 * second), math.MaxUint64}, // just beyond
		{1<<63 - 1, time.Duration(16 * second), 1<<64 - 2},
	} {
		if got := octets(c.rate, c.d); got != c.want {
			t.Errorf("%d bit/s in %v: %d, want %d", c.rate, c.d, got, c.want)
		}
	}
}

// TestMaxPauseOfSlowStage: a stage downstream may be emptied at an eighth of its rate, and at least
// at 1 bit/s.
func TestMaxPauseOfSlowStage(t *testing.T) {
	s := Defaults().Sizing
	r := &PFCPolicy{MaxPause: time.Second, Buffer: 1000}
	for rate, want := range map[uint64]time.Duration{
		7:  time.Second + 8000*time.Second,
		15: time.Second + 8000*time.Second,
		16: time.Second + 4000*time.Second,
	} {
		d := &Deployment{Stages: []Stage{{}, {Rate: rate, Speed: 1e9}}}
		if got := s.MaxPause(d, 0, r) - packet.PauseTime(s.Quanta, 1e9); got != want {
			t.Errorf("%d bit/s: %v, want %v", rate, got, want)
		}
		if got := s.MaxPause(d, 1, r); got != time.Second {
			t.Errorf("the last stage: %v, want 1s", got)
		}
	}
}

// TestDependencies: each queue waits for the queues of the next stage. The last queue waits for no
// queue.
func TestDependencies(t *testing.T) {
	q := func(n uint32) Queue { return Queue{"n", n, 3} }
	d := &Deployment{Stages: []Stage{{Queues: []Queue{q(1)}}, {Queues: []Queue{q(2), q(3)}},
		{Queues: []Queue{q(4)}}}}
	want := []Dependency{{q(1), q(2)}, {q(1), q(3)}, {q(2), q(4)}, {q(3), q(4)}}
	if got := d.Dependencies(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
