package strictyaml

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

// TestFromJSONPrints: YAML of any text prints, and is read back as the same text.
func TestFromJSONPrints(t *testing.T) {
	for _, s := range []string{"a\x1b[31mb", "a\u0085\u009bb", "\u202eabc", "a\u2028b", "\x00", "\x7f",
		"a\tb", "a\rb", "a\r\nb", "a\nb\x1b", "a\nb", "\U000e0041", "\"\x1b'\\ b", "true", "12"} {
		document, err := json.Marshal(map[string]any{"a": s, "list": []any{s, 12, 18446612682070000641.0,
			true}, "z": map[string]string{"y": s}})
		if err != nil {
			t.Fatal(err)
		}
		text, err := FromJSON(document)
		if err != nil {
			t.Fatal(err)
		}
		if i := strings.IndexFunc(string(text), func(r rune) bool {
			return r != '\n' && !strconv.IsPrint(r)
		}); i >= 0 {
			t.Errorf("%q: %q", s, text)
		}
		var back struct {
			A    string
			List []any
			Z    map[string]string
		}
		if err := Decode(text, &back); err != nil || back.A != s || back.List[0] != s ||
			back.Z["y"] != s {
			t.Errorf("%q: %q, read back as %q, %v", s, text, back, err)
		}
	}
}
