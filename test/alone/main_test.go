package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestConcurrency: go statements, groups of goroutines and locks are found.
func TestConcurrency(t *testing.T) {
	for _, c := range []struct {
		body          string
		locks, starts bool
	}{
		{"import \"sync\"\nvar m sync.Mutex", true, false},
		{"import \"sync\"\nfunc f(g *sync.WaitGroup) { g.Go(nil) }", true, true},
		{"func f() { go f() }", false, true},
		{"import _ \"testing/synctest\"", false, true},
		{"import _ \"github.com/weft-sdn/weft/internal/bubble\"", false, true},
		{"func f(g int) { f(1) }", false, false},
	} {
		file := filepath.Join(t.TempDir(), "x.go")
		if err := os.WriteFile(file, []byte("package x\n"+c.body), 0o600); err != nil {
			t.Fatal(err)
		}
		if locks, starts, err := concurrency(file); locks != c.locks || starts != c.starts || err != nil {
			t.Errorf("%q: locks %v, starts %v, error %v", c.body, locks, starts, err)
		}
	}
}

// TestOneGoroutine: code with a goroutine is raced, and code with locks whose tests have
// goroutines. Code without tests is neither.
func TestOneGoroutine(t *testing.T) {
	const lock, run = "import \"sync\"\nvar m sync.Mutex", "func f() { go f() }"
	for _, c := range []struct {
		code, test string
		want       bool
	}{
		{"var x int", "var y int", true}, {"var x int", run, true}, {lock, "var y int", true},
		{lock, run, false}, {run, "var y int", false}, {"var x int", "", false},
	} {
		dir := t.TempDir()
		for name, body := range map[string]string{"x.go": c.code, "x_test.go": c.test} {
			if body == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte("package x\n"+body), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := oneGoroutine(dir); got != c.want || err != nil {
			t.Errorf("%q with the test %q: %v, error %v; want %v", c.code, c.test, got, err, c.want)
		}
	}
}

// TestAlone: the list has packages that exist, each once. Exceptions are packages that the rule
// would take.
func TestAlone(t *testing.T) {
	all, err := alone("../..")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range all {
		files, err := filepath.Glob(filepath.Join("../..", name, "*.go"))
		if len(files) == 0 || err != nil || slices.Index(all, name) != i {
			t.Errorf("%s: %d files, error %v, first at %d of %d", name, len(files), err,
				slices.Index(all, name), i)
		}
	}
	for _, want := range []string{"./packet", "./controller/mrc", "./dataplane/engine"} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is missing in %v", want, all)
		}
	}
	for _, name := range raced {
		if ok, err := oneGoroutine(filepath.Join("../..", name)); !ok || err != nil {
			t.Errorf("%s: %v, error %v: take it out of raced, which it needs no more", name, ok, err)
		}
	}
}
