package maxmin

import (
	"errors"
	"math"
	"testing"
)

// TestMaxMin: cases computed by hand.
func TestMaxMin(t *testing.T) {
	for _, c := range []struct {
		name       string
		capacities []float64
		demands    []Demand
		want       []float64
	}{
		{"nothing", nil, nil, nil},
		{"no path", []float64{1}, []Demand{{1, nil}}, []float64{0}},
		{"a link of nothing", []float64{0, 5}, []Demand{{1, [][]int{{0}}}, {1, [][]int{{1}}}},
			[]float64{0, 5}},
		{"one", []float64{7}, []Demand{{1, [][]int{{0}}}}, []float64{7}},
		{"five alike", []float64{10}, []Demand{{5, [][]int{{0}}}}, []float64{2}},
		// The classic: a long flow and one on each of its links. 10 is halved, the rest of 30 is
		// for the other.
		{"parking lot", []float64{10, 30}, []Demand{{1, [][]int{{0, 1}}}, {1, [][]int{{0}}},
			{1, [][]int{{1}}}}, []float64{5, 5, 25}},
		// Two paths of one flow: their sum.
		{"two paths", []float64{3, 4}, []Demand{{1, [][]int{{0}, {1}}}}, []float64{7}},
		// The flow with a choice leaves the shared link to the one without: 6 and 6, not 4 each and
		// 4 + 6.
		{"a choice", []float64{8, 4}, []Demand{{1, [][]int{{0}, {1}}}, {1, [][]int{{0}}}},
			[]float64{6, 6}},
		// With a larger second link, the flow takes all of that link and nothing of the first: 9 and 8.
		{"no need of the shared one", []float64{8, 9}, []Demand{{1, [][]int{{0}, {1}}},
			{1, [][]int{{0}}}}, []float64{9, 8}},
		// Three levels: 1 (link 0 by 4), then 3 (link 1: 7 less 1, by 2), then 20 less 1 and 3.
		{"three levels", []float64{4, 7, 20}, []Demand{{3, [][]int{{0}}}, {1, [][]int{{0, 1, 2}}},
			{1, [][]int{{1, 2}}}, {1, [][]int{{1}}}, {1, [][]int{{2}}}},
			[]float64{1, 1, 3, 3, 16}},
		// A path may cross a link twice.
		{"twice over a link", []float64{6}, []Demand{{1, [][]int{{0, 0}}}, {1, [][]int{{0}}}},
			[]float64{2, 2}},
		{"large numbers", []float64{4e11, 1e11}, []Demand{{100, [][]int{{0, 1}}}, {1, [][]int{{0}}}},
			[]float64{1e9, 3e11}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Rates(c.capacities, c.demands)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(c.want) {
				t.Fatalf("%v, want %v", got, c.want)
			}
			for i, want := range c.want {
				if math.Abs(got[i]-want) > 1e-4*max(1, want) {
					t.Errorf("%v, want %v", got, c.want)
				}
			}
		})
	}
}

// TestMaxMinRefuses: what has no answer.
func TestMaxMinRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		capacities []float64
		demand     Demand
	}{
		"a negative capacity":   {[]float64{-1}, Demand{1, [][]int{{0}}}},
		"no flows":              {[]float64{1}, Demand{0, [][]int{{0}}}},
		"an unknown link":       {[]float64{1}, Demand{1, [][]int{{1}}}},
		"a path without a link": {[]float64{1}, Demand{1, [][]int{{}}}},
	} {
		if _, err := Rates(c.capacities, []Demand{c.demand}); !errors.Is(err, ErrDemand) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
