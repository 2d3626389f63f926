package layout

import (
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/api"
)

// Communicator is ranks that talk to each other.
type Communicator struct {
	Name    string
	Ranks   []int // in their order in the communicator, each once
	Pattern api.JobPattern
}

// validate checks communicator i of n ranks; seen has a number a rank, all less than i+1.
func (c *Communicator) validate(i, n int, seen []int) error {
	if !slices.Contains(api.JobPatterns(), c.Pattern) {
		return wrong(fmt.Sprintf("%q", c.Pattern), fmt.Sprintf("one of %q", api.JobPatterns()),
			"communicators[%d].pattern", i)
	}
	if len(c.Ranks) == 0 {
		return wrong("empty", "one rank or more", "communicators[%d].ranks", i)
	}
	if c.Pattern == api.PatternPairwise && len(c.Ranks)%2 != 0 {
		return wrong(len(c.Ranks), "an even number of ranks for pairwise", "communicators[%d].ranks", i)
	}
	for j, rank := range c.Ranks {
		if rank < 0 || rank >= n {
			return wrong(rank, fmt.Sprintf("a rank from 0 to %d", n-1), "communicators[%d].ranks[%d]", i, j)
		}
		if seen[rank] == i+1 {
			return wrong(rank, "every rank once", "communicators[%d].ranks[%d]", i, j)
		}
		seen[rank] = i + 1
	}
	return nil
}

// lanes are the lanes of a communicator: [lane][host] is a rank. A host with fewer ranks than
// others has some in several lanes. It is empty for one host.
func (c *Communicator) lanes(ranks []Rank) [][]int {
	at := make(map[int]int) // of hosts in members
	var members [][]int
	most := 0
	for _, r := range c.Ranks {
		i, ok := at[ranks[r].Host]
		if !ok {
			i = len(members)
			at[ranks[r].Host] = i
			members = append(members, nil)
		}
		members[i] = append(members[i], r)
		most = max(most, len(members[i]))
	}
	if len(members) < 2 {
		return nil
	}
	out := make([][]int, most)
	for lane := range out {
		out[lane] = make([]int, len(members))
		for host, of := range members {
			out[lane][host] = of[lane%len(of)]
		}
	}
	return out
}

// pairs calls add with the talking pairs of ranks on different hosts, some more than once, and set
// with sets of ranks that all talk to all ranks on other hosts. Rings and trees have a lane for
// each rank that a communicator has on a host: the first ranks of all hosts form a lane, the second
// ranks the next lane, so that lanes stay on their rails, as NCCL builds its channels. An
// all-gather is a ring; the caller handles an all-gather by multicast, since it needs groups and no
// pairs.
func (c *Communicator) pairs(ranks []Rank, add func(from, to int), set func(from, to []int)) {
	both := func(a, b int) { add(a, b); add(b, a) }
	switch c.Pattern {
	case api.PatternRing, api.PatternAllGather:
		for _, lane := range c.lanes(ranks) {
			for i, from := range lane {
				add(from, lane[(i+1)%len(lane)])
			}
		}
	case api.PatternTree:
		for _, lane := range c.lanes(ranks) {
			for i := range lane {
				for second := range 2 {
					if up := Parent(i, len(lane), second == 1); up >= 0 {
						both(lane[i], lane[up])
					}
				}
			}
		}
	case api.PatternAllToAll:
		set(c.Ranks, c.Ranks)
	case api.PatternPairwise:
		for i := 0; i < len(c.Ranks); i += 2 {
			both(c.Ranks[i], c.Ranks[i+1])
		}
	case api.PatternPipeline:
		for i := 1; i < len(c.Ranks); i++ {
			both(c.Ranks[i-1], c.Ranks[i])
		}
	case api.PatternBroadcast:
		if len(c.Ranks) > 1 {
			set(c.Ranks[:1], c.Ranks[1:])
		}
	}
}

// Parent returns the parent of a member in the first or second of two binary trees of n members, -1
// for the root. In the first tree, a member's height is the count of trailing zeros in the member's
// number, and 0 is the root, with one child. The second tree mirrors the first, or shifts it by one
// if n is odd: a member with two children in one tree is a leaf in the other (Sanders, Speck,
// Träff: Two-tree algorithms for full bandwidth broadcast, reduction and scan, 2009).
func Parent(i, n int, second bool) int {
	if second {
		if n%2 == 0 {
			if up := Parent(n-1-i, n, false); up >= 0 {
				return n - 1 - up
			}
			return -1
		}
		if up := Parent((i+n-1)%n, n, false); up >= 0 {
			return (up + 1) % n
		}
		return -1
	}
	if i == 0 {
		return -1
	}
	low := i & -i
	if up := i&^low | low<<1; up < n {
		return up
	}
	return i &^ low
}
