package bmv2json

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Expressions nest, and the compiler decodes them level by level. encoding/json
// would check the text of all lower levels again at each, which took most of the
// time of loading. The functions below find the members of an object in text
// that encoding/json has checked once.

// DecodeValue decodes a type value object.
func DecodeValue(raw json.RawMessage) (v Value, err error) {
	if !members(raw, v.take) {
		v = Value{}
		err = json.Unmarshal(raw, &v)
	}
	return v, err
}

// DecodeExpr decodes the value of an expression.
func DecodeExpr(raw json.RawMessage) (x Expr, err error) {
	if !members(raw, x.take) {
		x = Expr{}
		err = json.Unmarshal(raw, &x)
	}
	return x, err
}

// FieldReferences calls found for every ["header", "field"] in raw JSON that is
// valid. It may also find other pairs of strings.
func FieldReferences(raw []byte, found func(header, field string)) {
	for at := 0; ; {
		n := bytes.IndexByte(raw[at:], '[')
		if n < 0 {
			return
		}
		at += n + 1
		h, i, ok := readString(raw, skipSpace(raw, at))
		if !ok {
			continue
		}
		if i = skipSpace(raw, i); i >= len(raw) || raw[i] != ',' {
			continue
		}
		f, i, ok := readString(raw, skipSpace(raw, i+1))
		if !ok {
			continue
		}
		if i = skipSpace(raw, i); i < len(raw) && raw[i] == ']' {
			found(h, f)
		}
	}
}

// FirstString returns the first string in valid raw JSON: in the declaration of a field, this is
// the field's name.
func FirstString(raw []byte) (s string, ok bool) {
	if i := bytes.IndexByte(raw, '"'); i >= 0 {
		s, _, ok = readString(raw, i)
	}
	return s, ok
}

// members calls visit with each member of an object. It returns false when the
// text is no object or visit returned false: encoding/json then decides.
func members(text []byte, visit func(key string, value json.RawMessage) bool) bool {
	i := skipSpace(text, 0)
	if i >= len(text) || text[i] != '{' {
		return false
	}
	for i++; ; i++ {
		if i = skipSpace(text, i); i < len(text) && text[i] == '}' {
			return true
		}
		key, next, ok := plainString(text, i)
		if !ok {
			return false
		}
		if i = skipSpace(text, next); i >= len(text) || text[i] != ':' {
			return false
		}
		i = skipSpace(text, i+1)
		end := skipValue(text, i)
		if end <= i || end >= len(text) || !visit(key, text[i:end:end]) {
			return false
		}
		if i = skipSpace(text, end); i >= len(text) || text[i] != ',' {
			return i < len(text) && text[i] == '}'
		}
	}
}

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// readString reads any string that begins at i; next is after it.
func readString(text []byte, i int) (s string, next int, ok bool) {
	if s, next, ok = plainString(text, i); ok || i >= len(text) || text[i] != '"' {
		return s, next, ok
	}
	next = skipValue(text, i)
	if next > len(text) || json.Unmarshal(text[i:next], &s) != nil {
		return "", 0, false
	}
	return s, next, true
}

// plainString reads a string of ASCII without escapes that begins at i; next is after it.
func plainString(text []byte, i int) (s string, next int, ok bool) {
	if i >= len(text) || text[i] != '"' {
		return "", 0, false
	}
	for j := i + 1; j < len(text) && text[j] != '\\' && text[j] < 0x80; j++ {
		if text[j] == '"' {
			return string(text[i+1 : j]), j + 1, true
		}
	}
	return "", 0, false
}

// skipValue is where the value that begins at i ends.
func skipValue(text []byte, i int) int {
	depth := 0
	for ; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + min(1, depth+1) // that of what is around ends a literal
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// take notes a member of a type value object; false: p4c does not write such a member.
func (v *Value) take(key string, value json.RawMessage) bool {
	switch key {
	case "type":
		return wholeString(value, &v.Type)
	case "value":
		v.Value = value
		return true
	}
	return !anyFold(key, "type", "value", "bitwidth")
}

// take notes a member of an expression.
func (x *Expr) take(key string, value json.RawMessage) bool {
	switch key {
	case "type":
		return wholeString(value, &x.Type)
	case "op":
		return wholeString(value, &x.Op)
	case "value":
		x.Value = value
	case "left":
		x.Left = value
	case "right":
		x.Right = value
	case "cond":
		x.Cond = value
	default:
		return !anyFold(key, "type", "op", "value", "left", "right", "cond")
	}
	return true
}

// wholeString reads a value that is one JSON string.
func wholeString(value json.RawMessage, into *string) bool {
	s, next, ok := plainString(value, 0)
	if ok = ok && next == len(value); ok {
		*into = s
	}
	return ok
}

// anyFold reports whether encoding/json would take a key for one of these.
func anyFold(key string, names ...string) bool {
	for _, n := range names {
		if strings.EqualFold(key, n) {
			return true
		}
	}
	return false
}
