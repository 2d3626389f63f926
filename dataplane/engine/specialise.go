package engine

import (
	"encoding/binary"
	"slices"

	"github.com/weft-sdn/weft/dataplane/ir"
)

// Most conditions of a compiled program repeat a question that an earlier condition has answered,
// or that an assignment on the way has decided. The specialiser copies the branches of a control
// for every set of facts known when a packet arrives, so that no question repeats. Facts cover
// metadata fields and the validity of headers, limited to those that later conditions test.

// fact is the knowledge about a field or, as 0 or 1, about the validity of a header.
type fact struct {
	known bool
	n     uint64   // known: the value
	not   []uint64 // else: what it is not, sorted; never changed
}

// maxCopies bounds the copies of one branch. Beyond this bound, only facts about the variables most
// often tested lead to a new copy. Beyond twice this bound, no fact does.
const (
	maxCopies = 12
	popular   = 6
)

// specialiser makes a graph of branches.
type specialiser struct {
	branches []branch
	entry    map[int]int // node of the pipeline to branch
	fields   map[*ir.Field]int
	headers  map[*ir.Header]int
	width    []int // bits, by variable
	asked    []int // tests, by variable
	rank     []int // by variable: how many are asked for more often
	live     [][]uint64
	copies   []int
	most     int // copies of a branch
	done     map[string]int32
	steps    []step
	code     [][]instr // by step
	of       [][]int   // the branches that a step is made of
	tests    []boolFn
	ids      []uint32 // of tests
	tables   []tableStep
}

// specialise compiles the graph of a lowered pipeline. zero reports the fields with the value 0 in
// a packet new to the pipeline.
func (l *loader) specialise(lo *lowering, start int, zero func(*ir.Field) bool) graph {
	s := &specialiser{branches: lo.branches, entry: lo.at, fields: map[*ir.Field]int{},
		headers: map[*ir.Header]int{}, done: map[string]int32{}, most: l.copies}
	s.variables()
	s.live = make([][]uint64, len(s.branches))
	s.copies = make([]int, len(s.branches))
	nothing := make([]fact, len(s.width))
	fresh := slices.Clone(nothing)
	for f, v := range s.fields {
		if zero != nil && zero(f) {
			fresh[v] = fact{known: true}
		}
	}
	g := graph{fresh: s.step(start, fresh)} // first, as most packets are
	g.start = s.step(start, nothing)
	g.steps, g.tests, g.ids, g.tables = s.steps, s.tests, s.ids, s.tables
	s.share(&g)
	g.mergeValid()
	g.arrange(s.code)
	return g
}

// variables numbers what conditions ask for.
func (s *specialiser) variables() {
	defer func() {
		s.asked, s.rank = make([]int, len(s.width)), make([]int, len(s.width))
		for i := range s.branches {
			if v := s.variable(&s.branches[i]); v >= 0 {
				s.asked[v]++
			}
		}
		for v := range s.asked {
			for w := range s.asked {
				if s.asked[w] > s.asked[v] || s.asked[w] == s.asked[v] && w < v {
					s.rank[v]++
				}
			}
		}
	}()
	for i := range s.branches {
		b := &s.branches[i]
		if b.f != nil {
			if _, ok := s.fields[b.f]; !ok {
				s.fields[b.f] = len(s.width)
				s.width = append(s.width, b.f.Width)
			}
		}
		if b.hdr != nil {
			if _, ok := s.headers[b.hdr]; !ok {
				s.headers[b.hdr] = len(s.width)
				s.width = append(s.width, 1)
			}
		}
	}
}

// variable is what a test asks for; -1 for what is not followed.
func (s *specialiser) variable(b *branch) int {
	switch {
	case b.hdr != nil:
		return s.headers[b.hdr]
	case b.f != nil:
		return s.fields[b.f]
	}
	return -1
}

// successors lists where a branch leads.
func (s *specialiser) successors(b *branch) []int {
	switch b.kind {
	case stepCode:
		return []int{b.yes}
	case stepTable:
		n := node{kind: nodeTable, table: b.table}
		to := n.successors()
		for i, next := range to {
			to[i] = s.at(next)
		}
		return to
	}
	return []int{b.yes, b.no}
}

// at is the branch a node of the pipeline begins with.
func (s *specialiser) at(node int) int {
	if node < 0 {
		return -1
	}
	return s.entry[node]
}

// liveAt returns the set of variables tested at a branch or after it.
func (s *specialiser) liveAt(i int) []uint64 {
	if s.live[i] != nil {
		return s.live[i]
	}
	b := &s.branches[i]
	set := make([]uint64, len(s.width)/64+1)
	for _, to := range s.successors(b) {
		if to >= 0 {
			for w, v := range s.liveAt(to) {
				set[w] |= v
			}
		}
	}
	if v := s.variable(b); v >= 0 {
		set[v/64] |= 1 << (v % 64)
	}
	s.live[i] = set
	return set
}

// answer returns the outcome of a test if it is known.
func (s *specialiser) answer(b *branch, facts []fact) (yes, known bool) {
	v := s.variable(b)
	if v < 0 {
		return false, false
	}
	f := &facts[v]
	switch {
	case f.known && b.kind == stepLess:
		return f.n < b.n, true
	case f.known:
		return f.n == b.n, true
	case b.kind != stepLess && slices.Contains(f.not, b.n):
		return false, true
	}
	return false, false
}

// learn is the facts after a test.
func (s *specialiser) learn(b *branch, facts []fact, yes bool) []fact {
	v := s.variable(b)
	if v < 0 || b.kind == stepLess {
		return facts
	}
	facts = slices.Clone(facts)
	if yes {
		facts[v] = fact{known: true, n: b.n}
		return facts
	}
	not := append(slices.Clone(facts[v].not), b.n)
	slices.Sort(not)
	facts[v] = fact{not: not}
	if s.width[v] == 1 { // what is not one is the other
		facts[v] = fact{known: true, n: 1 &^ b.n}
	}
	return facts
}

// after is the facts after effects.
func (s *specialiser) after(facts []fact, es []effect) []fact {
	if len(es) == 0 {
		return facts
	}
	facts = slices.Clone(facts)
	for _, e := range es {
		switch e.kind {
		case setField, loseField:
			if v, ok := s.fields[e.f]; ok {
				facts[v] = fact{known: e.kind == setField, n: e.n}
			}
		case setValid, setInvalid:
			if v, ok := s.headers[e.hdr]; ok {
				facts[v] = fact{known: true}
				if e.kind == setValid {
					facts[v].n = 1
				}
			}
		case loseValidity:
			for _, v := range s.headers {
				facts[v] = fact{}
			}
		case loseAll:
			clear(facts)
		}
	}
	return facts
}

// common is what holds in both.
func common(a, b []fact) []fact {
	out := make([]fact, len(a))
	for i := range a {
		if a[i].known && b[i].known && a[i].n == b[i].n {
			out[i] = a[i]
		}
	}
	return out
}

// skip goes past the tests whose outcome is known.
func (s *specialiser) skip(i int, facts []fact) int {
	for i >= 0 {
		b := &s.branches[i]
		if b.kind == stepCode || b.kind == stepTable {
			break
		}
		yes, known := s.answer(b, facts)
		if !known {
			break
		}
		if i = b.no; yes {
			i = b.yes
		}
	}
	return i
}

// step returns the step for a branch that is come to with some facts.
func (s *specialiser) step(i int, facts []fact) int32 {
	i = s.skip(i, facts)
	if i < 0 {
		return -1
	}
	live := s.liveAt(i)
	known := make([]fact, len(facts))
	for v := range facts {
		if live[v/64]>>(v%64)&1 != 0 {
			known[v] = facts[v]
		}
	}
	key := factsKey(i, known)
	if at, ok := s.done[key]; ok {
		return at
	}
	for tier := 1; tier <= 2 && s.copies[i] >= tier*s.most; tier++ {
		for v := range known {
			if tier == 2 || s.rank[v] >= popular {
				known[v] = fact{}
			}
		}
		key = factsKey(i, known)
		if at, ok := s.done[key]; ok {
			return at
		}
	}
	s.copies[i]++
	at := int32(len(s.steps))
	s.done[key] = at
	s.steps, s.code, s.of = append(s.steps, step{}), append(s.code, nil), append(s.of, []int{i})
	n := s.make(at, &s.branches[i], known)
	s.steps[at] = n
	return at
}

// factsKey names a branch with what is known there.
func factsKey(i int, facts []fact) string {
	b := binary.AppendUvarint(nil, uint64(i))
	for v, f := range facts {
		if !f.known && len(f.not) == 0 {
			continue
		}
		b = binary.AppendUvarint(b, uint64(v))
		if f.known {
			b = binary.AppendUvarint(append(b, 0), f.n)
			continue
		}
		b = append(b, byte(min(len(f.not), 255)))
		for _, n := range f.not {
			b = binary.AppendUvarint(b, n)
		}
	}
	return string(b)
}

func (s *specialiser) make(at int32, b *branch, facts []fact) step {
	n := step{kind: b.kind, n: b.n}
	switch b.kind {
	case stepCode:
		var code []instr
		for {
			code = append(code, b.code...)
			facts = s.after(facts, b.effects)
			next := s.skip(b.yes, facts)
			if b.exits || next < 0 || s.branches[next].kind != stepCode ||
				len(code)+len(s.branches[next].code) > maxJoined {
				s.code[at], n.n = code, uint64(len(code))
				n.exits, n.yes = b.exits, s.step(next, facts)
				return n
			}
			b = &s.branches[next]
			s.of[at] = append(s.of[at], next)
		}
	case stepTable:
		t := s.table(b.table, facts)
		n.off = int32(len(s.tables))
		s.tables = append(s.tables, t)
		return n
	case stepValid:
		n.off, n.mask, n.n = int32(b.hdr.Word), b.hdr.Mask, b.hdr.Mask
	case stepEqual, stepLess:
		n.off, n.l, n.r = int32(b.w.off), b.w.l, b.w.r
	case stepTest:
		n.off = int32(len(s.tests))
		s.tests, s.ids = append(s.tests, b.test), append(s.ids, b.id)
	}
	n.yes, n.no = s.step(b.yes, s.learn(b, facts, true)), s.step(b.no, s.learn(b, facts, false))
	return n
}

// maxJoined bounds the primitives joined into one step.
const maxJoined = 64

// table makes the successors of a table: one for each action, with what is
// known after it.
func (s *specialiser) table(t *matchTable, facts []fact) tableStep {
	facts = s.after(facts, t.effects)
	n := tableStep{t: t, edges: t.hit != nil || t.miss != nil, next: make([]int32, len(t.places))}
	any := facts // whatever has run
	for i, a := range t.places {
		after := s.after(facts, a.effects)
		if i == 0 && t.profile < 0 && t.def.action != nil {
			any = after
		}
		any = common(any, after)
		if !n.edges {
			n.next[i] = s.step(s.at(t.next[a.index]), after)
		}
	}
	if t.profile >= 0 || t.def.action == nil {
		any = common(any, facts)
	}
	if n.edges {
		n.hit, n.miss = s.step(s.at(*t.hit), any), s.step(s.at(*t.miss), any)
	}
	n.none = s.step(s.at(t.baseNext), facts)
	return n
}

// share joins copies of branches into one step where the facts have made no difference: the copies
// lead to the same steps.
func (s *specialiser) share(g *graph) {
	same, first := map[int32]int32{-1: -1}, map[string]int32{}
	var visit func(at *int32)
	visit = func(at *int32) {
		i := *at
		if _, done := same[i]; !done {
			key := binary.AppendUvarint(nil, uint64(len(s.of[i])))
			for _, b := range s.of[i] {
				key = binary.AppendUvarint(key, uint64(b))
			}
			g.eachNext(&g.steps[i], func(to *int32) {
				visit(to)
				key = binary.AppendVarint(key, int64(*to))
			})
			if _, ok := first[string(key)]; !ok {
				first[string(key)] = i
			}
			same[i] = first[string(key)]
		}
		*at = same[i]
	}
	visit(&g.fresh)
	visit(&g.start)
}

// mergeValid merges two tests of validity bits in the same word into one test if both lead the same
// way: a conjunction, or the rest of a disjunction.
func (g *graph) mergeValid() {
	single := func(s *step) bool { return s.kind == stepValid && s.mask&(s.mask-1) == 0 }
	flip := func(s *step) { s.n ^= s.mask; s.yes, s.no = s.no, s.yes }
	// A step comes before the steps that follow it, so the last steps are merged first.
	for i := len(g.steps) - 1; i >= 0; i-- {
		s := &g.steps[i]
		if !single(s) {
			continue
		}
		for range 2 {
			if s.yes >= 0 {
				t := g.steps[s.yes]
				if single(&t) && t.no != s.no {
					flip(&t)
				}
				if t.kind == stepValid && t.off == s.off && t.no == s.no && t.mask&s.mask == 0 {
					s.mask, s.n, s.yes = s.mask|t.mask, s.n|t.n, t.yes
					break
				}
			}
			flip(s)
		}
	}
}

// arrange drops the steps nothing leads to and puts the others, with their code
// and tables, into an order in which they are likely to follow each other.
func (g *graph) arrange(code [][]instr) {
	to := make([]int32, len(g.steps))
	for i := range to {
		to[i] = -1
	}
	var order []int32
	var visit func(i int32)
	visit = func(i int32) {
		if i < 0 || to[i] >= 0 {
			return
		}
		to[i] = int32(len(order))
		order = append(order, i)
		g.eachNext(&g.steps[i], func(w *int32) { visit(*w) })
	}
	visit(g.fresh)
	visit(g.start)
	steps := make([]step, 0, len(order))
	var tables []tableStep
	next := make([]int32, 0, len(order)) // of all tables
	for _, i := range order {
		s := g.steps[i]
		g.eachNext(&s, func(w *int32) {
			if *w >= 0 {
				*w = to[*w]
			}
		})
		switch s.kind {
		case stepCode:
			s.off = int32(len(g.code))
			g.code = append(g.code, code[i]...)
		case stepTable:
			t := g.tables[s.off]
			next = append(next, t.next...)
			t.next = next[len(next)-len(t.next) : len(next) : len(next)]
			s.off = int32(len(tables))
			tables = append(tables, t)
		}
		steps = append(steps, s)
	}
	g.steps, g.tables = steps, tables
	for _, at := range []*int32{&g.start, &g.fresh} {
		if *at >= 0 {
			*at = to[*at]
		}
	}
}
