package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the folder of the repository.
const root = "../.."

// TestAloneIsOnOneGoroutine: what "make test" leaves out with the race detector has nothing that it
// could find. Tests may: they run worlds side by side, that share what does not change.
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
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range f.Imports {
				if path := strings.Trim(i.Path.Value, `"`); path == "sync" || path == "sync/atomic" ||
					path == "golang.org/x/sync/errgroup" {
					t.Errorf("%s imports %s: take %s out of ALONE in the Makefile", file, path, folder)
				}
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if _, ok := n.(*ast.GoStmt); ok {
					t.Errorf("%s starts a goroutine: take %s out of ALONE in the Makefile", file, folder)
				}
				return true
			})
		}
	}
}
