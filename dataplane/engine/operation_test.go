package engine

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDescribedOnce: no file but operation.go knows a primitive by its name, and none but
// parserop.go an operation of the parser.
func TestDescribedOnce(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range files {
		if file == "operation.go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		seen++
		names := slices.Collect(maps.Keys(operations))
		if file != "parserop.go" {
			names = slices.AppendSeq(names, maps.Keys(parserOperations))
		}
		for _, name := range names {
			if q := `"` + name + `"`; strings.Contains(string(text), q) {
				t.Errorf("%s has %s: a table of operations has what is known of it", file, q)
			}
		}
	}
	if seen < 50 {
		t.Errorf("%d files, want those of the package", seen)
	}
}
