package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	mostColumns = 100 // of a line of Go; a tab counts as one
	mostMethods = 12  // of an interface, with those it embeds from its own file
	mostFiles   = 12  // at the root of a folder that has sub-folders, without tests
)

// longLines has the folders at the top that still have lines over mostColumns, and how many: code
// from before the rule. A number here only goes down.
var longLines = map[string]int{
	"api":        4,
	"cmd":        11,
	"controller": 10,
	"dataplane":  28,
	"host":       8,
	"internal":   1,
	"lab":        1,
	"northbound": 6,
	"packet":     3,
	"southbound": 2,
	"test":       21,
	"topology":   4,
}

// largeInterfaces lists interfaces over mostMethods, with the reason.
var largeInterfaces = map[string]string{
	"controller/feature/feature.go Feature": "feature.Base answers those that a feature does not need",
	"dataplane/control.go Controls": "what a switch holds, made of five interfaces of at " +
		"most 11 methods",
}

// largeRoots lists folders over mostFiles, with the reason.
var largeRoots = map[string]string{
	"api":             "one package: a file a kind of resource",
	"cmd/weft":        "one package: a file a command",
	"controller":      "one package: the composition of the features",
	"controller/plan": "one package: the network that features plan for",
	"host/nic":        "one package: a network card, whose parts share its ports",
	"api/hostapi":     "one package: a file a message of the host API",
	"lab":             "one package: links, switches and hosts of one virtual world",
	"northbound":      "one package: a file a path of the API",
	"packet":          "one package: a file a header",
	"service":         "one package: the parts of a controller process",
	"southbound":      "one package: the connection to a switch",
	"telemetry":       "one package: the store of samples",
	"topology":        "one package: the graph and its algorithms",
	"topology/bgpls":  "one package: sessions, the relay and the decoder",
}

// obscure lists phrases that puzzle readers, with replacements.
var obscure = map[*regexp.Regexp]string{
	regexp.MustCompile(`(?i)\bnobody's\b`):                    "say who may do it, or that nothing does",
	regexp.MustCompile(`(?i)\bothers' business\b`):            "name the part that does it",
	regexp.MustCompile(`(?i)\b(?:no|every|each) \w+ is so\b`): "repeat the adjective",
	regexp.MustCompile(`(?i)\bthat which\b`):                  "write what, or name the thing",
}

// source is a file of Go that is written by hand.
type source struct {
	path string // from the root, with slashes
	text string
	file *ast.File
	pos  *token.FileSet
}

// handwritten returns the Go files of the project that no tool generates.
func handwritten(t *testing.T) []source {
	t.Helper()
	var all []source
	files(t, []string{".go"}, func(path, text string) {
		rel, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		s := parse(t, filepath.ToSlash(rel), text)
		if !ast.IsGenerated(s.file) {
			all = append(all, s)
		}
	})
	if len(all) < 1000 {
		t.Fatalf("found %d files only", len(all))
	}
	return all
}

func parse(t *testing.T, path, text string) source {
	t.Helper()
	s := source{path: path, text: text, pos: token.NewFileSet()}
	var err error
	s.file, err = parser.ParseFile(s.pos, path, text,
		parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tagged is a field with a tag, which is one token: it cannot be wrapped.
var tagged = regexp.MustCompile("^\t+\\w+ .*`\\w+:\".*\"`$")

// longLinesOf returns the numbers of the lines of a file over mostColumns, but for tagged fields.
func longLinesOf(text string) []int {
	var long []int
	for i, line := range strings.Split(text, "\n") {
		if utf8.RuneCountInString(line) > mostColumns && !tagged.MatchString(line) {
			long = append(long, i+1)
		}
	}
	return long
}

// TestColumns: no folder has more long lines than longLines allows it.
func TestColumns(t *testing.T) {
	long := make(map[string]int)
	for _, s := range handwritten(t) {
		for range longLinesOf(s.text) {
			folder, _, _ := strings.Cut(s.path, "/")
			long[folder]++
		}
	}
	for folder, n := range long {
		if most := longLines[folder]; n > most {
			t.Errorf("%s has %d lines over %d columns, %d are allowed: wrap those that you added",
				folder, n, mostColumns, most)
		}
	}
	for folder, most := range longLines {
		if long[folder] < most*9/10 {
			t.Errorf("%s has %d long lines: set its number in longLines to that", folder, long[folder])
		}
	}
}

// saying matches a docstring that begins with the documented name and "says" or "tells".
var saying = regexp.MustCompile(`^(\w+),? (?:says|tells)\b`)

// sayings returns the docstrings of a file that begin so, with their positions.
func sayings(s source) []string {
	var found []string
	check := func(doc *ast.CommentGroup, names ...*ast.Ident) {
		if doc == nil {
			return
		}
		m := saying.FindStringSubmatch(doc.Text())
		if m == nil {
			return
		}
		for _, name := range names {
			if name.Name == m[1] {
				found = append(found, fmt.Sprintf("%v: %q", s.pos.Position(doc.Pos()), m[0]))
			}
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			check(n.Doc, n.Name)
		case *ast.Field:
			check(n.Doc, n.Names...)
		case *ast.TypeSpec:
			check(n.Doc, n.Name)
		case *ast.ValueSpec:
			check(n.Doc, n.Names...)
		case *ast.GenDecl:
			for _, spec := range n.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					check(n.Doc, spec.Name)
				case *ast.ValueSpec:
					check(n.Doc, spec.Names...)
				}
			}
		}
		return true
	})
	return found
}

// TestDocstrings: functions return, report or set; types and fields define or have.
func TestDocstrings(t *testing.T) {
	for _, s := range handwritten(t) {
		for _, fault := range sayings(s) {
			t.Errorf("%s: write that it returns, reports, defines or sets something", fault)
		}
	}
}

// interfaces returns the number of methods of each named interface in a file, including the methods
// of embedded interfaces from the same file.
func interfaces(s source) map[string]int {
	types := make(map[string]*ast.InterfaceType)
	for _, decl := range s.file.Decls {
		if d, ok := decl.(*ast.GenDecl); ok {
			for _, spec := range d.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					if i, ok := spec.Type.(*ast.InterfaceType); ok {
						types[spec.Name.Name] = i
					}
				}
			}
		}
	}
	var count func(*ast.InterfaceType) int
	count = func(i *ast.InterfaceType) int {
		n := 0
		for _, m := range i.Methods.List {
			n += len(m.Names)
			if name, ok := m.Type.(*ast.Ident); ok && len(m.Names) == 0 && types[name.Name] != nil {
				n += count(types[name.Name])
			}
		}
		return n
	}
	methods := make(map[string]int)
	for name, i := range types {
		methods[name] = count(i)
	}
	return methods
}

// TestSmallInterfaces: an interface has the methods that one user needs.
func TestSmallInterfaces(t *testing.T) {
	large := make(map[string]int)
	for _, s := range handwritten(t) {
		for name, n := range interfaces(s) {
			if n > mostMethods {
				large[s.path+" "+name] = n
			}
		}
	}
	for name, n := range large {
		if largeInterfaces[name] == "" {
			t.Errorf("interface %s has %d methods, want at most %d", name, n, mostMethods)
		}
	}
	for name := range largeInterfaces {
		if large[name] == 0 {
			t.Errorf("%s is no interface of more than %d methods: take it out of largeInterfaces", name,
				mostMethods)
		}
	}
}

// crowded returns the folders with sub-folders and more than mostFiles files, given the paths of
// all files of Go.
func crowded(paths []string) map[string]int {
	own, parents := make(map[string]int), make(map[string]bool)
	for _, path := range paths {
		folder := filepath.ToSlash(filepath.Dir(path))
		if !strings.HasSuffix(path, "_test.go") {
			own[folder]++
		}
		for up := filepath.Dir(folder); up != "."; up = filepath.Dir(up) {
			parents[filepath.ToSlash(up)] = true
		}
	}
	maps.DeleteFunc(own, func(folder string, n int) bool { return n <= mostFiles || !parents[folder] })
	return own
}

// TestFewFilesAtRoots: a folder that is divided is divided whole.
func TestFewFilesAtRoots(t *testing.T) {
	var paths []string
	for _, s := range handwritten(t) {
		paths = append(paths, s.path)
	}
	found := crowded(paths)
	for folder, n := range found {
		if largeRoots[folder] == "" {
			t.Errorf("%s has %d files beside its folders, want at most %d", folder, n, mostFiles)
		}
	}
	for folder := range largeRoots {
		if found[folder] == 0 {
			t.Errorf("%s has at most %d files: take it out of largeRoots", folder, mostFiles)
		}
	}
}

// otherBeds matches the former names of types around the tested code, before all these types were
// called bed.
var otherBeds = regexp.MustCompile(
	`(?i)^(?:.*(?:world|lab|fabric)|rig|bench|harness|setup|network)$`)

// misnamedBeds returns the structs of a file with a field of testing's T, B or TB and a name from
// otherBeds.
func misnamedBeds(s source) []string {
	var found []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || !otherBeds.MatchString(spec.Name.Name) {
			return true
		}
		fields, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		for _, f := range fields.Fields.List {
			of := f.Type
			if p, ok := of.(*ast.StarExpr); ok {
				of = p.X
			}
			if x, ok := of.(*ast.SelectorExpr); ok {
				if p, ok := x.X.(*ast.Ident); ok && p.Name == "testing" {
					found = append(found, s.path+" "+spec.Name.Name)
					break
				}
			}
		}
		return true
	})
	return found
}

// TestBeds: in every package, the type that holds a test and everything around the tested code is a
// bed. A world belongs to package lab.
func TestBeds(t *testing.T) {
	for _, s := range handwritten(t) {
		for _, name := range misnamedBeds(s) {
			t.Errorf("%s holds a test: call it bed, or end its name in Bed", name)
		}
	}
}

// obscurities returns the lines of a text with a phrase of obscure.
func obscurities(text string) []string {
	var found []string
	for i, line := range strings.Split(text, "\n") {
		for phrase, instead := range obscure {
			if m := phrase.FindString(line); m != "" {
				found = append(found, fmt.Sprintf("%d: %q: %s", i+1, m, instead))
			}
		}
	}
	return found
}

// TestPlainPhrases: code, screens and pages have none of the phrases of obscure.
func TestPlainPhrases(t *testing.T) {
	files(t, []string{".go", ".p4", ".proto", ".ts", ".tsx", ".md", "Makefile"},
		func(path, text string) {
			if strings.HasSuffix(path, "arch/style_test.go") || strings.Contains(path, "/dist/") {
				return
			}
			for _, fault := range obscurities(text) {
				t.Errorf("%s:%s", path, fault)
			}
		})
}

// TestBubbles: bubbles of testing/synctest come from internal/bubble, which keeps the race detector
// from ending the process.
func TestBubbles(t *testing.T) {
	files(t, []string{".go"}, func(path, text string) {
		if strings.Contains(text, "synctest."+"Test(") && !strings.HasSuffix(path, "bubble/bubble.go") {
			t.Errorf("%s: call bubble.Test", path)
		}
	})
}

// TestStyleChecksFail: every check of this file finds what it is for.
func TestStyleChecksFail(t *testing.T) {
	beds := parse(t, "p_test.go", "package p\ntype world struct{ t *testing.T }\n"+
		"type aLab struct{ tb testing.TB }\ntype bed struct{ t *testing.T }\ntype rig struct{ n int }\n")
	if got := misnamedBeds(beds); !slices.Equal(got, []string{"p_test.go world", "p_test.go aLab"}) {
		t.Errorf("beds of other names: %v, want world and aLab", got)
	}
	wide := "// " + strings.Repeat("ü", mostColumns-3)
	if got := longLinesOf("package p\n" + wide + "\n" + wide + "x"); !slices.Equal(got, []int{3}) {
		t.Errorf("long lines: %v, want 3 alone", got)
	}
	s := parse(t, "p.go", `package p

// F says what it returns.
func F() {}

// T tells nothing.
type T struct {
	// A says whether.
	A bool
	// B has what A says.
	B bool
}

// I says.
type I interface {
	// M, once, says.
	M()
	E
}

// E says no more than E tells.
type E interface{ N(); O() }

// G returns what F says.
func G() {}
`)
	if got := sayings(s); len(got) != 5 {
		t.Errorf("docstrings: %q, want those of F, T, A, I and E", got)
	}
	if got := interfaces(s); got["I"] != 3 || got["E"] != 2 {
		t.Errorf("methods: %v, want 3 of I and 2 of E", got)
	}
	var paths []string
	for i := range mostFiles + 1 {
		paths = append(paths, fmt.Sprintf("a/%d.go", i),
			fmt.Sprintf("b/%d.go", i), fmt.Sprintf("c/%d_test.go", i))
	}
	if got := crowded(append(paths, "b/d/e/f.go", "c/d/f.go")); len(got) != 1 || got["b"] != mostFiles+
		1 {
		t.Errorf("folders: %v, want b alone", got)
	}
	for _, text := range []string{"x\nit is nobody's to change", "others' business",
		"No EV is so.", "that which is"} {
		if got := obscurities(text); len(got) != 1 {
			t.Errorf("%q: %q, want one fault", text, got)
		}
	}
	if got := obscurities("Nobody changes it; it is so."); len(got) != 0 {
		t.Errorf("plain phrases: %q", got)
	}
}
