package dataplane

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/drop"
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
			r := newRig(t, "basic")
			ti := r.table(name)
			tab := *r.p.tables[ti]
			tab.size = 100_000
			r.s.prog.tables[ti] = &tab
			calls := []ActionCall{}
			for _, a := range tab.actions {
				c := ActionCall{Action: a}
				for _, p := range r.p.actions[a].params {
					c.Args = append(c.Args, make([]byte, (p.width+7)/8))
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
				return and(b, lowMask(width))
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
							m.Mask = and(lowMask(k.Width), bytes.Repeat([]byte{[]byte{0xff, 0x0f}[rng.IntN(2)]}, len(m.Mask)))
						}
						m.Value = and(m.Value, m.Mask)
					case Range:
						m.High = value(k.Width)
						if rng.IntN(2) == 0 {
							m.Value, m.High = make([]byte, len(m.High)), lowMask(k.Width)
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
					want := w.lookup(&tab, key)
					got := r.s.tables[ti].entries.Lookup(words, scratch)
					switch {
					case (got == nil) != (want == nil):
						t.Fatalf("step %d: found %v, want %v", step, got != nil, want != nil)
					case got != nil:
						if g := r.s.export(&tab, got); !sameEntry(&g, want) || g.Target.Action.Action != want.Target.Action.Action {
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
				hit = hit && string(and(k, bitfield.Prefix(tab.key.Fields[i].Width, m.PrefixLen))) == string(m.Value)
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
		if best == nil || tab.key.Kind == LPM && p > prefix || tab.key.Kind != LPM && e.Priority > best.Priority {
			best, prefix = e, p
		}
	}
	return best
}

func TestBadEntries(t *testing.T) {
	r := newRig(t, "basic")
	route, acl := r.table("route"), r.table("acl")
	fwd := r.call("forward", "0001")
	for _, c := range []struct {
		name  string
		table int
		e     Entry
		want  error
	}{
		{"too few match fields", route, r.entry(key("0001"), 0, fwd), ErrBadValue},
		{"value too wide", route, r.entry(key("010001", "*"), 0, fwd), ErrBadValue},
		{"prefix too long", route, r.entry(key("0001", addrA+"/129"), 0, fwd), ErrBadValue},
		{"bits beyond the prefix", route, r.entry(key("0001", addrA+"/64"), 0, fwd), ErrBadValue},
		{"priority where there is none", route, r.entry(key("0001", "*"), 5, fwd), ErrBadValue},
		{"no priority where one is needed", acl, r.entry(key("*", "*", "01"), 0, r.call("drop")), ErrBadValue},
		{"bits outside the mask", acl, r.entry(key("03&01", "*", "01"), 1, r.call("drop")), ErrBadValue},
		{"empty range", acl, r.entry(key("*", "05-04", "01"), 1, r.call("drop")), ErrBadValue},
		{"range end too wide", acl, r.entry(key("*", "05-100000", "01"), 1, r.call("drop")), ErrBadValue},
		{"argument too wide", route, r.entry(key("0001", "*"), 0, r.call("forward", "0200")), ErrBadValue},
		{"argument missing", route, r.entry(key("0001", "*"), 0, ActionCall{Action: fwd.Action}), ErrBadValue},
		{"another table's action", route, r.entry(key("0001", "*"), 0, r.call("set_vrf", "0001")), ErrBadValue},
		{"no such action", route, r.entry(key("0001", "*"), 0, ActionCall{Action: 999}), ErrBadValue},
		{"no such table", 999, r.entry(key("0001", "*"), 0, fwd), ErrNotFound},
		{"idle timeout where there is none", route, func() Entry {
			e := r.entry(key("0001", "*"), 0, fwd)
			e.IdleTimeout = 1
			return e
		}(), ErrBadValue},
	} {
		if err := r.s.InsertEntry(c.table, c.e); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if n := r.s.EntryCount(route) + r.s.EntryCount(acl); n != 0 {
		t.Errorf("%d entries after refusals", n)
	}
	for i := range 8 {
		r.insert("route", key(fmt.Sprintf("%04x", i), "*"), 0, fwd)
	}
	if err := r.s.InsertEntry(route, r.entry(key("0009", "*"), 0, fwd)); !errors.Is(err, ErrFull) {
		t.Errorf("a ninth entry of eight: %v", err)
	}
	if err := r.s.ModifyEntry(route, r.entry(key("0009", "*"), 0, fwd)); !errors.Is(err, ErrNotFound) {
		t.Errorf("change of an absent entry: %v", err)
	}
	if err := r.s.DeleteEntry(route, r.entry(key("0009", "*"), 0, fwd).Match, 0); !errors.Is(err, ErrNotFound) {
		t.Errorf("removal of an absent entry: %v", err)
	}
	if err := r.s.SetDefaultEntry(route, Target{Action: fwd}); !errors.Is(err, ErrConst) {
		t.Errorf("change of a constant default: %v", err)
	}
}

func TestDefaultEntry(t *testing.T) {
	r := newRig(t, "basic")
	tab := r.table("port")
	g, changed, err := r.s.DefaultEntry(tab)
	if err != nil || changed || string(g.Action.Args[0]) != "\x00\x01" {
		t.Fatalf("%+v %v %v", g, changed, err)
	}
	r.setDefault("port", r.call("set_vrf", "0002"))
	g, changed, _ = r.s.DefaultEntry(tab)
	if !changed || string(g.Action.Args[0]) != "\x00\x02" {
		t.Errorf("%+v %v", g, changed)
	}
	r.insert("route", key("0002", "*"), 0, r.call("forward", "0004"))
	r.expect(1, ethIPv6+ipAB, sent{4, ethIPv6 + ipAB})
	if err := r.s.ResetDefaultEntry(tab); err != nil {
		t.Fatal(err)
	}
	r.expect(1, ethIPv6+ipAB)
}

func TestControlWithoutProgram(t *testing.T) {
	s := New(Config{}, &sink{})
	if err := s.InsertEntry(0, Entry{}); !errors.Is(err, ErrNoProgram) {
		t.Error(err)
	}
	if _, err := s.Counter(0, 0); !errors.Is(err, ErrNoProgram) {
		t.Error(err)
	}
	if err := s.InsertMember(0, Member{}); !errors.Is(err, ErrNoProgram) {
		t.Error(err)
	}
	s.Receive(0, 1, []byte{1})
	if _, pending := s.Advance(0); pending || s.Stats().Drops[drop.NoProgram] != 1 {
		t.Errorf("%+v", s.Stats())
	}
}

func TestReplicationControl(t *testing.T) {
	s := New(Config{}, &sink{})
	g := MulticastGroup{ID: 7, Replicas: []Replica{{Port: 1, Instance: 1}, {Port: 1, Instance: 2}}}
	check := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	check("insert", s.InsertMulticastGroup(g), nil)
	check("again", s.InsertMulticastGroup(g), ErrExists)
	check("group 0", s.InsertMulticastGroup(MulticastGroup{}), ErrBadValue)
	check("the same copy twice", s.ModifyMulticastGroup(MulticastGroup{ID: 7, Replicas: []Replica{{Port: 1}, {Port: 1}}}), ErrBadValue)
	check("change of none", s.ModifyMulticastGroup(MulticastGroup{ID: 8}), ErrNotFound)
	got, err := s.MulticastGroup(7)
	if err != nil || len(got.Replicas) != 2 {
		t.Errorf("%+v %v", got, err)
	}
	check("delete", s.DeleteMulticastGroup(7), nil)
	check("delete again", s.DeleteMulticastGroup(7), ErrNotFound)
	c := CloneSession{ID: 5, Replicas: []Replica{{Port: 1}}, ClassOfService: 3, PacketLength: 100}
	check("session", s.InsertCloneSession(c), nil)
	check("session again", s.InsertCloneSession(c), ErrExists)
	check("session too large", s.InsertCloneSession(CloneSession{ID: 0x8000}), ErrBadValue)
	check("class of service", s.InsertCloneSession(CloneSession{ID: 6, ClassOfService: 8}), ErrBadValue)
	n := 0
	for x := range s.CloneSessions() {
		if x.PacketLength != 100 || x.ClassOfService != 3 {
			t.Errorf("%+v", x)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d sessions", n)
	}
	check("session change", s.ModifyCloneSession(CloneSession{ID: 9}), ErrNotFound)
	check("session delete", s.DeleteCloneSession(5), nil)
	check("session delete again", s.DeleteCloneSession(5), ErrNotFound)
}

// lowMask is the mask of all bits of a field.
func lowMask(width int) []byte { return bitfield.Prefix(width, width) }

// pack writes a field's value, of any length, into the key words.
func pack(f table.Field, v []byte, dst []uint64) {
	for _, p := range f.Parts {
		dst[p.Word] |= bitfield.Word(v, p.Low/8) & bitfield.Mask(p.Bits) << p.Shift
	}
}
