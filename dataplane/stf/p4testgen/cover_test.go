package main

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/dataplane/stf"
	"github.com/weft-sdn/weft/dataplane/trace"
)

// documented is how docs/dataplane.md says how much the kept cases reach.
var documented = regexp.MustCompile(`reach ([\d,]+)\s+of\s+the\s+([\d,]+)\s+statements`)

// slack is how many statements a change of the program may leave without a case until p4testgen
// makes them anew.
const slack = 60

// TestReached: the cases that are kept reach as many statements as the documentation says.
func TestReached(t *testing.T) {
	f, err := loadFabric("../../../p4")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../p4/testdata/generated.stf")
	if err != nil {
		t.Fatal(err)
	}
	reached := map[trace.Source]bool{}
	for name, text := range namedCases(string(text)) {
		c, err := stf.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r := f.runCase(c)
		if r.err != nil {
			t.Errorf("%s: %v", name, r.err)
		}
		for s := range r.reached {
			if f.statements[s] {
				reached[s] = true
			}
		}
	}
	t.Logf("%d of %d statements", len(reached), len(f.statements))
	page, err := os.ReadFile("../../../docs/dataplane.md")
	if err != nil {
		t.Fatal(err)
	}
	m := documented.FindStringSubmatch(string(page))
	if m == nil {
		t.Fatalf("docs/dataplane.md does not match %v", documented)
	}
	number := func(s string) int {
		n, err := strconv.Atoi(strings.ReplaceAll(s, ",", ""))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if want := number(m[1]); len(reached) < want-slack || len(reached) > want+slack {
		t.Errorf("the cases reach %d statements, the documentation says %d", len(reached), want)
	}
	if want := number(m[2]); len(f.statements) < want-slack || len(f.statements) > want+slack {
		t.Errorf("the program has %d statements, the documentation says %d", len(f.statements), want)
	}
}

// TestTemporaries: an action that has no jumps carries out all its assignments to temporaries.
func TestTemporaries(t *testing.T) {
	const assign = `{"op":"%s","parameters":[{"type":"field","value":["%s","x"]},` +
		`{"type":"hexstr","value":"0x1"}],"source_info":{"filename":"a.p4","line":%d,"column":3,` +
		`"source_fragment":"x"}}`
	got, err := temporaries(fmt.Appendf(nil, `{"actions":[{"name":"plain","primitives":[`+assign+`,`+
		assign+`,`+assign+`,`+assign+`]},`+
		`{"name":"jumps","primitives":[`+assign+`,{"op":"_jump","parameters":[]},`+
		assign+`]}]}`,
		"assign", "scalars", 1, "assign", "ipv6", 2, "assign_VL", "tmp_3", 3, "assign_VL", "payload", 4,
		"assign", "scalars", 5, "assign", "scalars", 6))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]trace.Source{"plain": {{File: "a.p4", Line: 1, Column: 3, Text: "x"},
		{File: "a.p4", Line: 3, Column: 3, Text: "x"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
