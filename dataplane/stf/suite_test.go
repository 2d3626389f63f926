package stf

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/p4"
)

// loaded is a case and the program it is for.
type loaded struct {
	path    string // of the program
	text    string // of the case
	c       *Case
	program *engine.Program
}

func load(t *testing.T, program, script string) loaded {
	t.Helper()
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	return loadText(t, program, script, string(text))
}

// loadText is load for a case without a file; messages use name.
func loadText(t *testing.T, program, name, text string) loaded {
	t.Helper()
	c, err := Parse(text)
	if err != nil {
		t.Fatalf("%s:%v", name, err)
	}
	if p, ok := programs.Load(program); ok {
		return loaded{program, text, c, p.(*engine.Program)}
	}
	json, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	p, err := engine.Load(json)
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	programs.Store(program, p)
	return loaded{program, text, c, p}
}

// programs has those that were loaded, by path.
var programs sync.Map

// newSwitch runs a program as simple_switch does by default: with one queue a
// port, and a traffic manager that no port leads to.
func newSwitch(p *engine.Program) *dataplane.Switch {
	sw := dataplane.New(dataplane.Config{Seed: 1, Priorities: 1, PFCPort: engine.NoPort}, nil)
	sw.SetProgram(p)
	return sw
}

// carryOut runs a case on the embedded switch.
func carryOut(t *testing.T, program, script string) {
	t.Helper()
	l := load(t, program, script)
	if _, err := Run(newSwitch(l.program), l.c); err != nil {
		t.Errorf("%s:%v", script, err)
	}
}

// generated has cases that p4testgen made of the fabric's program, compiled. "make p4-tests" makes
// them; dataplane/stf/p4testgen says how.
const (
	generated = "../../p4/testdata/generated.stf"
	compiled  = "../../p4/fabric.json"
)

// part is one of several cases in a file: "## NAME" is the line before it.
type part struct{ name, text string }

func generatedCases(t *testing.T) []part {
	t.Helper()
	text, err := os.ReadFile(generated)
	if err != nil {
		t.Fatal(err)
	}
	var all []part
	for _, one := range strings.Split("\n"+string(text), "\n## ")[1:] {
		name, text, _ := strings.Cut(one, "\n")
		if slices.ContainsFunc(all, func(p part) bool { return p.name == name }) {
			t.Fatalf("%s has two cases %s", generated, name)
		}
		all = append(all, part{name, text + "\n"})
	}
	if len(all) == 0 {
		t.Fatalf("%s has no cases", generated)
	}
	return all
}

// TestGenerated: the embedded switch treats packets of the fabric's program as p4testgen expects,
// or as the case says where the switch deviates. With -update, failing cases record the deviation:
// use it for a change of the program without p4testgen at hand.
func TestGenerated(t *testing.T) {
	var b strings.Builder
	program, err := engine.Load(p4.JSON()) // as all tests have it, also where it is changed on purpose
	if err != nil {
		t.Fatal(err)
	}
	programs.Store(compiled, program)
	for _, p := range generatedCases(t) {
		if *update {
			l := loadText(t, compiled, p.name, p.text)
			if _, err := Run(newSwitch(l.program), l.c); err != nil {
				p.text = "# otherwise: the program has changed\n" + whatLeaves(t, l)
			}
			fmt.Fprintf(&b, "## %s\n%s", p.name, p.text)
		}
		t.Run(p.name, func(t *testing.T) {
			l := loadText(t, compiled, p.name, p.text)
			if _, err := Run(newSwitch(l.program), l.c); err != nil {
				t.Errorf("%s:%v", p.name, err)
			}
		})
	}
	if *update {
		if err := os.WriteFile(generated, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCases runs the project's own cases: NAME.stf and NAME.WHAT.stf in the
// folder of the embedded switch's programs belong to NAME.json. With -update
// their expected packets are written anew; TestCasesOnBMv2 then says whether
// they are right.
func TestCases(t *testing.T) {
	cases, err := filepath.Glob("../testdata/*.stf")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, script := range cases {
		name := strings.TrimSuffix(filepath.Base(script), ".stf")
		t.Run(name, func(t *testing.T) {
			program, _, _ := strings.Cut(name, ".")
			if *update {
				expectWhatLeaves(t, filepath.Join("../testdata", program+".json"), script)
			}
			carryOut(t, filepath.Join("../testdata", program+".json"), script)
		})
	}
}

// expectWhatLeaves rewrites a case: behind each packet stands what it causes.
func expectWhatLeaves(t *testing.T, program, script string) {
	text := whatLeaves(t, load(t, program, script))
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// whatLeaves returns a case whose expected packets are those that the switch sends.
func whatLeaves(t *testing.T, l loaded) string {
	sw := newSwitch(l.program)
	r := newRun(sw)
	sw.SetOutput(r)
	for _, s := range l.c.Statements {
		r.line = s.Line
		if _, ok := s.Do.(CheckCounter); ok {
			continue
		}
		if err := r.do(s.Do); err != nil {
			t.Fatalf("line %d: %v", s.Line, err)
		}
	}
	var b strings.Builder
	n := 0
	for line := range strings.Lines(l.text) {
		n++
		if strings.HasPrefix(line, "expect ") {
			continue
		}
		b.WriteString(line)
		for _, s := range r.sent {
			if s.line == n {
				fmt.Fprintf(&b, "expect %d %x$\n", s.port, s.frame)
			}
		}
	}
	return b.String()
}

// TestP4CSuite runs the cases of p4c's own suite for v1model. P4C_DIR is a checkout of p4c, or one
// folder of programs with their cases. The test compiles the programs with the p4c-bm2-ss on the
// PATH, or takes them from P4C_STF, a folder of compiled programs (NAME.json), when P4C_STF is set.
func TestP4CSuite(t *testing.T) {
	dir := os.Getenv("P4C_DIR")
	if dir == "" {
		t.Skip("skipped: P4C_DIR is not set")
	}
	compiled := os.Getenv("P4C_STF")
	if compiled == "" {
		if _, err := exec.LookPath("p4c-bm2-ss"); err != nil {
			t.Skip("skipped: p4c-bm2-ss is not on the PATH")
		}
	}
	folders := []string{dir}
	if samples := filepath.Join(dir, "testdata"); exists(samples) {
		folders = []string{filepath.Join(samples, "p4_16_samples"),
			filepath.Join(samples, "p4_14_samples")}
	}
	ran := 0
	for _, folder := range folders {
		cases, err := filepath.Glob(filepath.Join(folder, "*.stf"))
		if err != nil {
			t.Fatal(err)
		}
		for _, script := range cases {
			name := strings.TrimSuffix(filepath.Base(script), ".stf")
			source := filepath.Join(folder, name+".p4")
			p14 := filepath.Base(folder) == "p4_14_samples"
			if !p14 && !v1model(t, source) {
				continue
			}
			ran++
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				program := filepath.Join(compiled, name+".json")
				if compiled == "" {
					program = compile(t, source, p14)
				}
				if !exists(program) {
					t.Skipf("skipped: %s has not been compiled", name)
				}
				carryOut(t, program, script)
			})
		}
	}
	if ran == 0 {
		t.Fatalf("no cases in %v", folders)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

var includesV1model = regexp.MustCompile(`(?m)^\s*#\s*include\s*[<"]v1model\.p4[>"]`)

func v1model(t *testing.T, source string) bool {
	text, err := os.ReadFile(source)
	if os.IsNotExist(err) {
		return false
	} else if err != nil {
		t.Fatal(err)
	}
	return includesV1model.Match(text)
}

// compile has p4c compile a program.
func compile(t *testing.T, source string, p14 bool) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program.json")
	args := []string{"-o", program, source}
	if p14 {
		args = append([]string{"--std", "p4-14"}, args...)
	}
	said, err := exec.CommandContext(t.Context(), "p4c-bm2-ss", args...).CombinedOutput()
	if err != nil {
		t.Skipf("skipped: p4c-bm2-ss does not compile it: %v: %s", err, said[:min(len(said), 500)])
	}
	return program
}
