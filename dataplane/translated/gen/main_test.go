package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/p4"
)

// TestCurrent has the committed file be what the committed program is translated to.
func TestCurrent(t *testing.T) {
	got, err := os.ReadFile("../fabric_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	want, err := engine.Translate(p4.JSON(), "translated", "Fabric")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("fabric_gen.go is not what its program is translated to, %v: run go generate "+
			"./dataplane/translated", err)
	}
}

// TestPrograms translates the test programs of the embedded switch, and runs the tests of package
// dataplane with them: package testprograms, and the file that gives the programs to these tests,
// exist only in this test's overlay.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles 8,000 lines")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "testdata", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d programs, %v", len(files), err)
	}
	dir, replace := t.TempDir(), map[string]string{}
	write := func(at, text string) {
		file := filepath.Join(dir, filepath.Base(at))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, at)] = file
	}
	var names strings.Builder
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code, err := engine.Translate(text, "testprograms", fmt.Sprintf("P%d", i))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		write(fmt.Sprintf("translated/testprograms/p%d.go", i), string(code))
		fmt.Fprintf(&names, "testprograms.P%d, ", i)
	}
	write("testprograms_test.go", fmt.Sprintf("package dataplane\n\nimport (\n"+
		"\t\"github.com/weft-sdn/weft/dataplane/engine\"\n"+
		"\t\"github.com/weft-sdn/weft/dataplane/translated/testprograms\"\n)\n\n"+
		"func init() { asGo = []*engine.Translation{%s} }\n", &names))
	doc, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	left := 10 * time.Minute
	if deadline, ok := t.Deadline(); ok {
		left = time.Until(deadline) - 10*time.Second // so that what it says is shown
	}
	tests := []string{"TestTranslated", "TestRecalled", "TestBounds", "TestAfterAssertion"}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-v", "-vet=off", "-count=1", "-overlay",
		overlay, "-timeout", left.String(), "-run", "^("+strings.Join(tests, "|")+")$", ".")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("the test programs as Go: %v\n%s", err, out)
	}
	for _, test := range tests {
		if !strings.Contains(string(out), "--- PASS: "+test+" ") {
			t.Errorf("%s did not run:\n%s", test, out)
		}
	}
}
