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

// TestConformanceTable: docs/conformance.tsv has one well-formed row for every requirement and no
// other, every test it names exists in the package it names, subtests by their name in a t.Run or a
// table, and docs/conformance.md counts its rows.
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
	seen, counts := map[string]bool{}, map[string]int{}
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
				if err := checkTest(tests, name); err != nil {
					t.Errorf("line %d: %s: %v", n, id, err)
				}
			}
		case "not met", "n/a":
			if note == "" || names != "" {
				t.Errorf("line %d: %s is %s: want the reason in note, and no tests", n, id, status)
			}
		default:
			t.Errorf("line %d: %s: status %q, want tested, not met or n/a", n, id, status)
		}
		specification, _, _ := strings.Cut(id, "-")
		counts[specification+"- "+status]++
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for _, ids := range requirements {
		for i := 1; i <= ids.last; i++ {
			want(t, seen, fmt.Sprintf(ids.format, i))
		}
	}
	for id := range seen {
		t.Errorf("%s is no requirement", id)
	}
	summary, err := os.ReadFile("../../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, specification := range []string{"MT-", "MRC-", "PFC-"} {
		tested, notMet, na := counts[specification+" tested"], counts[specification+" not met"], counts[specification+" n/a"]
		row := fmt.Sprintf("(`%s`) | %d | %d | %d | %d |\n", specification, tested+notMet+na, tested, notMet, na)
		if !strings.Contains(string(summary), row) {
			t.Errorf("docs/conformance.md has no row that ends in %q", row)
		}
	}
}

// TestRuleTables: every row of a "Rule | Reason | Test" table in docs/ has a reason and names tests
// that exist in the package they name. Each feature page has such a table.
func TestRuleTables(t *testing.T) {
	tests := goTests(t, "../..")
	rules := map[string]int{}
	files(t, []string{".md"}, func(path, text string) {
		inTable := false
		for i, line := range strings.Split(text, "\n") {
			if !strings.HasPrefix(line, "|") {
				inTable = false
				continue
			}
			if line == "| Rule | Reason | Test |" {
				inTable = true
				continue
			}
			if !inTable || strings.HasPrefix(line, "|---") {
				continue
			}
			rules[filepath.Base(path)]++
			cells := strings.Split(strings.Trim(line, "|"), " | ")
			if len(cells) != 3 || strings.TrimSpace(cells[0]) == "" || strings.TrimSpace(cells[1]) == "" {
				t.Errorf("%s:%d: want rule, reason and tests", path, i+1)
				continue
			}
			for name := range strings.SplitSeq(strings.TrimSpace(cells[2]), ", ") {
				if err := checkTest(tests, strings.Trim(name, "`")); err != nil {
					t.Errorf("%s:%d: %v", path, i+1, err)
				}
			}
		}
	})
	for _, page := range []string{"multicast.md", "mrc.md", "pfc.md", "srv6.md"} {
		if rules[page] == 0 {
			t.Errorf("docs/%s has no table \"Rule | Reason | Test\"", page)
		}
	}
}

// checkTest returns an error when name is not package.TestX or package.TestX/sub of a test that
// exists.
func checkTest(tests map[string]map[string]bool, name string) error {
	m := testName.FindStringSubmatch(name)
	if m == nil {
		return fmt.Errorf("%q: want package.TestX or package.TestX/sub", name)
	}
	literals, ok := tests[m[1]]
	if !ok {
		return fmt.Errorf("no test %s", m[1])
	}
	if m[2] != "" && !literals[m[2]] {
		return fmt.Errorf("%s has no subtest %q", m[1], m[2])
	}
	return nil
}

// testName is the package of a test, by its folder, and its name, and the name of a subtest.
var testName = regexp.MustCompile(`^([a-z0-9/]+\.Test\w+)(?:/(.+))?$`)

// requirements are the ids: sentences of the specifications in their order, lines of their tables and pseudo-code, and what
// section 10.2.2 of MRC asks of controllers.
var requirements = []struct {
	format string
	last   int
}{
	{"MT-%03d", 32}, {"MT-S-%02d", 20}, {"MRC-%03d", 152}, {"MRC-T6.2-%02d", 12}, {"MRC-T6.3-%02d", 4}, {"MRC-T6.12-%02d", 7},
	{"MRC-T7.1-%02d", 2}, {"MRC-T7.3-%02d", 7}, {"MRC-T7.7-%02d", 6}, {"MRC-T7.14-%02d", 7}, {"MRC-T8-%02d", 4}, {"MRC-T9-%02d", 14},
	{"MRC-T10-%02d", 5}, {"MRC-C-%02d", 7}, {"PFC-%03d", 36},
}

// want takes an id out of those that were seen.
func want(t *testing.T, seen map[string]bool, id string) {
	t.Helper()
	if !seen[id] {
		t.Errorf("%s has no row", id)
	}
	delete(seen, id)
}

// goTests returns the test functions below a folder, by package.TestX, the package being its folder,
// each with the string literals of the test files of that folder, written as subtest names are.
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
					tests[strings.TrimPrefix(filepath.ToSlash(dir), "../../")+"."+n.Name.Name] = literals[dir]
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
