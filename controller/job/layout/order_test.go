package layout

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/test/seeds"
)

// ranksOf returns the number of ranks, TP x CP x DP x PP: experts are on the same ranks.
func ranksOf(l api.JobLayout) int {
	return max(l.TP, 1) * max(l.CP, 1) * max(l.DP, 1) * max(l.PP, 1)
}

// inOrder returns the communicators of a layout in an order.
func inOrder(order string, l api.JobLayout, n int) ([]Communicator, error) {
	l.Order = order
	return Communicators(&l, n)
}

// named returns the ranks of the communicators of a name, as text.
func named(communicators []Communicator, name string) string {
	var out []string
	for _, c := range communicators {
		if of, _, _ := strings.Cut(c.Name, "-"); of == name || strings.HasPrefix(c.Name, name+"-") {
			out = append(out, strings.Trim(fmt.Sprint(c.Ranks), "[]"))
		}
	}
	return strings.Join(out, ", ")
}

// TestMegatronNumbers: layouts with the groups that the comments of megatron/core/parallel_state.py
// list, and some that were worked out by hand from its rule.
func TestMegatronNumbers(t *testing.T) {
	for _, x := range []struct {
		about string
		order string
		sizes api.JobLayout
		want  map[string]string
	}{
		{"its 16 GPUs", "", api.JobLayout{TP: 2, DP: 2, PP: 4}, map[string]string{
			"dp": "0 2, 1 3, 4 6, 5 7, 8 10, 9 11, 12 14, 13 15",
			"tp": "0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 12 13, 14 15",
			"pp": "0 4 8 12, 1 5 9 13, 2 6 10 14, 3 7 11 15",
			"ep": "", "cp": "", "edp": "",
		}},
		{"its 8 GPUs with context", "", api.JobLayout{TP: 4, CP: 2}, map[string]string{
			"tp": "0 1 2 3, 4 5 6 7", "cp": "0 4, 1 5, 2 6, 3 7", "dp-cp": "0 4, 1 5, 2 6, 3 7", "pp": "",
		}},
		{"its order tp-pp-dp", "tp-pp-dp", api.JobLayout{TP: 2, PP: 2, DP: 2}, map[string]string{
			"dp": "0 4, 1 5, 2 6, 3 7", "pp": "0 2, 1 3, 4 6, 5 7",
		}},
		{"its sizes 2, 3 and 4", "tp-dp-pp", api.JobLayout{TP: 2, DP: 3, PP: 4}, map[string]string{
			"dp": "0 2 4, 1 3 5, 6 8 10, 7 9 11, 12 14 16, 13 15 17, 18 20 22, 19 21 23",
		}},
		{"experts", "", api.JobLayout{TP: 2, EP: 2, DP: 4}, map[string]string{
			"ep": "0 2, 1 3, 4 6, 5 7", "edp": "0 4, 1 5, 2 6, 3 7", "dp": "0 2 4 6, 1 3 5 7",
		}},
		{"experts over context and data", "", api.JobLayout{
			TP: 2, CP: 2, EP: 4, DP: 2,
		}, map[string]string{
			"cp": "0 2, 1 3, 4 6, 5 7", "dp-cp": "0 2 4 6, 1 3 5 7", "ep": "0 2 4 6, 1 3 5 7", "edp": "",
		}},
		{"experts in stages", "", api.JobLayout{EP: 2, DP: 4, PP: 2}, map[string]string{
			"ep": "0 1, 2 3, 4 5, 6 7", "edp": "0 2, 1 3, 4 6, 5 7", "pp": "0 4, 1 5, 2 6, 3 7",
		}},
		{"one rank", "", api.JobLayout{}, map[string]string{"tp": "", "dp": "", "pp": ""}},
	} {
		got, err := inOrder(x.order, x.sizes, ranksOf(x.sizes))
		if err != nil {
			t.Errorf("%s: %v", x.about, err)
			continue
		}
		for name, want := range x.want {
			if groups := named(got, name); groups != want && name != "dp" ||
				name == "dp" && groups != want && x.sizes.CP < 2 {
				t.Errorf("%s: %s groups %q, want %q", x.about, name, groups, want)
			}
		}
		for _, c := range got {
			pattern := api.PatternRing
			switch name, _, _ := strings.Cut(c.Name, "-"); name {
			case "ep":
				pattern = api.PatternAllToAll
			case "pp":
				pattern = api.PatternPipeline
			}
			if c.Pattern != pattern {
				t.Errorf("%s: %s has the pattern %s, want %s", x.about, c.Name, c.Pattern, pattern)
			}
		}
	}
}

// TestGroups compares groups with their definition: two ranks share a group when their coordinates
// agree in all other dimensions.
func TestGroups(t *testing.T) {
	first, count := seeds.Range(t, 1, 300)
	for seed := first; seed < first+count; seed++ {
		r := rand.New(rand.NewPCG(seed, 0))
		sizes, mask, n := make([]int, 1+r.IntN(5)), []bool{}, 1
		for i := range sizes {
			sizes[i] = 1 + r.IntN(4)
			mask = append(mask, r.IntN(2) == 0)
			n *= sizes[i]
		}
		coordinates := func(rank int) (own, others []int) {
			for i, s := range sizes {
				if mask[i] {
					own = append(own, rank%s)
				} else {
					others = append(others, rank%s)
				}
				rank /= s
			}
			slices.Reverse(own) // the first dimension counts least
			return own, others
		}
		got := groups(n, sizes, mask)
		var all []int
		for _, g := range got {
			_, want := coordinates(g[0])
			for i, rank := range g {
				own, others := coordinates(rank)
				if !slices.Equal(others, want) {
					t.Fatalf("seed %d: sizes %v, mask %v: %v differs in other dimensions", seed, sizes, mask, g)
				}
				if before, _ := coordinates(g[max(i-1, 0)]); i > 0 && slices.Compare(before, own) >= 0 {
					t.Fatalf("seed %d: sizes %v, mask %v: %v is not in order", seed, sizes, mask, g)
				}
			}
			all = append(all, g...)
		}
		slices.Sort(all)
		if len(got) > 0 && (len(slices.Compact(all)) != n || len(got[0]) < 2) {
			t.Fatalf("seed %d: sizes %v, mask %v: %v", seed, sizes, mask, got)
		}
	}
}

func TestLayoutsRefused(t *testing.T) {
	for _, x := range []struct {
		order string
		sizes api.JobLayout
		ranks int
		field string
	}{
		{"", api.JobLayout{TP: 2, DP: 2}, 5, "layout"},
		{"", api.JobLayout{TP: 1 << 21}, 1 << 21, "layout.tp"},
		{"", api.JobLayout{TP: 1 << 20, DP: 1 << 20, PP: 1 << 20, CP: 1 << 20}, 0, "layout"},
		{"", api.JobLayout{EP: 3, DP: 4}, 4, "layout.ep"},
		{"tp-xp", api.JobLayout{TP: 2}, 2, "layout.order"},
		{"tp-tp", api.JobLayout{TP: 2}, 2, "layout.order"},
		{"tp--dp", api.JobLayout{TP: 2}, 2, "layout.order"},
		{"tp-dp", api.JobLayout{TP: 2, PP: 2}, 4, "layout.order"},
		{"tp-pp-ep-dp", api.JobLayout{TP: 2, PP: 2, EP: 2, DP: 2}, 8, "layout.order"},
		{"tp-cp-pp-ep-dp", api.JobLayout{TP: 2, CP: 2, PP: 2, EP: 2, DP: 2}, 16, "layout.order"},
	} {
		got, err := inOrder(x.order, x.sizes, x.ranks)
		var wrong api.FieldError
		if !errors.As(err, &wrong) || got != nil || wrong.Field != "spec."+x.field || wrong.Want == "" {
			t.Errorf("%s %+v of %d: %v, %v; want an error of %s", x.order, x.sizes, x.ranks, got, err,
				x.field)
		}
	}
}
