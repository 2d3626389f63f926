package dataplane

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompiled: `make p4` has made the compiled programs from the sources beside them.
func TestCompiled(t *testing.T) {
	list, err := os.ReadFile("testdata/compiled.sha256")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			t.Fatalf("%q: want a digest and a name", line)
		}
		listed[name] = true
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Error(err)
			continue
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(b)); got != sum {
			t.Errorf("%s has changed since `make p4`", name)
		}
	}
	for _, ext := range []string{".p4", ".json", ".p4info.txtpb"} {
		files, err := filepath.Glob("testdata/*" + ext)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !listed[filepath.Base(f)] {
				t.Errorf("%s is not what `make p4` made", f)
			}
		}
	}
}

func TestLoadTestdata(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d programs, %v", len(files), err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) { loadFile(t, f) })
	}
}
