package arch

import (
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// costed lists kinds with a bound of their lines in shared folders and files.
var costed = []struct {
	kind string
	word *regexp.Regexp // names with this word serve the kind
	most int
	// own lists the folder of the kind, and the page in the dashboard.
	own []string
	// alone lists files elsewhere for the kind only.
	alone []string
}{
	{"Silences", regexp.MustCompile(`[sS]ilence`), 250, []string{"controller/silence/"}, nil},
	{"PFC policies", regexp.MustCompile(`[pP][fF][cC]-?Polic`), 250, []string{"controller/pfc/"}, nil},
	{"maintenances", regexp.MustCompile(`[mM]aintenance`), 250,
		[]string{"controller/maintenance/", "web/src/pages/maintenances.tsx"},
		[]string{"cmd/weft/maintenances.go"}},
	// The folders of causes and projects have the causes of leases, and the rules for leases of
	// project members. Controllers and etcd have leases of another kind.
	{"path leases", regexp.MustCompile(`PathLease|[^e]Lease[sd]?\b|^Leases|(?:^|[^e])leases`), 250,
		[]string{"controller/leases/", "controller/job/lease/", "web/src/pages/leases.tsx",
			"service/cluster/", "store/", "service/member.go"}, nil},
}

// linesOf counts the lines for a kind in a file of Go: the smallest declaration, statement, case,
// field or element around each name with the word. A function with the word in the signature counts
// with the body.
func linesOf(s source, word *regexp.Regexp) int {
	lines := make(map[int]bool)
	add := func(from, to token.Pos) {
		for l := s.pos.Position(from).Line; l <= s.pos.Position(to).Line; l++ {
			lines[l] = true
		}
	}
	var stack []ast.Node
	ast.Inspect(s.file, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		named := ""
		switch n := n.(type) {
		case *ast.Ident:
			named = n.Name
		case *ast.BasicLit: // a path of an import, or of the API
			named = n.Value
		}
		if !word.MatchString(named) {
			return true
		}
		at := len(stack) - 1
		for at > 1 && !whole(stack[at-2], stack[at-1], stack[at]) {
			at--
		}
		add(stack[at].Pos(), stack[at].End())
		switch d := stack[at].(type) {
		case *ast.FuncDecl:
			if d.Doc != nil {
				add(d.Doc.Pos(), d.Doc.End())
			}
		case *ast.GenDecl:
			if d.Doc != nil {
				add(d.Doc.Pos(), d.Doc.End())
			}
		}
		return true
	})
	return len(lines)
}

// whole reports whether authors write or omit a node as a whole. parent encloses the node, above
// encloses parent.
func whole(above, parent, n ast.Node) bool {
	switch p := parent.(type) {
	case *ast.File:
		return true
	case *ast.GenDecl:
		return p.Lparen.IsValid()
	case *ast.BlockStmt, *ast.CommClause, *ast.CompositeLit:
		return true
	case *ast.CallExpr: // an argument of a function that takes any number of errors
		return n != p.Fun && types.ExprString(p.Fun) == "errors.Join"
	case *ast.CaseClause: // the list counts as the clause
		return slices.ContainsFunc(p.Body, func(s ast.Stmt) bool { return s == n })
	case *ast.FieldList:
		_, function := above.(*ast.FuncType)
		_, method := above.(*ast.FuncDecl)
		return !function && !method
	}
	return false
}

// TestLinesOf: a declaration for a kind counts with all lines, a name elsewhere with the statement.
func TestLinesOf(t *testing.T) {
	text := `package p

import "x/silence"

// A doc.
type silences struct {
	a int
}

func (s silences) f() {
	a()
}

func g(x int, all ...silences) {
	a()
}

type t struct {
	a int
	b []silence.S
}

func h() {
	a()
	if silence.On {
		b()
	}
	switch x {
	case y:
		a()
		silence.Off()
	case silence.Z:
		c()
	}
	_ = []any{
		a,
		f(silence.A,
			b),
	}
	_ = errors.Join(
		a,
		silence.C(
			b),
	)
}
`
	// 1 import, 4 of the type, 3 of its method, 3 of g, 1 field, 3 of if, 1 call, 2 of the case, 2 of
	// the element, 2 of the argument.
	if got := linesOf(parse(t, "p.go", text), regexp.MustCompile(`silence`)); got != 22 {
		t.Errorf("%d lines, want 22", got)
	}
}

// made are the sources of the dashboard that npm run types writes, and git ignores.
var made = []string{"web/src/api/kinds.ts", "web/src/api/schema.d.ts"}

// TestCostOfAKind: each kind has few lines in shared files, and docs/architecture.md states the
// number within a tenth. Demos and simulations, which show some kinds, count not.
func TestCostOfAKind(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	all := handwritten(t)
	for _, c := range costed {
		counted := make(map[string]int)
		outside := func(path string) bool {
			for _, own := range append(c.own, "api/", "test/", "lab/demo/", "lab/simulate/") {
				if strings.HasPrefix(path, own) {
					return false
				}
			}
			return !strings.Contains(path, "test/") && !strings.HasSuffix(path, "_test.go")
		}
		for _, s := range all {
			n := linesOf(s, c.word)
			if slices.Contains(c.alone, s.path) {
				n = strings.Count(s.text, "\n")
			}
			if n > 0 && outside(s.path) {
				counted[s.path] = n
			}
		}
		files(t, []string{".ts", ".tsx"}, func(path, text string) {
			path, _ = filepath.Rel(root, path)
			path = filepath.ToSlash(path)
			if strings.Contains(path, ".test.") || strings.Contains(path, "/dist/") ||
				strings.HasPrefix(path, "web/test/") || slices.Contains(made, path) || !outside(path) {
				return
			}
			for _, line := range strings.Split(text, "\n") {
				if c.word.MatchString(line) {
					counted[path]++
				}
			}
		})
		sum := 0
		for path, n := range counted {
			t.Logf("%s: %d", path, n)
			sum += n
		}
		t.Logf("%s: %d lines in %d files", c.kind, sum, len(counted))
		if sum > c.most || sum < 20 {
			t.Errorf("%s have %d lines outside of %v and api/, want 20 to %d", c.kind, sum, c.own, c.most)
		}
		m := regexp.MustCompile(c.kind + ` take some (\d+) lines`).FindStringSubmatch(text)
		if m == nil {
			t.Errorf("docs/architecture.md does not say how many lines %s take: %d", c.kind, sum)
			continue
		}
		if said, err := strconv.Atoi(m[1]); err != nil || said*10 < sum*9 || said*10 > sum*11 {
			t.Errorf("docs/architecture.md says that %s take some %s lines: they take %d", c.kind, m[1],
				sum)
		}
	}
}
