package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDescribedOnce: no file but operation.go knows a primitive by its name.
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
		for name := range operations {
			if q := `"` + name + `"`; strings.Contains(string(text), q) {
				t.Errorf("%s has %s: the table of operations has what is known of a primitive", file, q)
			}
		}
	}
	if seen < 50 {
		t.Errorf("%d files, want those of the package", seen)
	}
}
