package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestTypesOfREST fails on a field with a JSON name in northbound, and on a documented one outside
// api: what travels over REST is defined in api, once.
func TestTypesOfREST(t *testing.T) {
	for _, c := range []struct {
		pattern string
		tags    []string // that a field must not have together
	}{
		{"northbound/*.go", []string{"json"}}, {"cmd/weft/*.go", []string{"json", "doc"}},
		{"controller/*.go", []string{"json", "doc"}}, {"controller/*/*.go", []string{"json", "doc"}},
		{"service/*.go", []string{"json", "doc"}},
	} {
		files, err := filepath.Glob(filepath.Join(root, c.pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(c.pattern, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				field, ok := n.(*ast.Field)
				if !ok || field.Tag == nil {
					return true
				}
				all := 0
				for _, tag := range c.tags {
					if _, has := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Lookup(tag); has {
						all++
					}
				}
				if all == len(c.tags) {
					t.Errorf("%v: %s: define what travels over REST in api", fset.Position(field.Pos()),
						field.Tag.Value)
				}
				return true
			})
		}
	}
}
