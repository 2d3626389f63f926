package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/stf"
	"github.com/weft-sdn/weft/dataplane/trace"
)

// source is a place in the form of the compiler.
type source struct {
	File   string `json:"filename"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Text   string `json:"source_fragment"`
}

func (s *source) place() trace.Source {
	return trace.Source{File: s.File, Line: s.Line, Column: s.Column, Text: s.Text}
}

// statements returns the places of the statements of a compiled program: actions, conditions and
// parser states. Parser states only have a name for a place.
func statements(program []byte) (map[trace.Source]bool, error) {
	var p struct {
		Actions []struct {
			Primitives []struct {
				Source *source `json:"source_info"`
			} `json:"primitives"`
		} `json:"actions"`
		Pipelines []struct {
			Conditionals []struct {
				Source *source `json:"source_info"`
			} `json:"conditionals"`
		} `json:"pipelines"`
		Parsers []struct {
			States []struct {
				Name string `json:"name"`
			} `json:"parse_states"`
		} `json:"parsers"`
	}
	if err := json.Unmarshal(program, &p); err != nil {
		return nil, err
	}
	all := map[trace.Source]bool{}
	add := func(s *source) {
		if s != nil {
			all[s.place()] = true
		}
	}
	for _, a := range p.Actions {
		for _, s := range a.Primitives {
			add(s.Source)
		}
	}
	for _, pipeline := range p.Pipelines {
		for _, c := range pipeline.Conditionals {
			add(c.Source)
		}
	}
	for _, parser := range p.Parsers {
		for _, s := range parser.States {
			all[stateAt(s.Name)] = true
		}
	}
	return all, nil
}

// stateAt returns the place of a parser state.
func stateAt(name string) trace.Source { return trace.Source{File: "parser", Text: name} }

// temporaries returns, by action, the places of its assignments to fields that the compiler made up
// for values on the way. The embedded switch has no step for most of them: it computes such a value
// where it is used. An action without jumps carries out all that it has.
func temporaries(program []byte) (map[string][]trace.Source, error) {
	var p struct {
		Actions []struct {
			Name       string `json:"name"`
			Primitives []struct {
				Op         string `json:"op"`
				Parameters []struct {
					Type  string          `json:"type"`
					Value json.RawMessage `json:"value"`
				} `json:"parameters"`
				Source *source `json:"source_info"`
			} `json:"primitives"`
		} `json:"actions"`
	}
	if err := json.Unmarshal(program, &p); err != nil {
		return nil, err
	}
	all := map[string][]trace.Source{}
	for _, a := range p.Actions {
		for _, s := range a.Primitives {
			if strings.HasPrefix(s.Op, "_jump") {
				delete(all, a.Name)
				break
			}
			var field []string
			if len(s.Parameters) == 0 || s.Parameters[0].Type != "field" ||
				json.Unmarshal(s.Parameters[0].Value, &field) != nil || len(field) == 0 {
				continue
			}
			made := s.Op == "assign" && field[0] == "scalars" ||
				s.Op == "assign_VL" && strings.HasPrefix(field[0], "tmp") // of a varbit, a header
			if !made || s.Source == nil {
				continue
			}
			all[a.Name] = append(all[a.Name], s.Source.place())
		}
	}
	return all, nil
}

// run holds the results of a case on the embedded switch.
type run struct {
	folded   map[string][]trace.Source // of temporaries
	reached  map[trace.Source]bool     // statements
	branches map[string]bool           // outcomes of conditions, actions of tables
	beyond   map[string]bool           // what a packet went through that a model does not follow
	sent     []sent                    // in their order
	err      error                     // the first difference from what the case expects
	expects  int                       // packets that the case expects
}

type sent struct {
	port  uint32
	frame []byte
}

// runCase runs a case on an embedded switch of its own.
func (f *fabric) runCase(c *stf.Case) *run {
	r := &run{folded: f.folded, reached: map[trace.Source]bool{}, branches: map[string]bool{},
		beyond: map[string]bool{}}
	sw := dataplane.New(dataplane.Config{Seed: 1, Priorities: 1, PFCPort: engine.NoPort}, nil)
	sw.SetProgram(f.program)
	var records []*trace.Record
	sw.SetTracer(trace.NewAssembler(func(record *trace.Record) {
		records = append(records, record.All()...)
	}))
	_, r.err = stf.Run(sw, c)
	for _, s := range c.Statements {
		if _, ok := s.Do.(stf.Expect); ok {
			r.expects++
		}
	}
	slices.SortStableFunc(records, func(a, b *trace.Record) int {
		return cmp.Compare(endOf(a), endOf(b))
	})
	for _, record := range records {
		r.steps(record.Steps, "")
		if o := record.Outcome; o != nil && o.Result == trace.Transmitted && o.Port != nil {
			r.sent = append(r.sent, sent{*o.Port, o.Frame})
		}
	}
	return r
}

// steps counts the places that steps reached; table is the table that the steps belong to.
func (r *run) steps(all []trace.Step, table string) {
	for i := range all {
		s := &all[i]
		if s.At != nil {
			r.reached[*s.At] = true
		}
		in := table
		switch {
		case s.State != nil:
			r.reached[stateAt(s.State.Name)] = true
		case s.Condition != nil && s.At != nil:
			r.branches[fmt.Sprint(*s.At, s.Condition.Result)] = true
		case s.Table != nil:
			in = s.Table.Name
		case s.Action != nil:
			r.branches[table+" "+s.Action.Name] = true
			for _, at := range r.folded[s.Action.Name] {
				r.reached[at] = true
			}
		case s.Request != nil && s.Request.What != "drop" && s.Request.What != "exit":
			r.beyond[s.Request.What] = true
		case s.Replicate != nil:
			r.beyond["replicate"] = true
		case s.RegisterRead != nil && strings.Trim(string(s.RegisterRead.Value), "0x") != "":
			r.beyond["register"] = true
		}
		r.steps(s.Steps, in)
	}
}

// endOf returns the time at which a packet ended.
func endOf(r *trace.Record) time.Duration {
	if r.Outcome == nil {
		return r.Time
	}
	return r.Outcome.Time
}
