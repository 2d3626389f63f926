package telemetry

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/weft-sdn/weft/southbound/gnmi"
)

// began is a time in the middle of a minute.
var began = time.Unix(1_800_000_017, 0)

// bed is a store with a virtual clock; one port of a switch reports to the store.
type bed struct {
	*testing.T
	st   *Store
	now  time.Time // of both clocks
	skew time.Duration
	in   uint64
}

func newBed(t *testing.T) *bed {
	b := &bed{T: t, st: New(Config{}), now: began}
	b.st.SetSwitch("s1", time.Second, map[uint32]uint64{1: 100e9})
	return b
}

func count(v uint64) gnmi.Count { return gnmi.Count{Value: v, OK: true} }

// report takes a sample now that arrives later.
func (b *bed) report(later time.Duration) {
	b.st.Take([]gnmi.Sample{b.sample(later)})
}

func (b *bed) sample(later time.Duration) gnmi.Sample {
	s := gnmi.Sample{Switch: "s1", Port: 1, Time: b.now.Add(b.skew), Arrived: b.now.Add(later)}
	s.In.Octets = count(b.in)
	return s
}

// run has the port receive octets for some seconds, with a sample each.
func (b *bed) run(seconds int, octets uint64) {
	for range seconds {
		b.now = b.now.Add(time.Second)
		b.in += octets
		b.report(0)
	}
}

// history returns the values of inBits; times are seconds since began.
func (b *bed) history(since, until int, step time.Duration) []float64 {
	b.Helper()
	at := func(n int) time.Time { return began.Add(time.Duration(n) * time.Second) }
	h, err := b.st.History(Query{Kind: Port, Name: "s1/1", Metrics: []string{"inBits"},
		Since: at(since), Until: at(until), Step: step}, b.now)
	if err != nil {
		b.Fatal(err)
	}
	if len(h.Series) == 0 {
		return nil
	}
	for i, v := range h.Series[0].Values {
		if v < 0 {
			b.Fatalf("%g bit/s at %d", v, h.Times[i])
		}
	}
	return h.Series[0].Values
}

// want compares values with others, NaN being a gap.
func (b *bed) want(got []float64, want ...float64) {
	b.Helper()
	if !slices.EqualFunc(got, want, func(g, w float64) bool {
		return math.IsNaN(g) && math.IsNaN(w) || math.Abs(g-w) <= 0.0006*w
	}) {
		b.Errorf("history is %v, want %v", got, want)
	}
}

var gap = math.NaN()

// TestRates: the rate of a second is the growth of the counter in it; the first sample has no rate.
func TestRates(t *testing.T) {
	b := newBed(t)
	b.report(0)
	b.run(2, 1000)
	b.run(2, 500)
	b.want(b.history(0, 4, time.Second), gap, 8000, 8000, 4000, 4000)
	b.want(b.history(1, 4, 3*time.Second), 20000./3, 4000)
}

// TestWrap: a counter of 32 or 64 bits that wraps leaves no trace.
func TestWrap(t *testing.T) {
	for _, start := range []uint64{wrap32 - 1500, math.MaxUint64 - 1500} {
		b := newBed(t)
		b.st.SetSwitch("s1", time.Second, map[uint32]uint64{1: 10e9})
		b.in = start
		b.report(0)
		for range 4 {
			if b.now, b.in = b.now.Add(time.Second), b.in+1000; start < wrap32 {
				b.in %= wrap32
			}
			b.report(0)
		}
		b.want(b.history(1, 4, time.Second), 8000, 8000, 8000, 8000)
	}
}

// TestNarrow: a 32-bit counter that wraps faster than Weft reads it has no rate.
func TestNarrow(t *testing.T) {
	b := newBed(t)
	b.st.SetSwitch("s1", time.Second, map[uint32]uint64{1: 400e9})
	b.report(0)
	for range 40 {
		b.now = b.now.Add(time.Second)
		b.in = (b.in + 45e9) % wrap32
		b.report(0)
	}
	seen := false
	for _, v := range b.history(0, 40, time.Second)[3:] {
		seen = seen || !math.IsNaN(v)
	}
	if seen {
		t.Errorf("a rate of a counter that wraps 10 times a second: %v", b.history(0, 40, time.Second))
	}
}

// TestRestart: counters that restart, or go back, leave a gap of the time between two samples.
func TestRestart(t *testing.T) {
	b := newBed(t)
	b.st.SetSwitch("s1", time.Second, map[uint32]uint64{1: 10e9})
	b.in = 1 << 40
	b.report(0)
	b.run(2, 1000)
	b.in = 0
	b.run(3, 1000)
	b.in -= 500 // back
	b.run(2, 100)
	b.want(b.history(1, 7, time.Second), 8000, 8000, gap, 8000, 8000, gap, 800)
	if n := b.st.Stats().Restarts; n != 2 {
		t.Errorf("%d restarts, want 2", n)
	}
}

// TestRestartOfPort: after a restart of one counter, no counter of the port or of its queues has a
// rate, even if a counter seems to have grown or wrapped.
func TestRestartOfPort(t *testing.T) {
	b := newBed(t)
	take := func(octets, packets, queue uint64) {
		s := b.sample(0)
		s.In.Octets, s.In.Packets, s.Queues = count(octets), count(packets),
			[]gnmi.Queue{{Name: "3", Packets: count(queue)}}
		b.st.Take([]gnmi.Sample{s})
		b.now = b.now.Add(time.Second)
	}
	take(1<<40, wrap32-10, 5)
	take(1<<40+800, wrap32-5, 6)
	take(700, 3, 90)
	take(1500, 4, 92)
	read := func(k Kind, name, metric string) []float64 {
		h, err := b.st.History(Query{Kind: k, Name: name, Metrics: []string{metric},
			Since: began.Add(time.Second), Until: b.now}, b.now)
		if err != nil || len(h.Series) != 1 {
			t.Fatalf("%s: %v, %v", metric, h, err)
		}
		return h.Series[0].Values
	}
	b.want(read(Port, "s1/1", "inBits"), 6400, gap, 6400)
	b.want(read(Port, "s1/1", "inPackets"), 5, gap, 1)
	b.want(read(Queue, "s1/1/3", "packets"), 1, gap, 2)
}

// TestGap: a time without samples has no rate; seconds around one missing sample have the mean.
func TestGap(t *testing.T) {
	b := newBed(t)
	b.report(0)
	b.run(1, 1000)
	b.now, b.in = b.now.Add(2*time.Second), b.in+4000
	b.report(0)
	b.now, b.in = b.now.Add(9*time.Second), b.in+1e6
	b.report(0)
	b.run(1, 1000)
	b.want(b.history(1, 13, time.Second), 8000, 16000, 16000, gap, gap, gap, gap, gap, gap, gap, gap,
		gap, 8000)
}

// TestLate: a sample that arrives late counts at the time when the switch took it. A sample
// overtaken by a newer sample changes nothing.
func TestLate(t *testing.T) {
	b := newBed(t)
	b.skew = -7 * time.Hour
	b.report(0)
	b.run(3, 1000)
	for range 3 { // a queue somewhere
		b.now, b.in = b.now.Add(time.Second), b.in+2000
		b.report(4 * time.Second)
	}
	b.now, b.in = b.now.Add(time.Second), b.in+2000
	old := b.sample(6 * time.Second)
	b.run(1, 3000)
	b.st.Take([]gnmi.Sample{old})
	b.run(1, 1000)
	b.want(b.history(1, 9, time.Second), 8000, 8000, 8000, 16000, 16000, 16000, 20000, 20000, 8000)
	if n := b.st.Stats().Late; n != 1 {
		t.Errorf("%d late samples, want 1", n)
	}
}

// TestClockSetBack: after the clock of a switch is set back, the switch has rates again after a
// while, and earlier rates stay. The same holds for the clock of the controller.
func TestClockSetBack(t *testing.T) {
	b := newBed(t)
	b.report(0)
	b.run(100, 1000)
	b.skew = -time.Hour
	b.run(130, 1000)
	got := b.history(1, 230, time.Second)
	for i, v := range got {
		if (i < 100 || i > 225) && !(math.Abs(v-8000) < 10) || !math.IsNaN(v) && math.Abs(v-8000) > 10 {
			t.Fatalf("second %d: %g", i, v)
		}
	}
	b.now = began.Add(-time.Hour)
	b.run(130, 1000)
	h, err := b.st.History(Query{Kind: Port, Name: "s1/1", Since: b.now.Add(-4 * time.Second),
		Until: b.now}, b.now)
	if err != nil || len(h.Series) != 1 {
		t.Fatalf("%v, %v", h, err)
	}
	b.want(h.Series[0].Values, 8000, 8000, 8000, 8000, 8000)
}

// TestMinutes: the store keeps values as minutes once the seconds are gone, for a day and no
// longer.
func TestMinutes(t *testing.T) {
	b := newBed(t)
	b.report(0)
	for minute := range 26 * 60 {
		b.run(60, uint64(1000*(minute+1)))
	}
	end := 26 * 3600
	seconds := b.history(end-840, end, time.Second)
	for i, v := range seconds {
		if math.IsNaN(v) || math.Abs(v-8000*float64((end-840+i-1)/60+1)) > 0.001*v {
			t.Fatalf("second %d of %d: %g", i, len(seconds), v)
		}
	}
	day := b.history(0, end, time.Second)
	if len(day) < 24*60 || len(day) > 24*60+2 {
		t.Fatalf("%d minutes", len(day))
	}
	for i, v := range day[1:] {
		if math.IsNaN(v) || i > 0 && v < day[i] {
			t.Fatalf("minute %d of %d: %g after %g", i, len(day), v, day[i])
		}
	}
	if v := b.history(end-24*3600+700, end, 10*time.Minute)[0]; math.Abs(v-8000*131) > 8000*11 {
		t.Errorf("10 minutes have %g", v)
	}
}

// runWithErrors has the port count errors too, one a second.
func (b *bed) runWithErrors(seconds int) {
	for i := range seconds {
		b.now = b.now.Add(time.Second)
		s := b.sample(0)
		s.Out.Errors = count(uint64(i))
		b.st.Take([]gnmi.Sample{s})
	}
}

// TestKnownLater: a counter that a switch begins to report has no past.
func TestKnownLater(t *testing.T) {
	b := newBed(t)
	b.report(0)
	b.run(90, 1000)
	b.runWithErrors(3)
	h, err := b.st.History(Query{Kind: Port, Name: "s1/1", Metrics: []string{"outErrors"},
		Since: began, Until: b.now}, b.now)
	if err != nil || len(h.Series) != 1 {
		t.Fatalf("%v, %v", h, err)
	}
	for i, v := range h.Series[0].Values {
		if math.IsNaN(v) != (i < 92) || i >= 92 && v != 1 {
			t.Errorf("second %d: %g", i, v)
		}
	}
}

// TestKnownLaterInMinutes: the minutes before a metric was first known are gaps of the metric, too.
func TestKnownLaterInMinutes(t *testing.T) {
	b := newBed(t)
	b.report(0)
	b.run(600, 1000)
	b.runWithErrors(3600)
	h, err := b.st.History(Query{Kind: Port, Name: "s1/1", Metrics: []string{"outErrors"},
		Since: began, Until: began.Add(20 * time.Minute)}, b.now)
	if err != nil || len(h.Series) != 1 || len(h.Series[0].Values) < 15 {
		t.Fatalf("%v, %v", h, err)
	}
	for i, v := range h.Series[0].Values {
		at := time.Unix(h.Times[i], 0).Sub(began)
		if known := at > 9*time.Minute; math.IsNaN(v) == known || known && v != 1 {
			t.Errorf("minute at %v: %g", at, v)
		}
	}
}

// TestOrder: samples need not name ports and queues in the same order, nor all of them.
func TestOrder(t *testing.T) {
	const seed = 20261127
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	st, now := New(Config{}), began
	rate := func(port uint32, queue int) uint64 { return uint64(1000*int(port) + 100*queue) }
	for second := range uint64(30) {
		now = now.Add(time.Second)
		var all []gnmi.Sample
		for _, port := range r.Perm(5) {
			s := gnmi.Sample{Switch: "s1", Port: uint32(port + 1), Time: now, Arrived: now}
			s.In.Octets = count(second * rate(s.Port, 0))
			for _, q := range r.Perm(4) {
				if second > 0 && second < 29 && r.IntN(8) == 0 {
					continue
				}
				s.Queues = append(s.Queues, gnmi.Queue{Name: strconv.Itoa(q),
					Octets: count(second * rate(s.Port, q+1))})
			}
			all = append(all, s)
		}
		st.Take(all)
	}
	if got := st.Stats().Objects; got != 5*(1+4) {
		t.Errorf("%d objects, want 25", got)
	}
	check := func(kind Kind, name, metric string, want uint64) {
		h, err := st.History(Query{Kind: kind, Name: name, Metrics: []string{metric}, Since: began,
			Until: now}, now)
		if err != nil || len(h.Series) != 1 {
			t.Fatalf("%s: %v, %v", name, h, err)
		}
		seen := 0
		for i, v := range h.Series[0].Values {
			if seen++; math.IsNaN(v) {
				seen--
			} else if math.Abs(v-8*float64(want)) > 0.0006*v {
				t.Errorf("%s at %d: %g, want %d", name, i, v, 8*want)
			}
		}
		if seen < 20 {
			t.Errorf("%s has %d values", name, seen)
		}
	}
	for port := range uint32(5) {
		check(Port, fmt.Sprintf("s1/%d", port+1), "inBits", rate(port+1, 0))
		for q := range 4 {
			check(Queue, fmt.Sprintf("s1/%d/%d", port+1, q), "bits", rate(port+1, q+1))
		}
	}
}

// TestUnknown: an unknown name is an error that lists the known names.
func TestUnknown(t *testing.T) {
	b := newBed(t)
	b.report(0)
	for name, want := range map[string]error{"s1/1": nil, "s1/2": ErrNotFound, "s2/1": ErrNotFound,
		"s1": ErrNotFound, "s1/x": ErrNotFound, "": ErrNotFound} {
		if _, err := b.st.History(Query{Kind: Port, Name: name, Since: began, Until: b.now},
			b.now); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", name, err, want)
		}
	}
	if _, err := b.st.History(Query{Kind: Port, Name: "s1/1", Metrics: []string{"x"}},
		b.now); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if _, _, err := b.st.Top(Port, "x", time.Second, 1, b.now); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

// TestTop: the objects with the greatest values come first, and no more than asked for.
func TestTop(t *testing.T) {
	st, now := New(Config{}), began
	speeds := map[uint32]uint64{1: 1e6, 2: 1e6, 3: 2e6}
	for range 80 {
		now = now.Add(time.Second)
		for _, sw := range []string{"a", "b"} {
			st.SetSwitch(sw, time.Second, speeds)
			var batch []gnmi.Sample
			for port := range uint32(4) {
				s := gnmi.Sample{Switch: sw, Port: port + 1, Time: now, Arrived: now}
				rate := uint64(port+1) * 10000
				if sw == "b" {
					rate /= 2
				}
				n := uint64(now.Sub(began) / time.Second)
				s.In.Octets, s.Out.Octets = count(n*rate), count(0)
				s.Queues = []gnmi.Queue{{Name: "0", Longest: count(n)}}
				batch = append(batch, s)
			}
			st.Take(batch)
		}
	}
	top, unit, err := st.Top(Port, "inBits", 30*time.Second, 3, now)
	if err != nil || unit != BitsPerSecond || len(top) != 3 || top[0].Name != "a/4" ||
		top[1].Name != "a/3" || top[2].Name != "a/2" || math.Abs(top[0].Value-320000) > 200 {
		t.Errorf("top %v in %q, %v", top, unit, err)
	}
	top, _, err = st.Top(Port, Utilization, 30*time.Second, 10, now)
	if err != nil || len(top) != 6 || top[0].Name != "a/2" || math.Abs(top[0].Value-0.16) > 0.001 ||
		top[1].Name != "a/3" || top[0].Out != 0 {
		t.Errorf("top %v, %v", top, err)
	}
	if top, _, err = st.Top(Queue, "longest", 30*time.Second, 1, now); err != nil || len(top) != 1 ||
		top[0].Name != "a/1/0" || top[0].Value != 80 {
		t.Errorf("top %v, %v", top, err)
	}
}

// TestMemory: values never take more than the bound: the oldest go first, and objects without room
// are refused.
func TestMemory(t *testing.T) {
	const memory = 400 << 10
	st, now := New(Config{Memory: memory}), began
	r := rand.New(rand.NewPCG(1, 2))
	var total [100]uint64
	for range 3600 {
		now = now.Add(time.Second)
		var batch []gnmi.Sample
		for port := range uint32(100) {
			s := gnmi.Sample{Switch: "s1", Port: port, Time: now, Arrived: now}
			total[port] += r.Uint64N(1e6)
			s.In.Octets, s.Out.Octets = count(total[port]), count(2*total[port])
			batch = append(batch, s)
		}
		st.Take(batch)
		if n := st.Stats().Octets; n > memory {
			t.Fatalf("%d octets after %v", n, now.Sub(began))
		}
	}
	s := st.Stats()
	if s.Evicted == 0 || s.Refused == 0 || s.Objects == 0 || s.Objects == 100 {
		t.Errorf("%+v", s)
	}
	if top, _, err := st.Top(Port, "inBits", 10*time.Second, 100, now); err != nil ||
		len(top) != int(s.Objects) {
		t.Errorf("%d of %d objects have values, %v", len(top), s.Objects, err)
	}
	st.Expire(now.Add(48 * time.Hour))
	if st.shard("s1").kept != 0 || st.kept.Load() != 0 {
		t.Errorf("%d octets are left", st.kept.Load())
	}
}
