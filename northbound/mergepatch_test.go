package northbound

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestMergePatchRFC7396 has the cases of RFC 7396 appendix A.
func TestMergePatchRFC7396(t *testing.T) {
	for _, c := range []struct{ original, patch, result string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		// Numbers beyond the precision of a float64 stay unchanged.
		{`{"va":18446744073709551615}`, `{"x":18446744073709551614}`,
			`{"va":18446744073709551615,"x":18446744073709551614}`},
	} {
		got, err := mergePatch([]byte(c.original), []byte(c.patch))
		if err != nil {
			t.Errorf("%s + %s: %v", c.original, c.patch, err)
			continue
		}
		g, _ := decodeJSON(got)
		w, _ := decodeJSON([]byte(c.result))
		if !reflect.DeepEqual(g, w) {
			t.Errorf("%s + %s = %s, want %s", c.original, c.patch, got, c.result)
		}
	}
	for _, bad := range []string{"", "{", "{} {}", "{}]"} {
		if _, err := mergePatch([]byte("{}"), []byte(bad)); err == nil {
			t.Errorf("%q is taken for JSON", bad)
		}
	}
}

func FuzzMergePatch(f *testing.F) {
	f.Add([]byte(`{"a":{"b":1}}`), []byte(`{"a":{"b":null,"c":[1,{}]}}`))
	f.Add([]byte(`[]`), []byte(`null`))
	f.Fuzz(func(t *testing.T, target, patch []byte) {
		once, err := mergePatch(target, patch)
		if err != nil {
			return
		}
		if !json.Valid(once) {
			t.Fatalf("%q + %q = %q", target, patch, once)
		}
		twice, err := mergePatch(once, patch)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := decodeJSON(once)
		b, _ := decodeJSON(twice)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("%q + %q is %q, and once more %q", target, patch, once, twice)
		}
	})
}

// FuzzBody: no body makes a panic, and what is accepted decodes.
func FuzzBody(f *testing.F) {
	f.Add(groupBody("g1", 1))
	f.Add(`{"spec":{"receivers":[{}]}}`)
	f.Add(`{"spec":null}`)
	s, fake, _ := newTestServer(f)
	f.Fuzz(func(t *testing.T, body string) {
		clear(fake.Groups.Items)
		w := do(s, "PUT", groupsPath+"/g1", body)
		switch {
		case w.Code == 200 || w.Code == 201:
			if len(fake.Groups.Items) != 1 {
				t.Fatalf("%q: %d and no group", body, w.Code)
			}
		case w.Code < 400 || w.Code >= 500:
			t.Fatalf("%q: %d %s", body, w.Code, w.Body)
		case len(fake.Groups.Items) != 0:
			t.Fatalf("%q was refused, and is there", body)
		}
	})
}
