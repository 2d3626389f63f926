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

// mostFields is how many fields a type with state may have. One with more holds several
// things that change by rules of their own: each becomes a type.
const mostFields = 20

// TestFewFields: no core holds everything. An embedded field counts as one field. A struct with
// only exported fields is a document, like configurations and counters, and may have more fields.
// The embedded switch may have more fields too, because it keeps together the data that one packet
// touches.
func TestFewFields(t *testing.T) {
	structs := 0
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if path == filepath.Join(root, "dataplane") {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.HasSuffix(path, ".pb.go") {
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
			fields, state := 0, false
			for _, field := range s.Fields.List {
				fields += max(1, len(field.Names))
				for _, name := range field.Names {
					state = state || !name.IsExported()
				}
			}
			if state && fields > mostFields {
				t.Errorf("%v: a struct of %d fields, want at most %d", files.Position(s.Pos()), fields,
					mostFields)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if structs < 500 {
		t.Errorf("found %d structs only", structs)
	}
}
