package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A schema is code that holds many changes at once, so all changes need only one build: at its
// start the process reads from [chosen] which change to activate. A changed function has a copy for
// each change, and selects the copy at its beginning:
//
//	func (s *state) put(n int) bool { switch weftMutant { case 17: return s.mutant17_put(n) }; …
//
// A package variable gets its changed value after the initialization of all other variables, and so
// does an embedded program. A package constant is in no schema: Mutate builds each change of a
// constant separately.
type schema struct {
	dir   string                  // of the module
	files map[string]string       // what the go command reads in place of files, by name in the module
	names map[string]string       // of files of the module, by where they are written
	in    map[string]map[int]span // by file and number of a change: the lines of its copy
}

// chosen is the environment variable that names the change in effect; without chosen no change is
// in effect.
const chosen = "WEFT_MUTANT"

// newSchema takes the changes that a schema can hold into one. The number of a change is its place
// in all, and one more; skip has those that do not compile.
func newSchema(dir string, all []mutant, skip map[int]bool) (*schema, error) {
	s := &schema{dir: dir, files: map[string]string{}, names: map[string]string{},
		in: map[string]map[int]span{}}
	byFile := map[string]map[int]mutant{}
	for i, m := range all {
		if skip[i+1] {
			continue
		}
		if byFile[m.File] == nil {
			byFile[m.File] = map[int]mutant{}
		}
		byFile[m.File][i+1] = m
	}
	for _, name := range slices.Sorted(maps.Keys(byFile)) {
		if path.Ext(name) != ".go" {
			if err := s.embedded(name, byFile[name]); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byFile)) {
		if path.Ext(name) == ".go" {
			if err := s.file(name, byFile[name]); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// holds reports whether the schema has a change.
func (s *schema) holds(file string, number int) bool {
	_, ok := s.in[file][number]
	return ok
}

// A goSource is a Go file with insertions and an appendix.
type goSource struct {
	text  string
	fset  *token.FileSet
	ast   *ast.File
	edits []edit
	tail  strings.Builder
	lines int // of text and tail
}

type edit struct {
	from, to int
	text     string
}

func (s *schema) source(name string) (*goSource, error) {
	text, ok := s.files[name]
	if !ok {
		src, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			return nil, err
		}
		text = string(src)
	}
	g := &goSource{text: text, fset: token.NewFileSet(), lines: strings.Count(text, "\n") + 1}
	var err error
	g.ast, err = parser.ParseFile(g.fset, name, text, parser.ParseComments)
	return g, err
}

func (g *goSource) offset(p token.Pos) int { return g.fset.Position(p).Offset }

// append puts text after the file, and returns the text's lines in the file.
func (g *goSource) append(text string) span {
	g.tail.WriteString("\n" + text)
	from := g.lines + 1
	g.lines += 1 + strings.Count(text, "\n")
	return span{from, g.lines}
}

// keep notes the changed file, and where the package has nothing yet that reads which change is in
// effect, a file with that.
func (s *schema) keep(name string, g *goSource) {
	slices.SortStableFunc(g.edits, func(a, b edit) int { return a.from - b.from })
	var b strings.Builder
	at := 0
	for _, e := range g.edits {
		b.WriteString(g.text[at:e.from] + e.text)
		at = e.to
	}
	b.WriteString(g.text[at:] + g.tail.String())
	s.files[name] = b.String()
	s.files[path.Join(path.Dir(name), "weft_mutant.go")] = "package " + g.ast.Name.Name + `

import (
	"os"
	"strconv"
)

var weftMutant = func() int { n, _ := strconv.Atoi(os.Getenv("` + chosen + `")); return n }()
`
}

// file puts the changes of a Go file into it.
func (s *schema) file(name string, changes map[int]mutant) error {
	g, err := s.source(name)
	if err != nil {
		return err
	}
	in := map[int]span{}
	for _, d := range g.ast.Decls {
		var of []int
		for _, n := range slices.Sorted(maps.Keys(changes)) {
			if at := changes[n].start; g.offset(d.Pos()) <= at && at < g.offset(d.End()) {
				of = append(of, n)
			}
		}
		if len(of) == 0 {
			continue
		}
		switch d := d.(type) {
		case *ast.FuncDecl:
			g.function(d, of, changes, in)
		case *ast.GenDecl:
			for _, n := range of {
				if text, ok := g.variable(d, changes[n]); ok {
					in[n] = g.append(fmt.Sprintf("func init() { if weftMutant == %d { %s } }", n, text))
				}
			}
		}
	}
	s.in[name] = in
	if len(in) > 0 {
		s.keep(name, g)
	}
	return nil
}

// function adds a changed copy of a function for each change, and makes the function call the copy
// whose change is in effect.
func (g *goSource) function(d *ast.FuncDecl, of []int, changes map[int]mutant, in map[int]span) {
	if d.Name.Name == "_" {
		return
	}
	// Give unnamed parameters a name, because the function passes its parameters to the copies.
	named := func(list *ast.FieldList) []string {
		var out []string
		for _, f := range list.List {
			if len(f.Names) == 0 {
				name := fmt.Sprintf("mutantArg%d", g.offset(f.Type.Pos()))
				g.edits = append(g.edits, edit{g.offset(f.Type.Pos()), g.offset(f.Type.Pos()), name + " "})
				out = append(out, name)
			}
			for _, id := range f.Names {
				name := id.Name
				if name == "_" {
					name = fmt.Sprintf("mutantArg%d", g.offset(id.Pos()))
					g.edits = append(g.edits, edit{g.offset(id.Pos()), g.offset(id.End()), name})
				}
				out = append(out, name)
			}
			if _, ok := f.Type.(*ast.Ellipsis); ok {
				out[len(out)-1] += "..."
			}
		}
		return out
	}
	receiver := ""
	if d.Recv != nil {
		receiver = named(d.Recv)[0] + "."
	}
	types := ""
	if d.Type.TypeParams != nil {
		types = "[" + strings.Join(named(d.Type.TypeParams), ", ") + "]"
	}
	args := strings.Join(named(d.Type.Params), ", ")
	var cases strings.Builder
	for _, n := range of {
		m := changes[n]
		name := fmt.Sprintf("mutant%d_%s", n, d.Name.Name)
		from, to := g.offset(d.Pos()), g.offset(d.End())
		if d.Doc != nil {
			from = g.offset(d.Type.Pos()) // the word func
		}
		text := g.text[from:g.offset(d.Name.Pos())] + name + g.text[g.offset(d.Name.End()):m.start] +
			m.To + g.text[m.start+len(m.From):to]
		in[n] = g.append(text)
		call := receiver + name + types + "(" + args + ")"
		if d.Type.Results != nil && len(d.Type.Results.List) > 0 {
			fmt.Fprintf(&cases, "case %d: return %s; ", n, call)
		} else {
			fmt.Fprintf(&cases, "case %d: %s; return; ", n, call)
		}
	}
	at := g.offset(d.Body.Lbrace) + 1
	g.edits = append(g.edits, edit{at, at, " switch weftMutant { " + cases.String() + "}; "})
}

// variable returns a statement that assigns a variable the changed value; false without a matching
// variable.
func (g *goSource) variable(d *ast.GenDecl, m mutant) (string, bool) {
	if d.Tok != token.VAR {
		return "", false
	}
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec)
		for i, value := range v.Values {
			from, to := g.offset(value.Pos()), g.offset(value.End())
			if m.start < from || m.start >= to {
				continue
			}
			if len(v.Names) != len(v.Values) || v.Names[i].Name == "_" {
				return "", false
			}
			return v.Names[i].Name + " = " + g.text[from:m.start] + m.To +
				g.text[m.start+len(m.From):to], true
		}
	}
	return "", false
}

// embedded puts the changes of a file into the package that embeds it, packed by gzip, and imports
// what unpacks it.
func (s *schema) embedded(name string, changes map[int]mutant) error {
	dir, base := path.Split(name)
	sources, err := filepath.Glob(filepath.Join(s.dir, dir, "*.go"))
	if err != nil {
		return err
	}
	directive := regexp.MustCompile(
		`(?m)^//go:embed ` + regexp.QuoteMeta(base) + `\.gz\nvar (\w+) \[\]byte$`)
	for _, src := range sources {
		text, err := os.ReadFile(src)
		if err != nil {
			return err
		}
		m := directive.FindSubmatch(text)
		if m == nil {
			continue
		}
		in := path.Join(dir, filepath.Base(src))
		g, err := s.source(in)
		if err != nil {
			return err
		}
		s.in[name] = map[int]span{}
		for _, n := range slices.Sorted(maps.Keys(changes)) {
			c := changes[n]
			s.in[name][n] = g.append(fmt.Sprintf("func init() { if weftMutant == %d { "+
				"r, _ := gzip.NewReader(bytes.NewReader(%[2]s)); b, _ := io.ReadAll(r); "+
				"var z bytes.Buffer; w := gzip.NewWriter(&z); w.Write(b[:%d]); w.Write([]byte(%q)); "+
				"w.Write(b[%d:]); w.Close(); %[2]s = z.Bytes() } }",
				n, m[1], c.start, c.To, c.start+len(c.From)))
		}
		s.keep(in, g)
		return nil
	}
	return fmt.Errorf("%s: no Go file embeds it as []byte, packed", name)
}

// write writes the files of the schema into a folder, and the document for the go command's flag
// -overlay, whose name it returns.
func (s *schema) write(dir string) (string, error) {
	replace := map[string]string{}
	for i, name := range slices.Sorted(maps.Keys(s.files)) {
		file := filepath.Join(dir, strconv.Itoa(i)+".go")
		if err := os.WriteFile(file, []byte(s.files[name]), 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(s.dir, name)] = file
		s.names[file] = name
	}
	return writeOverlay(dir, replace)
}

// writeOverlay writes into a folder what the go command reads in place of which file, and returns
// the name for its flag -overlay.
func writeOverlay(dir string, replace map[string]string) (string, error) {
	doc, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, doc, 0o644)
}

// place is where the compiler finds an error.
var place = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: (.*)$`)

// broken returns the numbers of the changes refused by the compiler, according to the compiler's
// output.
func (s *schema) broken(printed []byte) ([]int, error) {
	var out []int
	for _, m := range place.FindAllSubmatch(bytes.ReplaceAll(printed, []byte("./"), nil), -1) {
		file := string(m[1])
		if name, ok := s.names[file]; ok {
			file = name
		} else if rel, err := filepath.Rel(s.dir, file); filepath.IsAbs(file) && err == nil {
			file = rel
		}
		line, err := strconv.Atoi(string(m[2]))
		if err != nil {
			return nil, err
		}
		for n, lines := range s.in[file] {
			if lines[0] <= line && line <= lines[1] {
				out = append(out, n)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no change is what the compiler refuses: %s", tail(string(printed)))
	}
	return out, nil
}

// compile makes the schema of all compilable changes, writes the schema to a folder, and returns it
// with the overlay and the numbers of the remaining changes.
func compile(ctx context.Context, m *module, all []mutant, dir string) (*schema, string,
	map[int]bool, error) {
	var pkgs []string
	for _, c := range all {
		if pkg := m.path + "/" + path.Dir(c.File); !slices.Contains(pkgs, pkg) {
			pkgs = append(pkgs, pkg)
		}
	}
	skip := map[int]bool{}
	for {
		s, err := newSchema(m.dir, all, skip)
		if err != nil {
			return nil, "", nil, err
		}
		overlay, err := s.write(dir)
		if err != nil {
			return nil, "", nil, err
		}
		printed, err := m.command(ctx, append([]string{"build", "-overlay", overlay}, pkgs...)...).
			CombinedOutput()
		if err == nil {
			return s, overlay, skip, nil
		}
		if ctx.Err() != nil {
			return nil, "", nil, ctx.Err()
		}
		refused, err := s.broken(printed)
		if err != nil {
			return nil, "", nil, err
		}
		for _, n := range refused {
			skip[n] = true
		}
		fmt.Fprintf(os.Stderr, "mutate: %d changes do not compile\n", len(skip))
	}
}
