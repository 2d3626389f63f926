package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestKeys: cached results of a package's tests stay valid as long as the code compiled into the
// tests and the test data stay unchanged.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.org/sample\n\ngo 1.26\n")
	write("rules/rules.go", "package rules\n\nimport _ \"embed\"\n\n//go:embed a.txt\nvar A string\n")
	write("rules/a.txt", "a")
	write("use/use.go", "package use\n\nimport \"example.org/sample/rules\"\n\nvar B = rules.A\n")
	write("use/use_test.go", "package use\n\nimport \"testing\"\n\nfunc TestUse(*testing.T) {}\n")
	write("use/testdata/deep/case", "1")
	write("use/inner/inner.go", "package inner\n")
	write("other/other.go", "package other\n")
	write("other/other_test.go",
		"package other\n\nimport \"testing\"\n\nfunc TestOther(*testing.T) {}\n")
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-mod=mod")
	m, err := openModule(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	key := func() string {
		all, err := m.testing(t.Context(), []string{"example.org/sample/rules"})
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != 1 || all[0].pkg != "example.org/sample/use" ||
			!slices.Equal(all[0].targets, []string{"example.org/sample/rules"}) {
			t.Fatalf("the tests of %+v run code of rules, want those of use", all)
		}
		return all[0].key
	}
	before := key()
	for _, name := range []string{"other/other.go", "other/other_test.go", "use/inner/inner.go"} {
		write(name, "package "+filepath.Base(filepath.Dir(name))+"\n\n// Other.\n")
		if key() != before {
			t.Errorf("%s counts, which the tests are not built from", name)
		}
	}
	for _, change := range [][2]string{
		{"rules/rules.go", "package rules\n\nvar A string\n"}, {"use/use_test.go", "package use\n"},
		{"use/testdata/deep/case", "2"}, {"go.mod", "module example.org/sample\n\ngo 1.25\n"},
	} {
		path := filepath.Join(dir, change[0])
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if change[0] == "use/use_test.go" { // it stays a package with a test
			change[1] = string(old) + "\n// More.\n"
		}
		write(change[0], change[1])
		if key() == before {
			t.Errorf("%s does not count", change[0])
		}
		write(change[0], string(old))
	}
	if key() != before {
		t.Error("the same code has another key")
	}
	write("rules/a.txt", "b")
	if key() == before {
		t.Error("an embedded file does not count")
	}
}

// TestForget removes what is kept of one package alone.
func TestForget(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a-1.tests", "a-b-1.tests", "ab-1.tests",
		"outcomes"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := forget(dir, "a"); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	if want := []string{"a-b-1.tests", "ab-1.tests", "outcomes"}; !slices.Equal(names, want) {
		t.Errorf("%v are left, want %v", names, want)
	}
}

// TestOutcomes: a later run reads kept outcomes, but not a truncated line.
func TestOutcomes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "outcomes")
	o, err := openOutcomes(name)
	if err != nil {
		t.Fatal(err)
	}
	for key, end := range map[string]int{"a": killed, "b": notReached, "c": invalid} {
		if err := o.keep(key, end); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.noticed("a", "rules", "TestRules"); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"d 9\n", "e -1\n", "f\n", "by b rules\n", "g "} {
		if _, err := o.file.WriteString(line); err != nil {
			t.Fatal(err)
		}
	}
	again, err := openOutcomes(name)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"a": killed, "b": notReached, "c": invalid}
	if len(again.known) != len(want) {
		t.Errorf("%v is read, want %v", again.known, want)
	}
	if by := map[string][2]string{"a": {"rules", "TestRules"}}; !maps.Equal(again.by, by) {
		t.Errorf("%v noticed changes, want %v", again.by, by)
	}
	for key, end := range want {
		if again.known[key] != end {
			t.Errorf("%s: %d is read, want %d", key, again.known[key], end)
		}
	}
}
