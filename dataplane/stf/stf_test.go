package stf

import (
	"errors"
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/engine"
)

var update = flag.Bool("update", false, "write what the cases of testdata print into them")

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"frob 1", `unknown statement "frob"`},
		{"packet", "the port is missing"},
		{"packet x 00", `port "x": want a number`},
		{"packet 0 0", "packet 0: want pairs of hexadecimal digits"},
		{"packet 0 0g", "packet 0g: want pairs"},
		{"packet 0 **", "packet **: want pairs"},
		{"expect", "the port is missing"},
		{"expect 1 0g", `"g" is not a hexadecimal digit, nor *`},
		{"expect 1 00$00", `"$" is not a hexadecimal digit`},
		{"add", "the end of the line: want a name"},
		{"add t", "the end of the line: want a name"},
		{"add t k:1", "the end of the line: want a name"},
		{"add t k a()", `"a": want ":" and the value of a key, or "(" and`},
		{"add t k:x a()", `"x": want a number`},
		{"add t k:0xg a()", `"0xg" is not a number`},
		{"add t k:0x a()", `"0x" is not a number`},
		{"add t k:0b12 a()", `"0b12" is not a number`},
		{"add t k:1/* a()", `"*" means nothing here`},
		{"add t k:0x1*/8 a()", "key k: * and a prefix length"},
		{"add t k:1 a(b)", `")": want ":"`},
		{"add t k:1 a(b:0x1*)", `"0x1*": want a number without *`},
		{"add t k:1 a(b:1", `the end of the line: want ","`},
		{"add t k:1 a() b", `"b": want the end of the line`},
		{"add t k:1 a() =", "the end of the line: want a name"},
		{"add t 9999999999 k:1 a()", `"9999999999": want at most 2147483646`},
		{`add "t k:1 a()`, "does not end"},
		{"add t[x] k:1 a()", `"x": want a number`},
		{"setdefault t", "the end of the line: want a name"},
		{"setdefault t a", `the end of the line: want "("`},
		{"remove x", `"x": want all`},
		{"wait 5", `"5": want the end of the line`},
		{"mc_mgrp_create 65536", `"65536": want at most 65535`},
		{"mc_node_create 1", "the end of the line: want a number"},
		{"check_counter c", `the end of the line: want "("`},
		{"check_counter c(1) packets", "the end of the line: want ==, !=, <, <=, > or >="},
		{"check_counter c(1) frobs == 1", `"frobs": want packets or bytes`},
		{"register_write r 1", "the end of the line: want a number"},
		{"meter_set_rates m 0 1:1", "the end of the line: want a rate"},
		{"meter_set_rates m 0 1 1", `"1": want ":"`},
	} {
		_, err := Parse("wait\n" + c.line + " # comment\n")
		var at *Error
		if !errors.As(err, &at) || at.Line != 2 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got %v\nwant 2: %s", c.line, err, c.want)
		}
	}
}

func TestParseAllErrors(t *testing.T) {
	_, err := Parse("wait\nfrob\n\npacket 0 0\n")
	if want := "2: unknown statement \"frob\"\n4: packet 0: want pairs of hexadecimal digits"; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// TestFailures runs testdata/failures.txt: for every case, under a line === and
// the program, what comes of it, under a line ---.
func TestFailures(t *testing.T) {
	const path = "testdata/failures.txt"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, block := range strings.Split(string(text), "=== ")[1:] {
		name, rest, _ := strings.Cut(block, "\n")
		script, want, _ := strings.Cut(rest, "---\n")
		got := failure(t, name, script)
		if !*update && got != want {
			t.Errorf("%s\n got\n%s\nwant\n%s", script, got, want)
		}
		out.WriteString("=== " + name + "\n" + script + "---\n" + got)
	}
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func failure(t *testing.T, name, script string) string {
	t.Helper()
	c, err := Parse(script)
	if err != nil {
		return err.Error() + "\n"
	}
	json, err := os.ReadFile("../testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := engine.Load(json)
	if err != nil {
		t.Fatal(err)
	}
	sw := dataplane.New(dataplane.Config{Seed: 1}, nil)
	sw.SetProgram(p)
	_, err = Run(sw, c)
	if err == nil {
		return "passes\n"
	}
	kind := "error: "
	var d *Difference
	if errors.As(err, &d) {
		kind = "difference: "
	}
	return kind + err.Error() + "\n"
}

func TestNoProgram(t *testing.T) {
	if _, err := Run(dataplane.New(dataplane.Config{}, nil), new(Case)); !errors.Is(err,
		engine.ErrNoProgram) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	script, err := os.ReadFile("../testdata/basic.stf")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(script)) {
		f.Add(line)
	}
	f.Add("mc_node_create 1 2 3\nmeter_set_rates a.b[3].c 0 0.5:1 2:3\ncheck_counter \"x y\"(7) " +
		"bytes >= 0x10\nremove all")
	json, err := os.ReadFile("../testdata/copies.json")
	if err != nil {
		f.Fatal(err)
	}
	p, err := engine.Load(json)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		sw := dataplane.New(dataplane.Config{}, nil)
		sw.SetProgram(p)
		_, err = Run(sw, c)
		var at *Error
		if err != nil && !errors.As(err, &at) {
			t.Errorf("%v has no line", err)
		}
	})
}

// TestHelp: the help names every statement.
func TestHelp(t *testing.T) {
	for _, verb := range append(slices.Sorted(maps.Keys(verbs)), "packet", "expect") {
		if !regexp.MustCompile(`(?m)(^  |, )` + verb + `\b`).MatchString(Help) {
			t.Errorf("the help lacks %s", verb)
		}
	}
}
