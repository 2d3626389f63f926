package dataplane

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/engine"
)

// FuzzLoadProgram: whatever the program, engine.Load returns one that runs, or
// an error. The input is a number of edits of one of our own programs: random
// octets would hardly ever be JSON, let alone a program.
func FuzzLoadProgram(f *testing.F) {
	var programs []any
	for _, name := range programFiles(f) {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 100_000 { // small ones take less time
			programs = append(programs, plainJSON(f, b))
		}
	}
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range programs {
		edits := make([]byte, 5*(i%4))
		for k := range edits {
			edits[k] = byte(rng.Uint32())
		}
		f.Add(uint8(i), edits)
	}
	f.Fuzz(func(t *testing.T, which uint8, edits []byte) {
		root := clone(programs[int(which)%len(programs)])
		for n := 0; len(edits) >= 5 && n < 8; n++ {
			root = edit(root, edits[:5])
			edits = edits[5:]
		}
		b, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		loadAndRun(b)
		if d := time.Since(begin); d > 10*time.Second {
			t.Fatalf("%v for a program of %d octets", d, len(b))
		}
	})
}

// FuzzLoadText: nor does text that is hardly JSON do any harm.
func FuzzLoadText(f *testing.F) {
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"__meta__":{"version":[2,23]},"headers":[{"id":1}]}`))
	b, err := os.ReadFile(filepath.Join("testdata", "basic.json"))
	if err != nil {
		f.Fatal(err)
	}
	if b, err = json.Marshal(plainJSON(f, b)); err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) { loadAndRun(b) })
}

// programFiles are the compiled programs of testdata.
func programFiles(t testing.TB) []string {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs")
	}
	return files
}

// plainJSON is a program as a JSON tree, without places in the source.
func plainJSON(t testing.TB, b []byte) any {
	var root any
	if err := json.Unmarshal(b, &root); err != nil {
		t.Fatal(err)
	}
	for _, p := range places([]any{root}) {
		if m, ok := p.get().(map[string]any); ok {
			delete(m, "source_info")
		}
	}
	return root
}

// jsonPlace is where a value is: in an object or an array.
type jsonPlace struct {
	in  map[string]any
	key string
	of  []any
	at  int
}

func (p *jsonPlace) get() any {
	if p.in != nil {
		return p.in[p.key]
	}
	return p.of[p.at]
}

func (p *jsonPlace) put(v any) {
	if p.in != nil {
		p.in[p.key] = v
	} else {
		p.of[p.at] = v
	}
}

// places lists the values below v, in the same order each time.
func places(v any) []jsonPlace {
	var all []jsonPlace
	var visit func(v any)
	visit = func(v any) {
		switch x := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(x)) {
				all = append(all, jsonPlace{in: x, key: k})
				visit(x[k])
			}
		case []any:
			for i, e := range x {
				all = append(all, jsonPlace{of: x, at: i})
				visit(e)
			}
		}
	}
	visit(v)
	return all
}

// edit changes one value of a JSON tree. The first two octets choose the value, the third octet
// chooses the change, and the rest becomes the new value.
func edit(root any, e []byte) any {
	box := []any{root}
	all := places(box)
	donor := func() any {
		return clone(all[int(binary.BigEndian.Uint16(e[3:]))*104729%len(all)].get())
	}
	p := &all[int(binary.BigEndian.Uint16(e))*7919%len(all)]
	switch x := p.get().(type) {
	case []any:
		k := int(e[3])
		switch n := len(x); {
		case e[2]%4 == 0 && n > 0: // one less
			p.put(slices.Delete(x, k%n, k%n+1))
			return box[0]
		case e[2]%4 == 1 && n > 0: // one twice
			p.put(append(x, clone(x[k%n])))
			return box[0]
		case e[2]%4 == 2 && n > 0: // in another order
			x[0], x[k%n] = x[k%n], x[0]
			return box[0]
		}
	case map[string]any:
		if keys := slices.Sorted(maps.Keys(x)); e[2]%2 == 0 && len(keys) > 0 {
			delete(x, keys[int(e[3])%len(keys)])
			return box[0]
		}
	case string:
		if d, ok := donor().(string); ok { // another name
			p.put(d)
			return box[0]
		}
	}
	values := []any{donor(), nil, true, -1.0, 0.0, 1.0, float64(e[4]), 65537.0, 1e9, 4294967296.0,
		1e300, 0.5, "", "0x", "-0x1",
		"0xffffffffffffffffffffffffffffffffff", "expression", []any{}, map[string]any{}}
	p.put(values[int(e[2])%len(values)])
	return box[0]
}

// clone copies a JSON tree.
func clone(v any) any {
	switch x := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(x))
		for k, e := range x {
			m[k] = clone(e)
		}
		return m
	case []any:
		l := make([]any, len(x))
		for i, e := range x {
			l[i] = clone(e)
		}
		return l
	}
	return v
}

// loadAndRun loads a program and, if that works, puts a few frames through it.
func loadAndRun(b []byte) bool {
	p, err := engine.Load(b)
	if err != nil {
		return false
	}
	s := New(Config{RecirculationBurst: 100, RecirculationRate: 1}, &sink{})
	s.SetProgram(p)
	for i, n := range []int{1, 3, 20, 64, 200} {
		frame := make([]byte, n)
		for j := range frame {
			frame[j] = byte(i * j)
		}
		s.Receive(0, uint32(i), frame)
	}
	s.Advance(time.Second)
	return true
}

// TestEditedPrograms runs the edits of FuzzLoadProgram with a seed.
func TestEditedPrograms(t *testing.T) {
	const seed = 9
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	files := programFiles(t)
	ran, n := 0, 400
	for range n {
		b, err := os.ReadFile(files[rng.IntN(len(files))])
		if err != nil {
			t.Fatal(err)
		}
		root := plainJSON(t, b)
		for range 1 + rng.IntN(3) {
			e := make([]byte, 5)
			for k := range e {
				e[k] = byte(rng.Uint32())
			}
			root = edit(root, e)
		}
		if b, err = json.Marshal(root); err != nil {
			t.Fatal(err)
		}
		if loadAndRun(b) {
			ran++
		}
	}
	t.Logf("%d of %d ran", ran, n)
	if ran == 0 || ran == n {
		t.Errorf("%d of %d edited programs ran", ran, n)
	}
}

// FuzzPacket: no sequence of frames makes a switch fail, whatever the program
// and its entries, and the specialised graphs do what the nodes of the JSON do. The
// input is frames, each with a port and a length in front.
func FuzzPacket(f *testing.F) {
	names, err := filepath.Glob("testdata/*.json")
	if err != nil || len(names) == 0 {
		f.Fatal("no programs")
	}
	names = append(names, fabricJSON)
	var programs []*engine.Program
	for i, n := range names {
		programs = append(programs, loadFile(f, n))
		f.Add(uint8(i), uint64(i), []byte("\x01\x05\x00abcde\x02\x03\x00\x05\x00\x01"))
	}
	for _, a := range fabricSeeds(f) {
		b := binary.LittleEndian.AppendUint16([]byte{byte(a.port)}, uint16(len(a.frame)))
		f.Add(uint8(len(names)-1), uint64(1), append(b, a.frame...))
	}
	f.Fuzz(func(t *testing.T, which uint8, setup uint64, in []byte) {
		at := int(which) % len(programs)
		s, got := twins(t, names[at], programs[at], Config{Seed: 1, RecirculationBurst: 50,
			RecirculationRate: 1}, setup)
		for now := time.Duration(0); len(in) >= 3; now += time.Millisecond {
			port, n := uint32(in[0]), int(binary.LittleEndian.Uint16(in[1:]))
			in = in[3:]
			n = min(n, len(in))
			for i := range s {
				got[i].out = got[i].out[:0]
				s[i].Receive(now, port, in[:n])
				s[i].Advance(now)
				if n := s[i].ctx.Scratch(); n != 0 {
					t.Fatalf("%d words of scratch left over", n)
				}
			}
			if !slices.Equal(got[0].out, got[1].out) || s[0].Stats() != s[1].Stats() {
				t.Fatalf("got %v %+v\nwant %v %+v", got[0].out, s[0].Stats(), got[1].out, s[1].Stats())
			}
			for _, o := range got[0].out {
				if len(o) > 2*(10240+512)+8 {
					t.Fatalf("%d characters: %.40s", len(o), o)
				}
			}
			in = in[n:]
		}
	})
}
