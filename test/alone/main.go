// Alone prints the packages whose tests run without the race detector, because the detector finds
// nothing in them that it does not find in tests of the packages that use them. These are packages
// whose code starts no goroutine, and some of test/. Run it in the root of the repository.
//
// Tests of such a package may start goroutines, which run worlds side by side, unless the code has
// locks: there the detector could find a missing lock.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// chosen are packages of test/ that run programs as processes, built without the detector, or
// worlds on one goroutine. The longest tests are first: a long test that starts last runs while
// nothing else does.
var chosen = []string{"linear", "faults", "mrc/flows", "kernels", "labs", "fabric", "libraries",
	"slurm", "mrc/truth", "arch", "alone", "deploy", "interop", "interop/others", "libmrc", "mutate",
	"packages", "pfc", "seeds", "upgrade"}

// raced are packages that start no goroutine, whose tests do, or call code that does: in these
// tests the detector watches the package together with what the package calls.
var raced = []string{"access/audit", "clients/scheduler/slurm", "dataplane/trace/stream",
	"host/libmrc", "host/rocehost", "internal/loop", "internal/plain", "internal/webhook",
	"lab/demo/figure", "lab/demo/flow", "lab/demo/job", "lab/demo/mrc", "lab/demo/multicast",
	"lab/demo/pfc", "telemetry/otlp"}

func main() {
	all, err := alone(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "alone:", err)
		os.Exit(1)
	}
	fmt.Println(strings.Join(all, " "))
}

// alone returns the packages as arguments of go test, such as ./p4.
func alone(root string) (all []string, err error) {
	for _, name := range chosen {
		all = append(all, "./test/"+name)
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case name == "test", name == "bin", d.Name() == "node_modules", d.Name() == "testdata",
			name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case slices.Contains(raced, name):
			return nil
		}
		ok, err := oneGoroutine(path)
		if ok {
			all = append(all, "./"+name)
		}
		return err
	})
	return all, err
}

// oneGoroutine reports whether a folder has tests, no code that starts a goroutine, and no locks
// that tests with goroutines could use.
func oneGoroutine(dir string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	locks, tests, concurrent := false, false, false
	for _, file := range files {
		locked, starts, err := concurrency(file)
		switch {
		case err != nil:
			return false, err
		case !strings.HasSuffix(file, "_test.go"):
			if starts {
				return false, nil
			}
			locks = locks || locked
		default:
			tests, concurrent = true, concurrent || starts
		}
	}
	return tests && !(locks && concurrent), err
}

// concurrency reports whether a file imports locks, and whether it starts goroutines.
func concurrency(file string) (locks, starts bool, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return false, false, err
	}
	for _, i := range f.Imports {
		switch strings.Trim(i.Path.Value, `"`) {
		case "sync", "sync/atomic":
			locks = true
		case "golang.org/x/sync/errgroup", "testing/synctest", "net/http/httptest",
			"github.com/weft-sdn/weft/internal/bubble":
			starts = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.CallExpr:
			s, _ := n.Fun.(*ast.SelectorExpr)
			starts = starts ||
				s != nil && slices.Contains([]string{"Go", "AfterFunc", "Parallel"}, s.Sel.Name)
		}
		return true
	})
	return locks, starts, nil
}
