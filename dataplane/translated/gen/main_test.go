package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestCurrent has the committed files be what the committed programs are translated to.
func TestCurrent(t *testing.T) {
	files, err := generate("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s is not what its program is translated to: run go generate ./dataplane/translated",
				name)
		}
	}
	for _, folder := range []string{"..", "../testprograms"} {
		there, err := filepath.Glob(filepath.Join(folder, "*_gen.go"))
		if err != nil || len(there) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(there), err)
		}
		for _, file := range there {
			name, err := filepath.Rel("..", file)
			if err != nil {
				t.Fatal(err)
			}
			if files[filepath.ToSlash(name)] == nil {
				t.Errorf("%s is of no program", name)
			}
		}
	}
}
