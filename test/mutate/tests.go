package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A span is the first and the last of some lines of a file.
type span [2]int

// A suite is the tests of a package.
type suite struct {
	pkg   string
	dir   string // of the package
	key   string // of the code that they run
	tests []*test
}

// A test is what the go command runs by a name: a test, an example or the seeds of a fuzz test.
type test struct {
	Name    string
	Took    time.Duration
	Reaches map[string][]span // by file, relative to the module
}

// covers reports whether a test reaches a line.
func (t *test) covers(file string, line int) bool {
	return slices.ContainsFunc(t.Reaches[file], func(r span) bool {
		return r[0] <= line && line <= r[1]
	})
}

// suites measures which lines of targets each test of the module reaches, or reads the result from
// earlier profiles of the same code. If only lists packages, suites considers no other packages.
// suites leaves out tests slower than the options allow.
func suites(ctx context.Context, m *module, targets, only []string, o options) ([]*suite, error) {
	pkgs, err := m.testing(ctx, targets)
	if err != nil {
		return nil, err
	}
	dir, slowest := o.profiles, o.slowest
	if len(only) > 0 {
		pkgs = slices.DeleteFunc(pkgs, func(t testPackage) bool { return !slices.Contains(only, t.pkg) })
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var out []*suite
	for i, t := range pkgs {
		s := &suite{pkg: t.pkg, dir: t.dir, key: t.key}
		name := strings.ReplaceAll(strings.TrimPrefix(t.pkg, m.path+"/"), "/", "_")
		file := filepath.Join(dir, fmt.Sprintf("%s-%s_%v.tests", name, t.key, slowest))
		kept, err := os.ReadFile(file)
		switch {
		case errors.Is(err, os.ErrNotExist):
			fmt.Fprintf(os.Stderr, "mutate: what the tests of %s reach (%d of %d)\n", t.pkg, i+1, len(pkgs))
			if err := forget(dir, name); err != nil {
				return nil, err
			}
			if s.tests, err = m.profile(ctx, t, targets, slowest); err != nil {
				return nil, err
			}
			if kept, err = json.Marshal(s.tests); err != nil {
				return nil, err
			}
			if err := os.WriteFile(file, kept, 0o644); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, err
		default:
			if err := json.Unmarshal(kept, &s.tests); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
		s.tests = slices.DeleteFunc(s.tests, func(t *test) bool { return t.Took > slowest })
		out = append(out, s)
	}
	return out, nil
}

// profile runs each test of a package alone, and records the lines of targets that the test
// reaches. A test that fails, or runs longer than slowest, counts as endless.
func (m *module) profile(ctx context.Context, t testPackage, targets []string,
	slowest time.Duration) ([]*test, error) {
	dir, err := os.MkdirTemp("", "weft-mutate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "tests")
	if out, err := m.command(ctx, "test", "-c", "-vet=off", "-ldflags=-s -w", "-coverpkg="+
		strings.Join(targets, ","), "-o", binary, t.pkg).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the tests of %s: %w: %s", t.pkg, err, tail(string(out)))
	}
	names, err := listed(ctx, binary, t.dir)
	if err != nil {
		return nil, err
	}
	profile := filepath.Join(dir, "profile")
	var out []*test
	for _, name := range names {
		started := time.Now()
		_, err := runTests(ctx, binary, t.dir, []string{name}, slowest, nil,
			"-test.coverprofile="+profile)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		one := &test{Name: name, Took: time.Since(started)}
		if err != nil {
			fmt.Fprintf(os.Stderr, "mutate: %s of %s is left out: %v\n", name, t.pkg, err)
			one.Took = forever
		} else if one.Reaches, err = readProfile(profile, m.path); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// forever is how long a test takes that fails, or that never ended.
const forever = 1 << 60

// listed returns the names of the tests of a binary.
func listed(ctx context.Context, binary, dir string) ([]string, error) {
	cmd := exec.CommandContext(ctx, binary, "-test.list=.")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s -test.list: %w", binary, err)
	}
	var names []string
	for name := range strings.FieldsSeq(string(out)) {
		if !strings.HasPrefix(name, "Benchmark") {
			names = append(names, name)
		}
	}
	return names, nil
}

// runTests runs a binary's tests by name until a test fails, and returns the output.
func runTests(ctx context.Context, binary, dir string, names []string, limit time.Duration,
	env []string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit+5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append(args, "-test.failfast", "-test.timeout="+
		limit.String(), "-test.run=^("+strings.Join(names, "|")+")$")...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "PWD="+dir), env...)
	cmd.WaitDelay = time.Second
	inGroup(cmd)
	return cmd.CombinedOutput()
}

// readProfile takes a profile of the go command: "FILE:LINE.COLUMN,LINE.COLUMN STATEMENTS COUNT".
func readProfile(name, module string) (map[string][]span, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string][]span{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		file, rest, ok := strings.Cut(lines.Text(), ":")
		if !ok || file == "mode" || strings.HasSuffix(rest, " 0") {
			continue
		}
		var from, fromColumn, to, toColumn, statements, count int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &from, &fromColumn, &to, &toColumn,
			&statements, &count); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", name, lines.Text(), err)
		}
		file = strings.TrimPrefix(file, module+"/")
		out[file] = append(out[file], span{from, to})
	}
	for file := range out {
		out[file] = merged(out[file])
	}
	return out, lines.Err()
}

// merged makes spans that touch into one.
func merged(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a[0] - b[0] })
	out := spans[:0]
	for _, s := range spans {
		if last := len(out) - 1; last >= 0 && s[0] <= out[last][1]+1 {
			out[last][1] = max(out[last][1], s[1])
		} else {
			out = append(out, s)
		}
	}
	return out
}

// A module is the Go module whose code is changed.
type module struct {
	dir, path string
}

func openModule(ctx context.Context) (*module, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}\n{{.Path}}").Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m: %w", err)
	}
	dir, path, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return &module{dir, path}, nil
}

// A goPackage has what the go command says of a package.
type goPackage struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	EmbedFiles []string
	Deps       []string
	ForTest    string
}

func (m *module) list(ctx context.Context, args ...string) ([]goPackage, error) {
	cmd := m.command(ctx,
		append([]string{"list", "-json=ImportPath,Dir,GoFiles,EmbedFiles,Deps,ForTest"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(args, " "), err)
	}
	var pkgs []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p goPackage
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
	return pkgs, nil
}

// A testPackage is a package whose tests run code of a target.
type testPackage struct {
	pkg     string
	dir     string
	targets []string // that the tests are built from
	key     string   // of the code that the tests are built from, and of what lies beside them
}

// testing returns the packages whose tests are built from one of targets.
func (m *module) testing(ctx context.Context, targets []string) ([]testPackage, error) {
	pkgs, err := m.list(ctx, "-test", "./...")
	if err != nil {
		return nil, err
	}
	code := map[string]goPackage{}
	for _, p := range pkgs {
		if p.ForTest == "" {
			code[p.ImportPath] = p
		}
	}
	h := hashes{dir: m.dir, known: map[string][]byte{}}
	var out []testPackage
	for _, p := range pkgs {
		pkg, isTest := strings.CutSuffix(p.ImportPath, ".test")
		if !isTest || pkg == m.path+"/test/arch" || pkg == m.path+"/test/mutate" {
			continue // they read the code, and do not run it
		}
		deps := []string{pkg}
		for _, d := range p.Deps {
			d, _, _ = strings.Cut(d, " ") // A [B.test] is A as B's tests are built from it
			if _, ok := code[d]; ok {
				deps = append(deps, d)
			}
		}
		slices.Sort(deps)
		deps = slices.Compact(deps)
		t := testPackage{pkg: pkg, dir: code[pkg].Dir}
		for _, d := range deps {
			if slices.Contains(targets, d) {
				t.targets = append(t.targets, d)
			}
		}
		if len(t.targets) == 0 {
			continue
		}
		if t.key, err = h.key(code[pkg], deps, code, t.targets); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// command is a call of the go command in the folder of the module.
func (m *module) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = m.dir
	cmd.WaitDelay = time.Second
	inGroup(cmd)
	return cmd
}

func tail(s string) string {
	const most = 2000
	if len(s) > most {
		s = s[len(s)-most:]
	}
	return s
}
