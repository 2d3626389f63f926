package engine

import (
	"testing"

	"github.com/weft-sdn/weft/dataplane/ir"
)

// TestShared: a packet comes to a test of f with f unknown, and with f not 1. Both copies of the
// test lead to equal steps, and so become one step.
func TestShared(t *testing.T) {
	meta := &ir.Header{Meta: true}
	f, g := &ir.Field{Header: meta, Width: 8}, &ir.Field{Header: meta, Width: 8}
	lo := &lowering{branches: []branch{
		{kind: stepEqual, f: g, n: 1, yes: 1, no: 2},
		{kind: stepEqual, f: f, n: 1, yes: -1, no: 2},
		{kind: stepEqual, f: f, n: 2, yes: 3, no: -1},
		{kind: stepCode, code: []instr{{kind: doWord, dirty: -1}}, yes: -1},
	}}
	graph := (&loader{copies: maxCopies}).specialise(lo, 0, nil)
	if len(graph.steps) != len(lo.branches) || graph.fresh != graph.start {
		t.Errorf("%d steps, from %d and %d on: want a step for each of %d branches", len(graph.steps),
			graph.fresh, graph.start, len(lo.branches))
	}
}
