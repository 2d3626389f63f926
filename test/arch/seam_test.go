package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// faces returns the number of exported methods for each exported type in a controller package.
func faces(t *testing.T, dir string) map[string]int {
	t.Helper()
	out := make(map[string]int)
	for _, path := range sourcesIn(t, dir) {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || !fn.Name.IsExported() {
				continue
			}
			of := fn.Recv.List[0].Type
			if p, ok := of.(*ast.StarExpr); ok {
				of = p.X
			}
			if name, ok := of.(*ast.Ident); ok && name.IsExported() {
				out[name.Name]++
			}
		}
	}
	return out
}

// sourcesIn returns the files of a package that are no tests.
func sourcesIn(t *testing.T, dir string) (out []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil || len(all) == 0 {
		t.Fatalf("%s: %v", dir, err)
	}
	return slices.DeleteFunc(all, func(path string) bool {
		return strings.HasSuffix(path, "_test.go")
	})
}

// fieldsOf calls see with the name and the exported fields of each struct type of a package.
func fieldsOf(t *testing.T, dir string, see func(name string, fields []string)) {
	t.Helper()
	for _, path := range sourcesIn(t, dir) {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			var names []string
			for _, field := range s.Fields.List {
				for _, name := range field.Names {
					if name.IsExported() {
						names = append(names, name.Name)
					}
				}
			}
			see(spec.Name.Name, names)
			return true
		})
	}
}

// TestOneConfigurationOfMRC: the MRC core uses the configuration of the inventory, with the
// defaults there, and defines no second configuration with the same fields.
func TestOneConfigurationOfMRC(t *testing.T) {
	configured := make(map[string]bool)
	fieldsOf(t, "controller/inventory", func(name string, fields []string) {
		if slices.Contains([]string{"MRC", "Restore", "Suspects", "Probes"}, name) {
			for _, field := range fields {
				configured[field] = true
			}
		}
	})
	if !configured["MaxHold"] || !configured["DenyLoss"] || !configured["HostRate"] {
		t.Fatalf("package inventory configures %v only", configured)
	}
	fieldsOf(t, "controller/mrc", func(name string, fields []string) {
		same := slices.DeleteFunc(fields, func(field string) bool { return !configured[field] })
		if len(same) > 1 && name != "Override" { // what a client wants instead
			t.Errorf("mrc.%s has %v, which inventory.MRC has", name, same)
		}
	})
}

// TestFacesOfReconcile: package reconcile has three faces, and each of its types is small.
func TestFacesOfReconcile(t *testing.T) {
	all := faces(t, "controller/reconcile")
	for name, n := range all {
		if n > mostMethods {
			t.Errorf("reconcile.%s has %d methods, want at most %d", name, n, mostMethods)
		}
	}
	for _, name := range []string{"Want", "State", "Events"} {
		if all[name] == 0 {
			t.Errorf("there is no reconcile.%s", name)
		}
	}
}

// beyondFeatures is what the composition and the ledger have, and features must not: what happens
// to switches, and the store.
var beyondFeatures = regexp.MustCompile(`\breconcile\.(Events|New|Task|Result)\b|` +
	`\bstore\.(Store|Writer|NewWriter|Memory|NewMemory)\b|controller/ledger"`)

// TestFeaturesHaveTheirPart: a feature has reconcile.Want and reconcile.State, and no way to keep
// anything but the writes that it returns to the core.
func TestFeaturesHaveTheirPart(t *testing.T) {
	features := []string{"controller/feature", "controller/resource"}
	dirs, err := os.ReadDir(filepath.Join(root, "controller"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if _, err := os.Stat(filepath.Join(root, "controller", d.Name(), "feature.go")); err == nil &&
			d.Name() != "feature" {
			features = append(features, "controller/"+d.Name())
		}
	}
	if len(features) < 10 {
		t.Errorf("found %v only", features)
	}
	for _, dir := range features {
		for _, path := range sourcesIn(t, dir) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if found := beyondFeatures.FindString(string(text)); found != "" {
				t.Errorf("%s: %s is not for features", path, found)
			}
		}
	}
}
