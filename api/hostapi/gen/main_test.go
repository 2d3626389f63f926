package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestGeneratedFresh fails when the committed code is not that of host.proto.
func TestGeneratedFresh(t *testing.T) {
	want, err := generate(t.Context(), "..")
	if err != nil {
		t.Fatal(err)
	}
	if len(want) != len(plugins) {
		t.Errorf("%d files, want one of each of %v", len(want), plugins)
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join("..", output, name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, text) {
			t.Errorf("%s is not what host.proto makes: run go generate ./api/hostapi", name)
		}
	}
}

func TestSourceThatDoesNotCompile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, source), []byte("message {"), 0o644); err != nil {
		t.Fatal(err)
	}
	if files, err := generate(t.Context(), dir); err == nil {
		t.Errorf("%d files", len(files))
	}
}
