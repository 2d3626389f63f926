package suspect

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/topology"
)

// A fabric has the paths of a Clos: from leaf to spine to leaf in each plane, 4 of each, and the
// links of a host to its leaf at both ends.
type fabric struct {
	planes, leaves, spines, hosts int
	paths                         [][]topology.LinkID
	links                         []topology.LinkID // between switches
}

func clos(planes, leaves, spines, hosts int) *fabric {
	f := &fabric{planes: planes, leaves: leaves, spines: spines, hosts: hosts}
	link := func(from, to string, plane int) topology.LinkID {
		return topology.LinkID(fmt.Sprintf("p%d %s>%s", plane, from, to))
	}
	host := func(leaf, h int) string { return fmt.Sprintf("h%d.%d", leaf, h) }
	for p := range planes {
		for a := range leaves {
			for s := range spines {
				la, sp := fmt.Sprintf("l%d", a), fmt.Sprintf("s%d", s)
				f.links = append(f.links, link(la, sp, p), link(sp, la, p))
				for b := range leaves {
					for h := range hosts {
						if a == b {
							continue
						}
						lb := fmt.Sprintf("l%d", b)
						f.paths = append(f.paths, []topology.LinkID{
							link(host(a, h), la, p), link(la, sp, p), link(sp, lb, p), link(lb, host(b, (h+a)%hosts), p),
						})
					}
				}
			}
		}
	}
	return f
}

// binomial draws how many of n packets meet something of probability p.
func binomial(rng *rand.Rand, n int, p float64) uint64 {
	if p <= 0 {
		return 0
	}
	count, at := uint64(0), 0
	for {
		at += 1 + int(math.Log(1-rng.Float64())/math.Log1p(-min(p, 1-1e-12)))
		if at > n {
			return count
		}
		count++
	}
}

func seeds(
	t *testing.T, n int, run func(t *testing.T, seed uint64, rng *rand.Rand) bool,
) (failed int) {
	t.Helper()
	for seed := range uint64(n) {
		if !run(t, seed, rand.New(rand.NewPCG(seed, 1))) {
			t.Logf("seed %d failed", seed)
			failed++
		}
	}
	return failed
}

func newLocator(t *testing.T) *Locator {
	t.Helper()
	l, err := New(Defaults())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestGreyLink: one direction of a link between switches loses 1 %, everything loses a packet in
// 100,000 and is marked at times. It is named alone within 5 s, in 99 of 100 seeds.
func TestGreyLink(t *testing.T) {
	f := clos(2, 4, 4, 2)
	failed := seeds(t, 100, func(t *testing.T, seed uint64, rng *rand.Rand) bool {
		l := newLocator(t)
		bad := f.links[rng.IntN(len(f.links))]
		const tick = 200 * time.Millisecond
		for now := time.Duration(0); now < 15*time.Second; now += tick {
			grey := now >= 7*time.Second
			for _, p := range f.paths {
				loss := 1e-5
				if grey && slices.Contains(p, bad) {
					loss += 0.01
				}
				n := 5 + rng.IntN(40)
				lost := binomial(rng, n, loss)
				l.Observe(now, l.Path(p), Counts{Sent: uint64(n), Lost: lost,
					Marked: binomial(rng, n-int(lost), 0.02)})
			}
			found := l.Suspects(now)
			switch {
			case !grey && len(found) > 0, len(found) > 1, len(found) == 1 && !slices.Equal(found[0].Links,
				[]topology.LinkID{bad}):
				t.Logf("seed %d, %v: %+v, want %v alone", seed, now, found, bad)
				return false
			case len(found) == 1:
				s := found[0]
				return now-7*time.Second <= 5*time.Second && s.Loss < 0.03 && s.Confidence >= 0.99 && s.Lost > 0
			}
		}
		return false
	})
	if failed > 1 {
		t.Errorf("%d of 100 seeds failed, want at most 1", failed)
	}
}

// TestCongestionAccusesNobody: links where queues build up mark nearly everything and lose packets
// now and then.
func TestCongestionAccusesNobody(t *testing.T) {
	f := clos(2, 4, 4, 2)
	failed := seeds(t, 100, func(t *testing.T, seed uint64, rng *rand.Rand) bool {
		l := newLocator(t)
		all := slices.Clone(f.links)
		for _, p := range f.paths {
			all = append(all, p[0], p[3])
		}
		hot := map[topology.LinkID]float64{}
		for now := time.Duration(0); now < 10*time.Second; now += 200 * time.Millisecond {
			if rng.IntN(10) == 0 { // somewhere else
				hot = map[topology.LinkID]float64{}
				for range 1 + rng.IntN(4) {
					hot[all[rng.IntN(len(all))]] = 0.05 * rng.Float64()
				}
			}
			for _, p := range f.paths {
				loss, marks := 1e-5, 0.02
				for _, link := range p {
					if r, ok := hot[link]; ok {
						loss, marks = loss+r, 0.9
					}
				}
				n := 5 + rng.IntN(40)
				lost := binomial(rng, n, loss)
				l.Observe(now, l.Path(p), Counts{Sent: uint64(n), Lost: lost,
					Marked: binomial(rng, n-int(lost), marks)})
			}
			if found := l.Suspects(now); len(found) > 0 {
				t.Logf("seed %d, %v: %+v", seed, now, found)
				return false
			}
		}
		return true
	})
	if failed > 0 {
		t.Errorf("%d of 100 seeds named a link", failed)
	}
}

// steady sends the same number of packets over every path of a fabric; each link loses packets at
// its rate.
func steady(l *Locator, f *fabric, sent uint64, loss map[topology.LinkID]float64) {
	for _, p := range f.paths {
		rate := 0.0
		for _, link := range p {
			rate += loss[link]
		}
		l.Observe(0, l.Path(p), Counts{Sent: sent, Lost: uint64(math.Round(rate * float64(sent)))})
	}
}

func TestSeveralLinks(t *testing.T) {
	f := clos(1, 4, 4, 2)
	l := newLocator(t)
	steady(l, f, 10_000, map[topology.LinkID]float64{"p0 l0>s1": 0.02, "p0 s3>l2": 0.005})
	found := l.Suspects(0)
	if len(found) != 2 || found[0].Links[0] != "p0 l0>s1" || found[1].Links[0] != "p0 s3>l2" {
		t.Fatalf("found %+v", found)
	}
	if s := found[0]; math.Abs(s.Loss-0.02) > 0.001 || s.Paths != 6 || s.Sent != 60_000 ||
		s.Lost < 1200 {
		t.Errorf("%+v", s)
	}

	// Once it is repaired, the other is left.
	l.Forget("p0 l0>s1")
	l.Forget("no such link")
	if found = l.Suspects(0); len(found) != 1 || found[0].Links[0] != "p0 s3>l2" {
		t.Errorf("found %+v", found)
	}
	// Evidence grows old.
	if found = l.Suspects(4 * time.Second); found != nil {
		t.Errorf("found %+v in what is too old", found)
	}
}

// TestLinksAlwaysTogether: a host's link and its leaf's only link make one suspect until a counter
// separates the two.
func TestLinksAlwaysTogether(t *testing.T) {
	l := newLocator(t)
	through := []topology.LinkID{"host>leaf", "leaf>spine"}
	l.Observe(0, l.Path(append(through, "spine>a")), Counts{Sent: 10_000, Lost: 90})
	l.Observe(0, l.Path(append(through, "spine>b")), Counts{Sent: 10_000, Lost: 110})
	l.Observe(0, l.Path([]topology.LinkID{"other", "spine>a"}), Counts{Sent: 10_000})
	l.Observe(0, l.Path([]topology.LinkID{"other", "spine>b"}), Counts{Sent: 10_000})
	if found := l.Suspects(0); len(found) != 1 || !slices.Equal(found[0].Links, through) {
		t.Fatalf("found %+v, want %v", found, through)
	}
	l.Observe(0, l.Path([]topology.LinkID{"leaf>spine"}), Counts{Sent: 20_000, Lost: 199})
	l.Observe(0, l.Path([]topology.LinkID{"host>leaf"}), Counts{Sent: 20_000})
	if found := l.Suspects(0); len(found) != 1 || !slices.Equal(found[0].Links, through[1:]) {
		t.Fatalf("found %+v, want leaf>spine", found)
	}
}

// TestNothingToName: no packets, no losses, losses everywhere, and too little of anything.
func TestNothingToName(t *testing.T) {
	f := clos(1, 4, 4, 2)
	everywhere := map[topology.LinkID]float64{}
	for _, link := range f.links {
		everywhere[link] = 0.01
	}
	for _, c := range []struct {
		name string
		sent uint64
		loss map[topology.LinkID]float64
	}{
		{"nothing sent", 0, nil},
		{"nothing lost", 10_000, nil},
		{"everything loses alike", 10_000, everywhere},
		{"one packet", 100, nil},
		{"below MinLoss", 1_000_000, map[topology.LinkID]float64{"p0 l0>s1": 0.0005}},
	} {
		l := newLocator(t)
		if steady(l, f, c.sent, c.loss); c.name == "one packet" {
			l.Observe(0, l.Path(f.paths[0]), Counts{Sent: 100, Lost: 1})
		}
		if found := l.Suspects(0); found != nil {
			t.Errorf("%s: found %+v", c.name, found)
		}
	}
}

// TestLeastLoss: by default, a link that loses 1.5 packets in 1,000 is named, with a probability,
// and a link that loses 0.9 is not.
func TestLeastLoss(t *testing.T) {
	f := clos(1, 4, 4, 2)
	for loss, named := range map[float64]bool{0.0015: true, 0.0009: false} {
		l := newLocator(t)
		steady(l, f, 1_000_000, map[topology.LinkID]float64{"p0 l0>s1": loss})
		found := l.Suspects(0)
		if len(found) == 1 != named {
			t.Errorf("loss %v: %+v", loss, found)
		}
		if named && (found[0].Confidence < 0.99 || found[0].Confidence > 1) {
			t.Errorf("confidence %v, want 0.99 to 1", found[0].Confidence)
		}
	}
}

// TestCountsOutOfRange: what cannot be is cut, not believed.
func TestCountsOutOfRange(t *testing.T) {
	l := newLocator(t)
	p := l.Path([]topology.LinkID{"a", "a", "b"})
	if q := l.Path([]topology.LinkID{"b", "a"}); p != q {
		t.Errorf("paths %d and %d of the same links", p, q)
	}
	if l.Observe(0, p, Counts{Sent: 10, Lost: 5, Marked: 5}) {
		t.Error("an observation of nothing but marked packets counts")
	}
	l.Observe(0, p, Counts{Sent: 10, Lost: 30, Marked: 7})
	if got := l.paths[p].total(); got != (Counts{Sent: 10, Lost: 10}) {
		t.Errorf("%+v", got)
	}
}

func TestValidate(t *testing.T) {
	for i, x := range []struct {
		change func(*Config)
		ok     bool
	}{
		{func(*Config) {}, true},
		{func(c *Config) { c.Window = 1 }, false},
		{func(c *Config) { c.Window = 2 }, true},
		{func(c *Config) { c.MinLoss = 0 }, false},
		{func(c *Config) { c.MinLoss = 0.001 }, true},
		{func(c *Config) { c.MaxMarked = 1 }, false},
		{func(c *Config) { c.MaxMarked = 0.999 }, true},
		{func(c *Config) { c.Confidence = 1.5 }, false},
		{func(c *Config) { c.MaxSuspects = 0 }, false},
		{func(c *Config) { c.MaxSuspects = 1 }, true},
	} {
		c := Defaults()
		x.change(&c)
		l, err := New(c)
		if (err == nil) != x.ok || err != nil && !errors.Is(err, ErrConfig) {
			t.Errorf("change %d: %+v: %v", i, c, err)
		}
		if err == nil {
			l.Observe(time.Second, l.Path([]topology.LinkID{"a"}), Counts{Sent: 1})
		}
	}
	if want := (Config{Window: 2 * time.Second, MinLoss: 0.001, MaxMarked: 0.3, Confidence: 0.99,
		MaxSuspects: 8}); Defaults() != want {
		t.Errorf("defaults %+v, want %+v", Defaults(), want)
	}
}

// TestLossOfLink: the loss of a link is the loss on the paths across the link, less the loss on all
// remaining paths.
func TestLossOfLink(t *testing.T) {
	l := newLocator(t)
	l.Observe(0, l.Path([]topology.LinkID{"a", "b"}), Counts{Sent: 10_000, Lost: 1_000})
	l.Observe(0, l.Path([]topology.LinkID{"a", "c"}), Counts{Sent: 10_000, Lost: 1_000})
	l.Observe(0, l.Path([]topology.LinkID{"d", "b"}), Counts{Sent: 10_000, Lost: 100})
	l.Observe(0, l.Path([]topology.LinkID{"d", "c"}), Counts{Sent: 30_000, Lost: 500})
	found := l.Suspects(0)
	if len(found) == 0 || found[0].Links[0] != "a" || math.Abs(found[0].Loss-(0.1-0.015)) > 1e-9 ||
		found[0].Sent != 20_000 || found[0].Lost != 2_000 || found[0].Paths != 2 {
		t.Errorf("%+v, want a with 0.1 less 0.015, 2,000 of 20,000 on two paths", found)
	}
}

// TestBothDirections: a link that is dead in both directions is named although either direction
// explains the losses equally well: no path crosses both. A half of that loss is not enough.
func TestBothDirections(t *testing.T) {
	for loss, want := range map[uint64]int{100: 2, 49: 0} {
		l := newLocator(t)
		for _, path := range [][]topology.LinkID{{"a>x", "x>b"}, {"b>x", "x>a"}, {"a>y", "y>b"},
			{"b>y", "y>a"}} {
			n := Counts{Sent: 1000}
			if slices.Contains(path, "a>x") || slices.Contains(path, "x>a") {
				n.Lost = 10 * loss
			}
			l.Observe(0, l.Path(path), n)
		}
		found := l.Suspects(time.Second)
		if len(found) != want {
			t.Errorf("%d %% are lost, and the suspects are %+v, want %d", loss, found, want)
		}
		for _, s := range found {
			if len(s.Links) != 2 || s.Confidence < 0.99 {
				t.Errorf("%+v: want the two links of a path", s)
			}
		}
	}
}

// TestAnswersByOtherPaths: probes are lost when their answers meet a dead link, which is not on the
// paths of the probes. The link is named, and no host that those paths have in common.
func TestAnswersByOtherPaths(t *testing.T) {
	const racks, spines, each, probes = 4, 8, 4, 16
	up := func(a, s int) topology.LinkID { return topology.LinkID(fmt.Sprintf("l%d>s%d", a, s)) }
	down := func(s, a int) topology.LinkID { return topology.LinkID(fmt.Sprintf("s%d>l%d", s, a)) }
	bad := func(id topology.LinkID) bool { return id == up(0, 3) || id == down(3, 0) }
	failed := seeds(t, 60, func(t *testing.T, seed uint64, rng *rand.Rand) bool {
		l := newLocator(t)
		for a := range racks {
			for h := range each {
				for b := range racks {
					for s := range spines {
						if a == b || rng.IntN(3) == 0 {
							continue
						}
						path := []topology.LinkID{topology.LinkID(fmt.Sprintf("host %d.%d", a, h)), up(a, s),
							down(s, b), topology.LinkID(fmt.Sprintf("hosts of %d", b))}
						var n Counts
						for n.Sent = 1; n.Sent <= probes; n.Sent++ {
							r := rng.IntN(spines)
							if slices.ContainsFunc([]topology.LinkID{path[1], path[2], up(b, r), down(r, a)}, bad) {
								n.Lost++
							}
						}
						n.Sent--
						l.Observe(0, l.Answered(path, func(id topology.LinkID) bool {
							return strings.HasPrefix(string(id), fmt.Sprintf("l%d>", b)) ||
								strings.HasSuffix(string(id), fmt.Sprintf(">l%d", a)) ||
								strings.HasPrefix(string(id), fmt.Sprintf("l%d>", a)) ||
								strings.HasSuffix(string(id), fmt.Sprintf(">l%d", b))
						}), n)
					}
				}
			}
		}
		found := l.Suspects(0)
		for _, s := range found {
			if slices.ContainsFunc(s.Links, func(id topology.LinkID) bool { return !bad(id) }) {
				t.Logf("seed %d: %v", seed, found)
				return false
			}
		}
		return len(found) > 0
	})
	if failed > 0 {
		t.Errorf("%d seeds name something else than the dead link", failed)
	}
}
