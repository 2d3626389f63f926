package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the repository.
const root = "../.."

// TestAloneIsOnOneGoroutine: what "make test" leaves out with the race detector has nothing that it
// could find. No code of these packages starts a goroutine. Tests may, which run worlds side by
// side, but not where the code has locks: there the detector could find a missing one. Packages in
// test/ are chosen by hand: they run programs as processes, or worlds on one goroutine.
func TestAloneIsOnOneGoroutine(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^ALONE = ((?:.*\\\n)*.*)$`).FindSubmatch(text)
	if list == nil {
		t.Fatal("the Makefile has no ALONE")
	}
	folders := strings.Fields(strings.ReplaceAll(string(list[1]), "\\\n", " "))
	if len(folders) < 10 {
		t.Fatalf("ALONE is %q", folders)
	}
	for _, folder := range folders {
		if strings.HasPrefix(folder, "./test/") {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s: %d files, %v", folder, len(files), err)
		}
		locks, concurrent := "", ""
		for _, file := range files {
			imports, starts := concurrency(t, file)
			switch {
			case strings.HasSuffix(file, "_test.go"):
				if starts != "" {
					concurrent = file + ": " + starts
				}
			case starts != "":
				t.Errorf("%s: %s: take %s out of ALONE in the Makefile", file, starts, folder)
			case imports != "":
				locks = file + " imports " + imports
			}
		}
		if locks != "" && concurrent != "" {
			t.Errorf("%s, and %s: take %s out of ALONE in the Makefile", locks, concurrent, folder)
		}
	}
}

// concurrency returns the package of locks that a file imports, and how the file starts
// goroutines; "": it does not.
func concurrency(t *testing.T, file string) (locks, starts string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range f.Imports {
		switch path := strings.Trim(i.Path.Value, `"`); path {
		case "sync", "sync/atomic":
			locks = path
		case "golang.org/x/sync/errgroup", "testing/synctest", "net/http/httptest":
			starts = "imports " + path
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = "starts a goroutine"
		case *ast.CallExpr:
			s, _ := n.Fun.(*ast.SelectorExpr)
			if s != nil && slices.Contains([]string{"Go", "AfterFunc", "Parallel"}, s.Sel.Name) {
				starts = "calls " + s.Sel.Name
			}
		}
		return true
	})
	return locks, starts
}

// TestConcurrency: go statements, groups of goroutines and locks are found.
func TestConcurrency(t *testing.T) {
	for _, c := range []struct{ body, locks, starts string }{
		{"import \"sync\"\nvar m sync.Mutex", "sync", ""},
		{"import \"sync\"\nfunc f(g *sync.WaitGroup) { g.Go(nil) }", "sync", "calls Go"},
		{"func f() { go f() }", "", "starts a goroutine"},
		{"import _ \"testing/synctest\"", "", "imports testing/synctest"},
		{"func f(g int) { f(1) }", "", ""},
	} {
		file := filepath.Join(t.TempDir(), "x.go")
		if err := os.WriteFile(file, []byte("package x\n"+c.body), 0o600); err != nil {
			t.Fatal(err)
		}
		if locks, starts := concurrency(t, file); locks != c.locks || starts != c.starts {
			t.Errorf("%q: %q, %q", c.body, locks, starts)
		}
	}
}
