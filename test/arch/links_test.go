package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// anchors returns the headings of a page and their anchors, formed as Markdown renderers form
// anchors.
func anchors(t *testing.T, page string) (map[string]bool, map[string]bool) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	ids, headings := make(map[string]bool), make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^#+ +(.+)$`).FindAllStringSubmatch(string(text), -1) {
		heading := strings.TrimSpace(m[1])
		headings[heading] = true
		ids[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, heading)] = true
	}
	return ids, headings
}

// files calls f for every project file with one of some suffixes.
func files(t *testing.T, suffixes []string, f func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "node_modules" ||
			d.Name() == "bin") {
			return fs.SkipDir
		}
		for _, s := range suffixes {
			if !d.IsDir() && strings.HasSuffix(path, s) {
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				f(path, string(text))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLinks: what pages link to exists, headings included.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	count := 0
	files(t, []string{".md"}, func(path, text string) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			count++
			file, anchor, _ := strings.Cut(m[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: link to %s: %v", path, m[1], err)
				continue
			}
			if anchor == "" {
				continue
			}
			if ids, _ := anchors(t, target); !ids[anchor] {
				t.Errorf("%s: link to %s: no such heading", path, m[1])
			}
		}
	})
	if count < 50 {
		t.Errorf("%d links only", count)
	}
}

// TestCitations: a page that code cites exists, and so does the heading behind the comma.
func TestCitations(t *testing.T) {
	cited := regexp.MustCompile(
		`docs/([a-z-]+\.(?:md|tsv))(?:,\s+(?://\s*)?"?([A-Z][A-Za-z.]*(?: [A-Za-z.]+)*))?`)
	count := 0
	files(t, []string{".go", ".p4", ".proto", ".tsv", "Makefile"}, func(path, text string) {
		if strings.HasSuffix(path, "links_test.go") {
			return
		}
		for _, m := range cited.FindAllStringSubmatch(text, -1) {
			count++
			page := filepath.Join(root, "docs", m[1])
			if _, err := os.Stat(page); err != nil {
				t.Errorf("%s cites docs/%s: %v", path, m[1], err)
				continue
			}
			if m[2] == "" {
				continue
			}
			_, headings := anchors(t, page)
			// The sentence may go on behind the heading.
			found := false
			for h := range headings {
				found = found || strings.HasPrefix(m[2], h) || strings.HasPrefix(h, m[2])
			}
			if !found {
				t.Errorf("%s cites docs/%s, %q: no such heading", path, m[1], m[2])
			}
		}
	})
	if count < 20 {
		t.Errorf("%d citations only", count)
	}
}
