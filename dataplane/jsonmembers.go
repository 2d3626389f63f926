package dataplane

import (
	"encoding/json"
	"strings"
)

// Expressions nest, and each level of one is taken apart on its own, so that
// decoding each with encoding/json, which checks all that is below once more,
// takes most of the time of loading. What is here only finds the members of an
// object, in text that has been checked before.

// members calls visit with the members of an object; false says that it is none, or
// that visit said false: then encoding/json is to say what it thinks of it.
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

// take notes a member of a type value object; false: it is not as p4c writes it.
func (v *jsonValue) take(key string, value json.RawMessage) bool {
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
func (x *jsonExpr) take(key string, value json.RawMessage) bool {
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

// wholeString reads a string that is all there is.
func wholeString(value json.RawMessage, into *string) bool {
	s, next, ok := plainString(value, 0)
	if ok = ok && next == len(value); ok {
		*into = s
	}
	return ok
}

// anyFold tells that encoding/json would take a key for one of these.
func anyFold(key string, names ...string) bool {
	for _, n := range names {
		if strings.EqualFold(key, n) {
			return true
		}
	}
	return false
}
