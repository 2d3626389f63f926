package stf

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"maps"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/p4"
)

// recorded has a line for each case from p4testgen: the name, and for each variant of the case the
// first octets of the SHA-256 of its results: the frames that leave, counters and registers.
// TestVariantsOnBMv2 compares the results with simple_switch.
const recorded = "../../p4/testdata/variants.txt"

// variants is how many of each case are recorded. The first is the case itself.
const variants = 12

// A variant is a case with a random change.
type variant struct {
	number     int
	statements []Statement
	sent       []sent
	cells      []cell
}

// A cell is a nonzero element of a counter or a register.
type cell struct {
	array  string
	index  int
	value  string // of a register
	counts engine.CounterValue
}

func (c cell) String() string {
	if c.value != "" {
		return fmt.Sprintf("%s[%d] %s", c.array, c.index, c.value)
	}
	return fmt.Sprintf("%s[%d] %d packets, %d octets", c.array, c.index, c.counts.Packets,
		c.counts.Bytes)
}

// variantsOf returns the variants of a case: other bits in what arrives, in registers, and in
// parameters of entries. What the switch refuses is not among them.
func variantsOf(t *testing.T, program *engine.Program, name, text string) (out []variant) {
	t.Helper()
	c, err := Parse(text)
	if err != nil {
		t.Fatalf("%s:%v", name, err)
	}
	h := fnv.New64()
	h.Write([]byte(name))
	rng := rand.New(rand.NewPCG(h.Sum64(), 0))
	for len(out) < variants {
		v := variant{number: len(out)}
		for _, s := range c.Statements {
			switch s.Do.(type) {
			case Expect, CheckCounter, NoPacket:
			default:
				v.statements = append(v.statements, s)
			}
		}
		for range min(v.number, 1+rng.IntN(3)) {
			i := rng.IntN(len(v.statements))
			if rng.IntN(2) == 0 { // what arrives
				i = slices.IndexFunc(v.statements, func(s Statement) bool { _, ok := s.Do.(Packet); return ok })
			}
			v.statements[i].Do = changed(rng, v.statements[i].Do)
		}
		r, err := played(program, v.statements, 0)
		if err != nil && v.number == 0 {
			t.Fatalf("%s: %v", name, err)
		}
		if err == nil {
			v.sent, v.cells = r.sent, r.cells(t, v.statements)
			out = append(out, v)
		}
	}
	return out
}

// played runs statements on a switch of their own, each packet later by a time than it would come.
func played(program *engine.Program, statements []Statement, late time.Duration) (*run, error) {
	r := newRun(newSwitch(program))
	r.sw.SetOutput(r)
	for _, s := range statements {
		if _, ok := s.Do.(Packet); ok && late > 0 {
			r.until(r.now + late)
		}
		r.line = s.Line
		if err := r.do(s.Do); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// cells returns the counters that are not 0, and the registers at the indices that the case writes,
// or that belong to a group named in the case.
func (r *run) cells(t *testing.T, statements []Statement) (out []cell) {
	t.Helper()
	const branches = 32 // of a group
	at := map[int]bool{0: true}
	group := func(g int) {
		at[g] = true
		for i := range branches {
			at[branches*g+i] = true
		}
	}
	for _, s := range statements {
		switch do := s.Do.(type) {
		case Array:
			at[do.Index] = true
			group(do.Index / branches)
		case Add:
			for _, a := range do.Action.Args {
				if a.Name == "group" {
					group(int(a.Value.Int64()))
				}
			}
		}
	}
	for i, c := range r.program.Counters() {
		for k := range c.Size {
			n, err := r.sw.Counter(engine.Element(i, k))
			if err != nil {
				t.Fatal(err)
			}
			if n.Packets > 0 {
				out = append(out, cell{array: c.Name, index: k, counts: n})
			}
		}
	}
	for i, reg := range r.program.Registers() {
		for _, k := range slices.Sorted(maps.Keys(at)) {
			if k >= reg.Size {
				break
			}
			v, err := r.sw.Register(i, k)
			if err != nil {
				t.Fatal(err)
			}
			if n := new(big.Int).SetBytes(v); n.Sign() != 0 {
				out = append(out, cell{array: reg.Name, index: k, value: n.String()})
			}
		}
	}
	return out
}

// changed returns a statement with another bit.
func changed(rng *rand.Rand, do any) any {
	switch do := do.(type) {
	case Packet:
		do.Frame = slices.Clone(do.Frame)
		bit := rng.IntN(8 * min(len(do.Frame), 200)) // headers, more or less
		do.Frame[bit/8] ^= 1 << (bit % 8)
		return do
	case Array:
		do.Values = slices.Clone(do.Values)
		n := rng.IntN(len(do.Values))
		v := flipped(rng, do.Values[n], 64)
		// Skip a time that has passed at one switch when the packet arrives, but not at the other switch.
		soon, late := uint64(pause.Microseconds())/2, uint64(100*pause.Microseconds())
		if at := v.Uint64(); at < soon || at > late {
			do.Values[n] = v
		}
		return do
	case Add:
		do.Action = changedAction(rng, do.Action)
		return do
	case SetDefault:
		do.Action = changedAction(rng, do.Action)
		return do
	}
	return do
}

func changedAction(rng *rand.Rand, a Action) Action {
	if len(a.Args) > 0 {
		a.Args = slices.Clone(a.Args)
		n := rng.IntN(len(a.Args))
		a.Args[n].Value = flipped(rng, a.Args[n].Value, 16)
	}
	return a
}

// flipped returns a number with a random bit flipped, or one of the first few bits.
func flipped(rng *rand.Rand, v *big.Int, few int) *big.Int {
	bit := rng.IntN(max(v.BitLen(), few))
	return new(big.Int).SetBit(v, bit, 1-v.Bit(bit))
}

// String returns what a variant leads to, frames in any order.
func (v *variant) String() string {
	var all []string
	for _, s := range v.sent {
		all = append(all, fmt.Sprintf("port %d: %x\n", s.port, s.frame))
	}
	slices.Sort(all)
	for _, c := range v.cells {
		all = append(all, c.String()+"\n")
	}
	return strings.Join(all, "")
}

func (v *variant) digest() string {
	h := sha256.Sum256([]byte(v.String()))
	return hex.EncodeToString(h[:4])
}

// TestVariants: the embedded switch sends, counts and keeps in variants of the generated cases what
// it did when simple_switch was seen to do the same. With -update it is recorded anew: run
// TestVariantsOnBMv2 afterwards, with WEFT_VARIANTS=all.
func TestVariants(t *testing.T) {
	program, err := engine.Load(p4.JSON()) // as all tests have it, also where it is changed on purpose
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{}
	if !*update {
		f, err := os.Open(recorded)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			fields := strings.Fields(lines.Text())
			want[fields[0]] = fields[1:]
		}
	}
	cases := generatedCases(t)
	var b strings.Builder
	for _, p := range cases {
		b.WriteString(p.name)
		for _, v := range variantsOf(t, program, p.name, p.text) {
			got := v.digest()
			b.WriteString(" " + got)
			switch w := want[p.name]; {
			case *update:
			case len(w) != variants:
				t.Fatalf("%s has %d variants of %s, want %d: run the test with -update", recorded, len(w),
					p.name, variants)
			case w[v.number] != got:
				t.Errorf("variant %d of %s: not what was recorded, but\n%v", v.number, p.name, &v)
			}
		}
		b.WriteString("\n")
	}
	if *update {
		if err := os.WriteFile(recorded, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if len(want) != len(cases) {
		t.Errorf("%s has %d cases, there are %d: run the test with -update", recorded, len(want),
			len(cases))
	}
}
