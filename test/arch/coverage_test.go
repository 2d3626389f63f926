package arch

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A mark is a word that makes a sentence normative, in capitals or not. A row must quote every
// mark, or the exceptions must list the sentence by itself.
var mark = regexp.MustCompile(
	`\b(?:MUST(?: NOT)?|SHALL(?: NOT)?|SHOULD(?: NOT)?|MAY|REQUIRED|RECOMMENDED|OPTIONAL|must|shall|should|required|recommended)\b`)

// bare is a line without words: of a figure, or the brackets of pseudo-code.
var bare = regexp.MustCompile(`^(?:S\d\d\. )?[^A-Za-z0-9]*$`)

// wherePattern is a section, perhaps a table of it, perhaps more words.
var wherePattern = regexp.MustCompile(`^(\d+(?:\.\d+)*)(?: table (\d+-\d+))?(?:, (\S.*))?$`)

// classes are the reasons for which text is no requirement (docs/not-requirements.tsv).
var classes = map[string]string{
	"boilerplate": "licence, status of the document, history",
	"definition":  "says what a word means",
	"diagram":     "a figure, or a layout whose fields are given elsewhere",
	"example":     "one case of a rule",
	"heading":     "introduces a list, a table or a section",
	"informative": "background, reasons, aims",
	"language":    "how to read key words",
	"left open":   "says that the document does not say",
	"reference":   "points to another document or section",
	"registry":    "asks the registrar",
	"repeats":     "what the rows in note have",
	"vendor":      "how a vendor builds a network card into an operating system",
}

// line is a line of docs/not-requirements.tsv.
type line struct {
	number                           int
	document, section, table         string
	from, to, class, note, whereText string
}

func readNotRequirements(t *testing.T) []line {
	t.Helper()
	var lines []line
	for n, fields := range readTable(t, "../../docs/not-requirements.tsv",
		"document\twhere\tfrom\tto\tclass\tnote") {
		if fields == nil {
			continue
		}
		m := wherePattern.FindStringSubmatch(fields[1])
		if m == nil {
			t.Errorf("not-requirements.tsv:%d: where %q: want a section, such as \"7.4\" or \"7.4.4 table "+
				"7-3\"", n, fields[1])
			continue
		}
		if _, ok := classes[fields[4]]; !ok {
			t.Errorf("not-requirements.tsv:%d: class %q is none of those in docs/conformance.md", n,
				fields[4])
		}
		lines = append(lines, line{n, fields[0], m[1], m[2], fields[2], fields[3], fields[4], fields[5],
			fields[1]})
	}
	return lines
}

// readTable returns the lines of a tab-separated file of docs/ by their number; nil for one that is
// malformed, which it reports, and for the first.
func readTable(t *testing.T, path, header string) [][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if lines[0] != header {
		t.Fatalf("%s: header is %q, want %q", path, lines[0], header)
	}
	out := make([][]string, len(lines)+1)
	for i, l := range lines[1:] {
		fields := strings.Split(l, "\t")
		if want := strings.Count(header, "\t") + 1; len(fields) != want {
			t.Errorf("%s:%d: %d fields, want %d", path, i+2, len(fields), want)
			continue
		}
		out[i+2] = fields
	}
	return out
}

// TestQuotations: the text quoted by a row stands exactly once at the given place of the document.
// The same holds for docs/not-requirements.tsv.
func TestQuotations(t *testing.T) {
	documents := readSpecifications(t)
	for _, r := range readRows(t) {
		if s := documentOf(documents, r.id); s != nil {
			if _, err := s.find(r.section, r.table, r.words); err != nil {
				t.Errorf("conformance.tsv:%d: %s: %v", r.number, r.id, err)
			}
		}
	}
	for _, l := range readNotRequirements(t) {
		if _, err := l.covers(documents); err != nil {
			t.Errorf("not-requirements.tsv:%d: %v", l.number, err)
		}
	}
}

// TestNotRequirements: what docs/not-requirements.tsv says of its lines is well formed; what
// repeats others names rows that exist.
func TestNotRequirements(t *testing.T) {
	rows := map[string]bool{}
	for _, r := range readRows(t) {
		rows[r.id] = true
	}
	for _, l := range readNotRequirements(t) {
		if l.to != "" && l.from == "" {
			t.Errorf("not-requirements.tsv:%d: words to end with, and none to begin with", l.number)
		}
		ids := anyID.FindAllString(l.note, -1)
		if l.class == "repeats" && len(ids) == 0 {
			t.Errorf("not-requirements.tsv:%d: want the rows that it repeats in note", l.number)
		}
		for _, id := range ids {
			if !rows[id] {
				t.Errorf("not-requirements.tsv:%d: no row %s", l.number, id)
			}
		}
	}
}

// anyID is an id in a text.
var anyID = regexp.MustCompile(`\b(?:MT|PFC|MRC|API)-(?:[A-Z0-9.]+-)?\d{2,3}\b`)

// TestEveryNormativeSentence: every sentence, table row and line of pseudo-code of the three
// documents is quoted by a row, or listed in docs/not-requirements.tsv with the reason for which it
// asks nothing. Words that make a sentence normative must be within the quotation.
func TestEveryNormativeSentence(t *testing.T) {
	documents := readSpecifications(t)
	for _, s := range documents {
		quoted := make([][][2]int, len(s.units))
		for _, r := range readRows(t) {
			if documentOf(documents, r.id) != s {
				continue
			}
			p, err := s.find(r.section, r.table, r.words)
			if err != nil {
				continue // TestQuotations says so
			}
			for _, span := range p.spans {
				quoted[span[0]] = append(quoted[span[0]], [2]int{span[1], span[2]})
			}
		}
		listed := make([]bool, len(s.units))
		for _, l := range readNotRequirements(t) {
			if l.document+"-" != s.prefix {
				continue
			}
			units, err := l.covers(documents)
			if err != nil {
				continue
			}
			if !slices.ContainsFunc(units, func(i int) bool { return len(quoted[i]) == 0 }) {
				t.Errorf("not-requirements.tsv:%d: %s %s: all of it is quoted by rows", l.number, s.name,
					l.whereText)
			}
			for _, i := range units {
				listed[i] = true
				if m := mark.FindString(s.units[i].text); m != "" && len(units) > 1 &&
					!covered(s.units[i].text, quoted[i]) {
					t.Errorf("not-requirements.tsv:%d: %s %s: %q has %s: list it by itself, or quote it in a row",
						l.number, s.name, l.whereText, s.units[i].text, m)
				}
			}
		}
		for i, u := range s.units {
			if !listed[i] && !covered(u.text, quoted[i]) && !bare.MatchString(u.text) {
				t.Errorf("%s, section %s: no row quotes, and not-requirements.tsv does not list: %q", s.name,
					u.section, u.text)
			}
		}
	}
}

// covered reports whether quotations of a text contain every normative word, or any two words of a
// text without normative words.
func covered(text string, spans [][2]int) bool {
	for _, m := range mark.FindAllStringIndex(text, -1) {
		if !slices.ContainsFunc(spans, func(s [2]int) bool { return s[0] <= m[0] && m[1] <= s[1] }) {
			return false
		}
	}
	return slices.ContainsFunc(spans, func(s [2]int) bool {
		return len(strings.Fields(text[s[0]:s[1]])) >= min(2, len(strings.Fields(text)))
	})
}

// covers returns the units that a line lists: the units from the words of from to the words of to;
// only the unit of from without a to; the whole section or table without both.
func (l line) covers(documents []*specification) ([]int, error) {
	s := documentOf(documents, l.document+"-")
	if s == nil {
		return nil, fmt.Errorf("document %q: want MT, PFC or MRC", l.document)
	}
	if l.from == "" {
		var units []int
		for _, i := range s.sections[l.section] {
			if l.table == "" || s.units[i].table == l.table {
				units = append(units, i)
			}
		}
		if len(units) == 0 {
			return nil, fmt.Errorf("%s has no %s", s.name, l.whereText)
		}
		return units, nil
	}
	p, err := s.find(l.section, l.table, l.from)
	if err != nil {
		return nil, err
	}
	last := p.last
	if l.to != "" {
		q, err := s.find(l.section, l.table, l.to)
		if err != nil {
			return nil, err
		}
		if last = q.last; last < p.first {
			return nil, fmt.Errorf("%q stands before %q", l.to, l.from)
		}
	}
	var units []int
	for i := p.first; i <= last; i++ {
		units = append(units, i)
	}
	return units, nil
}

func documentOf(documents []*specification, id string) *specification {
	for _, s := range documents {
		if strings.HasPrefix(id, s.prefix) {
			return s
		}
	}
	return nil
}

// TestNothingIsLost: nearly all words of the documents belong to units. The rest is headings,
// captions, table heads, and text before or after the body.
func TestNothingIsLost(t *testing.T) {
	for _, s := range readSpecifications(t) {
		body := len(strings.Fields(normalize(s.text)))
		cut := 0
		for _, u := range s.units {
			cut += len(strings.Fields(u.text))
		}
		if part := float64(cut) / float64(body); part < s.least || part > 1 {
			t.Errorf("%s: %d of %d words are in units (%.3f), want %.2f", s.name, cut, body, part, s.least)
		}
	}
}
