package flows

import (
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/job/layout"
)

// A Collective is how the ranks of a communicator exchange their data in a step.
type Collective string

// The collectives. Sizes are the sizes of NCCL: of an all-reduce, a reduce-scatter and an
// all-to-all, the octets that each rank gives; of an all-gather, the octets that each rank has at
// the end.
const (
	AllReduceRing Collective = "all-reduce-ring" // reduce-scatter, then all-gather, around a ring
	AllReduceTree Collective = "all-reduce-tree" // half of the data on each of two binary trees
	ReduceScatter Collective = "reduce-scatter"  // around a ring
	AllGather     Collective = "all-gather"      // around a ring
	AllToAll      Collective = "all-to-all"      // an equal part to each other rank, all at once
	Pairwise      Collective = "pairwise"        // the first two ranks to each other, and so on
	Pipeline      Collective = "pipeline"        // to the next rank and back, in micro-batches
	Broadcast     Collective = "broadcast"       // the first rank to each other, all at once
)

// Collectives returns all collectives.
func Collectives() []Collective {
	return []Collective{AllReduceRing, AllReduceTree, ReduceScatter, AllGather, AllToAll, Pairwise,
		Pipeline, Broadcast}
}

// ByPattern returns the collective for a job's communicator when only the pattern is known.
func ByPattern(p api.JobPattern) Collective {
	switch p {
	case api.PatternTree:
		return AllReduceTree
	case "", api.PatternRing:
		return AllReduceRing
	default: // the others have the same names
		return Collective(p)
	}
}

const (
	// TreeChunk is how much of an all-reduce over trees a rank passes on at a time, in octets.
	TreeChunk = 1 << 20
	// MicroBatches is how many parts the data of a pipeline passes its stages in.
	MicroBatches = 4
)

// A Job is steps of computing and communicating on some NICs.
type Job struct {
	Name   string
	NICs   []string // by rank
	Groups []Group
	// Latency is what a message takes within the machine, beside the network.
	Compute, Latency time.Duration
	At               time.Duration // when the first step begins
	Steps            int
}

// A Group is a communicator of a job, with the octets of its data in a step.
type Group struct {
	Ranks      []int
	Collective Collective
	Octets     int
}

// A message is octets from one rank of a group to another, by place in the group.
type message struct {
	from, to int
	octets   float64
}

// messages returns who sends how much to whom in a step; of an all-to-all nothing, since its
// messages are too many to be listed.
func (g *Group) messages() (out []message) {
	n, octets := len(g.Ranks), float64(g.Octets)
	next := func(each float64) {
		for i := range n {
			out = append(out, message{i, (i + 1) % n, each})
		}
	}
	switch g.Collective {
	case AllReduceRing:
		next(2 * float64(n-1) / float64(n) * octets)
	case ReduceScatter, AllGather:
		next(float64(n-1) / float64(n) * octets)
	case AllReduceTree:
		for second := range 2 {
			for i := range n {
				if up := layout.Parent(i, n, second == 1); up >= 0 {
					out = append(out, message{i, up, octets / 2}, message{up, i, octets / 2})
				}
			}
		}
	case Pairwise:
		for i := 0; i+1 < n; i += 2 {
			out = append(out, message{i, i + 1, octets}, message{i + 1, i, octets})
		}
	case Pipeline:
		for i := range n - 1 {
			out = append(out, message{i, i + 1, octets}, message{i + 1, i, octets})
		}
	case Broadcast:
		for i := 1; i < n; i++ {
			out = append(out, message{0, i, octets})
		}
	}
	return out
}

// count returns how many messages [Group.messages] returns.
func (g *Group) count() int {
	n := len(g.Ranks)
	switch g.Collective {
	case AllReduceTree:
		return 4 * (n - 1)
	case Pipeline:
		return 2 * (n - 1)
	case Broadcast:
		return n - 1
	case Pairwise:
		return n &^ 1
	case AllToAll:
		return 0
	}
	return n
}

// pace is how the messages of a group depend on each other.
type pace struct {
	// rounds in which every rank sends one chunk after it got the one before; 0: messages are free of
	// each other.
	rounds int
	// hops is how many chunks in a row the first chunk takes at the pace of its messages, through a
	// chain or a tree, and late how often it takes their latency.
	hops, late float64
	// duty is the fraction of time in which a message is under way, if links take no time.
	duty float64
	// itself is the fraction of a link's messages that a message itself is, as measured in model
	// packets. A message under way meets itself for certain, and another message as often as the other
	// is under way.
	itself float64
	// side is how many messages of a rank are under way side by side where duty is less than 1.
	side float64
	ring bool
	// line: the first chunk passes every message of the group, and not those of the longest branch,
	// and the rank that it comes back to begins the next step.
	line bool
}

// pace returns how the messages of a group depend on each other.
func (g *Group) pace() pace {
	n := len(g.Ranks)
	switch g.Collective {
	case AllReduceRing:
		return pace{rounds: 2 * (n - 1), duty: 1, itself: 0.5, side: 1, ring: true}
	case ReduceScatter, AllGather:
		return pace{rounds: n - 1, duty: 1, itself: 0.5, side: 1, ring: true}
	case AllReduceTree:
		chunks := max(1, (g.Octets/2+TreeChunk-1)/TreeChunk)
		hops, depth := tree(n)
		if n == 2 { // the two trees send in turn, and the root waits for an acknowledgement
			p := chain(chunks, hops, 2*depth+1, 1)
			p.itself = 0
			return p
		}
		return chain(chunks, hops/2, 2*depth, 2)
	case Pipeline:
		hops := 2 * (n - 1)
		p := chain(MicroBatches, float64(hops), hops, 1)
		p.line = true
		return p
	}
	return pace{duty: 1, side: 1}
}

// meets returns how many chunks of a line the last one waits for. Chunks that go forwards share the
// ports of the last NIC but one with those that come back, in both directions, from when the first
// chunk has gone to the last NIC and back until the last chunk has gone. The first waits for none.
// late is the latency of a hop, in times of a chunk.
func (p *pace) meets(late float64) float64 {
	n := float64(p.rounds)
	if p.hops == 2 { // no NIC is between others
		return 0
	}
	return min(n-1, max(0, 2*(n-2*(1+late))))
}

// tree returns how many chunks in a row the first chunk takes to the root of a tree of n ranks and
// back, and the depth of the tree. A port takes the chunks of several children one after the other.
func tree(n int) (hops float64, depth int) {
	children := make([][]int, n)
	for i := 1; i < n; i++ {
		up := layout.Parent(i, n, false)
		children[up] = append(children[up], i)
	}
	var walk func(rank int) (up, down, depth int)
	walk = func(rank int) (up, down, depth int) {
		var ready []int
		for _, c := range children[rank] {
			at, from, deep := walk(c)
			ready, down, depth = append(ready, at), max(down, from), max(depth, deep+1)
		}
		slices.Sort(ready)
		for _, at := range ready {
			up = max(up, at) + 1
		}
		return up, down + len(ready), depth
	}
	up, down, depth := walk(0)
	return float64(up + down), depth
}

// chain returns the pace of chunks that take hops in a row.
func chain(chunks int, hops float64, late int, side float64) pace {
	return pace{rounds: chunks, hops: hops, late: float64(late), itself: 0.2, side: side,
		duty: float64(chunks) / (float64(chunks) + hops - 1)}
}
