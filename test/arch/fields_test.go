package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// mostFields is how many fields a type of the controller may have. One with more holds several
// things that change by rules of their own: each becomes a type.
const mostFields = 20

// TestFewFields: no struct of the controller holds everything. An embedded field counts as one.
func TestFewFields(t *testing.T) {
	structs := 0
	err := filepath.WalkDir(filepath.Join(root, "controller"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			structs++
			fields := 0
			for _, field := range s.Fields.List {
				fields += max(1, len(field.Names))
			}
			if fields > mostFields {
				t.Errorf("%v: a struct of %d fields, want at most %d", files.Position(s.Pos()), fields, mostFields)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if structs < 100 {
		t.Errorf("found %d structs only", structs)
	}
}
