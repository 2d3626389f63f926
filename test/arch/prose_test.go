package arch

import (
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Words that stand for others, and words that only join: a sentence made of these has to be read
// twice. Pronouns and relatives want a noun, "is" and "has" a verb.
var vague = regexp.MustCompile(`(?i)\b(what|that|which|whose|those|it|its|they|them|one|ones|this|` +
	`these|there|none|other|others|another|so|such|same|as|of|has|have|is|are|be)\b`)

var (
	comments    = regexp.MustCompile(`(?m)(?:^\s*//[^\n]*\n)+`)
	commentMark = regexp.MustCompile(`(?m)^\s*// ?`)
	proseBlocks = regexp.MustCompile("(?m)(?:^[^\n|#`>].+\n)+")
	sentenceEnd = regexp.MustCompile(`[.:;] `)
)

// Bounds of the share of vague words in sentences of longSentence words and more: in a folder, and
// in a hard sentence.
const (
	longSentence = 14
	mostVague    = 0.15
	hardSentence = 0.40
)

// longSentences returns the words of the sentences of longSentence words and more of a text.
func longSentences(text string) (out [][]string) {
	for {
		end := sentenceEnd.FindStringIndex(text)
		if end == nil {
			end = []int{len(text), len(text)}
		}
		if words := strings.Fields(text[:end[1]]); len(words) >= longSentence {
			out = append(out, words)
		}
		if end[0] == len(text) {
			return out
		}
		text = text[end[1]:]
	}
}

// TestPlainWords: folders keep to the bounds of vague words, in comments of Go and in documents. Code
// has the texts of docs/reference.
func TestPlainWords(t *testing.T) {
	type count struct{ words, vague int }
	counts := make(map[string]*count)
	add := func(path, text string, blocks *regexp.Regexp) {
		folder := ""
		if first, _, below := strings.Cut(filepath.ToSlash(path), "/"); below {
			folder = first
		}
		c := counts[folder]
		if c == nil {
			c = new(count)
			counts[folder] = c
		}
		for _, block := range blocks.FindAllString(text, -1) {
			block = strings.Join(strings.Fields(commentMark.ReplaceAllString(block, "")), " ")
			for _, words := range longSentences(block) {
				n := len(vague.FindAllString(strings.Join(words, " "), -1))
				c.words, c.vague = c.words+len(words), c.vague+n
				if float64(n) > hardSentence*float64(len(words)) {
					t.Errorf("%s: %q: name who acts, and say the noun again", path, strings.Join(words, " "))
				}
			}
		}
	}
	for _, s := range handwritten(t) {
		add(s.path, s.text, comments)
	}
	files(t, []string{".md"}, func(path, text string) {
		if rel, err := filepath.Rel(root, path); err != nil {
			t.Error(err)
		} else if rel != "CHANGELOG.md" && !strings.HasPrefix(filepath.ToSlash(rel), "docs/reference/") {
			add(rel, text, proseBlocks)
		}
	})
	for folder, c := range counts {
		if share := float64(c.vague) / math.Max(1, float64(c.words)); share > mostVague {
			t.Errorf("%q: %.3f of its words are vague, want at most %.2f: see vague", folder, share,
				mostVague)
		}
	}
}

// TestSentences: the words of vague are counted in whole sentences of longSentence words and more.
func TestSentences(t *testing.T) {
	const short = "Thirteen words are too few to count, however vague these words may be. "
	const long = "To others it is like what no project has, and like what there is not."
	got := longSentences(short + long)
	if len(got) != 1 || strings.Join(got[0], " ") != long {
		t.Fatalf("%q", got)
	}
	if n := len(vague.FindAllString(long, -1)); n != 8 {
		t.Errorf("%d vague words in %q", n, long)
	}
}
