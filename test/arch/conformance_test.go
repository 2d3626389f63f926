package arch

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConformanceTable: every row of docs/conformance.tsv is well formed, no id stands twice, and
// every test it names exists, subtests by their name in a t.Run or a table.
func TestConformanceTable(t *testing.T) {
	tests, literals := goTests(t, "../..")
	file, err := os.Open("../../docs/conformance.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	if !lines.Scan() || lines.Text() != "id\tstatus\ttests\tnote" {
		t.Fatalf("header is %q", lines.Text())
	}
	seen := map[string]bool{}
	for n := 2; lines.Scan(); n++ {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != 4 {
			t.Errorf("line %d: %d fields, want 4", n, len(fields))
			continue
		}
		id, status, names, note := fields[0], fields[1], fields[2], fields[3]
		if seen[id] {
			t.Errorf("line %d: %s stands twice", n, id)
		}
		seen[id] = true
		switch status {
		case "tested":
			if names == "" {
				t.Errorf("line %d: %s is tested, by no test", n, id)
			}
			for name := range strings.SplitSeq(names, ",") {
				function, sub, _ := strings.Cut(name, "/")
				if !tests[function] {
					t.Errorf("line %d: %s: no test %s", n, id, function)
				}
				if sub != "" && !literals[sub] {
					t.Errorf("line %d: %s: %s has no subtest %q", n, id, function, sub)
				}
			}
		case "n/a":
			if note == "" || names != "" {
				t.Errorf("line %d: %s is n/a: want the reason in note, and no tests", n, id)
			}
		default:
			t.Errorf("line %d: %s: status %q, want tested or n/a", n, id, status)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(seen) < 52 {
		t.Errorf("%d rows, want the 52 of RDMA multicast at least", len(seen))
	}
}

// goTests returns the names of all test functions below a folder, and all string literals of
// test files as subtest names are written.
func goTests(t *testing.T, root string) (tests, literals map[string]bool) {
	t.Helper()
	tests, literals = map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && strings.HasPrefix(n.Name.Name, "Test") {
					tests[n.Name.Name] = true
				}
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					literals[strings.ReplaceAll(strings.Trim(n.Value, "\"`"), " ", "_")] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests, literals
}
