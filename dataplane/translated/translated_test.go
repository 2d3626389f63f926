package translated_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/translated"
	"github.com/weft-sdn/weft/dataplane/translated/testprograms"
	"github.com/weft-sdn/weft/p4"
)

// TestCurrent has the code be what the committed program is translated to.
func TestCurrent(t *testing.T) {
	want, err := engine.Translate(p4.JSON(), "translated", "Fabric")
	if err != nil {
		t.Fatal(err)
	}
	sameFile(t, "fabric_gen.go", want)
}

// TestProgramsCurrent has that of the programs that test the switch be so too.
func TestProgramsCurrent(t *testing.T) {
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
		base := strings.TrimSuffix(filepath.Base(file), ".json")
		name := ""
		for word := range strings.SplitSeq(base, "_") {
			name += strings.ToUpper(word[:1]) + word[1:]
		}
		want, err := engine.Translate(text, "testprograms", name)
		if err != nil {
			t.Fatal(err)
		}
		sameFile(t, filepath.Join("testprograms", base+"_gen.go"), want)
		if p, err := engine.Load(text, testprograms.All...); err != nil || !p.Translated() {
			t.Errorf("%s is interpreted, %v", base, err)
		}
	}
}

func sameFile(t *testing.T, file string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what its program is translated to: run go generate ./dataplane/translated",
			file)
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
