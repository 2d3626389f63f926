package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestGuides runs the commands of the guides in their order. The output of a command must become
// the output in the guide.
func TestGuides(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute of labs in real time")
	}
	files, err := filepath.Glob("../../docs/guides/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if filepath.Base(file) == "README.md" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			steps := consoleOf(string(text))
			if len(steps) < 5 {
				t.Fatalf("%d commands", len(steps))
			}
			runGuide(t, steps)
		})
	}
}

// A guideStep holds a command from a guide, and the printed lines.
type guideStep struct {
	command string
	want    []string
}

// consoleOf returns the commands in blocks of kind console.
func consoleOf(text string) (steps []guideStep) {
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "```console":
			inside = true
		case line == "```":
			inside = false
		case !inside:
		case strings.HasPrefix(line, "$ "):
			steps = append(steps, guideStep{command: line[2:]})
		case len(steps) > 0:
			steps[len(steps)-1].want = append(steps[len(steps)-1].want, line)
		}
	}
	return steps
}

func runGuide(t *testing.T, steps []guideStep) {
	t.Helper()
	var l *startedLab
	for _, s := range steps {
		words := strings.Fields(s.command)
		if words[0] != "weft" {
			t.Fatalf("%s: want a command of weft", s.command)
		}
		for i, w := range words { // files are named from the top of the repository
			if strings.HasSuffix(w, ".yaml") {
				words[i] = "../../" + w
			}
		}
		if words[len(words)-1] == "&" {
			l = startLab(t, words[2:len(words)-1]...)
			continue
		}
		if l == nil {
			t.Fatalf("%s: the guide has not started a lab", s.command)
		}
		s.prints(t, func() (text, said string) {
			var buffer bytes.Buffer
			execute(t.Context(), words[1:], environment{stdin: strings.NewReader(""), stdout: &buffer,
				stderr: &buffer, getenv: func(name string) string {
					return map[string]string{"WEFT_SERVER": l.server, "WEFT_LAB": l.faults}[name]
				}})
			return buffer.String(), ""
		})
	}
}

// prints runs the command of a step until the command's output matches the page. said is the text
// on standard error, for the failure alone.
func (s *guideStep) prints(t *testing.T, run func() (text, said string)) {
	t.Helper()
	// The network runs in real time, and says nothing when it has come so far.
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		text, said := run()
		text = strings.TrimRight(text, "\n")
		if matches(strings.Split(text, "\n"), s.want) {
			t.Logf("$ %s\n%s", s.command, text)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s prints\n%s%s\nThe page has\n%s", s.command, text, said,
				strings.Join(s.want, "\n"))
		}
	}
}

// matches reports whether lines are those wanted: "…" stands for any text in a line, and alone for
// any lines. The number of spaces does not matter.
func matches(lines, want []string) bool {
	if len(want) == 0 {
		return len(lines) == 0
	}
	if strings.TrimSpace(want[0]) == "…" {
		for i := range len(lines) + 1 {
			if matches(lines[i:], want[1:]) {
				return true
			}
		}
		return false
	}
	return len(lines) > 0 && matchLine(strings.Join(strings.Fields(lines[0]), " "),
		strings.Join(strings.Fields(want[0]), " ")) && matches(lines[1:], want[1:])
}

func matchLine(line, want string) bool {
	parts := strings.Split(want, "…")
	if !strings.HasPrefix(line, parts[0]) {
		return false
	}
	line = line[len(parts[0]):]
	if len(parts) == 1 {
		return line == ""
	}
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(line, part)
		if i < 0 {
			return false
		}
		line = line[i+len(part):]
	}
	return strings.HasSuffix(line, parts[len(parts)-1])
}

// TestMatches: the guides' test can fail.
func TestMatches(t *testing.T) {
	for _, c := range []struct {
		lines, want string
		is          bool
	}{
		{"a  b", "a b", true}, {"a b", "a c", false}, {"a b", "a …", true}, {"a", "a\nb", false},
		{"a\nb\nc", "a\n…", true}, {"a\nb\nc", "…\nc", true},
		{"a\nb\nc", "…\nb", false}, {"a 1 b 2", "a … b …", true}, {"a 1 c 2", "a … b …", false},
		{"a\nx\nb", "a\n…\nb", true}, {"a\nb", "a\n…\nb", true},
	} {
		if got := matches(strings.Split(c.lines, "\n"), strings.Split(c.want, "\n")); got != c.is {
			t.Errorf("%q, want %q: %v", c.lines, c.want, got)
		}
	}
}
