package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityNamesTests: each test that SECURITY.md names is there.
func TestSecurityNamesTests(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z0-9/]+)/(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(
		string(page), -1)
	if len(named) < 30 {
		t.Errorf("%d tests are named", len(named))
	}
	for _, m := range named {
		files, err := filepath.Glob(filepath.Join(root, m[1], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(text), "\nfunc "+m[2]+"(t *testing.T)")
		}
		if !found {
			t.Errorf("SECURITY.md names %s in %s: there is no such test", m[2], m[1])
		}
	}
}
