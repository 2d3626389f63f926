package simulate

import (
	"github.com/weft-sdn/weft/controller/job/layout"
	"github.com/weft-sdn/weft/controller/mrc/flows"
)

// Collective is how the ranks of a communicator exchange their data in a step.
type Collective = flows.Collective

// BroadcastMulticast is a broadcast by a multicast group: the first rank sends each packet once.
const BroadcastMulticast Collective = "broadcast-multicast"

// A Message is octets that rank From sends to rank To once From has received the messages of After.
type Message struct {
	From, To int
	Also     []int // further ranks that get the same packets, by a multicast group
	Octets   int
	After    []int // numbers of messages, all less than the message's own
}

// A Graph is the messages of a collective, by their numbers. Each depends on earlier ones alone.
type Graph []Message

// NewGraph returns the messages of a collective of n ranks and octets of data; none for one rank.
func NewGraph(c Collective, n, octets int) (g Graph) {
	if n < 2 {
		return nil
	}
	switch c {
	case flows.AllReduceRing:
		return ring(n, octets, 2*(n-1))
	case flows.ReduceScatter, flows.AllGather:
		return ring(n, octets, n-1)
	case flows.AllReduceTree:
		first := octets / 2
		return append(tree(n, first, 0, false), tree(n, octets-first, len(tree(n, first, 0, false)),
			true)...)
	case flows.AllToAll:
		for round := 1; round < n; round++ {
			for from := range n {
				to := (from + round) % n
				g = append(g, Message{From: from, To: to, Octets: portion(octets, n, to)})
			}
		}
	case flows.Pairwise:
		for i := 0; i+1 < n; i += 2 {
			g = append(g, Message{From: i, To: i + 1, Octets: octets}, Message{From: i + 1, To: i,
				Octets: octets})
		}
	case flows.Pipeline:
		return pipeline(n, octets)
	case flows.Broadcast:
		for to := 1; to < n; to++ {
			g = append(g, Message{From: 0, To: to, Octets: octets})
		}
	case BroadcastMulticast:
		m := Message{From: 0, To: 1, Octets: octets}
		for to := 2; to < n; to++ {
			m.Also = append(m.Also, to)
		}
		return Graph{m}
	}
	return g
}

// portion returns the octets in the i-th part after data is split into n nearly equal parts.
func portion(octets, n, i int) int {
	if i < octets%n {
		return octets/n + 1
	}
	return octets / n
}

// ring returns rounds in which each rank sends one of n parts of the data to the next rank: the
// part that came in the round before.
func ring(n, octets, rounds int) (g Graph) {
	for round := range rounds {
		for from := range n {
			m := Message{From: from, To: (from + 1) % n, Octets: portion(octets, n, (from-round+2*n)%n)}
			if round > 0 { // the message of the round before, of the rank before
				m.After = []int{(round-1)*n + (from+n-1)%n}
			}
			g = append(g, m)
		}
	}
	return g
}

// tree returns a reduction up the first or second of two binary trees and a broadcast down the
// tree, chunk by chunk. The number of the first message is given.
func tree(n, octets, first int, second bool) (g Graph) {
	up := make([]int, n) // parents; -1 at the root
	children := make([][]int, n)
	var order []int // every rank behind its children
	var visit func(rank int)
	for i := range n {
		if up[i] = layout.Parent(i, n, second); up[i] >= 0 {
			children[up[i]] = append(children[up[i]], i)
		}
	}
	visit = func(rank int) {
		for _, c := range children[rank] {
			visit(c)
		}
		order = append(order, rank)
	}
	for i := range n {
		if up[i] < 0 {
			visit(i)
		}
	}
	for chunks := max(1, (octets+flows.TreeChunk-1)/flows.TreeChunk); octets > 0; chunks-- {
		size := octets / chunks
		octets -= size
		sent := make([]int, n) // to the parent
		for _, rank := range order {
			if up[rank] < 0 {
				continue
			}
			var after []int
			for _, c := range children[rank] {
				after = append(after, sent[c])
			}
			sent[rank] = first + len(g)
			g = append(g, Message{From: rank, To: up[rank], Octets: size, After: after})
		}
		got := make([]int, n) // from the parent
		for i := n - 1; i >= 0; i-- {
			rank := order[i]
			var after []int
			if up[rank] >= 0 {
				after = []int{got[rank]}
			} else {
				for _, c := range children[rank] {
					after = append(after, sent[c])
				}
			}
			for _, c := range children[rank] {
				got[c] = first + len(g)
				g = append(g, Message{From: rank, To: c, Octets: size, After: after})
			}
		}
	}
	return g
}

// pipeline returns micro-batches that pass all ranks forwards, each of which then passes them
// backwards.
func pipeline(n, octets int) (g Graph) {
	for batch := range flows.MicroBatches {
		size := portion(octets, flows.MicroBatches, batch)
		for hop := range 2 * (n - 1) {
			m := Message{From: hop, To: hop + 1, Octets: size}
			if hop >= n-1 { // gradients
				m.From, m.To = 2*(n-1)-hop, 2*(n-1)-hop-1
			}
			if hop > 0 {
				m.After = []int{len(g) - 1}
			}
			g = append(g, m)
		}
	}
	return g
}
