package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/stf"
	"github.com/weft-sdn/weft/dataplane/trace"
)

// packetBits limits the packet sizes that p4testgen may choose, unless a service sets a limit: Z3
// needs a variable for each bit.
const packetBits = "0:4000"

// options are the flags.
type options struct {
	p4testgen string
	folder    string // of the program
	out       string // the file of kept cases
	work      string // where p4testgen writes; kept
	seeds     int
	first     int    // seed
	services  string // names, by commas; empty: all
	tests     int
	slowest   time.Duration // of one run of p4testgen
	policies  string
	derive    int
	all       time.Duration // after which no run begins; 0: none
	remain    int           // runs that have not begun
	failed    []string      // runs that p4testgen ended with an error and no case
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := generate(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "p4testgen:", err)
		os.Exit(1)
	}
}

func generate(ctx context.Context, args []string) error {
	var o options
	f := flag.NewFlagSet("p4testgen", flag.ContinueOnError)
	f.StringVar(&o.p4testgen, "p4testgen", "p4testgen", "the program; empty: take what -work has")
	f.StringVar(&o.folder, "folder", "p4", "folder of fabric.p4 and fabric.json")
	f.StringVar(&o.out, "out", filepath.Join("p4", "testdata", "generated.stf"),
		"file of the cases that are kept")
	f.StringVar(&o.work, "work", filepath.Join(os.TempDir(), "weft-p4testgen"),
		"folder for models and for all cases")
	f.IntVar(&o.seeds, "seeds", 1, "runs of p4testgen for each model and way of choosing paths")
	f.IntVar(&o.first, "seed", 1, "the first of them")
	f.StringVar(&o.services, "services", "", "only models of these services, by commas")
	f.IntVar(&o.tests, "tests", 100, "cases of a run at most")
	f.DurationVar(&o.slowest, "time", time.Minute, "what a run may take")
	f.StringVar(&o.policies, "paths", "GREEDY_STATEMENT_SEARCH,RANDOM_BACKTRACK",
		"branches of choosing paths")
	f.IntVar(&o.derive, "derive", 100_000,
		"how many changes of cases to try, by -seed, for statements that none reaches")
	f.DurationVar(&o.all, "for", 0, "begin no run after this; the next time goes on there")
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.p4testgen != "" {
		if err := o.runAll(ctx); err != nil {
			return err
		}
	}
	if err := o.choose(); err != nil {
		return err
	}
	if o.remain > 0 {
		fmt.Fprintf(os.Stderr, "%d runs remain: the same command goes on with them\n", o.remain)
	}
	if len(o.failed) > 0 {
		return fmt.Errorf("no cases of %s", strings.Join(o.failed, "; "))
	}
	return nil
}

// runAll runs p4testgen on each model, but for what has been run.
func (o *options) runAll(ctx context.Context) error {
	began := time.Now()
	for i := range services {
		s := &services[i]
		if o.services != "" && !slices.Contains(strings.Split(o.services, ","), s.name) {
			continue
		}
		program, err := writeModel(o.folder, filepath.Join(o.work, s.name), s)
		if err != nil {
			return err
		}
		for policy := range strings.SplitSeq(o.policies, ",") {
			for seed := range o.seeds {
				r, err := o.plan(program, s, policy, o.first+seed)
				switch {
				case err != nil:
					return err
				case r.done():
					continue
				case o.all > 0 && time.Since(began) >= o.all:
					o.remain++
					continue
				}
				if err := o.run(ctx, r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// planned is a planned run of p4testgen.
type planned struct {
	name string
	out  string // folder of the cases
	args []string
	sum  string // of the model and the arguments
}

// plan returns a run on a model.
func (o *options) plan(program string, of *service, policy string, seed int) (*planned, error) {
	name := fmt.Sprintf("%s-%s-%d", of.name, strings.ToLower(policy), seed)
	out := filepath.Join(o.work, "cases", name)
	r := &planned{name: name, out: out, args: []string{"--target", "bmv2", "--arch", "v1model",
		"--std", "p4-16", "--test-backend", "STF", "--track-coverage", "STATEMENTS",
		"--path-selection", policy, "--disable-annotations=refers_to", "--only-covering-tests",
		"--packet-size-range", cmp.Or(of.packet, packetBits), "--seed", strconv.Itoa(seed), "--max-tests",
		strconv.Itoa(o.tests), "--out-dir", out, "-I", filepath.Dir(program), program}}
	includes, err := filepath.Glob(filepath.Join(filepath.Dir(program), "include", "*.p4"))
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	fmt.Fprintln(h, o.slowest, r.args)
	for _, path := range append(includes, program) {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		h.Write(b)
	}
	r.sum = hex.EncodeToString(h.Sum(nil))
	return r, nil
}

// doneFile, in the folder of a finished run, describes the run.
const doneFile = "done"

// done reports whether the run has been made for the current model.
func (r *planned) done() bool {
	b, err := os.ReadFile(filepath.Join(r.out, doneFile))
	return err == nil && string(b) == r.sum
}

// run runs p4testgen once. The cases that p4testgen wrote count, even if its time was up or it gave
// up.
func (o *options) run(ctx context.Context, r *planned) error {
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o750); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, o.slowest)
	defer cancel()
	//nolint:gosec // the program is the caller's
	said, err := exec.CommandContext(within, o.p4testgen, r.args...).CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err() // it was interrupted, and is to be run again
	}
	made, globErr := filepath.Glob(filepath.Join(r.out, "*.stf"))
	if globErr != nil {
		return globErr
	}
	fmt.Fprintf(os.Stderr, "%s: %d cases\n", r.name, len(made))
	if len(made) == 0 && err != nil && within.Err() == nil {
		o.failed = append(o.failed,
			fmt.Sprintf("%s: %v: %s", r.name, err, said[max(0, len(said)-2000):]))
		return nil
	}
	return os.WriteFile(filepath.Join(r.out, doneFile), []byte(r.sum), 0o600)
}

// candidate is a case that p4testgen made.
type candidate struct {
	name string
	text string // of the case of the program
	run  *run
	same bool // the switch sends what p4testgen expects
}

// fabric is the fabric's program, with the statements to reach.
type fabric struct {
	program    *engine.Program
	statements map[trace.Source]bool
	folded     map[string][]trace.Source
}

// loadFabric loads the compiled program of a folder.
func loadFabric(folder string) (f fabric, err error) {
	compiled, err := os.ReadFile(filepath.Join(folder, "fabric.json"))
	if err != nil {
		return f, err
	}
	if f.program, err = engine.Load(compiled); err != nil {
		return f, err
	}
	if f.statements, err = statements(compiled); err != nil {
		return f, err
	}
	f.folded, err = temporaries(compiled)
	return f, err
}

// namedCases yields the names and the texts of the cases of a file.
func namedCases(text string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, one := range strings.Split("\n"+text, "\n## ")[1:] {
			if name, text, _ := strings.Cut(one, "\n"); !yield(name, text) {
				return
			}
		}
	}
}

// choose runs all cases, including the cases kept earlier, and keeps each case that is the first to
// reach something.
func (o *options) choose() error {
	f, err := loadFabric(o.folder)
	if err != nil {
		return err
	}
	made, err := filepath.Glob(filepath.Join(o.work, "cases", "*", "*.stf"))
	if err != nil {
		return err
	}
	var candidates []*candidate
	for _, path := range made {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.Base(filepath.Dir(path)) + "/" + strings.TrimSuffix(filepath.Base(path), ".stf")
		c, err := f.readCandidate(name, string(text))
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: left out: %v\n", path, err)
			continue
		}
		candidates = append(candidates, c)
	}
	kept, err := os.ReadFile(o.out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	ofWork := len(candidates)
	for name, text := range namedCases(string(kept)) {
		c, err := f.readCandidate(name, text)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", o.out, name, err)
		}
		candidates = append(candidates, c)
	}
	if len(candidates) == 0 {
		return errors.New("no cases")
	}
	chosen := cover(candidates)
	// Cases kept from earlier may reach nothing more, because the program has changed.
	from := slices.Concat(chosen, candidates[ofWork:])
	if more := f.derive(from, o.derive, uint64(o.first)); len(more) > 0 {
		fmt.Fprintf(os.Stderr, "%d cases are derived from others\n", len(more))
		chosen = cover(append(candidates, more...))
	}
	reached := map[trace.Source]bool{}
	var b strings.Builder
	same := 0
	named := map[string]int{} // one that was kept before may have the name of another
	for _, c := range chosen {
		if named[c.name]++; named[c.name] > 1 {
			c.name = fmt.Sprintf("%s_%d", c.name, named[c.name])
		}
		fmt.Fprintf(&b, "## %s\n%s", c.name, c.text)
		for s := range c.run.reached {
			reached[s] = true
		}
		if c.same {
			same++
		}
	}
	if err := os.WriteFile(o.out, []byte(b.String()), 0o600); err != nil {
		return err
	}
	n := 0
	var missed []string
	for s := range f.statements {
		if reached[s] {
			n++
		} else {
			missed = append(missed, fmt.Sprintf("%s:%d %s", s.File, s.Line, s.Text))
		}
	}
	slices.Sort(missed)
	fmt.Println(strings.Join(missed, "\n"))
	fmt.Fprintf(os.Stderr, "%d of %d cases are kept, of %d p4testgen foresees the packets; "+
		"they reach %d of %d statements\n", len(chosen), len(candidates), same, n, len(f.statements))
	return nil
}

// readCandidate reads a case of a model, or one of the program, and runs it on the program.
func (f *fabric) readCandidate(name, text string) (*candidate, error) {
	text, err := convert(text)
	if err != nil {
		return nil, err
	}
	parsed, err := stf.Parse(text)
	if err != nil {
		return nil, err
	}
	c := &candidate{name: name, text: text}
	c.run = f.runCase(parsed)
	var difference *stf.Difference
	switch {
	case c.run.err == nil:
		c.same = len(c.run.sent) == c.run.expects
	case !errors.As(c.run.err, &difference):
		return nil, c.run.err // a statement was refused
	}
	if !c.same {
		c.text = c.asSent()
		parsed, err := stf.Parse(c.text)
		if err != nil {
			return nil, err
		}
		if r := f.runCase(parsed); r.err != nil {
			return nil, fmt.Errorf("not the same when run again: %w", r.err)
		}
	}
	return c, nil
}

// asSent returns the case with what the switch sends in the place of what p4testgen expects.
func (c *candidate) asSent() string {
	var b strings.Builder
	beyond := make([]string, 0, len(c.run.beyond))
	for what := range c.run.beyond {
		beyond = append(beyond, what)
	}
	slices.Sort(beyond)
	fmt.Fprintf(&b, "# otherwise: %s\n", cmp.Or(strings.Join(beyond, " "), "unknown"))
	for line := range strings.Lines(c.text) {
		if !strings.HasPrefix(line, "expect ") {
			b.WriteString(line)
		}
	}
	for _, s := range c.run.sent {
		fmt.Fprintf(&b, "expect %d %X$\n", s.port, s.frame)
	}
	return b.String()
}

// cover chooses cases, the one that adds most first, until nothing is added. Cases whose packets
// p4testgen foresees come before all others.
func cover(all []*candidate) []*candidate {
	var kept []*candidate
	have := map[string]bool{}
	for _, same := range []bool{true, false} {
		left := slices.DeleteFunc(slices.Clone(all), func(c *candidate) bool { return c.same != same })
		for {
			var best *candidate
			most := 0
			for _, c := range left {
				n := 0
				for s := range c.run.features() {
					if !have[s] {
						n++
					}
				}
				if n > most || n == most && best != nil && len(c.text) < len(best.text) {
					best, most = c, n
				}
			}
			if most == 0 {
				break
			}
			for s := range best.run.features() {
				have[s] = true
			}
			kept = append(kept, best)
			left = slices.DeleteFunc(left, func(c *candidate) bool { return c == best })
		}
	}
	return kept
}

// features yields what a case is chosen for.
func (r *run) features() iter.Seq[string] {
	return func(yield func(string) bool) {
		for s := range r.reached {
			if !yield(fmt.Sprint(s)) {
				return
			}
		}
		for s := range r.branches {
			if !yield(s) {
				return
			}
		}
	}
}
