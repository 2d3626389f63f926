package printable

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"": "",
		"leaf1.example, größer 東京 é → ⠿": "leaf1.example, größer 東京 é → ⠿",
		"\xff\xfe\x1b[31m":               `\xff\xfe\u001b[31m`,
		"a\nweft: all is well\tb\r":      `a\u000aweft: all is well\u0009b\u000d`,
		"\x00\x07\x7f":                   `\u0000\u0007\u007f`,
		"\u0085\u009b31m":                `\u0085\u009b31m`,
		"\u202egnp.exe\u2066\u200f":      `\u202egnp.exe\u2066\u200f`,
		"a\u2028b\u2029c":                `a\u2028b\u2029c`,
		"a\u00a0b\u200b\ufeff":           `a\u00a0b\u200b\ufeff`,
		"\U000e0041":                     `\udb40\udc41`,
		"\ufffd is a character":          "\ufffd is a character",
		`\u001b`:                         `\u001b`,
		"\xe2\x82":                       `\xe2\x82`,
		"\xed\xa0\x80":                   `\xed\xa0\x80`, // a surrogate
	} {
		if got := Text(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// A character may be written in parts, and JSON stays the same document.
func TestWriter(t *testing.T) {
	const name = "n1\u009b\u202e\x7f\U000e0041 größer\n\t東"
	document, err := json.MarshalIndent(map[string]string{name: name}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	for size := 1; size < 7; size++ {
		var out bytes.Buffer
		w := NewWriter(&out)
		for rest := document; len(rest) > 0; {
			n, err := w.Write(rest[:min(size, len(rest))])
			if err != nil || n != min(size, len(rest)) {
				t.Fatalf("%d, %v", n, err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		var back map[string]string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || back[name] != name {
			t.Errorf("%d octets at once: %s, %v", size, out.Bytes(), err)
		}
		if i := strings.IndexFunc(out.String(), func(r rune) bool {
			return !strconv.IsPrint(r) && r != '\n' && r != '\t'
		}); i >= 0 {
			t.Errorf("%d octets at once: %q", size, out.String()[i:])
		}
	}
	var out bytes.Buffer
	w := NewWriter(&out)
	_, err1 := w.Write([]byte("end \xe2\x82"))
	if err := errors.Join(err1, w.Flush(), w.Flush()); err != nil || out.String() != `end \xe2\x82` {
		t.Errorf("%q, %v", out.String(), err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWriterReportsErrors(t *testing.T) {
	if n, err := NewWriter(broken{}).Write([]byte("a")); n != 0 || err == nil {
		t.Errorf("%d, %v", n, err)
	}
}

func FuzzWriter(f *testing.F) {
	f.Add([]byte("n1\xe2\x82\xac\x1b[31m\xff"), 3)
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		at = max(0, min(at, len(text)))
		var out bytes.Buffer
		w := NewWriter(&out)
		for _, part := range [][]byte{text[:at], text[at:]} {
			if _, err := w.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if want := appendText(nil, text, "\n\t"); !bytes.Equal(out.Bytes(), want) ||
			!utf8.Valid(out.Bytes()) {
			t.Errorf("%q, want %q", out.Bytes(), want)
		}
	})
}
