package layout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
)

// sizes are the sizes of the dimensions of parallelism of a layout; 0 is 1.
type sizes api.JobLayout

// mostRanks bounds the ranks of a job.
const mostRanks = 1 << 20

// of returns the size of a dimension by its name.
func (s *sizes) of(name string) int {
	return max(map[string]int{"tp": s.TP, "cp": s.CP, "ep": s.EP, "dp": s.DP, "pp": s.PP}[name], 1)
}

var dimensions = []string{"tp", "cp", "ep", "dp", "pp"}

// Communicators returns the communicators of n ranks by a layout; an order of "" means
// [api.DefaultJobOrder]. They serve tensor and context parallelism, gradients, experts and
// pipelines, each if it has more than one rank. Ranks are numbered as in
// megatron/core/parallel_state.py of Megatron-LM: the first dimension of the order counts fastest;
// ranks of experts have the sizes TP, EP, CP x DP / EP and PP in the same order. Gradients are
// reduced over DP and CP together ("dp-cp"), gradients of experts over the rest ("edp").
//
// The error is an [api.FieldError].
func Communicators(l *api.JobLayout, n int) ([]Communicator, error) {
	s := (*sizes)(l)
	names, err := parseOrder(l.Order, s)
	if err != nil {
		return nil, err
	}
	for _, name := range dimensions {
		if size := s.of(name); size > mostRanks {
			return nil, wrong(size, fmt.Sprintf("at most %d", mostRanks), "layout.%s", name)
		}
	}
	product := 1
	for _, name := range []string{"tp", "cp", "dp", "pp"} {
		if product *= s.of(name); product > mostRanks {
			product = mostRanks + 1
		}
	}
	if product != n {
		return nil, wrong(fmt.Sprintf("%d x %d x %d x %d", s.of("tp"), s.of("cp"), s.of("dp"),
			s.of("pp")), fmt.Sprintf("tp x cp x dp x pp to be the number of ranks, %d", n), "layout")
	}
	dense, experts := make([]int, len(names)), make([]int, len(names))
	both := s.of("cp") * s.of("dp")
	if both%s.of("ep") != 0 {
		return nil, wrong(s.of("ep"), fmt.Sprintf("a divisor of cp x dp, %d", both), "layout.ep")
	}
	for i, name := range names {
		dense[i], experts[i] = s.of(name), s.of(name)
		switch name {
		case "cp":
			experts[i] = 1
		case "ep":
			dense[i] = 1
		case "dp":
			experts[i] = both / s.of("ep")
		}
	}
	if err := samePipelines(names, dense, experts, s); err != nil {
		return nil, err
	}
	gradients := "dp-cp"
	if s.of("cp") == 1 {
		gradients = "dp"
	}
	var out []Communicator
	for _, of := range []struct {
		name    string
		members []string
		sizes   []int
		pattern api.JobPattern
		skip    bool
	}{
		{"tp", []string{"tp"}, dense, api.PatternRing, false},
		{"cp", []string{"cp"}, dense, api.PatternRing, false},
		{gradients, []string{"dp", "cp"}, dense, api.PatternRing, false},
		{"ep", []string{"ep"}, experts, api.PatternAllToAll, false},
		{"edp", []string{"dp"}, experts, api.PatternRing, s.of("ep") == 1}, // those of gradients then
		{"pp", []string{"pp"}, dense, api.PatternPipeline, false},
	} {
		if of.skip {
			continue
		}
		mask := make([]bool, len(names))
		for i, name := range names {
			mask[i] = slices.Contains(of.members, name)
		}
		for i, ranks := range groups(n, of.sizes, mask) {
			out = append(out, Communicator{Name: fmt.Sprintf("%s-%d", of.name, i), Ranks: ranks,
				Pattern: of.pattern})
		}
	}
	return out, nil
}

// parseOrder returns the dimensions of an order, followed by the dimensions that the order does not
// name.
func parseOrder(order string, s *sizes) ([]string, error) {
	if order == "" {
		order = api.DefaultJobOrder
	}
	names := strings.Split(order, "-")
	for i, name := range names {
		if !slices.Contains(dimensions, name) || slices.Contains(names[:i], name) {
			return nil, wrong(order, "tp, cp, ep, dp and pp with '-' between, each at most once",
				"layout.order")
		}
	}
	for _, name := range dimensions {
		if slices.Contains(names, name) {
			continue
		}
		if s.of(name) > 1 {
			return nil, wrong(order, fmt.Sprintf("%s in the order, since its size is %d", name,
				s.of(name)), "layout.order")
		}
		names = append(names, name)
	}
	return names, nil
}

// samePipelines checks what Megatron-LM demands of a layout with experts: experts have the same
// pipeline stages as the other layers.
func samePipelines(names []string, sizes, experts []int, s *sizes) error {
	if s.of("ep") == 1 || s.of("pp") == 1 {
		return nil
	}
	dense, expert := 1, 1 // the distance of ranks of neighbouring stages
	for i, name := range names {
		if name == "pp" {
			break
		}
		dense, expert = dense*sizes[i], expert*experts[i]
	}
	dp := slices.Index(names, "dp")
	if dense != expert || names[len(names)-1] != "pp" && sizes[dp] != experts[dp] {
		return wrong(strings.Join(names, "-"),
			"pp as the last dimension of a layout with experts and stages", "layout.order")
	}
	return nil
}

// groups returns the groups of ranks that differ only in the masked dimensions, or nothing for
// groups with one rank. The first dimension counts fastest, in groups and in their order.
func groups(n int, sizes []int, mask []bool) [][]int {
	size := 1
	for i := range sizes {
		if mask[i] {
			size *= sizes[i]
		}
	}
	if size == 1 {
		return nil
	}
	all := make([]int, n) // the ranks of all groups, one group behind the other
	for rank := range n {
		rest, group, member, groupStride, memberStride := rank, 0, 0, 1, 1
		for i, s := range sizes {
			at := rest % s
			rest /= s
			if mask[i] {
				member += at * memberStride
				memberStride *= s
			} else {
				group += at * groupStride
				groupStride *= s
			}
		}
		all[group*size+member] = rank
	}
	return slices.Collect(slices.Chunk(all, size))
}
