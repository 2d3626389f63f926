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
	"strconv"
	"strings"
	"time"
)

// A span is lines of a file that a test package reaches.
type span struct{ from, to int }

// A suite is the tests of a package.
type suite struct {
	pkg     string
	key     string // of the code that they run
	took    time.Duration
	reaches map[string][]span // by file, relative to the module
}

// covers reports whether the tests reach a line.
func (s *suite) covers(file string, line int) bool {
	return slices.ContainsFunc(s.reaches[file], func(r span) bool {
		return r.from <= line && line <= r.to
	})
}

// suites measures which lines of targets the tests of the module reach, or reads that from profiles
// of before in dir, which are of the same code. Suites that take longer than slowest are left out.
// The fastest is first.
func suites(ctx context.Context, m *module, targets []string, dir string,
	slowest time.Duration) ([]*suite, error) {
	tests, err := m.testing(ctx, targets)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var out []*suite
	for i, t := range tests {
		s := &suite{pkg: t.pkg, key: t.key, reaches: map[string][]span{}}
		name := strings.ReplaceAll(strings.TrimPrefix(t.pkg, m.path+"/"), "/", "_")
		file := filepath.Join(dir, name+"-"+t.key+".cover")
		took, err := os.ReadFile(file + ".seconds")
		if err != nil {
			fmt.Fprintf(os.Stderr, "mutate: what the tests of %s reach (%d of %d)\n", t.pkg, i+1, len(tests))
			if err := forget(dir, name); err != nil {
				return nil, err
			}
			started := time.Now()
			err := m.run(ctx, 4*slowest, "test", "-count=1", "-vet=off", "-coverpkg="+
				strings.Join(t.targets, ","), "-coverprofile="+file, t.pkg)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil && time.Since(started) < 4*slowest {
				return nil, fmt.Errorf("the tests of %s fail without a change: %w", t.pkg, err)
			}
			took = fmt.Append(nil, time.Since(started).Seconds())
			if err := os.WriteFile(file+".seconds", took, 0o644); err != nil {
				return nil, err
			}
		}
		seconds, err := strconv.ParseFloat(string(took), 64)
		if err != nil {
			return nil, fmt.Errorf("%s.seconds: %w", file, err)
		}
		s.took = time.Duration(seconds * float64(time.Second))
		if s.took > slowest {
			fmt.Fprintf(os.Stderr, "mutate: %s is left out: it took %v\n", t.pkg, s.took)
			continue
		}
		if err := s.read(file, m.path); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *suite) int { return int(a.took - b.took) })
	return out, nil
}

// read takes a profile of the go command: "FILE:LINE.COLUMN,LINE.COLUMN STATEMENTS COUNT".
func (s *suite) read(name, module string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		file, rest, ok := strings.Cut(lines.Text(), ":")
		if !ok || file == "mode" || strings.HasSuffix(rest, " 0") {
			continue
		}
		var from, fromColumn, to, toColumn, statements, count int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &from, &fromColumn, &to, &toColumn,
			&statements, &count); err != nil {
			return fmt.Errorf("%s: %q: %w", name, lines.Text(), err)
		}
		file = strings.TrimPrefix(file, module+"/")
		s.reaches[file] = append(s.reaches[file], span{from, to})
	}
	return lines.Err()
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
	cmd := exec.CommandContext(ctx, "go",
		append([]string{"list", "-json=ImportPath,Dir,GoFiles,EmbedFiles,Deps,ForTest"}, args...)...)
	cmd.Dir, cmd.Stderr = m.dir, os.Stderr
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
		t := testPackage{pkg: pkg}
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

// errBuild is the error of tests that do not compile.
var errBuild = errors.New("it does not compile")

// run runs the go command; the error has the end of what it printed.
func (m *module) run(ctx context.Context, timeout time.Duration, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = m.dir
	cmd.WaitDelay = time.Second
	inGroup(cmd)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if strings.Contains(string(out), "[build failed]") ||
		strings.Contains(string(out), "[setup failed]") {
		return errBuild
	}
	return fmt.Errorf("%w: %s", err, tail(string(out)))
}

func tail(s string) string {
	const most = 2000
	if len(s) > most {
		s = s[len(s)-most:]
	}
	return s
}
