package strictyaml

import (
	"errors"
	"strings"
	"testing"
)

type document struct {
	Name  string `yaml:"name"`
	Items []struct {
		Size int `yaml:"size"`
	} `yaml:"items"`
}

func TestDecode(t *testing.T) {
	d := document{Name: "default"}
	if err := Decode([]byte("# nothing\n"), &d); err != nil || d.Name != "default" {
		t.Errorf("an empty text: %v, %+v", err, d)
	}
	if err := Decode([]byte("items: [{size: 3}]\n"), &d); err != nil || d.Name != "default" ||
		d.Items[0].Size != 3 {
		t.Errorf("a good text: %v, %+v", err, d)
	}
}

func TestPlace(t *testing.T) {
	text := []byte("name: a\nitems:\n- size: 1\n- size: 2\n")
	for _, c := range []struct {
		field string
		line  int
	}{
		{"name", 1}, {"items[1].size", 4}, {"items[1].colour.shade", 4}, {"other", 0},
	} {
		if line, _ := Place(text, c.field); line != c.line {
			t.Errorf("%s is in line %d: want %d", c.field, line, c.line)
		}
	}
}

// The library panics on a tag where a list should be.
func TestUnreadable(t *testing.T) {
	file, err := Parse([]byte("items: !!seq\n"))
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := DecodeNode(file.Docs[0].Body, &d); !errors.Is(err, ErrUnreadable) {
		t.Errorf("a tag without a list: %v", err)
	}
}

// TestLine: Line also works for errors of UnmarshalText, for which the library has no line, and
// returns no line for an unreadable text.
func TestLine(t *testing.T) {
	text := []byte("x.org: 1\nname: a\nitems:\n- at: 2001:xyz::1\n  size: x.org\n")
	for _, c := range []struct {
		err  string
		line int
	}{
		{`ParseAddr("2001:xyz::1"): bad`, 4}, {"bad value (a)", 2}, {`"x.org" is no number`, 5},
		{"bad", 0},
	} {
		if got := Line(text, errors.New(c.err)); got != c.line {
			t.Errorf("%s: line %d, want %d", c.err, got, c.line)
		}
	}
	var d document
	if err := Decode([]byte("name: a\nitems: {size: 3}\n"), &d); Line(text, err) != 2 {
		t.Errorf("%v is in line %d: want 2", err, Line(text, err))
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("name: a\nitems: [{size: 1}]\n"))
	for _, odd := range []string{"&a", "*a", "!!x", "&a *a", "!!null", "!!seq", "!!binary", "? :",
		"<<: *a", "- &a"} {
		f.Add([]byte("items: " + odd + "\n"))
		f.Add([]byte("items:\n- " + odd + "\n"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var d document
		if err := Decode(text, &d); err != nil && err.Error() == "" &&
			strings.TrimSpace(string(text)) != "" {
			t.Error("an error without a text")
		} else if err != nil {
			Line(text, err)
		}
		Place(text, "items[0].size")
	})
}
