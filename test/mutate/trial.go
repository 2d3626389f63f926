package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// A trial tries changes.
type trial struct {
	m        *module
	o        options
	dir      string // of changed files, and of the tests that are built with them
	suites   []*suite
	outcomes *outcomes
	verdicts []verdict

	numbers map[mutant]int // of changes
	invalid map[int]bool   // numbers of changes that do not compile
	schema  *schema
	overlay string

	building sync.Mutex        // held while tests are built; taken before mu
	built    map[string]string // binaries of tests by their package; guarded by building

	mu     sync.Mutex
	sum    summary
	steady map[string]bool // by package and name of a test: whether it passes without a change
}

// newTrial prepares the trial of changes, of which the first are wanted: as many as o.n, or all.
func newTrial(ctx context.Context, m *module, o options, all []mutant) (*trial, error) {
	t := &trial{m: m, o: o, sum: summary{Seed: o.seed}, numbers: map[mutant]int{},
		built: map[string]string{}, steady: map[string]bool{}}
	f, err := os.Open(filepath.Join(m.dir, "test/mutate/survivors.tsv"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if t.verdicts, err = readVerdicts(f); err != nil {
		return nil, fmt.Errorf("survivors.tsv: %w", err)
	}
	if t.dir, err = os.MkdirTemp("", "weft-mutate-"); err != nil {
		return nil, err
	}
	if o.list {
		return t, nil
	}
	// The package set does not depend on the packages asked for, so a later run can reuse the
	// profiles.
	pkgs := slices.Clone(targets)
	var own []string
	for _, c := range all {
		pkgs = append(pkgs, filepath.Dir(c.File))
		if o.own {
			own = append(own, m.path+"/"+filepath.Dir(c.File))
		}
	}
	slices.Sort(pkgs)
	pkgs = slices.Compact(pkgs)
	for i, p := range pkgs {
		pkgs[i] = m.path + "/" + p
	}
	if t.suites, err = suites(ctx, m, pkgs, own, o); err != nil {
		return nil, err
	}
	if t.outcomes, err = openOutcomes(filepath.Join(o.profiles, "outcomes")); err != nil {
		return nil, err
	}
	// About one change in twelve does not compile.
	if o.n > 0 && len(all) > o.n+o.n/4+10 {
		all = all[:o.n+o.n/4+10]
	}
	for i, c := range all {
		t.numbers[c] = i + 1
	}
	t.schema, t.overlay, t.invalid, err = compile(ctx, m, all, t.dir)
	return t, err
}

// all tries changes until o.n have compiled, some at once, and prints survivors and the summary.
func (t *trial) all(ctx context.Context, all []mutant, to io.Writer) error {
	started := time.Now()
	out := json.NewEncoder(to)
	out.SetEscapeHTML(false)
	over := func() bool { return t.o.time > 0 && time.Since(started) > t.o.time }
	for next := 0; next < len(all) && (t.o.n == 0 || t.sum.Mutants < t.o.n) && !over(); {
		// As many as are wanted still; some of them may not compile.
		wanted := len(all)
		if t.o.n > 0 {
			wanted = t.o.n - t.sum.Mutants
		}
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(max(1, t.o.jobs))
		for ; next < len(all) && wanted > 0 && !over() && ctx.Err() == nil; next++ {
			c := all[next]
			switch {
			case slices.ContainsFunc(t.verdicts, func(v verdict) bool {
				return v.verdict == equivalent && v.about(c)
			}):
				t.mu.Lock()
				t.sum.Equivalent++
				t.mu.Unlock()
				continue
			case t.o.list:
				t.sum.Mutants++
				_ = out.Encode(c)
			default:
				g.Go(func() error {
					end, err := t.try(ctx, c)
					if err == nil {
						t.note(out, c, end, started)
					}
					return err
				})
			}
			wanted--
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	t.sum.Seconds = int(time.Since(started).Seconds())
	if t.sum.Mutants > 0 {
		t.sum.Percent = float64(t.sum.Killed) * 100 / float64(t.sum.Mutants)
	}
	return out.Encode(t.sum)
}

// note counts an outcome, and prints it where the change survived.
func (t *trial) note(out *json.Encoder, c mutant, end int, started time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch end {
	case invalid:
		return
	case killed:
		t.sum.Killed++
	case survived, notReached:
		t.sum.Survivors++
		if end == notReached {
			t.sum.NotReached++
		}
		_ = out.Encode(struct {
			Survivor mutant `json:"survivor"`
			Reached  bool   `json:"reached"`
		}{c, end == survived})
	}
	t.sum.Mutants++
	if t.sum.Mutants%20 == 0 {
		fmt.Fprintf(os.Stderr, "mutate: %d tried, %d survived, %v\n", t.sum.Mutants, t.sum.Survivors,
			time.Since(started).Round(time.Second))
	}
}

// Outcomes of a trial.
const (
	invalid    = iota // it does not compile, or does not load
	killed            // a test fails
	survived          // all tests that reach the line pass
	notReached        // no test reaches the line
)

// try runs the tests that reach a change, unless the outcome is already known.
func (t *trial) try(ctx context.Context, c mutant) (int, error) {
	if t.invalid[t.numbers[c]] {
		return invalid, nil
	}
	src, err := os.ReadFile(filepath.Join(t.m.dir, c.File))
	if err != nil {
		return 0, err
	}
	if c.File == t.o.program && t.o.load([]byte(c.in(src))) != nil {
		return invalid, nil
	}
	by := t.reaching(c)
	id, change := changeKey(c, src, by), changeKey(c, src, nil)
	t.mu.Lock()
	end, ok := t.outcomes.known[id]
	by = again(by, t.outcomes.by[change])
	t.mu.Unlock()
	if ok {
		return end, nil
	}
	if end, err = t.run(ctx, c, change, src, by); err != nil {
		return 0, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return end, t.outcomes.keep(id, end)
}

// A batch is some tests of a package, which one process runs.
type batch struct {
	*suite
	names []string
	took  time.Duration
}

// quick bounds the duration of tests that run before the others of their package.
const quick = time.Second

// reaching returns the tests that reach a change, in running order: first the tests of the package,
// quick tests first; then, within the budget, tests of other packages, fastest first. For the P4
// program, reaching returns all tests of the packages named in the options, in order.
func (t *trial) reaching(c mutant) []batch {
	own := t.m.path + "/" + filepath.Dir(c.File)
	line := c.Line
	if c.reached > 0 {
		line = c.reached
	}
	var first, others []batch
	for _, s := range t.suites {
		if c.File == t.o.program && t.place(s) < 0 || t.o.own && s.pkg != own {
			continue
		}
		fast, slow := batch{suite: s}, batch{suite: s}
		for _, one := range s.tests {
			// Profiles do not contain package constants, package variables or embedded files: a test of the
			// package may read a constant and reach no line of the constant's file.
			if c.File != t.o.program && !one.covers(c.File, line) &&
				(c.Func != "" || s.pkg != own && len(one.Reaches[c.File]) == 0) {
				continue
			}
			b := &slow
			if one.Took <= quick {
				b = &fast
			}
			b.names = append(b.names, one.Name)
			b.took += one.Took
		}
		for _, b := range []batch{fast, slow} {
			switch {
			case len(b.names) == 0:
			case s.pkg == own:
				first = append(first, b)
			default:
				others = append(others, b)
			}
		}
	}
	slices.SortStableFunc(others, func(a, b batch) int {
		if c.File == t.o.program { // the most telling first
			return cmp.Compare(t.place(a.suite), t.place(b.suite))
		}
		return cmp.Compare(a.took, b.took)
	})
	var sum time.Duration
	for _, b := range others {
		if sum += b.took; sum > t.o.budget && c.File != t.o.program {
			break
		}
		first = append(first, b)
	}
	return first
}

// place returns the place of a suite among those that send packets through the program; -1: it is
// none of them.
func (t *trial) place(s *suite) int {
	return slices.Index(t.o.programTests, strings.TrimPrefix(s.pkg, t.m.path+"/"))
}

// again moves a test, given by package and name, to the front, if by contains the test.
func again(by []batch, last [2]string) []batch {
	for _, b := range by {
		if i := slices.Index(b.names, last[1]); i >= 0 && b.pkg == last[0] {
			return slices.Insert(slices.Clone(by), 0, batch{b.suite, b.names[i : i+1], b.took})
		}
	}
	return by
}

// run runs tests with a change in effect; change is its key.
func (t *trial) run(ctx context.Context, c mutant, change string, src []byte, by []batch) (int,
	error) {
	end := notReached
	number := t.numbers[c]
	binary := func(s *suite) (string, error) { return t.binary(ctx, s.pkg) }
	if !t.schema.holds(c.File, number) { // it gets an overlay of its own
		dir, err := os.MkdirTemp(t.dir, "alone-")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir)
		overlay, err := t.alone(dir, c, src)
		if err != nil {
			return 0, err
		}
		binary = func(s *suite) (string, error) {
			file := filepath.Join(dir, "tests")
			return file, t.build(ctx, s.pkg, overlay, file)
		}
	}
	for _, b := range by {
		file, err := binary(b.suite)
		if errors.Is(err, errBuild) {
			return invalid, nil
		}
		if err != nil {
			return 0, err
		}
		end = survived
		for {
			names := slices.DeleteFunc(slices.Clone(b.names), func(name string) bool {
				t.mu.Lock()
				defer t.mu.Unlock()
				steady, known := t.steady[b.pkg+" "+name]
				return known && !steady
			})
			if len(names) == 0 {
				break
			}
			limit := max(4*b.took, 10*time.Second)
			printed, err := runTests(ctx, file, b.dir, names, limit,
				[]string{fmt.Sprintf("%s=%d", chosen, number)})
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			if err == nil {
				break
			}
			// A test that fails without a change too has noticed nothing.
			failed := failures(printed)
			steady, err := t.pass(ctx, b, failed)
			if err != nil {
				return 0, err
			}
			if steady && len(failed) > 0 {
				t.mu.Lock()
				err = t.outcomes.noticed(change, b.pkg, failed[0])
				t.mu.Unlock()
			}
			if steady {
				return killed, err
			}
		}
	}
	return end, nil
}

// failure matches the output of a test that fails or that still runs at the time limit.
var failure = regexp.MustCompile(`(?m)^(?:--- FAIL: |\t)(\w+)(?:/\S*)? \([\d.hms]+\)$`)

// failures returns the tests that failed, by what they printed; none where the process ended
// without a word about them.
func failures(printed []byte) []string {
	var out []string
	for _, m := range failure.FindAllSubmatch(printed, -1) {
		out = append(out, string(m[1]))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// pass reports whether tests pass with the schema and no change, and remembers those that do not.
func (t *trial) pass(ctx context.Context, b batch, names []string) (bool, error) {
	file, err := t.binary(ctx, b.pkg)
	if err != nil {
		return false, err
	}
	all := true
	for _, name := range names {
		t.mu.Lock()
		steady, known := t.steady[b.pkg+" "+name]
		t.mu.Unlock()
		if !known {
			printed, err := runTests(ctx, file, b.dir, []string{name}, max(4*b.took, 10*time.Second), nil)
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			steady = err == nil
			t.mu.Lock()
			t.steady[b.pkg+" "+name] = steady
			t.mu.Unlock()
			if !steady {
				fmt.Fprintf(os.Stderr, "mutate: %s of %s fails without a change: %s\n", name, b.pkg,
					tail(string(printed)))
			}
		}
		all = all && steady
	}
	return all, nil
}

// alone writes a changed file and its overlay into a folder.
func (t *trial) alone(dir string, c mutant, src []byte) (string, error) {
	changed := filepath.Join(dir, "changed"+filepath.Ext(c.File))
	if err := os.WriteFile(changed, []byte(c.in(src)), 0o644); err != nil {
		return "", err
	}
	return writeOverlay(dir, map[string]string{filepath.Join(t.m.dir, c.File): changed})
}

// errBuild is the error of tests that do not compile.
var errBuild = errors.New("it does not compile")

// binary builds the tests of a package with the overlay of all, once.
func (t *trial) binary(ctx context.Context, pkg string) (string, error) {
	t.building.Lock()
	defer t.building.Unlock()
	if file, ok := t.built[pkg]; ok {
		return file, nil
	}
	file := filepath.Join(t.dir, strings.ReplaceAll(pkg, "/", "_")+".test")
	if err := t.build(ctx, pkg, t.overlay, file); err != nil {
		return "", err
	}
	t.built[pkg] = file
	return file, nil
}

func (t *trial) build(ctx context.Context, pkg, overlay, file string) error {
	out, err := t.m.command(ctx, "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay,
		"-o", file, pkg).CombinedOutput()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %s", errBuild, tail(string(out)))
	}
	return ctx.Err()
}
