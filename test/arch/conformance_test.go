package arch

import (
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

// row is a line of docs/conformance.tsv.
type row struct {
	number                int
	id                    string
	where, section, table string
	words                 string
	status                string
	tests                 []string
	note                  string
}

// statuses lists the possible statuses of a row, in the order of the table in docs/conformance.md.
var statuses = []string{"tested", "met by the controller", "met, untested", "deviates", "not met",
	"n/a"}

// idPattern is the group of an id and its number in the group.
var idPattern = regexp.MustCompile(`^((?:MT|PFC|MRC|API)-(?:[A-Z0-9.]+-)?)(\d{2,3})$`)

func readRows(t *testing.T) []row {
	t.Helper()
	var rows []row
	for n, fields := range readTable(t, "../../docs/conformance.tsv",
		"id\twhere\twords\tstatus\ttests\tnote") {
		if fields == nil {
			continue
		}
		r := row{number: n, id: fields[0], where: fields[1], words: fields[2], status: fields[3],
			note: fields[5]}
		if fields[4] != "" {
			r.tests = strings.Split(fields[4], ",")
		}
		m := wherePattern.FindStringSubmatch(r.where)
		if m == nil || r.words == "" {
			t.Errorf("line %d: %s: want a section in where, such as \"7.4\" or \"7.4.4 table 7-3\", and "+
				"the document's words", n, r.id)
			continue
		}
		r.section, r.table = m[1], m[2]
		rows = append(rows, r)
	}
	return rows
}

// TestConformanceTable: rows of docs/conformance.tsv are well formed, their ids are numbered
// without a gap, every test they name exists in the package it names, subtests by their name in a
// t.Run or a table, and docs/conformance.md counts them.
func TestConformanceTable(t *testing.T) {
	tests := goTests(t, "../..")
	counts, groups, ids := map[string]int{}, map[string]map[int]bool{}, map[string]bool{}
	rows := readRows(t)
	for _, r := range rows {
		ids[r.id] = true
	}
	for _, r := range rows {
		for _, id := range anyID.FindAllString(r.note, -1) {
			if !ids[id] {
				t.Errorf("line %d: %s: no row %s", r.number, r.id, id)
			}
		}
		m := idPattern.FindStringSubmatch(r.id)
		if m == nil {
			t.Errorf("line %d: id %q: want MT-, PFC-, MRC- or API-, perhaps a group, and a number", r.number,
				r.id)
			continue
		}
		var number int
		fmt.Sscan(strings.TrimLeft(m[2], "0"), &number)
		if groups[m[1]] == nil {
			groups[m[1]] = map[int]bool{}
		}
		if groups[m[1]][number] {
			t.Errorf("line %d: %s stands twice", r.number, r.id)
		}
		groups[m[1]][number] = true
		switch r.status {
		case "tested", "met by the controller":
			if len(r.tests) == 0 {
				t.Errorf("line %d: %s is %s, by no test", r.number, r.id, r.status)
			}
		case "met, untested", "not met", "n/a":
			if len(r.tests) > 0 {
				t.Errorf("line %d: %s is %s, and names tests", r.number, r.id, r.status)
			}
		}
		switch r.status {
		case "tested":
		case "met by the controller", "met, untested", "deviates", "not met", "n/a":
			if r.note == "" {
				t.Errorf("line %d: %s is %s: want the reason in note", r.number, r.id, r.status)
			}
		default:
			t.Errorf("line %d: %s: status %q, want one of %s", r.number, r.id, r.status,
				strings.Join(statuses, "; "))
		}
		for _, name := range r.tests {
			if err := checkTest(tests, name); err != nil {
				t.Errorf("line %d: %s: %v", r.number, r.id, err)
			}
		}
		specification, _, _ := strings.Cut(r.id, "-")
		counts[specification+"- "+r.status]++
	}
	for group, numbers := range groups {
		for i := range len(numbers) {
			if !numbers[i+1] {
				t.Errorf("%s has %d rows, none of number %d", group, len(numbers), i+1)
			}
		}
	}
	summary, err := os.ReadFile("../../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, specification := range []string{"MT-", "MRC-", "PFC-", "API-"} {
		cells, total := "", 0
		for _, status := range statuses {
			n := counts[specification+" "+status]
			cells += fmt.Sprintf(" %d |", n)
			total += n
		}
		if row := fmt.Sprintf("(`%s`) | %d |%s\n", specification, total,
			cells); !strings.Contains(string(summary), row) {
			t.Errorf("docs/conformance.md has no row that ends in %q", row)
		}
	}
	for _, status := range statuses {
		if !strings.Contains(string(summary), "`"+status+"`") {
			t.Errorf("docs/conformance.md does not explain the status `%s`", status)
		}
	}
	for class := range classes {
		if !strings.Contains(string(summary), "`"+class+"`") {
			t.Errorf("docs/conformance.md does not explain the class `%s`", class)
		}
	}
}

// TestRuleTables: every row of a "Rule | Test" table in docs/ names tests that exist in
// the package they name. Each feature page has such a table.
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
			if line == "| Rule | Test |" {
				inTable = true
				continue
			}
			if !inTable || strings.HasPrefix(line, "|---") {
				continue
			}
			rules[filepath.Base(path)]++
			cells := strings.Split(strings.Trim(line, "|"), " | ")
			if len(cells) != 2 || strings.TrimSpace(cells[0]) == "" {
				t.Errorf("%s:%d: want rule and tests", path, i+1)
				continue
			}
			for name := range strings.SplitSeq(strings.TrimSpace(cells[1]), ", ") {
				if err := checkTest(tests, strings.Trim(name, "`")); err != nil {
					t.Errorf("%s:%d: %v", path, i+1, err)
				}
			}
		}
	})
	for _, page := range []string{"multicast.md", "mrc.md", "pfc.md", "srv6.md"} {
		if rules[page] == 0 {
			t.Errorf("docs/%s has no table \"Rule | Test\"", page)
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

// testName identifies a test: its package (by folder), its name, and the name of a subtest.
var testName = regexp.MustCompile(`^([a-z0-9/]+\.Test\w+)(?:/(.+))?$`)

// goTests returns the test functions below a folder, by package.TestX, the package being its
// folder, each with the string literals of the test files of that folder, written as subtest names
// are.
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
