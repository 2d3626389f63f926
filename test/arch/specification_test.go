package arch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// specification is a document that rows of docs/conformance.tsv quote, cut into units: a sentence,
// a line of a table, of pseudo-code or of a figure each.
type specification struct {
	prefix string // of the ids of its rows
	name   string
	file   string // in the folder of the documents
	cut    func(text string) []unit
	least  float64 // part of its words that units have

	text     string
	units    []unit
	sections map[string][]int // units of a section, by its number
}

// unit is the smallest part of a document covered by a row, or by a line of
// docs/not-requirements.tsv.
type unit struct {
	section string // number; "0" before the first one
	table   string // number of the table it is a line of, or ""
	text    string // white space and markup are normalized
}

func specifications() []*specification {
	return []*specification{
		{prefix: "MT-", name: "draft-li-spring-rdma-multicast-over-srv6-00",
			file: "rdma-multicast-over-srv6.txt", cut: cutMulticast, least: 0.67},
		{prefix: "PFC-", name: "draft srv6-pfc-sid", file: "srv6-pfc-sid.txt", cut: cutPFC, least: 0.98},
		{prefix: "MRC-", name: "OCP MRC 1.0", file: "ocp-mrc-1.0.txt", cut: cutMRC, least: 0.87},
	}
}

// readSpecifications reads the documents from WEFT_SPECS, by default the folder shared/specs beside
// that of the project, and skips the test where they are not at hand: they are not the project's to
// copy.
func readSpecifications(t *testing.T) []*specification {
	t.Helper()
	dir := os.Getenv("WEFT_SPECS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "specs")
	}
	all := specifications()
	for _, s := range all {
		text, err := os.ReadFile(filepath.Join(dir, s.file))
		if errors.Is(err, fs.ErrNotExist) && os.Getenv("WEFT_SPECS") == "" {
			t.Skipf("%s is not in %s: set WEFT_SPECS to the folder with the three documents to hold the "+
				"rows against them", s.file, dir)
		}
		if err != nil {
			t.Fatal(err)
		}
		s.text = string(text)
		s.units = s.cut(s.text)
		s.index()
	}
	return all
}

func (s *specification) index() {
	s.sections = map[string][]int{}
	for i, u := range s.units {
		s.sections[u.section] = append(s.sections[u.section], i)
	}
}

// place is a stretch of a section that words were found at.
type place struct {
	first, last int      // units
	spans       [][3]int // unit, and the octets of its text that are quoted
}

// find looks for words in a section, or in one of its tables: fragments between " … " that follow
// each other. They must be there once.
func (s *specification) find(section, table, words string) (place, error) {
	var units []int
	for _, i := range s.sections[section] {
		if table == "" || s.units[i].table == table {
			units = append(units, i)
		}
	}
	if len(units) == 0 {
		return place{}, fmt.Errorf("%s has no section %s with table %q", s.name, section, table)
	}
	var text strings.Builder
	starts := make([]int, len(units))
	for k, i := range units {
		starts[k] = text.Len()
		text.WriteString(s.units[i].text)
		text.WriteByte(' ')
	}
	fragments := strings.Split(words, " … ")
	for k, f := range fragments {
		fragments[k] = normalize(f)
		if fragments[k] == "" {
			return place{}, fmt.Errorf("empty words")
		}
	}
	whole := text.String()
	first := indexWords(whole, fragments[0], 0)
	if first < 0 {
		return place{}, fmt.Errorf("not in section %s: %q", section, fragments[0])
	}
	if again := indexWords(whole, fragments[0], first+1); again >= 0 {
		return place{}, fmt.Errorf("more than once in section %s, quote more: %q", section, fragments[0])
	}
	p := place{first: -1}
	for k, f := range fragments {
		at := first
		if k > 0 {
			if at = indexWords(whole, f, first); at < 0 {
				return place{}, fmt.Errorf("not in section %s after the words before: %q", section, f)
			}
		}
		end := at + len(f)
		for j, i := range units {
			from, to := starts[j], starts[j]+len(s.units[i].text)
			if from >= end || to <= at {
				continue
			}
			if p.first < 0 {
				p.first = i
			}
			p.last = i
			p.spans = append(p.spans, [3]int{i, max(from, at) - from, min(to, end) - from})
		}
		first = end
	}
	return p, nil
}

// indexWords is the place of words in a text, from a place on, where they begin and end as words
// do.
func indexWords(text, words string, from int) int {
	for {
		i := strings.Index(text[from:], words)
		if i < 0 {
			return -1
		}
		i += from
		end := i + len(words)
		if (i == 0 || !inWord(text[i-1]) || !inWord(words[0])) &&
			(end == len(text) || !inWord(text[end]) || !inWord(words[len(words)-1])) {
			return i
		}
		from = i + 1
	}
}

func inWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

var (
	markup = strings.NewReplacer("**", "", "`", "", "$", "", "<code>", "", "</code>", "", "<ul>", "",
		"</ul>", "", "<li>", "", "</li>", "", "<br>", " ")
	// a word broken at the end of a line, or two joined ones
	broken  = regexp.MustCompile(`(\w)- (\w)`)
	spaces  = regexp.MustCompile(`\s+`)
	heading = regexp.MustCompile(`^(\d+(?:\.\d+)*)\. +(\S.*)$`)
)

// normalize takes markup and line breaks out of a text.
func normalize(text string) string {
	text = spaces.ReplaceAllString(markup.Replace(text), " ")
	return strings.TrimSpace(broken.ReplaceAllString(text, "$1-$2"))
}

// sentences cuts prose where sentences end and items of lists begin.
func sentences(text string) []string {
	text = normalize(text)
	var out []string
	from := 0
	for _, at := range boundary.FindAllStringIndex(text, -1) {
		end := at[0] + 1
		before, after := strings.TrimSpace(text[from:end]), strings.TrimLeft(text[end:], " ")
		switch {
		case text[at[0]] == ':' || text[at[0]] == ';':
			if !itemBegins.MatchString(after) {
				continue
			}
		case abbreviation.MatchString(before) || marker.MatchString(before) || !opens.MatchString(after):
			continue
		// "End.MT" is a word; "simultaneously.In" are two
		case text[end] != ' ' && !longWord.MatchString(before):
			continue
		}
		out = append(out, before)
		from = end
	}
	if rest := strings.TrimSpace(text[from:]); rest != "" {
		out = append(out, rest)
	}
	return out
}

var (
	boundary     = regexp.MustCompile(`[.:;!?](?: |[A-Z])`)
	abbreviation = regexp.MustCompile(`\b(?:e\.g|i\.e|eg|Sec|vs|Fig)\.$`)
	marker       = regexp.MustCompile(`^(?:[a-h]|\d{1,2}|S\d\d)\.$`)
	opens        = regexp.MustCompile(`^(?:[“"(\[]?[A-Z]|[a-h]\. ?[A-Z]|\d{1,2}\. [A-Z]|- |[a-z]+_)`)
	longWord     = regexp.MustCompile(`[a-z]{4}\.$`)
	itemBegins   = regexp.MustCompile(`^(?:[a-h]\. ?[A-Z]|\d{1,2}\. [A-Z]|S\d\d\. )`)
)

var (
	pageBreak = regexp.MustCompile(
		`Li, et al\. +Expires 1 September 2026 +\[Page \d+\](?: +Internet-Draft +RDMA Multicast over SRv6 +February 2026)?`)
	contents = regexp.MustCompile(`(\d+(?:\.\d+)*)\. (\S.*?)(?: \.){2,} \d+`)
	codeLine = regexp.MustCompile(`(?:^| )(S\d\d\. |Ref\d: )`)
)

// cutMulticast cuts the multicast draft, whose text is one line. Its table of contents has the
// titles.
func cutMulticast(text string) []unit {
	text = spaces.ReplaceAllString(pageBreak.ReplaceAllString(text, " "), " ")
	front, _, ok := strings.Cut(text, " Table of Contents ")
	if !ok {
		return nil
	}
	type part struct {
		number     string
		start, end int
	}
	parts := []part{{number: "0", end: len(front)}}
	listed := contents.FindAllStringSubmatchIndex(text[len(front):], -1)
	at := len(front)
	if len(listed) > 0 {
		at += listed[len(listed)-1][1]
	}
	for _, m := range listed {
		for i := range m {
			m[i] += len(front)
		}
		head := text[m[2]:m[3]] + ". " + text[m[4]:m[5]] + " "
		i := strings.Index(text[at:], head)
		if i < 0 {
			continue // a chapter without a number
		}
		if last := &parts[len(parts)-1]; last.end == len(text) {
			last.end = at + i
		}
		at += i + len(head)
		parts = append(parts, part{number: text[m[2]:m[3]], start: at, end: len(text)})
	}
	var units []unit
	for _, p := range parts {
		if strings.HasPrefix(p.number, "11") {
			break // references and addresses
		}
		body := codeLine.ReplaceAllString(text[p.start:p.end], "\n$1")
		for line := range strings.SplitSeq(body, "\n") {
			if codeLine.MatchString(line) {
				units = append(units, unit{section: p.number, text: normalize(line)})
				continue
			}
			for _, s := range sentences(line) {
				units = append(units, unit{section: p.number, text: s})
			}
		}
	}
	return units
}

var (
	pfcHeading = regexp.MustCompile(`^(\d+(?:\.\d+)*)\.  +\S`)
	pfcCode    = regexp.MustCompile(`^ {3,}S\d\d\.`)
	pfcArt     = regexp.MustCompile(`[|+]-|-[|+]|\|.*\||^ +[/\\]|-{5}|\.{5}|^ +\+| {5}/`)
)

// cutPFC cuts the PFC draft: paragraphs of lines, figures, and pseudo-code whose lines go on where
// they are set in deeper.
func cutPFC(text string) []unit {
	var units []unit
	section := "0"
	var paragraph []string
	code := false
	flush := func() {
		for _, s := range sentences(strings.Join(paragraph, " ")) {
			units = append(units, unit{section: section, text: s})
		}
		paragraph = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch m := pfcHeading.FindStringSubmatch(line); {
		case m != nil:
			flush()
			section, code = m[1], false
		case strings.TrimSpace(line) == "":
			flush()
			code = false
		case pfcCode.MatchString(line):
			flush()
			units = append(units, unit{section: section, text: normalize(line)})
			code = true
		case code:
			units[len(units)-1].text = normalize(units[len(units)-1].text + " " + line)
		case pfcArt.MatchString(line):
			flush()
			units = append(units, unit{section: section, text: normalize(line)})
		default:
			if itemBegins.MatchString(strings.TrimSpace(line)) || strings.HasPrefix(strings.TrimSpace(line),
				"case") {
				flush()
			}
			paragraph = append(paragraph, line)
		}
	}
	flush()
	return units
}

var (
	caption  = regexp.MustCompile(`^(Table|Figure) (\d+(?:-\d+)?)\b`)
	footnote = regexp.MustCompile(`^[²³]`)
	running  = "Open Compute Project • Multipath Reliable Connection Specification"
)

// cutMRC cuts the MRC specification: a paragraph, a heading, an item of a list or a line of a table
// is a line, but where a page ends within one. Its table of contents, in capitals, ends before the
// history of revisions; its own headings follow.
func cutMRC(text string) []unit {
	_, body, ok := strings.Cut(text, "\nRevision History\n")
	if !ok {
		return nil
	}
	_, body, _ = strings.Cut(body, "\n1. License\n")
	var units []unit
	section, table := "1", ""
	header, code := false, false
	open := -1 // the unit that a page may have cut
	for line := range strings.SplitSeq(body, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			code, open = !code, -1
			continue
		case trimmed == "" || trimmed == running:
			continue
		case code:
			units = append(units, unit{section: section, text: normalize(line)})
			continue
		}
		if m := heading.FindStringSubmatch(line); m != nil && follows(section, m[1]) {
			section, table, open = m[1], "", -1
			continue
		}
		if m := caption.FindStringSubmatch(line); m != nil {
			table, header, open = m[2], m[1] == "Table", -1
			continue
		}
		if strings.Contains(line, "\t") {
			switch {
			case header:
				header = false
			case strings.HasPrefix(line, "\t") && open >= 0:
				units[open].text = normalize(units[open].text + " " + line)
			default:
				units = append(units, unit{section: section, table: table, text: normalize(line)})
				open = len(units) - 1
			}
			continue
		}
		if footnote.MatchString(trimmed) {
			units = append(units, unit{section: section, text: normalize(line)})
			continue
		}
		if open >= 0 && units[open].table == "" && !strings.HasSuffix(units[open].text, ".") &&
			trimmed[0] >= 'a' && trimmed[0] <= 'z' {
			trimmed = units[open].text + " " + trimmed
			units = units[:open]
		}
		table = ""
		for _, s := range sentences(trimmed) {
			units = append(units, unit{section: section, text: s})
		}
		open = len(units) - 1
	}
	return units
}

// follows reports whether section next may come after section last: as the first subsection of
// last, or as the next sibling of last or of a section around last. List items have section numbers
// too.
func follows(last, next string) bool {
	if next == last+".1" {
		return true
	}
	parts := strings.Split(last, ".")
	for n := len(parts); n > 0; n-- {
		var k int
		if _, err := fmt.Sscan(parts[n-1], &k); err != nil {
			return false
		}
		if next == strings.Join(append(append([]string{}, parts[:n-1]...), fmt.Sprint(k+1)), ".") {
			return true
		}
	}
	return false
}
