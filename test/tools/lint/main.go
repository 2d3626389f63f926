// Lint analyses Go code of the packages that its arguments name: go vet's analyzers, staticcheck's
// and gosec's in one process, which loads each package once and keeps results in staticcheck's
// cache. The tools have a module of their own, so that Weft's go.mod stays free of gosec's
// dependencies.
package main

import (
	_ "embed"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/securego/gosec/v2/goanalysis"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"golang.org/x/tools/go/analysis/suite/vet"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/lintcmd"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

//go:embed gosec.txt
var exclusions string

func main() {
	excluded, err := parse(exclusions)
	root, errRoot := os.Getwd()
	if err := errors.Join(err, errRoot); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := skipOthers(staticcheck.Analyzers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	cmd := lintcmd.NewCommand("lint")
	cmd.ParseFlags(os.Args[1:])
	vets := slices.DeleteFunc(vet.Suite, func(a *analysis.Analyzer) bool {
		return a.Name == "scannererr" // go vet of Go 1.26 does not have it
	})
	for _, a := range vets {
		once(a)
	}
	cmd.AddBareAnalyzers(vets...)
	cmd.AddBareAnalyzers(gosec(root, excluded))
	for _, all := range [][]*lint.Analyzer{simple.Analyzers, staticcheck.Analyzers,
		stylecheck.Analyzers, {unused.Analyzer}} {
		for _, a := range all {
			once(a.Analyzer)
		}
		cmd.AddAnalyzers(all...)
	}
	cmd.Run()
}

// once has an analyzer skip a package that lintcmd analyses again together with tests: everything
// that the analyzer finds in the package, the analyzer finds there too. Packages that import the
// package need the facts of an analyzer, and so analyzers with facts skip nothing.
func once(a *analysis.Analyzer) {
	if len(a.FactTypes) > 0 {
		return
	}
	run := a.Run
	a.Run = func(pass *analysis.Pass) (any, error) {
		if !repeated(pass) {
			return run(pass)
		}
		if a.ResultType == nil {
			return nil, nil
		}
		return reflect.Zero(a.ResultType).Interface(), nil
	}
}

// repeatedIn maps a folder to whether the package there has tests inside the package.
var repeatedIn sync.Map

// repeated reports whether a pass has a package without its tests, and lintcmd analyses the package
// again with them. A package with a directive such as lint:ignore is analysed both times, because
// lintcmd reports a directive that ignores nothing.
func repeated(pass *analysis.Pass) bool {
	name := func(f *ast.File) string { return pass.Fset.File(f.FileStart).Name() }
	if slices.ContainsFunc(pass.Files, func(f *ast.File) bool {
		return strings.HasSuffix(name(f), "_test.go")
	}) {
		return false
	}
	dir := filepath.Dir(name(pass.Files[0]))
	if known, ok := repeatedIn.Load(dir); ok {
		return known.(bool)
	}
	p, err := build.ImportDir(dir, 0)
	again := err == nil && len(p.TestGoFiles) > 0 &&
		len(lint.ParseDirectives(pass.Files, pass.Fset)) == 0
	repeatedIn.Store(dir, again)
	return again
}

// skipOthers has staticcheck build no intermediate form of packages of other modules: building it
// takes most of the time of an analysis with an empty cache. Without this form staticcheck does not
// know which functions of other modules have no effect, never return nil, or take pairs of
// arguments. What is deprecated, formats like Printf or never returns is found without the form.
func skipOthers(all []*lint.Analyzer) error {
	for _, a := range all {
		for _, r := range a.Analyzer.Requires {
			if r.Name != "buildir" {
				continue
			}
			run := r.Run
			r.Run = func(pass *analysis.Pass) (any, error) {
				first, _, _ := strings.Cut(pass.Pkg.Path(), "/")
				if strings.Contains(first, ".") && !strings.HasPrefix(pass.Pkg.Path(), module) {
					return reflect.New(r.ResultType.Elem()).Interface(), nil
				}
				return run(pass)
			}
			return nil
		}
	}
	return errors.New("lint: staticcheck has no buildir any more")
}

// module is Weft's.
const module = "github.com/weft-sdn/weft"

// exclusion excludes gosec's findings by rules in files whose path matches.
type exclusion struct {
	path  *regexp.Regexp
	rules []string // "*" is every rule
}

func (e exclusion) excludes(path, rule string) bool {
	ruled := slices.Contains(e.rules, "*") || slices.Contains(e.rules, rule)
	return ruled && e.path.MatchString(path)
}

// parse reads gosec.txt.
func parse(text string) (all []exclusion, err error) {
	for n, line := range strings.Split(text, "\n") {
		line, reason, _ := strings.Cut(line, " # ")
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndexByte(line, ':')
		if at < 0 || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("gosec.txt:%d: %q is not PATH:RULES # reason", n+1, line)
		}
		path, err := regexp.Compile(line[:at])
		if err != nil {
			return nil, fmt.Errorf("gosec.txt:%d: %w", n+1, err)
		}
		all = append(all, exclusion{path, strings.Split(line[at+1:], ",")})
	}
	return all, nil
}

// gosec is gosec's analyzer without what is excluded of files below root, and without packages of
// tests: gosec protects the program that users run.
func gosec(root string, excluded []exclusion) *analysis.Analyzer {
	a := *goanalysis.Analyzer
	// buildssa runs below, for packages that gosec reads alone.
	a.Requires = buildssa.Analyzer.Requires
	a.Run = func(pass *analysis.Pass) (any, error) {
		for _, f := range pass.Files {
			if strings.HasSuffix(pass.Fset.File(f.FileStart).Name(), "_test.go") {
				return nil, nil
			}
		}
		resolve(pass)
		ssa, err := buildssa.Analyzer.Run(pass)
		if err != nil {
			return nil, err
		}
		seen := *pass
		seen.ResultOf = map[*analysis.Analyzer]any{
			buildssa.Analyzer: ssa, ctrlflow.Analyzer: pass.ResultOf[ctrlflow.Analyzer]}
		seen.Report = func(d analysis.Diagnostic) {
			file := strings.TrimPrefix(pass.Fset.File(d.Pos).Name(), root+"/")
			if slices.ContainsFunc(excluded, func(e exclusion) bool {
				return e.excludes(file, d.Category)
			}) {
				return
			}
			d.Category = a.Name // lintcmd leaves out categories that are no analyzer's
			pass.Report(d)
		}
		return goanalysis.Analyzer.Run(&seen)
	}
	return &a
}

// resolve sets the objects of identifiers, with what declares them: gosec looks there for the
// values of variables, and lintcmd parses without them.
func resolve(pass *analysis.Pass) {
	declarations := map[types.Object]*ast.Object{}
	declare := func(kind ast.ObjKind, by ast.Node, names ...ast.Expr) {
		for _, name := range names {
			if id, ok := name.(*ast.Ident); ok {
				if o := pass.TypesInfo.Defs[id]; o != nil {
					declarations[o] = &ast.Object{Kind: kind, Name: id.Name, Decl: by}
				}
			}
		}
	}
	each := func(f func(ast.Node)) {
		for _, file := range pass.Files {
			ast.Inspect(file, func(n ast.Node) bool {
				f(n)
				return true
			})
		}
	}
	each(func(n ast.Node) {
		switch n := n.(type) {
		case *ast.AssignStmt:
			declare(ast.Var, n, n.Lhs...)
		case *ast.RangeStmt:
			declare(ast.Var, &ast.AssignStmt{Rhs: []ast.Expr{&ast.UnaryExpr{Op: token.RANGE, X: n.X}}},
				n.Key, n.Value)
		case *ast.ValueSpec:
			for _, name := range n.Names {
				declare(ast.Var, n, name)
			}
		case *ast.Field:
			for _, name := range n.Names {
				declare(ast.Var, n, name)
			}
		case *ast.FuncDecl:
			declare(ast.Fun, n, n.Name)
		}
	})
	each(func(n ast.Node) {
		if id, ok := n.(*ast.Ident); ok {
			if o := pass.TypesInfo.ObjectOf(id); o != nil && declarations[o] != nil {
				id.Obj = declarations[o]
			}
		}
	})
}
