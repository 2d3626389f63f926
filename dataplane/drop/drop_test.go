package drop

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocumented compares docs/dataplane.md with the table: the same reasons with the same
// explanations, in the same order.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/dataplane.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## Drop reasons\n")
	if !ok {
		t.Fatal(`docs/dataplane.md has no section "Drop reasons"`)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var documented, want []string
	for _, row := range regexp.MustCompile(
		"(?m)^\\| `(\\w+)` \\| [^|]+ \\| (.*) \\|$").FindAllStringSubmatch(section, -1) {
		documented = append(documented, row[1]+": "+row[2])
	}
	for r := range Reasons() {
		want = append(want, r.String()+": "+r.Text())
	}
	if !slices.Equal(documented, want) {
		t.Errorf("docs/dataplane.md lists\n%s\nthe code has\n%s", strings.Join(documented, "\n"),
			strings.Join(want, "\n"))
	}
}

// TestNames checks that every reason has a unique name, valid as a metric label, and an
// explanation.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for r := range Reasons() {
		if name := r.String(); !regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`).MatchString(name) || seen[name] {
			t.Errorf("reason %d is called %q", uint8(r), name)
		} else {
			seen[name] = true
		}
		if r.Text() == "" {
			t.Errorf("%v has no explanation", r)
		}
	}
}

func TestCounts(t *testing.T) {
	var c Counts
	c[NoProgram], c[PFCRefused] = 2, 3
	if c.Total() != 5 {
		t.Errorf("total %d, want 5", c.Total())
	}
	got := map[string]uint64{}
	for r, n := range c.All() {
		got[r.String()] = n
	}
	if len(got) != int(PFCRefused) || got["no_program"] != 2 || got["pfc_refused"] != 3 {
		t.Errorf("counts %v", got)
	}
}
