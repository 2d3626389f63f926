package arch

import (
	"slices"
	"strings"
	"testing"
)

// Three texts with the shapes of the three documents.
const (
	oneLine = `A draft of May 2026. It is short. Table of Contents 1. Rules . . . . . . . 1 1.1. ` +
		`End.XY Rules . . . . 2 Authors . . . 3 1. Rules Nodes MUST obey. ` +
		`They may rest. Li, et al. Expires 1 September 2026 [Page 6] Internet-Draft RDMA Multicast ` +
		`over SRv6 February 2026 ` +
		`Two things count: 1. One per- branch counter, e.g. CCount. 2. End.XY is a word. 1.1. End.XY ` +
		`Rules S01. If X { S02. Drop ;; Ref1 S03. } Ref1: Never.`
	paragraphs = `Abstract

   Something should be said.
1.  Rules

   a.  Devices have queues.
   b.When one is full, it must say so
   upstream.Then it waits.

  +----+     +----+
  | R1 |-----| R2 |
  +----+     +----+

    S01.  If so {
     S02.     Stop, and go
              on.
    S03. }
`
	lines = `Contents

Revision History

old

1. License

You may read.

1.1. Fields

Each packet MUST

carry the **seq** field. It is ` + "`24`" + ` bits.

1. First, it counts.

Table 1-1 Fields

Name	Width	Use
seq	24	Sequence. MUST grow.
		and wrap

crc	32	Check

` + "```" + `
if x then
` + "```" + `

2. Rules

- Do it: at once
`
)

// TestCutting: how documents are cut into units. The documents themselves are not here.
func TestCutting(t *testing.T) {
	for _, c := range []struct {
		name, text string
		cut        func(string) []unit
		want       []string // section, table, text
	}{
		{"one line", oneLine, cutMulticast, []string{
			"0||A draft of May 2026.", "0||It is short.", "1||Nodes MUST obey.", "1||They may rest.",
			"1||Two things count:", "1||1. One per-branch counter, e.g. CCount.", "1||2. End.XY is a word.",
			"1.1||S01. If X {", "1.1||S02. Drop ;; Ref1", "1.1||S03. }", "1.1||Ref1: Never.",
		}},
		{"paragraphs", paragraphs, cutPFC, []string{
			"0||Abstract", "0||Something should be said.", "1||a. Devices have queues.",
			"1||b.When one is full, it must say so upstream.", "1||Then it waits.",
			"1||+----+ +----+", "1||| R1 |-----| R2 |", "1||+----+ +----+", "1||S01. If so {",
			"1||S02. Stop, and go on.", "1||S03. }",
		}},
		{"lines", lines, cutMRC, []string{
			"1||You may read.", "1.1||Each packet MUST carry the seq field.", "1.1||It is 24 bits.",
			"1.1||1. First, it counts.",
			"1.1|1-1|seq 24 Sequence. MUST grow. and wrap", "1.1|1-1|crc 32 Check", "1.1||if x then",
			"2||- Do it: at once",
		}},
	} {
		var got []string
		for _, u := range c.cut(c.text) {
			got = append(got, u.section+"|"+u.table+"|"+u.text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %s\nwant %s", c.name, strings.Join(got, "\n     "),
				strings.Join(c.want, "\n     "))
		}
	}
}

// TestFinding: words are found where they are once, as whole words, and nowhere else; and what they
// cover.
func TestFinding(t *testing.T) {
	s := &specification{name: "lines", units: cutMRC(lines)}
	s.index()
	for _, c := range []struct{ section, table, words, err string }{
		{"1.1", "", "MUST carry", ""},
		{"1.1", "", "MUST carry … 24 bits", ""},
		{"1.1", "", "the `seq` field. It is", ""},
		{"1.1", "1-1", "24 Sequence", ""},
		{"1.1", "", "MUST carry the sequence", "not in section 1.1"},
		{"1.1", "", "24 bits … MUST carry", "after the words before"},
		{"1.1", "", "MUST", "more than once"},
		{"1.1", "", "MUST car", "not in section"},
		{"2", "", "MUST carry", "not in section 2"},
		{"1.1", "1-1", "MUST carry", "not in section 1.1"},
		{"3", "", "MUST carry", "no section 3"},
		{"1.1", "1-2", "MUST carry", `table "1-2"`},
		{"1.1", "", "**", "empty"},
	} {
		_, err := s.find(c.section, c.table, c.words)
		if c.err == "" && err != nil || c.err != "" &&
			(err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%q in section %s, table %q: %v, want %q", c.words, c.section, c.table, err, c.err)
		}
	}
	const text = "Each packet MUST carry the seq field, and should be short."
	for quotation, want := range map[string]bool{
		"MUST carry":                              false, // "should" is outside
		"MUST carry the seq field":                false,
		"MUST carry the seq field, and should be": true,
		"Each packet":                             false,
	} {
		i := strings.Index(text, quotation)
		if got := covered(text, [][2]int{{i, i + len(quotation)}}); got != want {
			t.Errorf("%q covers: %v, want %v", quotation, got, want)
		}
	}
	if !covered(text, [][2]int{{5, 22}, {37, 50}}) || covered("A plain rule.", nil) ||
		!covered("A plain rule.", [][2]int{{0, 7}}) || covered("A plain rule.", [][2]int{{2, 7}}) {
		t.Error("several quotations, or sentences without a mark")
	}
}
