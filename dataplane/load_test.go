package dataplane

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/dataplane/engine"
)

func TestLoadFabric(t *testing.T) {
	p := loadFile(t, fabricJSON)
	visible := map[string]engine.TableInfo{}
	for _, ti := range p.Tables() {
		if !ti.Hidden {
			visible[ti.Name] = ti
		}
	}
	if len(visible) < 15 || len(visible) > 60 {
		t.Errorf("%d tables are not hidden", len(visible))
	}
	route := visible["FabricIngress.routing.ipv6_route"]
	if len(route.Keys) != 2 ||
		route.Keys[0] != (engine.KeyInfo{Name: "vrf", Match: engine.Exact, Width: 16}) ||
		route.Keys[1] != (engine.KeyInfo{Name: "dst_addr", Match: engine.LPM, Width: 128}) {
		t.Errorf("%+v", route)
	}
	if ecmp := visible["FabricIngress.routing.ecmp"]; !ecmp.Selector || ecmp.Profile != 0 {
		t.Errorf("%+v", ecmp)
	}
}

var update = flag.Bool("update", false, "rewrite golden files")

// BMv2 takes JSON that has no version, or no __meta__ at all.
func TestLoadWithoutVersion(t *testing.T) {
	for _, path := range []string{"__meta__.version", "__meta__"} {
		program, err := os.ReadFile("testdata/basic.json")
		if err != nil {
			t.Fatal(err)
		}
		story := damaged{t: t}
		if err := json.Unmarshal(program, &story.root); err != nil {
			t.Fatal(err)
		}
		if err := story.edit("delete", path); err != nil {
			t.Fatal(err)
		}
		p, err := engine.Load(story.marshal())
		if err != nil {
			t.Errorf("without %s: %v", path, err)
		} else if len(p.Tables()) == 0 {
			t.Errorf("without %s: the program has no tables", path)
		}
	}
}

// TestLoadErrors runs testdata/load_errors.script: each story names a program
// of testdata, damages it, and ends with what engine.Load says.
//
//	program NAME              start a story with testdata/NAME.json
//	text STRING               or with this text (a Go string)
//	set PATH VALUE            replace, or add, a value: a.2.b is b of the third of a
//	delete PATH               remove one
//	repeat PATH               append an element to its array once more
//	nest PATH N               wrap an expression in N negations
//	says TEXT                 end the story
func TestLoadErrors(t *testing.T) {
	const file = "testdata/load_errors.script"
	script, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	var story damaged
	for n, line := range strings.Split(strings.TrimRight(string(script), "\n"), "\n") {
		cmd, rest, _ := strings.Cut(line, " ")
		switch cmd {
		case "", "#":
		case "program":
			story = damaged{t: t}
			b, err := os.ReadFile(filepath.Join("testdata", rest+".json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b, &story.root); err != nil {
				t.Fatal(err)
			}
		case "text":
			s, err := strconv.Unquote(rest)
			if err != nil {
				t.Fatalf("line %d: %v", n+1, err)
			}
			story = damaged{t: t, text: []byte(s)}
		case "says":
			p, err := engine.Load(story.marshal())
			if err == nil {
				t.Errorf("line %d: the program loads", n+1)
				break
			}
			if p != nil || errors.Is(err, engine.ErrBadProgram) == errors.Is(err, engine.ErrUnsupported) {
				t.Errorf("line %d: %v is neither of the two kinds, or comes with a program", n+1, err)
			}
			if err.Error() != rest && !*update {
				t.Errorf("line %d:\n got %s\nwant %s", n+1, err, rest)
			}
			line = "says " + err.Error()
		default:
			if err := story.edit(cmd, rest); err != nil {
				t.Fatalf("line %d: %v", n+1, err)
			}
		}
		out = append(out, line)
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(out, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// damaged is a program that is edited before it is loaded.
type damaged struct {
	t    *testing.T
	root any
	text []byte
}

func (d *damaged) marshal() []byte {
	if d.text != nil {
		return d.text
	}
	b, err := json.Marshal(d.root)
	if err != nil {
		d.t.Fatal(err)
	}
	return b
}

func (d *damaged) edit(cmd, rest string) error {
	path, arg, _ := strings.Cut(rest, " ")
	steps := strings.Split(path, ".")
	last := steps[len(steps)-1]
	parent, err := lookup(d.root, steps[:len(steps)-1])
	if err != nil {
		return err
	}
	switch cmd {
	case "set":
		var v any
		if err := json.Unmarshal([]byte(arg), &v); err != nil {
			return err
		}
		return store(parent, last, v)
	case "delete":
		m, ok := parent.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is not in an object", path)
		}
		delete(m, last)
		return nil
	case "nest":
		n, err := strconv.Atoi(arg)
		if err != nil {
			return err
		}
		v, err := lookup(parent, []string{last})
		if err != nil {
			return err
		}
		for range n {
			v = map[string]any{"type": "expression", "value": map[string]any{"op": "not", "left": nil,
				"right": v}}
		}
		return store(parent, last, v)
	case "repeat":
		list, ok := parent.([]any)
		i, err := strconv.Atoi(last)
		if !ok || err != nil || i >= len(list) {
			return fmt.Errorf("%s is not in an array", path)
		}
		up, err := lookup(d.root, steps[:len(steps)-2])
		if err != nil {
			return err
		}
		return store(up, steps[len(steps)-2], append(list, list[i]))
	}
	return fmt.Errorf("unknown command %q", cmd)
}

func lookup(v any, steps []string) (any, error) {
	for _, s := range steps {
		switch x := v.(type) {
		case map[string]any:
			v = x[s]
		case []any:
			i, err := strconv.Atoi(s)
			if err != nil || i >= len(x) {
				return nil, fmt.Errorf("no element %s of %d", s, len(x))
			}
			v = x[i]
		default:
			return nil, fmt.Errorf("nothing at %s", s)
		}
	}
	return v, nil
}

func store(parent any, name string, v any) error {
	switch x := parent.(type) {
	case map[string]any:
		x[name] = v
		return nil
	case []any:
		i, err := strconv.Atoi(name)
		if err == nil && i < len(x) {
			x[i] = v
			return nil
		}
	}
	return fmt.Errorf("no place for %s", name)
}

// TestNegativeArguments: p4c writes a negative argument in the program's own entries with the sign,
// and BMv2 keeps the sign.
func TestNegativeArguments(t *testing.T) {
	b, err := os.ReadFile("testdata/signed.json")
	if err != nil {
		t.Fatal(err)
	}
	d := damaged{t: t}
	if err := json.Unmarshal(b, &d.root); err != nil {
		t.Fatal(err)
	}
	for _, e := range []string{
		`pipelines.0.tables.32.default_entry.action_data ["-0x9"]`,
		`pipelines.0.tables.32.entries.0.action_entry.action_data ["-0x7"]`,
	} {
		if err := d.edit("set", e); err != nil {
			t.Fatal(err)
		}
	}
	p, err := engine.Load(d.marshal())
	if err != nil {
		t.Fatal(err)
	}
	r := newRigWith(t, p, Config{})
	r.expect(0, "18 0000 0001 01 00000000", sent{1, "ff98 18 0000 0001 01 00000000"}) // -7>>1 - 100
	r.expect(0, "18 0000 0010 02 00000000", sent{1, "0003 18 0000 0010 02 00000000"})
	r.expect(0, "18 0000 0000 00 00000000", sent{1, "ff97 18 0000 0000 00 00000000"}) // -9>>1 - 100
}
