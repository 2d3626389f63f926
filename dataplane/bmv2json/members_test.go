package bmv2json

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzMembers: members decodes an object to the same values as encoding/json.
func FuzzMembers(f *testing.F) {
	for _, text := range []string{
		`{"type":"expression","value":{"op":"and","left":{"type":"bool","value":true},"right":null}}`,
		`{ "op" : "==", "left":{"type":"field","value":["a","b}\""]},"right":{"type":"hexstr","value":"0x1"} }`,
		`{"type":"a\u0062","value":1}`, `{"Type":"x"}`, `{"type":null}`, `{"value":-1.5e3,"bitwidth":3}`,
		`{}`, `[]`, `{"a":[{},[1,"]"]],"op":"x"}`, `{"":2,"é":3}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return // it was checked before
		}
		var v, value Value
		if members(text, v.take) {
			if err := json.Unmarshal(text, &value); err != nil || !reflect.DeepEqual(v, value) {
				t.Errorf("%s: %+v, want %+v (%v)", text, v, value, err)
			}
		}
		var x, expr Expr
		if members(text, x.take) {
			if err := json.Unmarshal(text, &expr); err != nil || !reflect.DeepEqual(x, expr) {
				t.Errorf("%s: %+v, want %+v (%v)", text, x, expr, err)
			}
		}
	})
}

// FuzzFieldReferences: every list of two strings is found, as encoding/json reads them.
func FuzzFieldReferences(f *testing.F) {
	for _, text := range []string{
		`[["a","b"],{"x":["a", "b" ]},["a","b",1],["c","\u0062"],["[\"","é"],["\ud800","]"]]`, `"["`,
		`["a[","\\"]`, "[\"\xff\",\"b\"]",
	} {
		f.Add([]byte(text))
	}
	type fieldName struct{ header, field string }
	f.Fuzz(func(t *testing.T, text []byte) {
		var v any
		if json.Unmarshal(text, &v) != nil {
			return // it was checked before
		}
		found := map[fieldName]int{}
		FieldReferences(text, func(h, f string) { found[fieldName{h, f}]++ })
		var walk func(v any)
		walk = func(v any) {
			switch v := v.(type) {
			case map[string]any:
				for _, in := range v {
					walk(in)
				}
			case []any:
				if len(v) == 2 {
					h, ok := v[0].(string)
					f, also := v[1].(string)
					if ok && also {
						found[fieldName{h, f}]--
					}
				}
				for _, in := range v {
					walk(in)
				}
			}
		}
		walk(v)
		for n, missed := range found {
			if missed < 0 {
				t.Errorf("%s: %q is found %d times too seldom", text, n, -missed)
			}
		}
	})
}
