package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Verdicts of survivors.tsv.
const (
	equivalent = "equivalent" // nothing that can be observed changes
	open       = "open"       // a test is missing
)

// anything stands in a verdict for what does not matter to its reason: at the end of a function's
// name, for those that begin so; in the place of the line, from and to, for all changes of the
// function.
const anything = "*"

// A verdict is what somebody found out about a survivor.
type verdict struct {
	file, fn, text, from, to string // which change; text is the line without the white space around it
	verdict                  string
	reason                   string
}

// readVerdicts reads survivors.tsv: file, function, line of code, original text, replacement,
// verdict and reason, separated by tabs. The text identifies a line of code, because line numbers
// move.
func readVerdicts(r io.Reader) ([]verdict, error) {
	var out []verdict
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		if n == 1 || lines.Text() == "" {
			continue // the head
		}
		f := strings.Split(lines.Text(), "\t")
		if len(f) != 7 {
			return nil, fmt.Errorf("line %d has %d fields: want file, function, line, from, to, verdict "+
				"and reason", n, len(f))
		}
		v := verdict{f[0], f[1], f[2], f[3], f[4], f[5], f[6]}
		if v.verdict != equivalent && v.verdict != open {
			return nil, fmt.Errorf("line %d: the verdict %q: want %s or %s", n, v.verdict, equivalent, open)
		}
		if v.reason == "" {
			return nil, fmt.Errorf("line %d has no reason", n)
		}
		if v.text == anything && (v.from != anything || v.to != anything ||
			strings.HasSuffix(v.fn, anything)) {
			return nil, fmt.Errorf("line %d: all changes (%s) are of one function, whatever from and to",
				n, anything)
		}
		out = append(out, v)
	}
	return out, lines.Err()
}

// about reports whether a verdict is that of a change.
func (v verdict) about(m mutant) bool {
	if begin, ok := strings.CutSuffix(v.fn, anything); v.file != m.File ||
		m.Func != v.fn && !(ok && strings.HasPrefix(m.Func, begin)) {
		return false
	}
	return v.text == anything ||
		v.text == m.Text && v.from == oneLine(m.From) && v.to == oneLine(m.To)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
