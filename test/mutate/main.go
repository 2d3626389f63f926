package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weft-sdn/weft/dataplane/engine"
)

// targets are the packages that are changed where none is named.
var targets = []string{
	"packet", "host/mrc", "host/nscc", "host/rc", "host/spray", "host/nic",
	"host/agent",
	"controller/mrc", "controller/mrc/ev", "controller/mrc/fabric", "controller/mrc/prove",
	"controller/mrc/suspect", "controller/multicast",
	"controller/multicast/tree",
	"controller/pfc", "controller/pfc/tunnel", "dataplane/queue", "dataplane/extern",
	"dataplane/bmv2hash", "store", "store/etcd", "access", "p4",
}

// programTests are the packages whose tests send packets through the P4 program.
var programTests = []string{"dataplane/stf", "test/fabric", "test/pfc", "test/mrc",
	"lab/demo/multicast", "test/mrc/flows"}

// compiled is the P4 program.
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
	budget   time.Duration
	list     bool
	own      bool
	time     time.Duration
	jobs     int

	program      string   // the file with the compiled P4 program
	programTests []string // packages whose tests send packets through it
	load         func(program []byte) error
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
	o := options{program: compiled, programTests: programTests, load: func(b []byte) error {
		_, err := engine.Load(b)
		return err
	}}
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
	f.IntVar(&o.jobs, "j", 1, "how many changes to try at once")
	f.DurationVar(&o.slowest, "slowest", 20*time.Second, "tests that take longer are not run")
	f.DurationVar(&o.budget, "budget", 2*time.Minute,
		"how long tests of other packages than that of a change may try it, the fastest first")
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
	return t.all(ctx, all, os.Stdout)
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
		if dir == filepath.Dir(o.program) {
			if err := add(o.program, programMutants); err != nil {
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
