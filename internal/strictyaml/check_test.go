package strictyaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

type inner struct {
	Size  uint8         `json:"size"`
	Every time.Duration `json:"every"`
	On    bool          `json:"on"`
}

type sample struct {
	Name    string           `json:"name"`
	Address netip.Addr       `json:"address"`
	Items   []inner          `json:"items"`
	Ports   map[uint8]string `json:"ports"`
	One     *inner           `json:"one"`
	Any     any              `json:"any"`
	Share   float64          `json:"share"`
}

// TestAllFaults: every fault of a text is found, with the field's name and its place.
func TestAllFaults(t *testing.T) {
	text := `name: [a]
colour: red
address: nowhere
items:
- size: 300
  every: soon
- {size: 1, sise: 2}
- 7
ports: {1: x, many: y}
one:
  on: perhaps
  size: -1
share: half
any: {x: [1, 2]}
`
	want := []string{
		"line 1: name is a list: want a text",
		"line 2: colour: unknown field: want one of address, any, items, name, one, ports, share",
		`line 3: address is "nowhere": want an IP address such as 10.0.0.1 or 2001:db8::1`,
		"line 5: items[0].size is 300: want a whole number of 8 bits, 0 or more",
		`line 6: items[0].every is "soon": want a duration such as 50us or 1.5ms`,
		"line 7: items[1].sise: unknown field: want one of every, on, size",
		"line 8: items[2] is 7: want an object",
		`line 9: ports.many is "many": want a whole number of 8 bits, 0 or more`,
		`line 11: one.on is "perhaps": want true or false`,
		"line 12: one.size is -1: want a whole number of 8 bits, 0 or more",
		`line 13: share is "half": want a number`,
	}
	var s sample
	err := Decode([]byte(text), &s)
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
}

// TestNumbersAsTexts: a text takes a number, as it is written.
func TestNumbersAsTexts(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"1", "1"}, {"0x10", "0x10"}, {"1.10", "1.10"}, {"true", "true"}, {"&n 7", "7"}, {`"1"`, "1"},
		{"1e3", "1e3"},
	} {
		var s sample
		if err := Decode([]byte("name: "+c.yaml+"\nports: {1: 2}\n"), &s); err != nil ||
			s.Name != c.want || s.Ports[1] != "2" {
			t.Errorf("name: %s is %q, ports %v, %v: want %q", c.yaml, s.Name, s.Ports, err, c.want)
		}
	}
}

// TestAliases: the values behind an alias or a merge key are checked like the text that they
// replace.
func TestAliases(t *testing.T) {
	var s sample
	if err := Decode([]byte("one: &x {size: 3}\nitems: [*x, {<<: *x, on: true}]\n"), &s); err != nil ||
		s.Items[0].Size != 3 || s.Items[1].Size != 3 || !s.Items[1].On {
		t.Errorf("%+v, %v", s, err)
	}
	err := Decode([]byte("any: &x {size: red}\none: *x\n"), &s)
	if err == nil || !strings.Contains(err.Error(), `one.size is "red"`) {
		t.Errorf("an alias of the wrong shape: %v", err)
	}
}

// TestJSON: a JSON text is checked like a YAML text, whatever its layout.
func TestJSON(t *testing.T) {
	text := "{\"name\": 1,\n\t\"items\": [{\"size\": 1, \"every\": \"x\"}], \"any\": {\"a\": " +
		"18446744073709551615}}\n{\"name\":\n \"\\u00e9\", \"sise\": 2}"
	nodes, err := ParseJSON([]byte(text))
	if err != nil || len(nodes) != 2 {
		t.Fatal(nodes, err)
	}
	for i, want := range []string{
		`line 2: items[0].every is "x": want a duration such as 50us or 1.5ms`,
		"line 4: sise: unknown field: want one of address, any, items, name, one, ports, share",
	} {
		faults, err := Check(nodes[i], reflect.TypeFor[sample]())
		if err != nil || faults.Error() != want {
			t.Errorf("got %v, %v, want %s", faults, err, want)
		}
	}
	var v any
	if err := DecodeNode(nodes[0], &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if want := `{"any":{"a":18446744073709551615},"items":[{"every":"x","size":1}],"name":"1"}`; err != nil || string(b) != want {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
	var second sample
	if err := DecodeNode(nodes[1], &second); err != nil || second.Name != "é" {
		t.Errorf("%+v, %v", second, err)
	}
	for _, c := range []struct {
		text string
		line int
	}{{"{\n\"a\": 1,\n\"a\": 2}", 3}, {"{\n\n]", 3}, {"{\n", 1}, {"[1,\n2\n", 2},
		{strings.Repeat("[", 200), 1}, {"{1: 2}", 1}} {
		_, err := ParseJSON([]byte(c.text))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Line != c.line {
			t.Errorf("%q: %v, want an error in line %d", c.text, err, c.line)
		}
	}
}

// FuzzParseJSON: what the standard library takes is read to the same value.
func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{`{"a": [1, "x", null, true, {"b": -1.5e3}]}`, `1 2`,
		`{"a": "\ud83d\ude00"}`, `[`, `{"<<": 1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		nodes, err := ParseJSON(text)
		if err != nil {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		for _, n := range nodes {
			var want, got any
			if err := dec.Decode(&want); err != nil {
				return // a number out of the range of float64
			}
			v := any(nil)
			if err := DecodeNode(n, &v); err != nil {
				t.Fatal(err)
			}
			if b, err := json.Marshal(v); err != nil || json.Unmarshal(b, &got) != nil ||
				!reflect.DeepEqual(got, want) {
				t.Errorf("%q is read as %v (%v), want %v", text, got, err, want)
			}
			if _, err := Check(n, reflect.TypeFor[sample]()); err != nil {
				t.Error(err)
			}
		}
	})
}
