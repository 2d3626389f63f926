package layout

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
)

// Rank is the place of a rank, or a NIC: the number of a host, and the number of a NIC on this
// host, by the caller's count.
type Rank struct{ Host, NIC int }

// Pair is one direction of two points that talk, as indices of [Traffic.Points].
type Pair struct{ From, To int32 }

// Set stands for all pairs from a point in From to a point in To, except pairs on one host. From
// and To hold indices of [Traffic.Points], ascending.
type Set struct{ From, To []int32 }

// Traffic records who sends to whom through the fabric. A pair may appear in several sets and in
// Pairs too; [Traffic.All] yields the pair once.
type Traffic struct {
	Points []Rank // each once
	Pairs  []Pair // ascending, each once
	Sets   []Set  // each once

	// within has the host number of each point: points with the same number do not talk.
	within []int32
}

// Plan returns the traffic of communicators between NICs. Ranks may share a NIC. The error is an
// [api.FieldError].
func Plan(ranks []Rank, communicators []Communicator) (*Traffic, error) {
	if len(ranks) > mostRanks {
		return nil, wrong(len(ranks), fmt.Sprintf("at most %d ranks", mostRanks), "ranks")
	}
	seen := make([]int, len(ranks))
	for i := range communicators {
		if err := communicators[i].validate(i, len(ranks), seen); err != nil {
			return nil, err
		}
	}
	t := &Traffic{}
	points := make([]int32, len(ranks)) // of ranks
	at, hosts := make(map[Rank]int32), make(map[int]int32)
	for i, r := range ranks {
		p, ok := at[r]
		if !ok {
			p = int32(len(t.Points))
			at[r] = p
			h, ok := hosts[r.Host]
			if !ok {
				h = int32(len(hosts))
				hosts[r.Host] = h
			}
			t.Points, t.within = append(t.Points, r), append(t.within, h)
		}
		points[i] = p
	}
	b := builder{t: t, known: make(map[string]bool)}
	pointsOf := func(ranks []int) []int32 {
		out := make([]int32, len(ranks))
		for i, r := range ranks {
			out[i] = points[r]
		}
		return out
	}
	for i := range communicators {
		communicators[i].pairs(ranks, func(from, to int) { b.pair(points[from], points[to]) },
			func(from, to []int) { b.set(pointsOf(from), pointsOf(to)) })
	}
	b.finish()
	return t, nil
}

// builder collects pairs and sets, and drops what is there already or talks inside a host.
type builder struct {
	t     *Traffic
	known map[string]bool // sets
}

func (b *builder) pair(from, to int32) {
	if b.t.within[from] != b.t.within[to] {
		b.t.Pairs = append(b.t.Pairs, Pair{from, to})
	}
}

// set adds a set of points, which it sorts.
func (b *builder) set(from, to []int32) {
	for _, side := range []*[]int32{&from, &to} {
		slices.Sort(*side)
		*side = slices.Compact(*side)
	}
	host := b.t.within[from[0]]
	elsewhere := func(p int32) bool { return b.t.within[p] != host }
	if !slices.ContainsFunc(from, elsewhere) && !slices.ContainsFunc(to, elsewhere) {
		return // inside of a host
	}
	key := make([]byte, 0, 4*(len(from)+len(to)+1))
	key = binary.BigEndian.AppendUint32(key, uint32(len(from)))
	for _, side := range [][]int32{from, to} {
		for _, p := range side {
			key = binary.BigEndian.AppendUint32(key, uint32(p))
		}
	}
	if !b.known[string(key)] {
		b.known[string(key)] = true
		b.t.Sets = append(b.t.Sets, Set{from, to})
	}
}

func (b *builder) finish() {
	slices.SortFunc(b.t.Pairs, func(x, y Pair) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To))
	})
	b.t.Pairs = slices.Clip(slices.Compact(b.t.Pairs))
}

// Merge returns the traffic between wholes, such as racks, that contain the points. Points in one
// whole do not talk. If the points of a set in two wholes are all on one host, Merge still counts
// the two wholes as talking.
func (t *Traffic) Merge(of func(Rank) Rank) *Traffic {
	out := &Traffic{}
	at := make(map[Rank]int32)
	wholes := make([]int32, len(t.Points))
	for i, p := range t.Points {
		whole := of(p)
		w, ok := at[whole]
		if !ok {
			w = int32(len(out.Points))
			at[whole] = w
			out.Points, out.within = append(out.Points, whole), append(out.within, w)
		}
		wholes[i] = w
	}
	b := builder{t: out, known: make(map[string]bool)}
	for _, p := range t.Pairs {
		b.pair(wholes[p.From], wholes[p.To])
	}
	merged := func(points []int32) []int32 {
		out := make([]int32, len(points))
		for i, p := range points {
			out[i] = wholes[p]
		}
		return out
	}
	for _, s := range t.Sets {
		b.set(merged(s.From), merged(s.To))
	}
	b.finish()
	return out
}

// setsOf returns for each of n points the indices of the sets with this point on one side.
func setsOf(n int, sets []Set, side func(*Set) []int32) [][]int32 {
	out := make([][]int32, n)
	for i := range sets {
		for _, p := range side(&sets[i]) {
			out[p] = append(out[p], int32(i))
		}
	}
	return out
}

func senders(s *Set) []int32   { return s.From }
func receivers(s *Set) []int32 { return s.To }

// All yields every pair once, ascending: also the pairs in sets, a square of them for each set.
func (t *Traffic) All() iter.Seq[Pair] {
	return func(yield func(Pair) bool) {
		in := setsOf(len(t.Points), t.Sets, senders)
		seen := make([]int32, len(t.Points)) // the last sender, from 1
		var to []int32
		pairs := t.Pairs
		for from := range int32(len(t.Points)) {
			to = to[:0]
			add := func(p int32) {
				if seen[p] != from+1 && t.within[p] != t.within[from] {
					seen[p] = from + 1
					to = append(to, p)
				}
			}
			for len(pairs) > 0 && pairs[0].From == from {
				add(pairs[0].To)
				pairs = pairs[1:]
			}
			for _, s := range in[from] {
				for _, p := range t.Sets[s].To {
					add(p)
				}
			}
			slices.Sort(to)
			for _, p := range to {
				if !yield(Pair{from, p}) {
					return
				}
			}
		}
	}
}

// Peers is how many others a point sends to and receives from.
type Peers struct{ Send, Receive int }

// Peers returns the peers of each point, by index. If points are in few combinations of sets, its
// time grows with the points, not with the pairs of sets.
func (t *Traffic) Peers() []Peers {
	backwards := make([]Pair, len(t.Pairs))
	for i, p := range t.Pairs {
		backwards[i] = Pair{p.To, p.From}
	}
	slices.SortFunc(backwards, func(x, y Pair) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To))
	})
	send := t.peers(t.Pairs, senders, receivers)
	receive := t.peers(backwards, receivers, senders)
	out := make([]Peers, len(t.Points))
	for i := range out {
		out[i] = Peers{send[i], receive[i]}
	}
	return out
}

// peers counts, for each point, the points that it talks to in one direction. pairs begin with the
// point, in order; own is the point's side of the sets.
func (t *Traffic) peers(pairs []Pair, own, other func(*Set) []int32) []int {
	first := make([]int, len(t.Points)+1) // of the pairs of a point
	for i, at := 0, 0; i < len(first); i++ {
		for at < len(pairs) && int(pairs[at].From) < i {
			at++
		}
		first[i] = at
	}
	// Points in the same sets have the same peers, except for the peers on their own hosts.
	alike := make(map[string][]int32)
	in := setsOf(len(t.Points), t.Sets, own)
	var key []byte
	for p, sets := range in {
		key = key[:0]
		for _, s := range sets {
			key = binary.BigEndian.AppendUint32(key, uint32(s))
		}
		alike[string(key)] = append(alike[string(key)], int32(p))
	}
	out := make([]int, len(t.Points))
	seen := make([]int, len(t.Points)) // the round in which a point was counted
	local, counted := make([]int, len(t.Points)), make([]int, len(t.Points))
	round := 0
	for _, points := range alike {
		round++
		all := 0
		for _, s := range in[points[0]] {
			for _, p := range other(&t.Sets[s]) {
				if seen[p] == round {
					continue
				}
				seen[p] = round
				all++
				if host := t.within[p]; counted[host] != round {
					counted[host], local[host] = round, 1
				} else {
					local[host]++
				}
			}
		}
		for _, p := range points {
			n := all
			if host := t.within[p]; counted[host] == round {
				n -= local[host]
			}
			for _, pair := range pairs[first[p]:first[p+1]] {
				if seen[pair.To] != round {
					n++
				}
			}
			out[p] = n
		}
	}
	return out
}
