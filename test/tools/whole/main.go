// Whole prints arguments of go test for the tests that do less with -short: -run with their names,
// and their packages, first those that its arguments name.
//
// A test does less when the test, or a called function in its package, calls testing.Short or
// seeds.Range. Methods count by their names alone, so that whole may name a test too many.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	names, packages := map[string]bool{}, []string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return err
		case path != "." && strings.HasPrefix(d.Name(), "."), d.Name() == "node_modules":
			return fs.SkipDir
		}
		found, err := tests(path)
		if len(found) > 0 {
			packages = append(packages, "./"+path)
		}
		for _, name := range found {
			names[name] = true
		}
		return err
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	slices.SortStableFunc(packages, func(a, b string) int { return rank(a) - rank(b) })
	fmt.Printf("-run=^(%s)$ %s\n", strings.Join(sorted, "|"), strings.Join(packages, " "))
}

// rank returns a package's place among the arguments, or the number of arguments.
func rank(pkg string) int {
	if at := slices.Index(os.Args, pkg); at >= 0 {
		return at
	}
	return len(os.Args)
}

// tests returns the tests of a folder that do less with -short.
func tests(dir string) (names []string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	uses := map[string]map[string]bool{} // names that a function uses
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				used := uses[d.Name.Name]
				if used == nil {
					used = map[string]bool{}
					uses[d.Name.Name] = used
				}
				ast.Inspect(d.Body, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.SelectorExpr:
						if x, ok := n.X.(*ast.Ident); ok {
							used[x.Name+"."+n.Sel.Name] = true
						}
					case *ast.Ident:
						used[n.Name] = true
					}
					return true
				})
			}
		}
	}
	less := map[string]bool{"testing.Short": true, "seeds.Range": true}
	for more := true; more; {
		more = false
		for name, used := range uses {
			if less[name] {
				continue
			}
			for u := range used {
				if less[u] {
					less[name], more = true, true
					break
				}
			}
		}
	}
	for name := range less {
		if strings.HasPrefix(name, "Test") {
			names = append(names, name)
		}
	}
	return names, nil
}
