package translated_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/translated"
	"github.com/weft-sdn/weft/dataplane/translated/testprograms"
	"github.com/weft-sdn/weft/p4"
)

// TestTaken: each translated program runs as Go.
func TestTaken(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.json")
	if err != nil || len(files) != len(testprograms.All) {
		t.Fatalf("%d programs, %v; want the %d that are translated", len(files), err,
			len(testprograms.All))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := engine.Load(text, testprograms.All...); err != nil || !p.Translated() {
			t.Errorf("%s is interpreted, %v", file, err)
		}
	}
}

// TestOnlyItself has the committed program run as Go, and any other not.
func TestOnlyItself(t *testing.T) {
	p, err := engine.Load(p4.JSON(), translated.Fabric)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Translated() {
		t.Error("the committed program is interpreted")
	}
	if p, err = engine.Load(append(bytes.Clone(p4.JSON()), '\n'), translated.Fabric); err != nil {
		t.Fatal(err)
	}
	if p.Translated() {
		t.Error("another program than the committed one runs as that")
	}
}
