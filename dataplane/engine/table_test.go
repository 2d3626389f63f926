package engine

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/table"
)

// twin holds a table's entries the dumb way.
type twin struct {
	entries []*Entry
}

func (w *twin) find(e *Entry) int {
	return slices.IndexFunc(w.entries, func(o *Entry) bool { return sameEntry(o, e) })
}

func sameEntry(a, b *Entry) bool {
	return a.Priority == b.Priority && slices.EqualFunc(a.Match, b.Match, func(x, y Match) bool {
		return string(x.Value) == string(y.Value) && string(x.Mask) == string(y.Mask) &&
			string(x.High) == string(y.High) && x.PrefixLen == y.PrefixLen
	})
}

// TestTablesAgainstLinearSearch fills the tables of basic.p4 with random
// entries and compares every lookup with a walk over all of them.
func TestTablesAgainstLinearSearch(t *testing.T) {
	const seed = 2
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, c := range []struct {
		name  string
		masks int // different octets of a mask
	}{{"route", 3}, {"acl", 3}, {"acl", 1}, {"port", 3}} {
		name := c.name
		t.Run(fmt.Sprint(name, c.masks), func(t *testing.T) {
			r := newBed(t, "basic")
			ti := r.table(name)
			tab := r.p.tables[ti]
			tab.size = 100_000
			calls := []ActionCall{}
			for _, a := range tab.actions {
				c := ActionCall{Action: a}
				for _, p := range r.p.actions[a].params {
					c.Args = append(c.Args, make([]byte, (p.Width+7)/8))
				}
				calls = append(calls, c)
			}
			w := &twin{}
			// Values come from a small set, so that entries overlap and collide.
			value := func(width int) []byte {
				b := make([]byte, (width+7)/8)
				for i := range b {
					b[i] = byte(rng.IntN(3)) * 0x55
				}
				return and(b, bitfield.Prefix(width, width))
			}
			random := func() *Entry {
				e := &Entry{Target: Target{Action: calls[rng.IntN(len(calls))]}}
				for _, k := range tab.key.Fields {
					m := Match{Value: value(k.Width)}
					switch k.Kind {
					case LPM:
						m.PrefixLen = rng.IntN(k.Width + 1)
						m.Value = and(m.Value, bitfield.Prefix(k.Width, m.PrefixLen))
					case Ternary:
						m.Mask = value(k.Width)
						if c.masks == 1 {
							m.Mask = and(bitfield.Prefix(k.Width, k.Width),
								bytes.Repeat([]byte{[]byte{0xff, 0x0f}[rng.IntN(2)]}, len(m.Mask)))
						}
						m.Value = and(m.Value, m.Mask)
					case Range:
						m.High = value(k.Width)
						if rng.IntN(2) == 0 {
							m.Value, m.High = make([]byte, len(m.High)), bitfield.Prefix(k.Width, k.Width)
						}
						if string(m.High) < string(m.Value) {
							m.Value, m.High = m.High, m.Value
						}
					}
					e.Match = append(e.Match, m)
				}
				if tab.key.Prioritised() {
					e.Priority = 1 + int32(rng.IntN(20))
				}
				return e
			}
			scratch := make([]uint64, tab.key.Words)
			for step := range 2500 {
				e := random()
				switch at := w.find(e); {
				case rng.IntN(2000) < min(step, 1500-step/3) && len(w.entries) > 0:
					at = rng.IntN(len(w.entries))
					d := w.entries[at]
					if err := r.s.DeleteEntry(ti, d.Match, d.Priority); err != nil {
						t.Fatalf("step %d: %v", step, err)
					}
					w.entries = slices.Delete(w.entries, at, at+1)
				case at >= 0:
					if err := r.s.InsertEntry(ti, *e); !errors.Is(err, ErrExists) {
						t.Fatalf("step %d: inserted twice: %v", step, err)
					}
					if err := r.s.ModifyEntry(ti, *e); err != nil {
						t.Fatalf("step %d: %v", step, err)
					}
					w.entries[at].Target = e.Target
				default:
					if err := r.s.InsertEntry(ti, *e); err != nil {
						t.Fatalf("step %d: %v", step, err)
					}
					w.entries = append(w.entries, e)
				}
				if n := r.s.EntryCount(ti); n != len(w.entries) {
					t.Fatalf("step %d: %d entries, want %d", step, n, len(w.entries))
				}
				for range 3 {
					key := make([][]byte, len(tab.key.Fields))
					words := make([]uint64, tab.key.Words)
					for i, k := range tab.key.Fields {
						key[i] = value(k.Width)
						pack(k, key[i], words)
					}
					want := w.lookup(tab, key)
					got := r.s.tables[ti].entries.Lookup(words, scratch)
					switch {
					case (got == nil) != (want == nil):
						t.Fatalf("step %d: found %v, want %v", step, got != nil, want != nil)
					case got != nil:
						if g := r.s.export(tab, got); !sameEntry(&g, want) ||
							g.Target.Action.Action != want.Target.Action.Action {
							t.Fatalf("step %d: found %+v, want %+v", step, g, want)
						}
					}
				}
			}
			i := 0
			for e := range r.s.Entries(ti) {
				if !sameEntry(&e, w.entries[i]) {
					t.Fatalf("entry %d reads as %+v, want %+v", i, e, w.entries[i])
				}
				i++
			}
		})
	}
}

func (w *twin) lookup(tab *matchTable, key [][]byte) *Entry {
	var best *Entry
	prefix := -1
	for _, e := range w.entries {
		hit, p := true, 0
		for i, m := range e.Match {
			k := key[i]
			switch tab.key.Fields[i].Kind {
			case Exact:
				hit = hit && string(k) == string(m.Value)
			case LPM:
				hit = hit && string(and(k, bitfield.Prefix(tab.key.Fields[i].Width, m.PrefixLen))) == string(
					m.Value)
				p = m.PrefixLen
			case Ternary:
				hit = hit && string(and(k, m.Mask)) == string(m.Value)
			case Range:
				hit = hit && string(k) >= string(m.Value) && string(k) <= string(m.High)
			}
		}
		if !hit {
			continue
		}
		if best == nil || tab.key.Kind == LPM && p > prefix || tab.key.Kind != LPM &&
			e.Priority > best.Priority {
			best, prefix = e, p
		}
	}
	return best
}

// pack writes a field's value, of any length, into the key words.
func pack(f table.Field, v []byte, dst []uint64) {
	for _, p := range f.Parts {
		dst[p.Word] |= bitfield.Word(v, p.Low/8) & bitfield.Mask(p.Bits) << p.Shift
	}
}
