package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// numbers are the words for small numbers in pages.
var numbers = []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight"}

// TestFactsOfTheController: what docs/architecture.md says of goroutines and features is counted in
// the code.
func TestFactsOfTheController(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page := read("docs/architecture.md")
	_, section, ok := strings.Cut(page, "\n## The controller\n")
	section, _, end := strings.Cut(section, "\n### ")
	if !ok || !end {
		t.Fatal("docs/architecture.md has no section \"The controller\"")
	}

	goroutines := strings.Count(read("controller/connection.go"), "g.Go(")
	said := regexp.MustCompile(`(\w+) a switch carry out its tasks`).FindStringSubmatch(section)
	if said == nil || goroutines >= len(numbers) || said[1] != numbers[goroutines] {
		t.Errorf("the page says %q goroutines a switch; controller/connection.go starts %d", said,
			goroutines)
	}

	composed := regexp.MustCompile(`\b(\w+)\.New\(&c\.env\b`)
	features := make(map[string]bool)
	for _, m := range composed.FindAllStringSubmatch(read("controller/features.go"), -1) {
		features[m[1]] = true
		if !regexp.MustCompile(`\b` + m[1] + `\b`).MatchString(section) {
			t.Errorf("the page does not name the feature %s", m[1])
		}
	}
	if len(features) < 5 {
		t.Errorf("controller/features.go composes %d features only", len(features))
	}
	others := regexp.MustCompile(`the others, ([^:]*?), have\s+the same seam`).
		FindStringSubmatch(section)
	if others == nil {
		t.Fatal("the page does not list the features that its picture leaves out")
	}
	drawn := 0
	for _, name := range []string{"underlay", "multicast", "pfc"} {
		if features[name] {
			drawn++
		}
	}
	listed := regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(others[1], -1)
	for _, m := range listed {
		if !features[m[1]] {
			t.Errorf("the page lists %s, which is no feature", m[1])
		}
	}
	if len(listed)+drawn != len(features) ||
		!strings.Contains(section, numbers[drawn]+" of the features") {
		t.Errorf("the page draws %d features and lists %d, the controller has %d",
			drawn, len(listed), len(features))
	}
}
