package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// targets are the packages that are changed where none is named.
var targets = []string{
	"packet", "endpoint/mrc", "endpoint/nscc", "endpoint/rc", "endpoint/spray", "endpoint/nic",
	"endpoint/agent",
	"controller/mrc", "controller/mrc/ev", "controller/mrc/fabric", "controller/mrc/prove",
	"controller/mrc/suspect", "controller/multicast",
	"controller/multicast/tree",
	"controller/pfc", "controller/pfc/tunnel", "dataplane/queue", "dataplane/extern",
	"dataplane/bmv2hash", "store", "store/etcd", "access", "p4",
}

// programTests are the packages whose tests send packets through the P4 program, the fastest first.
var programTests = []string{"test/fabric", "test/pfc", "test/mrc", "demo/multicast",
	"test/mrc/flows"}

const compiled = "p4/fabric.json"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

type options struct {
	n        int
	seed     uint64
	at       string
	profiles string
	slowest  time.Duration
	list     bool
	own      bool
	time     time.Duration
}

// A summary is the last line of the output.
type summary struct {
	Mutants    int     `json:"mutants"` // tried, without those that do not compile
	Killed     int     `json:"killed"`
	Survivors  int     `json:"survivors"`
	NotReached int     `json:"notReached"` // survivors that no test reaches
	Equivalent int     `json:"equivalent"` // by survivors.tsv; not tried
	Percent    float64 `json:"percent"`    // killed of those tried
	Seed       uint64  `json:"seed"`
	Seconds    int     `json:"seconds"`
}

func run(ctx context.Context, args []string) error {
	var o options
	f := flag.NewFlagSet("mutate", flag.ContinueOnError)
	f.IntVar(&o.n, "n", 0, "how many changes to draw; 0: all")
	f.Uint64Var(&o.seed, "seed", rand.Uint64()>>32, "what they are drawn by")
	f.StringVar(&o.at, "at", "", "only changes of FILE or of FILE:LINE, relative to the module")
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	f.StringVar(&o.profiles, "profiles", filepath.Join(cache, "weft", "mutate"),
		"where profiles of coverage and outcomes are kept, by the content of the code")
	f.DurationVar(&o.time, "time", 0, "try no more changes after that time; 0: no limit")
	f.DurationVar(&o.slowest, "slowest", 2*time.Minute,
		"tests of a package that take longer are not run")
	f.BoolVar(&o.list, "list", false, "list the changes, and try none")
	f.BoolVar(&o.own, "own", false, "run only the tests of the package that is changed")
	if err := f.Parse(args); err != nil {
		return err
	}
	m, err := openModule(ctx)
	if err != nil {
		return err
	}
	all, err := mutants(ctx, m, o, f.Args())
	if err != nil {
		return err
	}
	t, err := newTrial(ctx, m, o, all)
	if err != nil {
		return err
	}
	defer os.RemoveAll(t.dir)
	return t.all(ctx, all)
}

// mutants returns the changes of packages that options name, in random order where some are drawn.
func mutants(ctx context.Context, m *module, o options, names []string) ([]mutant, error) {
	file, line, _ := strings.Cut(o.at, ":")
	number := 0
	if line != "" {
		var err error
		if number, err = strconv.Atoi(line); err != nil {
			return nil, fmt.Errorf("-at %q: want FILE or FILE:LINE", o.at)
		}
	}
	switch {
	case len(names) > 0:
	case file != "":
		names = []string{filepath.Dir(file)}
	default:
		names = targets
	}
	paths := make([]string, len(names))
	for i, n := range names {
		paths[i] = "./" + filepath.Clean(strings.TrimPrefix(n, "./"))
	}
	pkgs, err := m.list(ctx, paths...)
	if err != nil {
		return nil, err
	}
	var out []mutant
	add := func(name string, of func(string, []byte) ([]mutant, error)) error {
		if file != "" && file != name {
			return nil
		}
		src, err := os.ReadFile(filepath.Join(m.dir, name))
		if err != nil {
			return err
		}
		found, err := of(name, src)
		for _, c := range found {
			if number == 0 || c.Line == number {
				out = append(out, c)
			}
		}
		return err
	}
	for _, p := range pkgs {
		dir, err := filepath.Rel(m.dir, p.Dir)
		if err != nil {
			return nil, err
		}
		for _, name := range p.GoFiles {
			if err := add(filepath.Join(dir, name), goMutants); err != nil {
				return nil, err
			}
		}
		if dir == filepath.Dir(compiled) {
			if err := add(compiled, programMutants); err != nil {
				return nil, err
			}
		}
	}
	if o.n > 0 {
		r := rand.New(rand.NewPCG(o.seed, 0))
		r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	return out, nil
}

// A trial tries changes.
type trial struct {
	m        *module
	o        options
	dir      string // of changed files
	suites   []*suite
	outcomes *outcomes
	verdicts []verdict
	sum      summary
}

func newTrial(ctx context.Context, m *module, o options, all []mutant) (*trial, error) {
	t := &trial{m: m, o: o, sum: summary{Seed: o.seed}}
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
	if o.list || o.own {
		return t, nil
	}
	// The same packages whatever is asked for, so that profiles of one run serve another.
	pkgs := slices.Clone(targets)
	for _, c := range all {
		pkgs = append(pkgs, filepath.Dir(c.File))
	}
	slices.Sort(pkgs)
	pkgs = slices.Compact(pkgs)
	for i, p := range pkgs {
		pkgs[i] = m.path + "/" + p
	}
	if t.suites, err = suites(ctx, m, pkgs, o.profiles, o.slowest); err != nil {
		return nil, err
	}
	t.outcomes, err = openOutcomes(filepath.Join(o.profiles, "outcomes"))
	return t, err
}

// all tries changes until o.n have compiled, and prints survivors and the summary.
func (t *trial) all(ctx context.Context, all []mutant) error {
	started := time.Now()
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for _, c := range all {
		if t.o.n > 0 && t.sum.Mutants == t.o.n || t.o.time > 0 && time.Since(started) > t.o.time {
			break
		}
		if slices.ContainsFunc(t.verdicts, func(v verdict) bool {
			return v.verdict == equivalent && v.about(c)
		}) {
			t.sum.Equivalent++
			continue
		}
		if t.o.list {
			t.sum.Mutants++
			_ = out.Encode(c)
			continue
		}
		end, err := t.try(ctx, c)
		if err != nil {
			return err
		}
		switch end {
		case invalid:
			continue
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
	t.sum.Seconds = int(time.Since(started).Seconds())
	if t.sum.Mutants > 0 {
		t.sum.Percent = float64(t.sum.Killed) * 100 / float64(t.sum.Mutants)
	}
	return out.Encode(t.sum)
}

// Outcomes of a trial.
const (
	invalid    = iota // it does not compile, or does not load
	killed            // a test fails
	survived          // all tests that reach the line pass
	notReached        // no test reaches the line
)

// try changes a file in the eyes of the go command, and runs the tests that reach the place: those
// of the package first, then others by how long they take.
func (t *trial) try(ctx context.Context, c mutant) (int, error) {
	path := filepath.Join(t.m.dir, c.File)
	src, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	by := t.reaching(c)
	id := changeKey(c, src, by)
	if t.outcomes != nil {
		if end, ok := t.outcomes.known[id]; ok {
			return end, nil
		}
	}
	end, err := t.run(ctx, c, path, src, by)
	if err == nil && t.outcomes != nil {
		err = t.outcomes.keep(id, end)
	}
	return end, err
}

// run runs suites with a change.
func (t *trial) run(ctx context.Context, c mutant, path string, src []byte,
	by []*suite) (int, error) {
	changed := filepath.Join(t.dir, "changed"+filepath.Ext(c.File))
	text := string(src[:c.start]) + c.To + string(src[c.start+len(c.From):])
	if err := os.WriteFile(changed, []byte(text), 0o644); err != nil {
		return 0, err
	}
	overlay := filepath.Join(t.dir, "overlay.json")
	doc, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(overlay, doc, 0o644); err != nil {
		return 0, err
	}
	end := notReached
	for _, s := range by {
		end = survived
		limit := max(4*s.took, 30*time.Second) + time.Minute // with what it takes to build
		err := t.m.run(ctx, limit, "test", "-overlay", overlay, "-count=1", "-vet=off", "-failfast",
			"-timeout", limit.String(), s.pkg)
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case errors.Is(err, errBuild):
			return invalid, nil
		case err != nil:
			return killed, nil
		}
	}
	return end, nil
}

func (t *trial) reaching(c mutant) []*suite {
	if c.File == compiled {
		var out []*suite
		for _, p := range programTests {
			s := suite{pkg: t.m.path + "/" + p, took: time.Minute}
			for _, known := range t.suites {
				if known.pkg == s.pkg {
					s = *known
				}
			}
			out = append(out, &s)
		}
		return out
	}
	own := t.m.path + "/" + filepath.Dir(c.File)
	if t.o.own {
		return []*suite{{pkg: own, took: time.Minute}}
	}
	var out []*suite
	for _, s := range t.suites {
		switch {
		case s.pkg == own && s.covers(c.File, c.Line):
			out = slices.Insert(out, 0, s)
		case s.covers(c.File, c.Line):
			out = append(out, s)
		}
	}
	if len(out) == 0 && c.Func == "" { // constants and variables of a package are in no profile
		for _, s := range t.suites {
			if len(s.reaches[c.File]) > 0 || s.pkg == own {
				out = append(out, s)
			}
		}
	}
	return out
}
