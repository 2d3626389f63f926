// Package plantest has what tests of planned entities share.
package plantest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/entry"
)

var update = flag.Bool("update", false, "rewrite golden files")

// Golden compares a text with a file of testdata. The flag -update rewrites the file.
func Golden(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s; run with -update and look at the diff\ngot:\n%s", path,
			diff(string(want), got))
	}
}

// diff returns the lines that only one of two texts has.
func diff(want, got string) string {
	var b strings.Builder
	has := func(s string) map[string]bool {
		m := make(map[string]bool)
		for l := range strings.SplitSeq(s, "\n") {
			m[l] = true
		}
		return m
	}
	w, g := has(want), has(got)
	for l := range strings.SplitSeq(want, "\n") {
		if !g[l] {
			fmt.Fprintln(&b, "-", l)
		}
	}
	for l := range strings.SplitSeq(got, "\n") {
		if !w[l] {
			fmt.Fprintln(&b, "+", l)
		}
	}
	return b.String()
}

// Schema returns that of the P4 program.
func Schema(t testing.TB) *southbound.Schema {
	t.Helper()
	p, err := southbound.NewPipeline(p4.P4Info(), p4.JSON())
	if err != nil {
		t.Fatal(err)
	}
	return p.Schema()
}

// Check fails the test when the program does not accept an entity of a switch unchanged, or when
// seen already has the entity's key.
func Check(t testing.TB, s *southbound.Schema, sw string, e entry.Entity, seen map[entry.Key]bool) {
	t.Helper()
	if seen[e.Key()] {
		t.Errorf("%s: twice: %s", sw, e.Key())
	}
	seen[e.Key()] = true
	coded, err := s.Encode(e)
	if err != nil {
		t.Errorf("%s: %v", sw, err)
		return
	}
	back, err := s.Decode(coded)
	if err != nil || !entry.Equal(e, back) {
		t.Errorf("%s: %s came back as %v, %v", sw, e, back, err)
	}
}
