package dataplane

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// plain is the dumb twin of a pipeline's graph: its nodes as they are.
func plain(p *pipeline) graph {
	g := graph{start: int32(p.start), fresh: int32(p.start)}
	for i := range p.nodes {
		n := &p.nodes[i]
		s := step{kind: stepTest, off: int32(i), yes: int32(n.next), no: int32(n.nextNot)}
		code, table := instr{}, tableStep{}
		switch n.kind {
		case nodeAction:
			s.kind, s.n, s.exits = stepCode, 1, true
			code.call = func(c *ctx) { n.action.run(c, n.args) }
		case nodeTable:
			t := n.table
			s.kind, table = stepTable, tableStep{t: t, edges: t.hit != nil, none: int32(t.baseNext)}
			for _, a := range t.places {
				table.next = append(table.next, int32(t.next[a.index]))
			}
			if t.hit != nil {
				table.hit, table.miss = int32(*t.hit), int32(*t.miss)
			}
		}
		g.steps, g.code, g.tests, g.tables = append(g.steps, s), append(g.code, code), append(g.tests, n.cond), append(g.tables, table)
	}
	return g
}

// randomEntry is an entry of a table with any action; its values are mostly
// small, so that packets meet it.
func randomEntry(rng *rand.Rand, p *Program, table int) Entry {
	info := p.Tables()[table]
	value := func(width int) []byte {
		b := make([]byte, (width+7)/8)
		if rng.IntN(4) == 0 {
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
		} else if len(b) > 0 {
			b[len(b)-1] = byte(rng.IntN(4))
		}
		if pad := 8*len(b) - width; pad > 0 {
			b[0] &= 0xff >> pad
		}
		return b
	}
	call := func(action int) ActionCall {
		c := ActionCall{Action: action}
		for _, param := range p.Actions()[action].Params {
			c.Args = append(c.Args, value(param.Width))
		}
		return c
	}
	var e Entry
	for _, k := range info.Keys {
		m := Match{Value: value(k.Width)}
		switch k.Match {
		case LPM:
			m.PrefixLen = rng.IntN(k.Width + 1)
			m.Value = and(m.Value, bitfield.Prefix(k.Width, m.PrefixLen))
		case Ternary:
			m.Mask = value(k.Width)
			m.Value = and(m.Value, m.Mask)
		case Range:
			m.High = value(k.Width)
			if bytes.Compare(m.Value, m.High) > 0 {
				m.Value, m.High = m.High, m.Value
			}
		}
		e.Match = append(e.Match, m)
		if k.Match >= Ternary {
			e.Priority = int32(1 + rng.IntN(5))
		}
	}
	actions := info.Actions
	e.Target = Target{Action: call(actions[rng.IntN(len(actions))])}
	if info.Selector {
		e.Target = Target{Kind: TargetActionSet, Set: []WeightedAction{{ActionCall: e.Target.Action, Weight: 1, WatchPort: NoPort}}}
	}
	return e
}

// fill gives every table random entries, default actions, and copies where to
// go.
func fill(rng *rand.Rand, s *Switch) {
	for i, t := range s.prog.Tables() {
		if len(t.Actions) == 0 {
			continue
		}
		for range 4 {
			e := randomEntry(rng, s.prog, i)
			if rng.IntN(4) == 0 && e.Target.Kind == TargetAction {
				s.SetDefaultEntry(i, e.Target)
			}
			if len(t.Keys) > 0 {
				s.InsertEntry(i, e)
			}
		}
	}
	for id := range uint16(4) {
		s.InsertMulticastGroup(MulticastGroup{ID: id, Replicas: []Replica{{Port: 1, Instance: id}, {Port: uint32(id), Instance: 5}}})
		s.InsertCloneSession(CloneSession{ID: id, Replicas: []Replica{{Port: 1, Instance: id}}})
	}
}

// frames collects what leaves as text.
type frames struct{ out []string }

func (f *frames) Transmit(_ time.Duration, port uint32, b []byte) {
	f.out = append(f.out, fmt.Sprintf("%d %x", port, b))
}
func (f *frames) Digest(_ time.Duration, i int, v [][]byte) {
	f.out = append(f.out, fmt.Sprintf("digest %d %x", i, v))
}

// TestSpecialised has the specialised graphs do what the plain ones do.
func TestSpecialised(t *testing.T) {
	const seed = 20261122
	t.Logf("seed %d", seed)
	names, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, fabricJSON) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			rng, seeds := rand.New(rand.NewPCG(seed, 0)), fabricSeeds(t)
			quick, twin := loadFile(t, name), loadFile(t, name)
			twin.ingress.graph, twin.egress.graph = plain(&twin.ingress), plain(&twin.egress)
			left := 0
			for range 5 {
				setup := rng.Uint64()
				var got [2]frames
				var s [2]*Switch
				for i, p := range []*Program{quick, twin} {
					s[i] = New(Config{Seed: 1, RecirculationBurst: 100, RecirculationRate: 1}, &got[i])
					s[i].SetProgram(p)
					if name == fabricJSON {
						fabricOracle(&oracle{rig: &rig{t: t, s: s[i], p: p}})
					}
					fill(rand.New(rand.NewPCG(setup, 0)), s[i])
				}
				for n := range 300 {
					in := seeds[rng.IntN(len(seeds))]
					in.frame = mutate(rng, in.frame)
					if rng.IntN(3) > 0 {
						in.port = uint32(rng.IntN(4))
					}
					now := time.Duration(n) * time.Millisecond
					for i := range s {
						got[i].out = nil
						s[i].Receive(now, in.port, in.frame)
						s[i].Advance(now)
					}
					left += len(got[0].out)
					if !slices.Equal(got[0].out, got[1].out) || s[0].Stats() != s[1].Stats() {
						t.Fatalf("port %d, %x:\n got %v %+v\nwant %v %+v", in.port, in.frame, got[0].out, s[0].Stats(), got[1].out, s[1].Stats())
					}
				}
			}
			if left == 0 {
				t.Error("nothing left the switch")
			}
		})
	}
}
