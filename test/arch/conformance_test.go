package arch

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestConformanceTable: every row of docs/conformance.tsv is well formed, no id stands twice, and
// every test it names exists, subtests by their name in a t.Run or a table.
func TestConformanceTable(t *testing.T) {
	tests := goTests(t, "../..")
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
				literals, ok := tests[function]
				if !ok {
					t.Errorf("line %d: %s: no test %s", n, id, function)
				} else if sub != "" && !literals[sub] {
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
	for i := 1; i <= 32; i++ {
		want(t, seen, fmt.Sprintf("MT-%03d", i))
	}
	for i := 1; i <= 20; i++ {
		want(t, seen, fmt.Sprintf("MT-S-%02d", i))
	}
	for id := range seen {
		if !mrcID.MatchString(id) && !pfcID.MatchString(id) {
			t.Errorf("%s is no requirement", id)
		}
	}
}

// mrcID is an id of the MRC specification: its sentences, lines of its tables, and what section 10.2.2 asks of controllers.
var mrcID = regexp.MustCompile(`^MRC-(0\d\d|1[0-4]\d|15[0-2]|T\d+(\.\d+)?-\d\d|C-0[1-7])$`)

// pfcID is an id of the draft on PFC over SRv6.
var pfcID = regexp.MustCompile(`^PFC-0([0-2]\d|3[0-6])$`)

// want takes an id out of those that were seen.
func want(t *testing.T, seen map[string]bool, id string) {
	t.Helper()
	if !seen[id] {
		t.Errorf("%s has no row", id)
	}
	delete(seen, id)
}

// goTests returns the test functions below a folder, each with the string literals of the test
// files of its folder, written as subtest names are.
func goTests(t *testing.T, root string) map[string]map[string]bool {
	t.Helper()
	tests, literals := map[string]map[string]bool{}, map[string]map[string]bool{}
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
		dir := filepath.Dir(path)
		if literals[dir] == nil {
			literals[dir] = map[string]bool{}
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && strings.HasPrefix(n.Name.Name, "Test") {
					tests[n.Name.Name] = literals[dir]
				}
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					literals[dir][strings.ReplaceAll(strings.Trim(n.Value, "\"`"), " ", "_")] = true
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}
