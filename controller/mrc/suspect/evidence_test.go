package suspect

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/topology"
)

// TestEvidenceOfWindows: an observation counts for one window at least and for one and a half at
// most, whenever the time is set in between; that of two windows adds up.
func TestEvidenceOfWindows(t *testing.T) {
	ms := time.Millisecond
	for _, c := range []struct {
		seen   []time.Duration
		at     time.Duration
		counts uint64 // observations
	}{
		{[]time.Duration{0}, 2999 * ms, 1}, {[]time.Duration{0}, 3000 * ms, 0},
		{[]time.Duration{999 * ms}, 2999 * ms, 1}, {[]time.Duration{999 * ms}, 3000 * ms, 0},
		{[]time.Duration{1000 * ms}, 3999 * ms, 1}, {[]time.Duration{1000 * ms}, 4000 * ms, 0},
		{[]time.Duration{0, 1000 * ms, 2000 * ms}, 2000 * ms, 3},
		{[]time.Duration{0, 1000 * ms, 2000 * ms}, 3000 * ms, 2},
		{[]time.Duration{0, 1000 * ms, 2000 * ms}, 4000 * ms, 1},
		{[]time.Duration{0, 500 * ms}, 900 * ms, 2},
		{[]time.Duration{2000 * ms, 1000 * ms}, 2000 * ms, 2}, // time does not go back
		{[]time.Duration{0}, time.Hour, 0},
	} {
		l := newLocator(t)
		p, q := l.Path([]topology.LinkID{"a", "b"}), l.Path([]topology.LinkID{"c", "b"})
		for _, at := range c.seen {
			if !l.Observe(at, p, Counts{Sent: 100, Lost: 10, Marked: 9}) {
				t.Error("it does not count")
			}
			l.Observe(at, q, Counts{Sent: 1})
		}
		l.Suspects(c.at)
		n := c.counts
		want := map[topology.LinkID]Counts{"a": {Sent: 100 * n, Lost: 10 * n, Marked: 9 * n},
			"b": {Sent: 101 * n, Lost: 10 * n, Marked: 9 * n}, "c": {Sent: n}, "nowhere": {}}
		for link, w := range want {
			if got := l.Across(link); got != w {
				t.Errorf("seen at %v: %s has %+v at %v, want %+v", c.seen, link, got, c.at, w)
			}
		}
		if l.Forget("a"); l.Across("a") != (Counts{}) || l.Across("c") != want["c"] {
			t.Errorf("forgotten: %+v, of another link %+v", l.Across("a"), l.Across("c"))
		}
	}
}

// TestMarkedPackets: an observation counts unless more than a share of the packets that arrived
// were marked.
func TestMarkedPackets(t *testing.T) {
	c := Defaults()
	c.MaxMarked = 0.25
	l, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	p := l.Path([]topology.LinkID{"a"})
	for _, x := range []struct {
		counts Counts
		want   bool
	}{
		{Counts{Sent: 100}, true}, {Counts{Sent: 100, Marked: 25}, true},
		{Counts{Sent: 100, Marked: 26}, false}, {Counts{Sent: 100, Lost: 60, Marked: 10}, true},
		{Counts{Sent: 100, Lost: 60, Marked: 11}, false}, {Counts{Sent: 100, Lost: 100}, true},
		{Counts{Sent: 100, Lost: 101, Marked: 1}, true},
	} {
		if got := l.Observe(0, p, x.counts); got != x.want {
			t.Errorf("%+v counts: %v, want %v", x.counts, got, x.want)
		}
	}
}

// TestConfidence: the confidence in a suspect compares the likelihood of the losses under three
// assumptions: the suspect alone loses packets at its own rate, another link does, or no link does.
// Each count starts at half a packet, and each additional rate costs its expected gain by chance.
func TestConfidence(t *testing.T) {
	type paths map[string]Counts // by the names of links, of one letter each
	for _, x := range []struct {
		seen paths
		want string
	}{
		{paths{"a": {Sent: 40, Lost: 9}, "b": {Sent: 100, Lost: 3}}, "a"},
		{paths{"ab": {Sent: 50, Lost: 9}, "ac": {Sent: 50, Lost: 11}, "db": {Sent: 60, Lost: 1},
			"dc": {Sent: 70, Lost: 2}}, "a"},
		{paths{"a": {Sent: 30, Lost: 30}, "b": {Sent: 30}}, "a"},
		{paths{"ab": {Sent: 80, Lost: 12}, "c": {Sent: 90, Lost: 2}}, "ab"},
		{paths{"ab": {Sent: 80, Lost: 12}, "a": {Sent: 20, Lost: 4}, "c": {Sent: 90, Lost: 2}}, "a"},
		{paths{"a": {Sent: 40, Lost: 9}, "b": {Sent: 60, Lost: 12}, "c": {Sent: 900, Lost: 3}}, "b"},
		{paths{"a": {Sent: 100, Lost: 3}, "b": {Sent: 100, Lost: 3}}, ""},
		{paths{"a": {Sent: 1, Lost: 1}, "b": {Sent: 9}}, "a"},
		{paths{"a": {Sent: 9}, "b": {Sent: 9}}, ""}, {paths{}, ""},
		{paths{"a": {Sent: 90, Lost: 45}}, ""},
	} {
		cfg := Defaults()
		cfg.Confidence, cfg.MinLoss = 1e-9, 1e-9
		l, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		links := make(map[string]bool)
		for names, c := range x.seen {
			var path []topology.LinkID
			for _, n := range names {
				path, links[string(n)] = append(path, topology.LinkID(n)), true
			}
			l.Observe(0, l.Path(path), c)
		}
		// sum adds up what is on paths with a link, or on the others.
		sum := func(link string, with bool) (sent, lost float64, n int) {
			for names, c := range x.seen {
				if slices.Contains([]byte(names), link[0]) == with {
					sent, lost, n = sent+float64(c.Sent), lost+float64(c.Lost), n+1
				}
			}
			return sent, lost, n
		}
		likely := func(sent, lost float64) float64 {
			rate := (lost + 0.5) / (sent + 1)
			return lost*math.Log(rate) + (sent-lost)*math.Log(1-rate)
		}
		odds := func(link string) float64 { // against none
			s, n, _ := sum(link, true)
			r, m, _ := sum(link, false)
			if n == 0 || (n+0.5)/(s+1) <= (m+0.5)/(r+1) {
				return 0
			}
			return math.Exp(likely(s, n)+likely(r, m)-likely(s+r, n+m)) / float64(len(links)) /
				math.Sqrt(s+r)
		}
		found := l.Suspects(0)
		if x.want == "" {
			if len(found) > 0 {
				t.Errorf("%v: %+v, want none", x.seen, found)
			}
			continue
		}
		if len(found) == 0 || fmt.Sprint(found[0].Links) != fmt.Sprint(lettersOf(x.want)) {
			t.Fatalf("%v: %+v, want %s", x.seen, found, x.want)
		}
		all := 1 + odds(x.want[:1])
		for link := range links {
			if !slices.Contains([]byte(x.want), link[0]) {
				all += odds(link)
			}
		}
		s, n, paths := sum(x.want[:1], true)
		r, m, _ := sum(x.want[:1], false)
		got, want := found[0], Suspect{Loss: n/s - m/r, Confidence: odds(x.want[:1]) / all}
		if math.Abs(got.Confidence-want.Confidence) > 1e-9 || math.Abs(got.Loss-want.Loss) > 1e-9 ||
			got.Sent != uint64(s) || got.Lost != uint64(n) || got.Paths != paths {
			t.Errorf("%v: %+v, want %+v, %v of %v lost on %d paths", x.seen, got, want, n, s, paths)
		}
	}
}

func lettersOf(s string) (out []topology.LinkID) {
	for _, r := range s {
		out = append(out, topology.LinkID(r))
	}
	return out
}

// TestLeastToName: Suspects names a link whose loss and confidence exactly equal the configured
// minimum, and no link below.
func TestLeastToName(t *testing.T) {
	cfg := Defaults()
	cfg.MinLoss = 0.25
	found := func() []Suspect {
		l, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		l.Observe(0, l.Path([]topology.LinkID{"a"}), Counts{Sent: 64, Lost: 16})
		l.Observe(0, l.Path([]topology.LinkID{"b"}), Counts{Sent: 64})
		return l.Suspects(0)
	}
	at := found()
	if len(at) != 1 || at[0].Loss != 0.25 {
		t.Fatalf("%+v, want one that loses a quarter", at)
	}
	sure := at[0].Confidence
	if cfg.Confidence = sure; len(found()) != 1 {
		t.Errorf("it is not named at the least confidence, %v", sure)
	}
	if cfg.Confidence = math.Nextafter(sure, 1); len(found()) != 0 {
		t.Errorf("it is named below the least confidence, %v", sure)
	}
	if cfg.Confidence, cfg.MinLoss = 0.99, 0.26; len(found()) != 0 {
		t.Error("it is named though it loses less than the least loss")
	}
}

// TestMostSuspects: Suspects names up to MaxSuspects links, the surest first. With more bad links
// it names no link.
func TestMostSuspects(t *testing.T) {
	for bad := range 5 {
		cfg := Defaults()
		cfg.MaxSuspects = 3
		l, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			c := Counts{Sent: 1000}
			if i < bad {
				c.Lost = uint64(100 + 50*i)
			}
			l.Observe(0, l.Path([]topology.LinkID{topology.LinkID(fmt.Sprint(i))}), c)
		}
		found := l.Suspects(0)
		if want := bad % 4; len(found) != want {
			t.Fatalf("%d links are bad: %+v, want %d", bad, found, want)
		}
		for i, s := range found {
			if want := fmt.Sprint(bad - 1 - i); string(s.Links[0]) != want {
				t.Errorf("%d links are bad: suspect %d is %v, want %s", bad, i, s.Links, want)
			}
		}
	}
}
