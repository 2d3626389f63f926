package linear

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// at makes an operation that takes from one time to another, in ms.
func at(o operation, from, to int) operation {
	o.Call, o.Return = time.Duration(from)*time.Millisecond, time.Duration(to)*time.Millisecond
	if o.Key == "" {
		o.Key = "k"
	}
	o.Node = "c1"
	return o
}

func wrote(content uint32, version uint64, created bool) operation {
	return operation{Action: put, Content: content, Outcome: done, Version: version, Value: content,
		Created: created}
}

func read(content uint32, version uint64) operation {
	return operation{Action: get, Outcome: done, Version: version, Value: content}
}

func matched(o operation, version uint64) operation {
	o.Match = version
	return o
}

func of(key string, o operation) operation {
	o.Key = key
	return o
}

func listed(n int, o operation) operation {
	o.List = n
	return o
}

func ended(o operation, as outcome) operation {
	o.Outcome, o.Version, o.Value, o.Created = as, 0, 0, false
	return o
}

func old(o operation) operation {
	o.Action = stale
	return o
}

var gone = operation{Action: remove, Outcome: done}
var none = operation{Action: get, Outcome: missing}

// TestChecker: the checker rejects each history that breaks a rule, naming the rule, and accepts
// the neighboring history that keeps the rule.
func TestChecker(t *testing.T) {
	reset := sight{Reset: true}
	shows := func(id string, seq uint64, ms int, version uint64, value uint32) sight {
		return sight{At: time.Duration(ms) * time.Millisecond, ID: id, Seq: seq, Key: "k",
			Version: version, Value: value}
	}
	for _, c := range []struct {
		name  string
		rules string // broken, with commas; empty: none
		ops   []operation
		watch []sight
	}{
		{"one after the other", "", []operation{at(none, 0, 1), at(wrote(1, 5, true), 2, 3),
			at(read(1, 5), 4, 5), at(wrote(2, 6, false), 6, 7), at(gone, 8, 9), at(none, 10, 11),
			at(wrote(3, 8, true), 12, 13)}, nil},
		{"read beside a write, either state", "", []operation{at(wrote(1, 5, true), 0, 1),
			at(wrote(2, 6, false), 2, 9), at(read(1, 5), 3, 4), at(read(2, 6), 5, 6)}, nil},

		{"lost update", ruleLinear, []operation{at(wrote(1, 5, true), 0, 1),
			at(matched(wrote(2, 6, false), 5), 2, 4), at(matched(wrote(3, 7, false), 5), 3, 5)}, nil},
		{"lost update refused", "", []operation{at(wrote(1, 5, true), 0, 1),
			at(matched(wrote(2, 6, false), 5), 2, 4), at(ended(matched(wrote(3, 0, false), 5), unmet), 3,
				5)}, nil},
		{"refused although it matches", ruleLinear, []operation{at(wrote(1, 5, true), 0, 1),
			at(ended(matched(wrote(2, 0, false), 5), unmet), 2, 3)}, nil},
		{"refused, changed back and forth", "", []operation{at(wrote(1, 5, true), 0, 1), at(gone, 2, 6),
			at(ended(matched(wrote(2, 0, false), 5), unmet), 3, 4)}, nil},
		{"stale read", ruleLinear, []operation{at(wrote(1, 5, true), 0, 1), at(wrote(2, 6, false), 2, 3),
			at(read(1, 5), 4, 5)}, nil},
		{"read goes back", ruleLinear, []operation{at(wrote(1, 5, true), 0, 1),
			at(wrote(2, 6, false), 2, 9), at(read(2, 6), 3, 4), at(read(1, 5), 5, 6)}, nil},
		{"deleted and read", ruleLinear, []operation{at(wrote(1, 5, true), 0, 1), at(gone, 2, 3),
			at(read(1, 5), 4, 5)}, nil},
		{"acknowledged and missing", ruleLinear, []operation{at(wrote(1, 5, true), 0, 1), at(none, 2, 3)},
			nil},
		{"deleted twice", ruleLinear, []operation{at(wrote(1, 5, true), 0, 1), at(gone, 2, 3),
			at(gone, 4, 5)}, nil},
		{"created twice", ruleLinear, []operation{at(wrote(1, 5, true), 0, 1),
			at(wrote(2, 6, true), 2, 3)}, nil},
		{"replaced what is not there", ruleLinear, []operation{at(wrote(1, 5, false), 0, 1)}, nil},
		{"taken by nobody", ruleLinear,
			[]operation{at(ended(operation{Action: create, Content: 1}, taken), 0, 1)}, nil},
		{"version goes back", ruleLinear, []operation{at(wrote(1, 5, true), 0, 1), at(gone, 2, 3),
			at(wrote(2, 4, true), 4, 5)}, nil},

		{"no answer, never carried out", "", []operation{at(wrote(1, 5, true), 0, 1),
			at(ended(wrote(2, 0, false), unknown), 2, 3), at(read(1, 5), 4, 5)}, nil},
		{"no answer, carried out late", "", []operation{at(wrote(1, 5, true), 0, 1),
			at(ended(wrote(2, 0, false), unknown), 2, 3), at(read(1, 5), 4, 5), at(read(2, 6), 6, 7)}, nil},
		{"no answer, carried out and undone", ruleLinear, []operation{at(wrote(1, 5, true), 0, 1),
			at(ended(wrote(2, 0, false), unknown), 2, 3), at(read(2, 6), 4, 5), at(read(1, 5), 6, 7)}, nil},
		{"no answer, and its precondition cannot have held", ruleLinear,
			[]operation{at(wrote(1, 5, true), 0, 1), at(wrote(2, 6, false), 2, 3),
				at(ended(matched(wrote(3, 0, false), 5), unknown), 4, 5), at(read(3, 7), 6, 7)}, nil},
		{"no answer, read with a version of before", ruleLinear, []operation{at(wrote(1, 5, true), 0, 1),
			at(ended(wrote(2, 0, false), unknown), 2, 3), at(read(2, 4), 4, 5)}, nil},
		{"no answer, and an event with a version of before", ruleLinear,
			[]operation{at(wrote(1, 5, true), 0, 1), at(ended(wrote(2, 0, false), unknown), 2, 3)},
			[]sight{reset, shows("a-1", 1, 4, 4, 2)}},
		{"another content at the same version", ruleVersion + "," + ruleLinear,
			[]operation{at(wrote(1, 5, true), 0, 1), at(of("l", wrote(2, 6, true)), 0, 1),
				at(read(2, 5), 2, 3)}, nil},
		{"deletion without an answer", "", []operation{at(wrote(1, 5, true), 0, 1),
			at(ended(gone, unknown), 2, 3), at(read(1, 5), 4, 5), at(none, 6, 7)}, nil},
		{"refused and kept", ruleRefused + "," + ruleLinear, []operation{at(wrote(1, 5, true), 0, 1),
			at(ended(wrote(2, 0, false), refused), 2, 3), at(read(2, 6), 4, 5)}, nil},

		{"one version of two contents", ruleVersion + "," + ruleLinear,
			[]operation{at(wrote(1, 5, true), 0, 1), at(ended(wrote(2, 0, false), unknown), 2, 3),
				at(read(2, 6), 4, 5), at(wrote(3, 6, false), 6, 7)}, nil},
		{"one version of two resources", ruleVersion, []operation{at(wrote(1, 5, true), 0, 1),
			at(of("l", wrote(2, 5, true)), 2, 3)}, nil},
		{"one content of two versions", ruleVersion + "," + ruleLinear,
			[]operation{at(wrote(1, 5, true), 0, 1), at(read(1, 5), 2, 3), at(read(1, 6), 4, 5)}, nil},
		{"phantom", rulePhantom + "," + ruleLinear, []operation{at(wrote(1, 5, true), 0, 1),
			at(read(9, 6), 2, 3)}, nil},
		{"content of another resource", ruleVersion + "," + ruleLinear,
			[]operation{at(wrote(1, 5, true), 0, 1), at(of("l", read(1, 5)), 2, 3)}, nil},
		{"seen before it is written", ruleFuture + "," + ruleLinear, []operation{at(read(1, 5), 0, 1),
			at(wrote(1, 5, true), 2, 3)}, nil},

		{"list of one state", "", []operation{at(wrote(1, 5, true), 0, 1), at(of("l", wrote(2, 6, true)),
			2, 3), at(listed(1, read(1, 5)), 4, 9), at(of("l", listed(1, read(2, 6))), 4, 9),
			at(wrote(3, 7, false), 5, 6)}, nil},
		{"list of two states", ruleSnapshot, []operation{at(wrote(1, 5, true), 0, 1),
			at(wrote(3, 6, false), 5, 6), at(of("l", wrote(2, 7, true)), 7, 8),
			at(listed(1, read(1, 5)), 4, 9), at(of("l", listed(1, read(2, 7))), 4, 9)}, nil},

		{"stale read that says so", "", []operation{at(wrote(1, 5, true), 0, 1),
			at(wrote(2, 6, false), 2, 3), at(old(read(1, 5)), 4, 5), at(old(read(2, 6)), 6, 7)}, nil},
		{"stale read goes back", ruleStale, []operation{at(wrote(1, 5, true), 0, 1),
			at(wrote(2, 6, false), 2, 3), at(old(read(2, 6)), 4, 5), at(old(read(1, 5)), 6, 7)}, nil},
		{"stale read of what was undone", ruleLinear, []operation{at(wrote(1, 5, true), 0, 1),
			at(ended(wrote(2, 0, false), unknown), 2, 3), at(old(read(2, 6)), 4, 5), at(read(1, 5), 6, 7)},
			nil},

		{"watch", "", []operation{at(wrote(1, 5, true), 1, 2), at(wrote(2, 6, false), 3, 4),
			at(read(2, 6), 9, 10)}, []sight{reset, shows("a-1", 1, 2, 5, 1), shows("a-2", 2, 4, 6, 2)}},
		{"watch skips a version", "", []operation{at(wrote(1, 5, true), 1, 2),
			at(wrote(2, 6, false), 3, 4), at(read(2, 6), 9, 10)}, []sight{reset, shows("a-1", 1, 4, 6, 2)}},
		{"watch of what was written before", "", []operation{at(wrote(1, 5, true), 1, 2),
			at(read(1, 5), 9, 10)}, []sight{{Reset: true, At: 3 * time.Millisecond}}},
		{"phantom event", rulePhantom, []operation{at(none, 0, 1)},
			[]sight{reset, shows("a-1", 1, 2, 5, 1), {ID: "a-2", Seq: 2, Key: "k", Deleted: true}}},
		{"event of what was undone", ruleLinear, []operation{at(wrote(1, 5, true), 0, 1),
			at(ended(wrote(2, 0, false), unknown), 2, 3), at(read(1, 5), 5, 7)},
			[]sight{{Reset: true, At: 2 * time.Millisecond}, shows("a-1", 1, 4, 6, 2)}},
		{"event of what was refused", ruleRefused,
			[]operation{at(ended(wrote(1, 0, true), refused), 1, 2)},
			[]sight{reset, shows("a-1", 1, 3, 5, 1)}},
		{"events out of order", ruleOrder + "," + ruleLost, []operation{at(wrote(1, 5, true), 1, 2),
			at(wrote(2, 6, false), 3, 4), at(wrote(3, 7, false), 4, 5), at(read(3, 7), 9, 10)},
			[]sight{reset, shows("a-1", 1, 4, 6, 2), shows("a-2", 2, 4, 5, 1)}},
		{"event after its deletion", ruleOrder, []operation{at(wrote(1, 5, true), 1, 2), at(gone, 3, 4)},
			[]sight{reset, shows("a-1", 1, 4, 5, 1), {ID: "a-2", Seq: 2, Key: "k", Deleted: true},
				shows("a-3", 3, 5, 5, 1)}},
		{"event lost", ruleLost, []operation{at(wrote(1, 5, true), 1, 2), at(wrote(2, 6, false), 3, 4),
			at(read(2, 6), 9, 10)}, []sight{reset, shows("a-1", 1, 2, 5, 1)}},
		{"event lost, and said", "", []operation{at(wrote(1, 5, true), 1, 2),
			at(wrote(2, 6, false), 3, 4), at(read(2, 6), 9, 10)}, []sight{reset, shows("a-1", 1, 2, 5, 1),
			{Reset: true, At: 5 * time.Millisecond}}},
		{"deletion lost", ruleLost, []operation{at(wrote(1, 5, true), 1, 2), at(gone, 3, 4),
			at(none, 9, 10)}, []sight{reset, shows("a-1", 1, 2, 5, 1)}},
		{"a number is missing", ruleLost, []operation{at(wrote(1, 5, true), 1, 2)},
			[]sight{reset, {ID: "a-1", Seq: 1}, shows("a-3", 3, 3, 5, 1)}},
		{"events of another run", ruleLost, []operation{at(wrote(1, 5, true), 1, 2)},
			[]sight{reset, {ID: "a-1", Seq: 1}, shows("b-2", 2, 3, 5, 1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHistory()
			h.add(c.ops...)
			if c.watch != nil {
				h.watch("c1").Sights = c.watch
			}
			broken := make(map[string]bool)
			for _, v := range check(h) {
				broken[v.Rule] = true
				t.Log(v.Rule+":", v.Text)
			}
			want := make(map[string]bool)
			for _, r := range strings.Split(c.rules, ",") {
				want[r] = true
			}
			for r := range broken {
				if !want[r] {
					t.Errorf("it is said to break: %s", r)
				}
			}
			for r := range want {
				if r != "" && !broken[r] {
					t.Errorf("it is not seen to break: %s", r)
				}
			}
		})
	}
}

// TestKeep: a history that breaks rules is kept with a picture.
func TestKeep(t *testing.T) {
	t.Setenv("WEFT_LINEAR_DIR", t.TempDir())
	h := newHistory()
	h.add(at(wrote(1, 5, true), 0, 1), at(wrote(2, 6, false), 2, 3), at(read(1, 5), 4, 5))
	dir, err := keep(h, check(h), "test")
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"history.json": ruleLinear, "k.html": "<html"} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil ||
			!strings.Contains(string(text), want) {
			t.Errorf("%s: %v, %d octets, want %q in it", file, err, len(text), want)
		}
	}
}

// TestManyUnknown: porcupine comes to a verdict although nobody knows what became of many
// operations.
func TestManyUnknown(t *testing.T) {
	const many = 40
	for _, c := range []struct {
		name string
		one  func(i int) operation
		last []operation
		want string
	}{
		{"removals that did nothing", func(int) operation {
			return ended(gone, unknown)
		}, []operation{at(gone, 900, 901), at(none, 902, 903)}, ""},
		{"a removal that did", func(int) operation {
			return ended(gone, unknown)
		}, []operation{at(none, 900, 901)}, ""},
		{"removals, and an old read", func(int) operation {
			return ended(gone, unknown)
		}, []operation{at(none, 900, 901), at(read(1, 5), 902, 903)}, ruleLinear},
		{"writes that nobody saw", func(i int) operation {
			return ended(wrote(uint32(100+i), 0, false), unknown)
		}, []operation{at(read(1, 5), 900, 901), at(gone, 902, 903), at(none, 904, 905)}, ""},
		{"a write that nobody saw after a removal", func(i int) operation {
			return ended(wrote(uint32(100+i), 0, false), unknown)
		}, []operation{at(gone, 900, 901), at(gone, 902, 903)}, ""},
		{"removals later than what they would explain", func(int) operation {
			return at(ended(gone, unknown), 800, 801)
		}, []operation{at(none, 700, 701)}, ruleLinear},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHistory()
			h.operations = append(h.operations, at(wrote(1, 5, true), 0, 1))
			for i := range many {
				o := c.one(i)
				if o.Call == 0 {
					o = at(o, 10+i, 11+i)
				}
				h.operations = append(h.operations, o)
			}
			h.operations = append(h.operations, c.last...)
			var rules []string
			for _, v := range check(h) {
				rules = append(rules, v.Rule)
			}
			if got := strings.Join(rules, ","); got != c.want {
				t.Errorf("%q is broken, want %q", got, c.want)
			}
		})
	}
}
