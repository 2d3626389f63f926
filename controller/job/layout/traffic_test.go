package layout

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/test/seeds"
)

// places returns n ranks on hosts of k NICs, rank i on NIC i modulo k.
func places(n, k int) []Rank {
	out := make([]Rank, n)
	for i := range out {
		out[i] = Rank{i / k, i % k}
	}
	return out
}

// pairsOf returns all pairs of a plan as "host.nic>host.nic".
func pairsOf(t *Traffic) []string {
	var out []string
	for p := range t.All() {
		from, to := t.Points[p.From], t.Points[p.To]
		out = append(out, fmt.Sprintf("%d.%d>%d.%d", from.Host, from.NIC, to.Host, to.NIC))
	}
	return out
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func TestPatterns(t *testing.T) {
	for _, x := range []struct {
		about   string
		pattern api.JobPattern
		ranks   []Rank
		of      []int
		want    []string
	}{
		{"a ring of three hosts", api.PatternRing, places(3, 1), []int{0, 2, 1},
			[]string{"0.0>2.0", "1.0>0.0", "2.0>1.0"}},
		{"a ring stays on its rails", api.PatternRing, places(4, 2), upTo(4),
			[]string{"0.0>1.0", "0.1>1.1", "1.0>0.0", "1.1>0.1"}},
		{"a host with fewer ranks is in all lanes", api.PatternRing, []Rank{{0, 0}, {0, 1}, {1, 0}},
			upTo(3),
			[]string{"0.0>1.0", "0.1>1.0", "1.0>0.0", "1.0>0.1"}},
		{"inside a host nothing is to be done", api.PatternAllToAll, places(4, 4), upTo(4), nil},
		{"a ring inside a host neither", api.PatternRing, places(4, 4), upTo(4), nil},
		{"all to all", api.PatternAllToAll, places(4, 2), upTo(4), []string{
			"0.0>1.0", "0.0>1.1", "0.1>1.0",
			"0.1>1.1", "1.0>0.0", "1.0>0.1", "1.1>0.0", "1.1>0.1"}},
		{"pairs", api.PatternPairwise, places(4, 1), []int{0, 3, 1, 2},
			[]string{"0.0>3.0", "1.0>2.0", "2.0>1.0", "3.0>0.0"}},
		{"a pipeline has no way round", api.PatternPipeline, places(3, 1), upTo(3),
			[]string{"0.0>1.0", "1.0>0.0", "1.0>2.0", "2.0>1.0"}},
		{"a broadcast", api.PatternBroadcast, places(4, 2), []int{2, 0, 1, 3},
			[]string{"1.0>0.0", "1.0>0.1"}},
		{"a broadcast to nobody", api.PatternBroadcast, places(1, 1), []int{0}, nil},
		{"an all-gather is a ring", api.PatternAllGather, places(3, 1), upTo(3),
			[]string{"0.0>1.0", "1.0>2.0", "2.0>0.0"}},
		{"a tree of two", api.PatternTree, places(2, 1), upTo(2), []string{"0.0>1.0", "1.0>0.0"}},
		// Of four hosts: 0 over 2, 2 over 1 and 3; 3 over 1, 1 over 2 and 0.
		{"trees of four", api.PatternTree, places(4, 1), upTo(4), []string{
			"0.0>1.0", "0.0>2.0", "1.0>0.0",
			"1.0>2.0", "1.0>3.0", "2.0>0.0", "2.0>1.0", "2.0>3.0", "3.0>1.0", "3.0>2.0"}},
		{"two ranks on one NIC", api.PatternRing, []Rank{{0, 0}, {0, 0}, {1, 0}, {1, 0}}, upTo(4),
			[]string{"0.0>1.0", "1.0>0.0"}},
	} {
		plan, err := Plan(x.ranks, []Communicator{{"c", x.of, x.pattern}})
		if err != nil {
			t.Errorf("%s: %v", x.about, err)
			continue
		}
		if got := slices.Sorted(slices.Values(pairsOf(plan))); !slices.Equal(got, x.want) {
			t.Errorf("%s: %q, want %q", x.about, got, x.want)
		}
	}
}

// TestTrees: both trees reach all members, and no member has more than two children. A member with
// two children in one tree is a leaf of the other tree; an odd number of members allows one
// exception.
func TestTrees(t *testing.T) {
	for n := 1; n <= 130; n++ {
		var children [2][]int
		for tree := range 2 {
			children[tree] = make([]int, n)
			roots := 0
			for i := range n {
				up := Parent(i, n, tree == 1)
				if up < 0 {
					roots++
					continue
				}
				children[tree][up]++
				steps := 0
				for at := i; at >= 0; at = Parent(at, n, tree == 1) {
					if steps++; steps > 10 {
						t.Fatalf("tree %d of %d: %d is deeper than ten", tree, n, i)
					}
				}
			}
			if roots != 1 || slices.Max(children[tree]) > 2 {
				t.Errorf("tree %d of %d: %d roots, children %v", tree, n, roots, children[tree])
			}
		}
		both := 0
		for i := range n {
			if children[0][i] == 2 && children[1][i] > 0 || children[1][i] == 2 && children[0][i] > 0 {
				both++
			}
		}
		if both > n%2 {
			t.Errorf("trees of %d: %d members are inside of both", n, both)
		}
	}
}

// bruteForce returns the pairs of NICs that talk, by the definitions of the patterns, for
// communicators of any place.
func bruteForce(ranks []Rank, communicators []Communicator) map[[2]Rank]bool {
	out := make(map[[2]Rank]bool)
	talk := func(a, b int) {
		if ranks[a].Host != ranks[b].Host {
			out[[2]Rank{ranks[a], ranks[b]}] = true
		}
	}
	for _, c := range communicators {
		var hosts []int
		local := make(map[int][]int)
		for _, r := range c.Ranks {
			h := ranks[r].Host
			if local[h] == nil {
				hosts = append(hosts, h)
			}
			local[h] = append(local[h], r)
		}
		width := 0
		for _, l := range local {
			width = max(width, len(l))
		}
		n := len(hosts)
		lane := func(k, host int) int { return local[hosts[host]][k%len(local[hosts[host]])] }
		for i, a := range c.Ranks {
			for j, b := range c.Ranks {
				switch {
				case c.Pattern == api.PatternAllToAll, c.Pattern == api.PatternBroadcast && i == 0,
					c.Pattern == api.PatternPipeline && (i == j+1 || j == i+1),
					c.Pattern == api.PatternPairwise && i/2 == j/2:
					talk(a, b)
				}
			}
		}
		for k := range width {
			for i := range n {
				for j := range n {
					switch {
					case (c.Pattern == api.PatternRing || c.Pattern == api.PatternAllGather) && j == (i+1)%n:
						talk(lane(k, i), lane(k, j))
					case c.Pattern == api.PatternTree && (Parent(i, n, false) == j || Parent(i, n, true) == j):
						talk(lane(k, i), lane(k, j))
						talk(lane(k, j), lane(k, i))
					}
				}
			}
		}
	}
	return out
}

// TestAgainstBruteForce compares pairs, peers and the traffic of hosts and racks.
func TestAgainstBruteForce(t *testing.T) {
	first, count := seeds.Range(t, 1, 1500)
	for seed := first; seed < first+count; seed++ {
		r := rand.New(rand.NewPCG(seed, 0))
		ranks := make([]Rank, 1+r.IntN(24))
		hosts, nics := 1+r.IntN(8), 1+r.IntN(4)
		for i := range ranks {
			ranks[i] = Rank{r.IntN(hosts), r.IntN(nics)}
		}
		var communicators []Communicator
		for range 1 + r.IntN(5) {
			c := Communicator{Ranks: r.Perm(len(ranks))[:1+r.IntN(len(ranks))],
				Pattern: api.JobPatterns()[r.IntN(len(api.JobPatterns()))]}
			if c.Pattern == api.PatternPairwise && len(c.Ranks)%2 == 1 {
				c.Pattern = api.PatternRing
			}
			communicators = append(communicators, c)
		}
		plan, err := Plan(ranks, communicators)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		model := bruteForce(ranks, communicators)
		compare(t, fmt.Sprintf("seed %d", seed), plan, model)
		byHost := make(map[[2]Rank]bool)
		for p := range model {
			byHost[[2]Rank{{p[0].Host, -1}, {p[1].Host, -1}}] = true
		}
		between := plan.Merge(func(p Rank) Rank { return Rank{p.Host, -1} })
		compare(t, fmt.Sprintf("seed %d, by host", seed), between, byHost)
		rack := func(p Rank) Rank { return Rank{p.Host / 2, -1} }
		byRack := make(map[[2]Rank]bool)
		for p := range model {
			if a, b := rack(p[0]), rack(p[1]); a != b {
				byRack[[2]Rank{a, b}] = true
			}
		}
		compare(t, fmt.Sprintf("seed %d, by rack", seed), plan.Merge(rack), byRack)
		compare(t, fmt.Sprintf("seed %d, by host and rack", seed), between.Merge(rack), byRack)
	}
}

func compare(t *testing.T, about string, plan *Traffic, model map[[2]Rank]bool) {
	t.Helper()
	got := make(map[[2]Rank]bool)
	send, receive := make(map[Rank]int), make(map[Rank]int)
	last := Pair{-1, -1}
	for p := range plan.All() {
		if p.From < last.From || p.From == last.From && p.To <= last.To {
			t.Fatalf("%s: pair %v after %v", about, p, last)
		}
		last = p
		got[[2]Rank{plan.Points[p.From], plan.Points[p.To]}] = true
	}
	if !maps.Equal(got, model) {
		t.Fatalf("%s: %v, want %v", about, got, model)
	}
	for p := range model {
		send[p[0]]++
		receive[p[1]]++
	}
	for i, peers := range plan.Peers() {
		if p := plan.Points[i]; peers != (Peers{send[p], receive[p]}) {
			t.Fatalf("%s: %v has peers %+v, want %d and %d", about, p, peers, send[p], receive[p])
		}
	}
}

func TestCommunicatorsRefused(t *testing.T) {
	for _, x := range []struct {
		of    Communicator
		field string
	}{
		{Communicator{"c", []int{0}, "star"}, "communicators[1].pattern"},
		{Communicator{"c", nil, api.PatternRing}, "communicators[1].ranks"},
		{Communicator{"c", []int{0, 1, 2}, api.PatternPairwise}, "communicators[1].ranks"},
		{Communicator{"c", []int{0, 4}, api.PatternRing}, "communicators[1].ranks[1]"},
		{Communicator{"c", []int{-1}, api.PatternRing}, "communicators[1].ranks[0]"},
		{Communicator{"c", []int{1, 2, 1}, api.PatternRing}, "communicators[1].ranks[2]"},
	} {
		plan, err := Plan(places(4, 2), []Communicator{{"ok", upTo(4), api.PatternRing}, x.of})
		var wrong api.FieldError
		if !errors.As(err, &wrong) || plan != nil || wrong.Field != "spec."+x.field || wrong.Want == "" {
			t.Errorf("%v: %v; want an error of %s", x.of, err, x.field)
		}
	}
}

// TestHints: the peers of the NICs of a training job, worked out by hand: hosts of 8 NICs, tensor
// parallel inside of hosts, a ring of gradients, experts over 8 hosts and two stages.
func TestHints(t *testing.T) {
	sizes := api.JobLayout{TP: 8, EP: 8, DP: 16, PP: 2}
	c, err := Communicators(&sizes, ranksOf(sizes))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Plan(places(ranksOf(sizes), 8), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Points) != 256 || len(plan.Sets) != 32 { // 8 rails, 2 stages, 16/8 groups of experts
		t.Errorf("%d points and %d sets, want 256 and 32", len(plan.Points), len(plan.Sets))
	}
	for i, peers := range plan.Peers() {
		// Seven experts, the corresponding NIC in the second stage, and one more where the ring over 16
		// hosts leaves the experts' eight hosts. The ring of edp (hosts i and i+8) adds one more NIC, at
		// both ends of the ring.
		want := Peers{7 + 1 + 1, 7 + 1 + 1}
		switch at := plan.Points[i].Host % 16; at {
		case 7, 15: // sends out of its experts, to host 8 or 0, which is not its partner of edp
			want.Send++
		case 0, 8:
			want.Receive++
		}
		if peers != want {
			t.Errorf("%v has peers %+v, want %+v", plan.Points[i], peers, want)
		}
	}
}

// TestSizes: 8,192 ranks are planned well within a second, and the memory of 131,072 grows with the
// ranks: their all-to-all alone has 1.7 x 10^10 pairs.
func TestSizes(t *testing.T) {
	for _, x := range []struct {
		sizes api.JobLayout
		most  time.Duration
	}{
		{api.JobLayout{TP: 8, CP: 2, EP: 64, DP: 64, PP: 8}, time.Second},
		{api.JobLayout{TP: 8, EP: 64, DP: 2048, PP: 8}, 20 * time.Second},
		{api.JobLayout{EP: 131072, DP: 131072}, 20 * time.Second},
	} {
		n := ranksOf(x.sizes)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		c, err := Communicators(&x.sizes, n)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := Plan(places(n, 8), c)
		if err != nil {
			t.Fatal(err)
		}
		peers := plan.Peers()
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		t.Logf("%d ranks: %d communicators, %d pairs, %d sets, %v, %d MiB", n, len(c), len(plan.Pairs),
			len(plan.Sets), took, (after.TotalAlloc-before.TotalAlloc)>>20)
		if took > x.most {
			t.Errorf("%d ranks took %v, want at most %v", n, took, x.most)
		}
		if most := uint64(n) * 4096; after.TotalAlloc-before.TotalAlloc > most {
			t.Errorf("%d ranks: %d octets of memory, want at most %d", n,
				after.TotalAlloc-before.TotalAlloc, most)
		}
		if len(peers) != n {
			t.Errorf("%d NICs have peers, want %d", len(peers), n)
		}
		if x.sizes.EP == n && peers[0] != (Peers{n - 8, n - 8}) {
			t.Errorf("peers of all with all: %+v", peers[0])
		}
	}
}

func BenchmarkPlan8192(b *testing.B) {
	sizes := api.JobLayout{TP: 8, CP: 2, EP: 64, DP: 64, PP: 8}
	ranks := places(ranksOf(sizes), 8)
	for b.Loop() {
		c, err := Communicators(&sizes, len(ranks))
		if err != nil {
			b.Fatal(err)
		}
		plan, err := Plan(ranks, c)
		if err != nil {
			b.Fatal(err)
		}
		plan.Peers()
	}
}
