package strictyaml

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// nested is a list in a list and so on, of levels, in brackets, as indented lines, or both.
func nested(levels int) map[string]string {
	var keys, dashes, both strings.Builder
	for i := range levels / 2 {
		both.WriteString(strings.Repeat("  ", i) + "- a:\n")
	}
	for i := range levels {
		keys.WriteString(strings.Repeat(" ", i) + "a:\n")
		dashes.WriteString("- ")
	}
	return map[string]string{
		"lists in brackets":   strings.Repeat("[", levels) + "1" + strings.Repeat("]", levels),
		"objects in brackets": strings.Repeat("{a: ", levels) + "1" + strings.Repeat("}", levels),
		"lists":               dashes.String() + "1",
		"objects":             keys.String(),
		"lists in objects":    both.String(),
	}
}

// aliased is a list of values that aliases stand for.
func aliased(values int) string {
	return "a: &a [" + strings.Repeat("1,", 99) + "]\nb: [" + strings.Repeat("*a,", values/100) + "]\n"
}

// bomb returns a list of levels; each level stands for nine of the level below.
func bomb(levels int) string {
	out := "a0: &a0 [" + strings.Repeat("x,", 9) + "]\n"
	for i := range levels {
		out += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 9))
	}
	return out
}

// chain is an alias of an alias and so on.
func chain(levels int) string {
	out := "a0: &a0 [x]\n"
	for i := range levels {
		out += fmt.Sprintf("a%d: &a%d [*a%d]\n", i+1, i+1, i)
	}
	return out
}

// TestBounds: a text at its bounds is read; a text beyond its bounds is refused, and the error
// gives the bound.
func TestBounds(t *testing.T) {
	read := func(name, text, want string) {
		t.Helper()
		_, err := Parse([]byte(text))
		switch {
		case want == "" && err != nil, want != "" && err == nil,
			want != "" && !strings.Contains(err.Error(), want):
			t.Errorf("%s: %.200v, want %q", name, err, want)
		}
	}
	const deep = "nested too deeply: want at most 100 levels"
	for name, text := range nested(maxDepth) {
		read(name, text, "")
	}
	for name, text := range nested(maxDepth + 2) {
		read(name, text, deep)
	}
	read("aliases", aliased(maxCopies), "")
	read("aliases", aliased(maxCopies+100), "aliases stand for more than 100000 values")
	read("chain", chain(maxDepth-2), "")
	read("chain", chain(maxDepth-1), deep)
	read("marks", strings.Repeat("- &a 1\n", maxMarks), "")
	read("marks", strings.Repeat("- &a 1\n", maxMarks+1), "more than 10000 anchors and tags")
	read("octets", "# "+strings.Repeat("x", maxText-2), "")
	read("octets", "# "+strings.Repeat("x", maxText-1), "16777217 octets: want at most 16777216")
	if _, err := ParseJSON([]byte("{}" + strings.Repeat(" ", maxText-1))); err == nil ||
		!strings.Contains(err.Error(), "16777217 octets") {
		t.Errorf("JSON: %v", err)
	}
	// What looks deep and is not.
	var keys strings.Builder
	for i := range 300 {
		keys.WriteString(strings.Repeat("k", i+1) + ": [{a: 1}]\n")
	}
	read("siblings", keys.String(), "")
	read("one line", strings.Repeat("- [a: 1, {b: 2}]\n", 300), "")
}

// TestBombs: a short text costs little, whatever it stands for.
func TestBombs(t *testing.T) {
	texts := map[string]string{"aliases": bomb(9), "unclosed": strings.Repeat("[", 16<<10),
		"dashes": strings.Repeat("- ", 16<<10), "objects": strings.Repeat("{a: ", 16<<10),
		"keys": strings.Repeat("a: ", 16<<10), "questions": strings.Repeat("? ", 16<<10),
		"anchors": strings.Repeat("&a ", 16<<10), "tags": strings.Repeat("!a ", 16<<10),
		"tokens": "[" + strings.Repeat("1,", maxTokens/2+1) + "]", "chain": chain(1000)}
	for name, text := range texts {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var v any
		err := Decode([]byte(text), &v)
		runtime.ReadMemStats(&after)
		took := (after.TotalAlloc - before.TotalAlloc) >> 20
		if most := uint64(32 + len(text)>>11); err == nil || took > most {
			t.Errorf("%s: %d octets took %d MiB, want at most %d and an error: %.80v", name, len(text), took,
				most, err)
		}
		if err != nil && Line([]byte(text), err) == 0 {
			t.Errorf("%s: an error without a line", name)
		}
	}
}

// TestLongJSON: the time to read a long text, and its errors, grows with the length.
func TestLongJSON(t *testing.T) {
	var text strings.Builder
	text.WriteString("{\n")
	for i := range 100_000 {
		fmt.Fprintf(&text, "%q: 1,", fmt.Sprint("k", i))
	}
	text.WriteString("\n\"k7\": 1}")
	began := time.Now()
	_, err := ParseJSON([]byte(text.String()))
	var syntax *SyntaxError
	if !errors.As(err, &syntax) || syntax.Line != 3 || time.Since(began) > 20*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
