package arch

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDarwin: the client for macOS compiles as far as its types go, which finds a file for Linux
// whose names the others use. Nothing else in make test has another system. It reads the bodies of
// functions in this module alone.
func TestDarwin(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads the source of all dependencies")
	}
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap", "./cmd/weft")
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	checked, own := map[string]*types.Package{"unsafe": types.Unsafe}, 0
	for list := json.NewDecoder(out); ; { // go list puts dependencies first
		var p struct {
			ImportPath, Dir string
			GoFiles         []string
			ImportMap       map[string]string
		}
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		isOwn := strings.HasPrefix(p.ImportPath, module)
		if isOwn {
			own++
		}
		fset := token.NewFileSet()
		files := make([]*ast.File, len(p.GoFiles))
		for i, name := range p.GoFiles {
			files[i], err = parser.ParseFile(fset, filepath.Join(p.Dir, name), nil,
				parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
		}
		c := types.Config{
			IgnoreFuncBodies: !isOwn, Sizes: types.SizesFor("gc", "arm64"),
			Importer: importer(func(path string) (*types.Package, error) {
				if mapped, ok := p.ImportMap[path]; ok {
					path = mapped
				}
				if checked[path] == nil {
					return nil, fmt.Errorf("%s comes after %s in go list", path, p.ImportPath)
				}
				return checked[path], nil
			}),
			Error: func(err error) { t.Errorf("GOOS=darwin: %v", err) },
		}
		if p.ImportPath != "unsafe" {
			checked[p.ImportPath], _ = c.Check(p.ImportPath, fset, files, nil) // told to Error
		}
	}
	if err := cmd.Wait(); err != nil || own < 100 {
		t.Errorf("go list: %v, %d packages of this module", err, own)
	}
}

// importer implements [types.Importer].
type importer func(path string) (*types.Package, error)

// Import implements [types.Importer].
func (i importer) Import(path string) (*types.Package, error) { return i(path) }
