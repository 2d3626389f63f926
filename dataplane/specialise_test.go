package dataplane

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/ir"
	"github.com/weft-sdn/weft/dataplane/trace"
	"github.com/weft-sdn/weft/dataplane/translated"
	"github.com/weft-sdn/weft/test/seeds"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// randomEntry is an entry of a table with any action; its values are mostly
// small, so that packets meet it.
func randomEntry(rng *rand.Rand, p *engine.Program, table int) engine.Entry {
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
	call := func(action int) engine.ActionCall {
		c := engine.ActionCall{Action: action}
		for _, param := range p.Actions()[action].Params {
			c.Args = append(c.Args, value(param.Width))
		}
		return c
	}
	var e engine.Entry
	for _, k := range info.Keys {
		m := engine.Match{Value: value(k.Width)}
		switch k.Match {
		case engine.LPM:
			m.PrefixLen = rng.IntN(k.Width + 1)
			m.Value = and(m.Value, bitfield.Prefix(k.Width, m.PrefixLen))
		case engine.Ternary:
			m.Mask = value(k.Width)
			m.Value = and(m.Value, m.Mask)
		case engine.Range:
			m.High = value(k.Width)
			if bytes.Compare(m.Value, m.High) > 0 {
				m.Value, m.High = m.High, m.Value
			}
		}
		e.Match = append(e.Match, m)
		if k.Match >= engine.Ternary {
			e.Priority = int32(1 + rng.IntN(5))
		}
	}
	actions := info.Actions
	e.Target = engine.Target{Action: call(actions[rng.IntN(len(actions))])}
	if info.Selector {
		e.Target = engine.Target{Kind: engine.TargetActionSet}
		for range 1 + rng.IntN(3) {
			e.Target.Set = append(e.Target.Set, engine.WeightedAction{
				ActionCall: call(actions[rng.IntN(len(actions))]), Weight: 1, WatchPort: engine.NoPort})
		}
	}
	return e
}

// fill gives every table random entries, default actions, and copies where to
// go.
func fill(rng *rand.Rand, s *Switch) {
	for i, t := range s.Program().Tables() {
		if len(t.Actions) == 0 {
			continue
		}
		for range 4 {
			e := randomEntry(rng, s.Program(), i)
			if rng.IntN(4) == 0 && e.Target.Kind == engine.TargetAction {
				s.SetDefaultEntry(i, e.Target)
			}
			if len(t.Keys) > 0 {
				s.InsertEntry(i, e)
			}
		}
	}
	for id := range uint16(4) {
		s.InsertMulticastGroup(MulticastGroup{ID: id, Replicas: []Replica{{Port: 1, Instance: id},
			{Port: uint32(id), Instance: 5}}})
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

// wantsAll traces every packet, and drops the events.
type wantsAll struct{}

func (wantsAll) Wants(uint32, []byte) bool   { return true }
func (wantsAll) Begin(trace.Packet)          {}
func (wantsAll) Step(trace.ID, trace.Step)   {}
func (wantsAll) End(trace.ID, trace.Outcome) {}
func (wantsAll) Forget()                     {}

// twins returns two switches that run a program. One switch is traced: it executes the nodes of the
// JSON one by one, and not the specialised graphs. setup seeds their entries.
func twins(t testing.TB, name string, p *engine.Program, cfg Config, setup uint64) (s [2]*Switch,
	got *[2]frames) {
	got = new([2]frames)
	for i := range s {
		if cfg.Trace = nil; i == 1 {
			cfg.Trace = wantsAll{}
		}
		s[i] = New(cfg, &got[i])
		s[i].SetProgram(p)
		if name == fabricJSON {
			fabricOracle(&oracle{bed: &bed{t: t, s: s[i], p: p}})
		}
		fill(rand.New(rand.NewPCG(setup, 0)), s[i])
	}
	return s, got
}

// TestSpecialised checks that the specialised graphs behave like the nodes they are made from.
func TestSpecialised(t *testing.T) {
	againstNodes(t, func(t testing.TB, name string) *engine.Program { return loadWith(t, name) })
}

// TestTranslated has the programs as Go do the same. Metadata that is not cleared has ones in it.
func TestTranslated(t *testing.T) {
	againstNodes(t, func(t testing.TB, name string) *engine.Program {
		p := loadPoisoned(t, name)
		if !p.Translated() {
			t.Skip("gen.TestPrograms runs it as Go")
		}
		return p
	})
}

// loadPoisoned loads a program as Go. Any metadata that the program neither clears nor copies is 1.
func loadPoisoned(t testing.TB, name string) *engine.Program {
	t.Helper()
	bits := 0 // of the headers, which come first
	for _, h := range loadFile(t, name).Headers() {
		for _, f := range h.Fields {
			bits += f.Width
		}
	}
	from := bits/8 + 8
	all := append(slices.Clone(asGo), translated.Fabric)
	for i, tr := range all {
		changed := *tr
		changed.Clear = func(to []byte) { poison(to, from); tr.Clear(to) }
		changed.Carry = func(to, of []byte) { poison(to, from); tr.Carry(to, of) }
		all[i] = &changed
	}
	p := loadWith(t, name, all...)
	if !p.Translated() && (asGo != nil || name == fabricJSON) {
		t.Errorf("%s is interpreted", name)
	}
	return p
}

// poison makes the words of the metadata one.
func poison(data []byte, from int) {
	for at := from + 7; at < len(data)-ir.StateSlack; at += 8 {
		data[at] = 1
	}
}

// TestAfterAssertion: a failed assertion of the deparser ends its own packet, not the next packet.
func TestAfterAssertion(t *testing.T) {
	for _, load := range []func(testing.TB, string) *engine.Program{
		func(t testing.TB, name string) *engine.Program { return loadWith(t, name) }, loadFile} {
		s, got := twins(t, "emit", load(t, "emit"), Config{Seed: 1}, 1)
		for i := range s {
			for n, frame := range [][]byte{{0x7f, 0}, {0, 0, 5}} {
				got[i].out = nil
				s[i].Receive(time.Duration(n)*time.Millisecond, 2, frame)
				s[i].Advance(time.Duration(n) * time.Millisecond)
			}
			if want := []string{"1 000005"}; !slices.Equal(got[i].out, want) {
				t.Errorf("switch %d, after an assertion that fails: got %v; want %v", i, got[i].out,
					want)
			}
		}
	}
}

// TestBounds has frames of every length and first octet do in code what they do in the nodes.
func TestBounds(t *testing.T) {
	for _, load := range []func(testing.TB, string) *engine.Program{
		func(t testing.TB, name string) *engine.Program { return loadWith(t, name) }, loadPoisoned} {
		s, got := twins(t, "bounds", load(t, "bounds"), Config{Seed: 1}, 1)
		// Its entries are part of the program: fill has replaced none.
		for kind := range 256 {
			for size := range 72 {
				frame := []byte{byte(kind)}
				for i := range size {
					frame = append(frame, byte(i*i+kind))
				}
				now := time.Duration(kind*72+size) * time.Millisecond
				for i := range s {
					got[i].out = nil
					s[i].Receive(now, 2, frame)
					s[i].Advance(now)
				}
				if len(got[0].out) != 1 || !slices.Equal(got[0].out, got[1].out) {
					t.Fatalf("%x:\n got %v\nwant %v", frame, got[0].out, got[1].out)
				}
			}
		}
	}
}

func againstNodes(t *testing.T, load func(testing.TB, string) *engine.Program) {
	t.Helper()
	first, count := seeds.Range(t, 20261122, 5)
	names, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, fabricJSON) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			packets := fabricSeeds(t)
			p := load(t, name)
			left := 0
			for seed := first; seed < first+count; seed++ {
				rng := rand.New(rand.NewPCG(seed, 0))
				s, got := twins(t, name, p, Config{Seed: 1, RecirculationBurst: 100, RecirculationRate: 1},
					rng.Uint64())
				for n := range 300 {
					in := packets[rng.IntN(len(packets))]
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
						t.Fatalf("seed %d, port %d, %x:\n got %v %+v\nwant %v %+v", seed, in.port, in.frame,
							got[0].out, s[0].Stats(), got[1].out, s[1].Stats())
					}
				}
				sameCells(t, seed, s)
			}
			if left == 0 {
				t.Error("nothing left the switch")
			}
		})
	}
}

// sameCells compares what packets leave in two switches: registers and counters, direct ones too.
func sameCells(t *testing.T, seed uint64, s [2]*Switch) {
	t.Helper()
	p := s[0].Program()
	same := func(what string, read func(s *Switch) (string, error)) {
		a, err1 := read(s[0])
		b, err2 := read(s[1])
		if a != b || (err1 == nil) != (err2 == nil) {
			t.Fatalf("seed %d, %s: %s %v; want %s %v", seed, what, a, err1, b, err2)
		}
	}
	for i, r := range p.Registers() {
		for k := range min(r.Size, 1024) {
			same(r.Name, func(s *Switch) (string, error) {
				v, err := s.Register(i, k)
				return fmt.Sprintf("%x", v), err
			})
		}
	}
	counter := func(what string, at engine.Cell) {
		same(what, func(s *Switch) (string, error) {
			v, err := s.Counter(at)
			return fmt.Sprint(v), err
		})
	}
	for i, c := range p.Counters() {
		if c.Table < 0 {
			for k := range min(c.Size, 1024) {
				counter(c.Name, engine.Element(i, k))
			}
			continue
		}
		counter(c.Name, engine.CellOfMisses(c.Table))
		for e := range s[0].Entries(c.Table) {
			counter(c.Name, engine.CellOf(c.Table, e.Match, e.Priority))
		}
	}
}
