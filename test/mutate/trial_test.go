package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// rules contains a tested rule, untested rules, and a function for each form of call: generic
// functions, methods, variadic and unnamed parameters.
const rules = `package rules

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
)

//go:embed program.json.gz
var program []byte

const limit = 5

var most, least = 8, 2

func Held(n int) bool { return n < 7 }

func Free(n int) bool { return n < 9 }

func Sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n == 0:
		return 0
	}
	return 1
}

func Unused(n *int) { *n++ }

func Within(n int) bool { return n < limit && n < most && n >= least }

type Set[T comparable] struct{ of []T }

func (s *Set[T]) Add(_ string, of ...T) (n int) {
	defer func() { n++ }()
	s.of = append(s.of, of...)
	return len(s.of)
}

func (Set[T]) Zero(int, string) int { return 0 }

func Count[T comparable](of ...T) int { var s Set[T]; return s.Add("", of...) }

func Name(n int) string { return "a" + "b" }

func Program() string {
	r, _ := gzip.NewReader(bytes.NewReader(program))
	b, _ := io.ReadAll(r)
	return string(b)
}
`

const rulesTest = `package rules

import (
	"os"
	"testing"
)

func TestHeld(t *testing.T) {
	if !Held(6) || Held(7) {
		t.Fatal()
	}
}

func TestWays(t *testing.T) {
	if Count(1, 2) != 3 || Count("a") != 2 || (Set[int]{}).Zero(1, "") != 0 || Name(1) != "ab" {
		t.Error("wrong")
	}
}

func TestSign(t *testing.T) {
	if Sign(1) != 1 || Sign(0) != 0 {
		t.Fatal()
	}
}

func TestWithin(t *testing.T) {
	if !Within(4) || Within(5) || Within(1) || !Within(2) {
		t.Fatal()
	}
}

// It fails each time but the first, whatever the code is.
func TestOnce(t *testing.T) {
	if _, err := os.Stat(os.Getenv("ONCE")); err == nil {
		t.Fatal()
	}
	if err := os.WriteFile(os.Getenv("ONCE"), nil, 0o600); err != nil || !Free(3) {
		t.Fatal(err)
	}
}
`

const useTest = `package use

import (
	"testing"

	"example.org/sample/rules"
)

func TestFree(t *testing.T) {
	if !rules.Free(3) {
		t.Fatal()
	}
}

func TestProgram(t *testing.T) {
	t.Run("op", func(t *testing.T) {
		if p := rules.Program(); p != "[1]" && p != "[22]" {
			t.Fatal(p)
		}
	})
}
`

// sampleModule writes a module of two packages, and enters it.
func sampleModule(t *testing.T) *module {
	t.Helper()
	dir := t.TempDir()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte("[1]")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod": "module example.org/sample\n\ngo 1.26\n", "rules/rules.go": rules,
		"rules/rules_test.go": rulesTest, "rules/program.json": "[1]",
		"rules/program.json.gz": packed.String(),
		"use/use.go":            "package use\n", "use/use_test.go": useTest,
		"test/mutate/survivors.tsv": strings.Join([]string{"file", "function", "line", "from", "to",
			"verdict", "reason\nrules/rules.go", "Free", "func Free(n int) bool { return n < 9 }", "<",
			"<=", "equivalent", "a sample\n"}, "\t"),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("ONCE", filepath.Join(t.TempDir(), "once"))
	m, err := openModule(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// tryAll returns the outcomes of all changes of the sample, each as "function: from -> to".
func tryAll(t *testing.T, m *module, o options) (map[string]int, *trial) {
	t.Helper()
	all, err := mutants(t.Context(), m, o, []string{"rules"})
	if err != nil {
		t.Fatal(err)
	}
	o.program, o.programTests = "rules/program.json", []string{"use"}
	o.load = func(b []byte) error {
		if string(b) == "[4]" {
			return errors.New("it does not load")
		}
		return nil
	}
	for _, to := range []string{"22", "3", "4"} {
		all = append(all, mutant{File: "rules/program.json", Func: "op", From: "1", To: to, start: 1})
	}
	trial, err := newTrial(t.Context(), m, o, all)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(trial.dir) })
	ends := map[string]int{}
	for _, c := range all {
		end, err := trial.try(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		ends[fmt.Sprintf("%s: %s -> %s", c.Func, c.From, c.To)] = end
	}
	if i := slices.IndexFunc(all,
		func(c mutant) bool { return c.Func == "Free" && c.To == "<=" }); i < 0 ||
		!trial.verdicts[0].about(all[i]) {
		t.Error("the verdict is not about the survivor")
	}
	return ends, trial
}

// TestTrial tries changes of a module: rules with tests in the same package, rules with tests in
// another package, and rules without tests; functions, variables, constants and an embedded file.
func TestTrial(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a dozen test programs, which the race detector has nothing to find in")
	}
	m := sampleModule(t)
	o := options{profiles: t.TempDir(), slowest: 1 << 40, budget: 1 << 40}
	ends, first := tryAll(t, m, o)
	want := map[string]int{
		"Held: < -> <=": killed, "Held: 7 -> 8": killed,
		// TestOnce reaches it too, and fails: so it does without a change.
		"Free: < -> <=": survived, "Free: 9 -> 10": survived,
		"Sign: < -> <=":    killed, // by a test that never comes to what follows the case
		"Unused: ++ -> --": notReached,
		": 8 -> 9":         survived, ": 2 -> 3": killed, ": 5 -> 6": killed,
		"Set.Add: ++ -> --": killed, "Set.Zero: 0 -> 1": killed,
		"Name: + -> -": invalid,
		"op: 1 -> 22":  survived, // it is in the place of what was there, not before it
		"op: 1 -> 3":   killed,
		"op: 1 -> 4":   invalid,
	}
	for change, want := range want {
		if got, ok := ends[change]; !ok || got != want {
			t.Errorf("%s: outcome %d (%v), want %d", change, got, ok, want)
		}
	}
	for i, name := range []string{"limit", "most", "least"} {
		c := mutant{File: "rules/rules.go", From: []string{"5", "8", "2"}[i]}
		for m, n := range first.numbers {
			if m.Func == "" && m.From == c.From && first.schema.holds(m.File, n) != (name != "limit") {
				t.Errorf("the schema holds the change of %s: %v", name, name == "limit")
			}
		}
	}
	if len(first.steady) == 0 || first.steady["example.org/sample/rules TestOnce"] {
		t.Errorf("tests that pass without a change: %v, want TestOnce not to", first.steady)
	}
	// Tried again, all is known, and nothing is built.
	again, second := tryAll(t, m, o)
	for change, end := range ends {
		if again[change] != end {
			t.Errorf("%s: outcome %d is kept, want %d", change, again[change], end)
		}
	}
	if len(second.built) > 0 {
		t.Errorf("%v are built again", second.built)
	}
	// Together: the wanted number of changes, without the equivalent change and changes that do not
	// compile.
	all, err := mutants(t.Context(), m, o, []string{"rules"})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 7} {
		second.o.n, second.o.jobs, second.sum = n, 3, summary{}
		var out bytes.Buffer
		if err := second.all(t.Context(), all, &out); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		var sum summary
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &sum); err != nil {
			t.Fatal(err)
		}
		invalid := 0
		for change, end := range ends {
			if end == 0 && !strings.HasPrefix(change, "op:") { // of the program there are none
				invalid++
			}
		}
		if want := len(all) - 1 - invalid; n == 0 && (sum.Mutants != want || sum.Equivalent != 1) ||
			n > 0 && sum.Mutants != n || sum.Survivors != len(lines)-1 ||
			sum.Mutants != sum.Killed+sum.Survivors || sum.Killed == 0 || sum.Survivors == 0 ||
			sum.Percent != float64(sum.Killed)*100/float64(sum.Mutants) {
			t.Errorf("%d of %d changes, of which %d do not compile: %+v, with %d lines", n, len(all),
				invalid, sum, len(lines))
		}
	}
	// A test more: what was noticed is tried by the test that noticed it.
	text := rulesTest + "\nfunc TestAAA(t *testing.T) {\n\tif Free(9) {\n\t\tt.Fatal()\n\t}\n}\n"
	if err := os.WriteFile("rules/rules_test.go", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	after, third := tryAll(t, m, o)
	want["Free: < -> <="], want["Free: 9 -> 10"] = killed, killed
	for change, want := range want {
		if after[change] != want {
			t.Errorf("%s with another test: outcome %d, want %d", change, after[change], want)
		}
	}
	if by := third.outcomes.by; !slices.Contains(slices.Collect(maps.Values(by)),
		[2]string{"example.org/sample/rules", "TestAAA"}) {
		t.Errorf("%v noticed the changes, want TestAAA among them", by)
	}
}

// TestLimits: mutate leaves out tests that take too long, and tests of other packages beyond the
// budget.
func TestLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds test programs, which the race detector has nothing to find in")
	}
	m := sampleModule(t)
	o := options{profiles: t.TempDir(), slowest: time.Nanosecond, budget: 1 << 40}
	ends, trial := tryAll(t, m, o)
	if ends["Held: 7 -> 8"] != notReached || len(trial.suites) != 2 {
		t.Errorf("outcome %d of %d suites, want %d of 2", ends["Held: 7 -> 8"], len(trial.suites),
			notReached)
	}
	if err := os.RemoveAll(os.Getenv("ONCE")); err != nil {
		t.Fatal(err)
	}
	o.slowest = 1 << 40
	free := mutant{File: "rules/rules.go", Func: "Free", Line: 19}
	for budget, want := range map[time.Duration]int{1 << 40: 2, 0: 1} {
		trial.o.budget = budget
		var err error
		if trial.suites, err = suites(t.Context(), m, []string{m.path + "/rules"}, nil, o); err != nil {
			t.Fatal(err)
		}
		by := trial.reaching(free)
		if len(by) != want || by[0].pkg != m.path+"/rules" {
			t.Errorf("with a budget of %v %d batches, the first of %s; want %d, the first of rules",
				budget, len(by), by[0].pkg, want)
		}
	}
	trial.o.own, trial.o.budget = true, 1<<40
	if by := trial.reaching(free); len(by) != 1 {
		t.Errorf("%d batches where only the package's own are wanted", len(by))
	}
}

// TestOrder: the tests of the package try a change first, quick tests before slow tests. Tests of
// other packages follow, the fastest first, up to the budget. For changes of the P4 program, the
// packages named for the program run in order.
func TestOrder(t *testing.T) {
	reaches := map[string][]span{"rules/rules.go": {{3, 5}, {9, 9}}}
	one := func(name string, took time.Duration) *test { return &test{name, took, reaches} }
	trial := &trial{m: &module{path: "m"}, suites: []*suite{
		{pkg: "m/far", tests: []*test{one("F1", 3*time.Second), one("F2", time.Second),
			one("F3", time.Second+1)}},
		{pkg: "m/near", tests: []*test{one("N1", time.Second/2), {"N2", 0, nil}}},
		{pkg: "m/rules", tests: []*test{one("R1", 5*time.Second), one("R2", time.Second)}},
	}}
	order := func(line int, budget time.Duration) string {
		trial.o.budget = budget
		var out []string
		for _, b := range again(trial.reaching(mutant{File: "rules/rules.go", Line: line, Func: "f"}),
			[2]string{"m/far", "F3"}) {
			out = append(out, strings.Join(b.names, "+"))
		}
		return strings.Join(out, " ")
	}
	const all = 5*time.Second + time.Second/2 + 1
	for budget, want := range map[time.Duration]string{
		all:                   "F3 R2 R1 N1 F2 F1+F3",
		all - 1:               "R2 R1 N1 F2",
		time.Second/2*3 - 1:   "R2 R1 N1",
		time.Second/2 - 1:     "R2 R1",
		24 * 365 * time.Hour:  "F3 R2 R1 N1 F2 F1+F3",
		time.Second + all - 2: "F3 R2 R1 N1 F2 F1+F3",
	} {
		if got := order(4, budget); got != want {
			t.Errorf("with a budget of %v the order is %q, want %q", budget, got, want)
		}
	}
	trial.o.program, trial.o.programTests = "rules/program.json", []string{"near", "far"}
	// The suites that see most changes take long, and are tried whatever the budget.
	trial.o.budget = 0
	var out []string
	for _, b := range trial.reaching(mutant{File: trial.o.program}) {
		out = append(out, strings.Join(b.names, "+"))
	}
	// N2 reaches no line; but which lines of the program a test reaches is not known.
	if got, want := strings.Join(out, " "), "N1+N2 F2 F1+F3"; got != want {
		t.Errorf("a change of the program is tried by %q, want %q", got, want)
	}
	trial.o.programTests = []string{"far", "near"}
	if got := trial.reaching(mutant{File: trial.o.program})[0].names; !slices.Equal(got,
		[]string{"F2"}) {
		t.Errorf("a change of the program is tried by %v first, want F2", got)
	}
	for line, want := range map[int]string{2: "", 3: "R2 R1", 5: "R2 R1", 6: "", 9: "R2 R1", 10: ""} {
		if got := order(line, 0); got != want {
			t.Errorf("line %d is tried by %q, want %q", line, got, want)
		}
	}
}

// TestFailures reads which tests failed, or ran when the time was over.
func TestFailures(t *testing.T) {
	for printed, want := range map[string]string{
		"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\nFAIL\n":     "TestA",
		"panic: test timed out after 1s\nrunning tests:\n\tTestB/x (1s)\n\n": "TestB",
		"panic: test timed out after 1m0s\nrunning tests:\n\tTestC (1m0s)\n": "TestC",
		"fatal error: all goroutines are asleep - deadlock!\n":               "",
	} {
		if got := strings.Join(failures([]byte(printed)), " "); got != want {
			t.Errorf("%q: %q failed, want %q", printed, got, want)
		}
	}
}
