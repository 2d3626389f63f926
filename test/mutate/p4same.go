package main

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// sameChanges returns the parts of a compiled program whose change would mean the same:
//
//   - a 0 that is assigned to a variable that has it. A packet starts with variables of 0, and
//     nothing that may run before assigns to this one;
//   - the place that a jump leads to, where such an assignment stands;
//   - a modulus of 2^n of a sum of n bits;
//   - what a parser compares with, in bits that the mask leaves out.
func sameChanges(root *node) map[*node]bool {
	s := &sameness{actions: map[int]*node{}, entry: map[int]variables{}, kept: variables{},
		same: map[*node]bool{}}
	for _, a := range root.field("actions").list() {
		s.actions[a.field("id").number] = a
	}
	// Metadata kept for another pass is not 0 when that pass starts.
	for _, l := range root.field("field_lists").list() {
		for _, e := range l.field("elements").list() {
			s.kept.add(e)
		}
	}
	start := variables{}
	for _, parser := range root.field("parsers").list() {
		for _, state := range parser.field("parse_states").list() {
			for _, op := range state.field("parser_ops").list() {
				for _, p := range op.field("parameters").list() {
					start.add(p)
				}
			}
			for _, t := range state.field("transitions").list() {
				value, mask := t.field("value"), t.field("mask")
				if v, m := value.int64(), mask.int64(); v >= 0 && m >= 0 && (v+1)&m == v&m {
					s.same[value] = true
				}
			}
		}
	}
	for _, pipe := range root.field("pipelines").list() {
		start = s.pipeline(pipe, start)
	}
	for id, before := range s.entry {
		s.action(s.actions[id], before)
	}
	for _, a := range s.actions {
		for _, p := range a.field("primitives").list() {
			if p.str("op") == "modify_field_with_hash_based_offset" {
				s.modulus(p.field("parameters").list())
			}
		}
	}
	return s.same
}

type sameness struct {
	actions map[int]*node
	entry   map[int]variables // of actions that tables run: what may be assigned before
	kept    variables
	same    map[*node]bool
}

// variables is a set of them, by their names.
type variables map[string]bool

// add adds a parameter, if it is a variable.
func (v variables) add(parameter *node) {
	if name := variable(parameter); name != "" {
		v[name] = true
	}
}

// with returns the union of two sets, which is never nil.
func (v variables) with(o variables) variables {
	u := variables{}
	maps.Copy(u, v)
	maps.Copy(u, o)
	return u
}

// variable returns the name of a variable; "" of anything else.
func variable(parameter *node) string {
	of := parameter.field("value").list()
	if parameter.str("type") != "field" || len(of) != 2 || of[0].text != "scalars" {
		return ""
	}
	return of[1].text
}

func (n *node) list() []*node {
	if n == nil {
		return nil
	}
	return n.items
}

// pipeline notes the possible assignments before each action, and returns the possible assignments
// at the end.
func (s *sameness) pipeline(pipe *node, start variables) variables {
	type step struct{ actions, next []*node }
	steps := map[string]step{}
	for _, c := range pipe.field("conditionals").list() {
		steps[c.str("name")] = step{nil, []*node{c.field("true_next"), c.field("false_next")}}
	}
	for _, t := range pipe.field("tables").list() {
		next := []*node{t.field("base_default_next")}
		next = slices.AppendSeq(next, maps.Values(t.field("next_tables").fields))
		steps[t.str("name")] = step{t.field("action_ids").list(), next}
	}
	// Each after all that lead to it: there are no loops.
	var order []string
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		for _, n := range steps[name].next {
			visit(n.text)
		}
		order = append(order, name)
	}
	visit(pipe.str("init_table"))
	before := map[string]variables{pipe.str("init_table"): start}
	for _, name := range slices.Backward(order) {
		after := maps.Clone(before[name])
		for _, a := range steps[name].actions {
			s.entry[a.number] = s.entry[a.number].with(before[name])
			for _, p := range s.actions[a.number].field("primitives").list() {
				assigns(p, after)
			}
		}
		for _, n := range steps[name].next {
			before[n.text] = before[n.text].with(after)
		}
	}
	return before[""] // null is where a pipeline ends
}

// assigns adds what a primitive may assign to: each variable among its parameters, of an assignment
// the first.
func assigns(primitive *node, to variables) {
	params := primitive.field("parameters").list()
	if primitive.str("op") == "assign" {
		params = params[:1]
	}
	for _, p := range params {
		to.add(p)
	}
}

// action notes assignments of 0 to variables with value 0, and jumps to such assignments.
func (s *sameness) action(a *node, entry variables) {
	primitives := a.field("primitives").list()
	before := make([]variables, len(primitives)+1) // jumps lead forward
	before[0] = entry
	for i, p := range primitives {
		if before[i] == nil {
			continue // nothing leads here
		}
		after := maps.Clone(before[i])
		assigns(p, after)
		next := []int{i + 1}
		if target, ok := jump(p); ok {
			next = append(next, int(target.int64()))
			if p.str("op") == "_jump" {
				next = next[1:]
			}
		}
		for _, n := range next {
			before[n] = before[n].with(after)
		}
		params := p.field("parameters").list()
		if p.str("op") != "assign" || !isZero(params[1]) {
			continue
		}
		if to := variable(params[0]); to != "" && !before[i][to] && !s.kept[to] {
			s.same[params[1]] = true
		}
	}
	for _, p := range primitives {
		target, ok := jump(p)
		if !ok || int(target.int64()) == len(primitives) {
			continue
		}
		if to := primitives[target.int64()].field("parameters").list(); len(to) == 2 && s.same[to[1]] {
			s.same[target] = true
		}
	}
}

// jump returns where a primitive may lead to, other than to the next one.
func jump(primitive *node) (target *node, ok bool) {
	params := primitive.field("parameters").list()
	switch primitive.str("op") {
	case "_jump", "_jump_if_zero":
		return params[len(params)-1].field("value"), true
	}
	return nil, false
}

func isZero(parameter *node) bool {
	return parameter.str("type") == "hexstr" && parameter.field("value").int64() == 0
}

// int64 is a number that is written as a string; -1: it is none, or a long one.
func (n *node) int64() int64 {
	if n == nil {
		return -1
	}
	i, err := strconv.ParseInt(n.text, 0, 64)
	if err != nil {
		return -1
	}
	return i
}

// modulus notes one that no sum reaches. The parameters are where the sum goes, the least sum,
// which is written with all its digits, how it is made, and the modulus.
func (s *sameness) modulus(params []*node) {
	digits := strings.TrimPrefix(params[1].str("value"), "0x")
	m, ok := new(big.Int).SetString(params[3].str("value"), 0)
	if ok && m.Cmp(new(big.Int).Lsh(big.NewInt(1), uint(4*len(digits)))) == 0 {
		s.same[params[3].field("value")] = true
	}
}
