package dataplane

import (
	"path/filepath"
	"testing"
)

func TestLoadTestdata(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d programs, %v", len(files), err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) { loadFile(t, f) })
	}
}
