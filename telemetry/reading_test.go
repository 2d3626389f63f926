package telemetry

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/weft-sdn/weft/southbound/gnmi"
)

// TestReadings: counters of readings become rates, gauges keep their greatest value, and what is
// not known at a time is a gap. Names may look like those of ports.
func TestReadings(t *testing.T) {
	st, now := New(Config{}), began
	const name = "s1/4"
	lost := uint64(0)
	read := func(probes, rtt uint64, ok bool) {
		now, lost = now.Add(time.Second), lost+2
		st.TakeReadings(Tunnel, time.Second,
			[]Reading{{name, now, []gnmi.Count{TunnelSent: {Value: probes, OK: ok}, TunnelLost: count(lost),
				TunnelRTT: {Value: rtt, OK: rtt > 0}}}})
	}
	for i := range uint64(4) {
		read(10*i, 1000*i, true)
	}
	read(0, 9000, false)
	read(50, 0, true)
	read(70, 2000, true)
	read(5, 2000, true) // counted anew
	read(15, 2000, true)
	h, err := st.History(Query{Kind: Tunnel, Name: name, Since: began.Add(time.Second), Until: now,
		Step: time.Second}, now)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]float64{
		"probes": {gap, 10, 10, 10, gap, gap, 20, gap, 10}, "lostProbes": {gap, 2, 2, 2, 2, 2, 2, gap, 2},
		"rtt": {gap, 1e-6, 2e-6, 3e-6, 9e-6, gap, 2e-6, 2e-6, 2e-6},
	}
	for _, s := range h.Series {
		w := want[s.Metric.Name]
		delete(want, s.Metric.Name)
		for i := range w {
			if g := s.Values[i]; math.IsNaN(g) != math.IsNaN(w[i]) || math.Abs(g-w[i]) > 0.001*w[i] {
				t.Errorf("%s in %s is %v, want %v", s.Metric.Name, s.Metric.Unit, s.Values, w)
				break
			}
		}
	}
	if len(want) > 0 || h.Speed != 0 {
		t.Errorf("no series of %v; speed %d", want, h.Speed)
	}
	if _, err := st.History(Query{Kind: Port, Name: name, Since: began, Until: now}, now); err == nil {
		t.Error("there is a port of the name of a tunnel")
	}
	top, unit, err := st.Top(Tunnel, "rtt", 10*time.Second, 5, now)
	if err != nil || unit != Seconds || len(top) != 1 || top[0].Name != name ||
		math.Abs(top[0].Value-9e-6) > 1e-8 {
		t.Errorf("top %+v in %q, %v", top, unit, err)
	}
	if s := st.Stats(); s.Samples != 9 || s.Restarts != 1 {
		t.Errorf("stats %+v", s)
	}
}

// TestReadingsComeAndGo: an object without a reading for more than a day gives its place and memory
// to a new object, whose history starts empty.
func TestReadingsComeAndGo(t *testing.T) {
	st, now := New(Config{}), began
	read := func(name string) {
		for i := range uint64(3) {
			now = now.Add(time.Second)
			st.TakeReadings(Group, time.Second,
				[]Reading{{name, now, []gnmi.Count{GroupAcked: count(1000 * i), GroupStalled: count(2)}}})
		}
	}
	read("stays")
	read("a")
	one := st.Stats()
	for range 24 * 60 {
		now = now.Add(time.Minute)
		st.TakeReadings(Group, time.Second,
			[]Reading{{"stays", now, []gnmi.Count{GroupStalled: count(1)}}})
		st.Expire(now)
	}
	if s := st.Stats(); s.Objects != 2 {
		t.Errorf("%d objects a day after, want those whose minutes are kept: 2", s.Objects)
	}
	if h, err := st.History(Query{Kind: Group, Name: "a", Since: began, Until: now, Step: time.Minute},
		now); err != nil || len(h.Series) == 0 {
		t.Errorf("the minutes of a day ago are gone: %+v, %v", h, err)
	}
	for range 50 {
		now = now.Add(time.Minute)
		st.TakeReadings(Group, time.Second,
			[]Reading{{"stays", now, []gnmi.Count{GroupStalled: count(1)}}})
		st.Expire(now)
	}
	if s := st.Stats(); s.Objects != 1 {
		t.Errorf("%d objects, want 1", s.Objects)
	}
	if _, err := st.History(Query{Kind: Group, Name: "a", Since: began, Until: now}, now); err == nil {
		t.Error("what was forgotten has a history")
	}
	for i := range 1000 {
		name := fmt.Sprint("g", i)
		read(name)
		h, err := st.History(Query{Kind: Group, Name: name, Since: now.Add(-23 * time.Hour), Until: now,
			Step: time.Minute}, now)
		if err != nil {
			t.Fatal(err)
		}
		values := 0
		for _, s := range h.Series {
			for _, v := range s.Values {
				if !math.IsNaN(v) {
					values++
				}
			}
		}
		if values == 0 || values > 4 {
			t.Fatalf("%s has %d values of minutes, want its own: %+v", name, values, h)
		}
		now = now.Add(26 * time.Hour)
		st.Expire(now)
	}
	if n := len(st.find(shardOf(Group)).objects); n > 2 {
		t.Errorf("%d places for 2 groups at a time", n)
	}
	if s := st.Stats(); s.Objects != 0 || s.Refused != 0 || s.Octets > 2*one.Octets {
		t.Errorf("after 1000 groups: %+v, at first %+v", s, one)
	}
}
