// Package printable makes foreign text safe to show: the text cannot control a terminal or forge a
// log line.
//
// Names from a network (node names of BGP-LS, system names of LLDP, messages of switches, names of
// principals) may hold terminal escape sequences, line breaks, and marks that reverse the direction
// of the text. This package escapes characters that do not print by [unicode.IsPrint] in JSON's
// form, "\u001b": control characters of C0 and C1, DEL, format characters including the
// bidirectional ones, separators of lines and paragraphs, spaces other than U+0020, private use. So
// the escapes do not change the meaning of a JSON document. Octets that are not UTF-8 become
// "\xff".
package printable

import (
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Text returns s with everything escaped that does not print, line breaks and tabs too.
func Text(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool {
		return !strconv.IsPrint(r)
	}) < 0 {
		return s
	}
	return string(appendText(nil, []byte(s), ""))
}

const digits = "0123456789abcdef"

// appendText appends b with everything escaped that does not print, but for the characters in but.
func appendText(out, b []byte, but string) []byte {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, '\\', 'x', digits[b[0]>>4], digits[b[0]&0xF])
		case strconv.IsPrint(r), strings.ContainsRune(but, r):
			out = append(out, b[:n]...)
		case r > 0xFFFF:
			out = appendUnit(appendUnit(out, 0xD800+(r-0x10000)>>10), 0xDC00+(r-0x10000)&0x3FF)
		default:
			out = appendUnit(out, r)
		}
		b = b[n:]
	}
	return out
}

// appendUnit appends a code unit of UTF-16 as JSON escapes it (RFC 8259 section 7).
func appendUnit(b []byte, unit rune) []byte {
	return append(b, '\\', 'u', digits[unit>>12&0xF], digits[unit>>8&0xF], digits[unit>>4&0xF],
		digits[unit&0xF])
}

// A Writer passes text on with everything escaped that does not print, but for line breaks and
// tabs. A Writer is the last step before a terminal. Escape foreign text within a line by [Text]
// first, because foreign text may contain line breaks. Several goroutines may use a Writer.
type Writer struct {
	mu   sync.Mutex
	to   io.Writer
	rest []byte // the beginning of a character whose end has not been written
}

// NewWriter returns a writer that passes text on to another.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Write implements [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.rest, p...)
	whole := len(text) - unfinished(text)
	w.rest = append([]byte(nil), text[whole:]...)
	if err := w.pass(text[:whole]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush passes on what is left of a character that was not finished.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := w.rest
	w.rest = nil
	return w.pass(rest)
}

func (w *Writer) pass(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	_, err := w.to.Write(appendText(nil, text, "\n\t"))
	return err
}

// unfinished returns how many octets at the end of b begin a character that does not end there.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if end := b[len(b)-n:]; utf8.RuneStart(end[0]) {
			if !utf8.FullRune(end) {
				return n
			}
			break
		}
	}
	return 0
}
