package stf

import (
	"fmt"
	"math/big"
	"strings"
)

// Error is a fault in a line of a case.
type Error struct {
	Line int
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%d: %v", e.Line, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// kind is the kind of a token; punctuation is its own text.
type kind uint8

const (
	endOfLine kind = iota
	identifier
	quotedName
	numeral
	punctuation
)

type token struct {
	kind kind
	text string
}

func (t token) String() string {
	if t.kind == endOfLine {
		return "the end of the line"
	}
	return fmt.Sprintf("%q", t.text)
}

// marks are the punctuation, longer ones before those they begin with.
var marks = []string{"&&&", "->", "=>", "==", "!=", "<=", ">=", "<", ">", "=", ":", ",", ".", "[",
	"]", "(", ")", "/"}

func letter(c byte) bool {
	return c == '_' || c == '$' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// tokens splits a line that has no comment.
func tokens(line string) ([]token, error) {
	var all []token
	for {
		line = strings.TrimLeft(line, " \t\r")
		if line == "" {
			return all, nil
		}
		t, err := first(line)
		if err != nil {
			return nil, err
		}
		line = line[len(t.text):]
		if t.kind == quotedName {
			t.text = strings.Trim(t.text, `"`)
		}
		all = append(all, t)
	}
}

// first is the token a line begins with.
func first(line string) (token, error) {
	c, n := line[0], 1
	switch {
	case c == '"':
		if n = strings.IndexByte(line[1:], '"'); n < 1 {
			return token{}, fmt.Errorf("the name %s does not end", line)
		}
		return token{quotedName, line[:n+2]}, nil
	case letter(c):
		for n < len(line) && (letter(line[n]) || digit(line[n])) {
			n++
		}
		return token{identifier, line[:n]}, nil
	case digit(c):
		for n < len(line) && (letter(line[n]) || digit(line[n]) || line[n] == '*' ||
			line[n] == '.' && n+1 < len(line) && digit(line[n+1])) {
			n++
		}
		return token{numeral, line[:n]}, nil
	}
	for _, m := range marks {
		if strings.HasPrefix(line, m) {
			return token{punctuation, m}, nil
		}
	}
	return token{}, fmt.Errorf("%q means nothing here", line[:n])
}

// Number is a constant. Mask has ones for digits and zeros for *; Mask is nil in a constant without
// *.
type Number struct {
	Value *big.Int
	Mask  *big.Int
}

// maxDigits bounds constants to more than any field has.
const maxDigits = 4096

func number(text string) (Number, error) {
	bad := fmt.Errorf("%q is not a number", text)
	if len(text) > maxDigits {
		return Number{}, fmt.Errorf("a number of %d digits; want at most %d", len(text), maxDigits)
	}
	digits, base, ones := strings.ToLower(text), 10, byte('9')
	for _, p := range []struct {
		prefix string
		base   int
		ones   byte
	}{{"0x", 16, 'f'}, {"0o", 8, '7'}, {"0b", 2, '1'}} {
		if d, ok := strings.CutPrefix(digits, p.prefix); ok {
			digits, base, ones = d, p.base, p.ones
			break
		}
	}
	if base == 10 {
		v, ok := new(big.Int).SetString(digits, 10)
		if !ok || !digit(digits[0]) {
			return Number{}, bad
		}
		return Number{Value: v}, nil
	}
	if digits == "" {
		return Number{}, bad
	}
	v, mask := make([]byte, 0, len(digits)), make([]byte, 0, len(digits))
	for _, c := range []byte(digits) {
		if c == '*' {
			v, mask = append(v, '0'), append(mask, '0')
			continue
		}
		v, mask = append(v, c), append(mask, ones)
	}
	n := Number{new(big.Int), new(big.Int)}
	if _, ok := n.Value.SetString(string(v), base); !ok {
		return Number{}, bad
	}
	n.Mask.SetString(string(mask), base)
	if !strings.Contains(digits, "*") {
		n.Mask = nil
	}
	return n, nil
}
