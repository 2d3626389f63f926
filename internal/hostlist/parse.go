package hostlist

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	// mostOctets is the length of the longest name (RFC 1035, section 2.3.4).
	mostOctets = 255
	// mostDigits bounds numbers in brackets, so that they and their sums are in 64 bits.
	mostDigits = 18
	// mostBrackets is how many of a name are counted in the same order by all programs.
	mostBrackets = 2
)

// Error is a fault of a hostlist. The caller knows the name of the field.
type Error struct {
	Value string // the part of the list that is wrong
	Want  string
	Limit int // the greatest number of names, where there are more; otherwise 0
}

func (e *Error) Error() string { return fmt.Sprintf("is %q: want %s", e.Value, e.Want) }

func wrong(value, want string) error { return &Error{Value: value, Want: want} }

// span is the numbers from lo to hi, written with at least width digits.
type span struct {
	lo, hi uint64
	width  int
}

func (s span) count() uint64 { return s.hi - s.lo + 1 }

// pattern is one element of a list: texts[0], a number of lists[0], texts[1], and so on.
type pattern struct {
	texts []string // one more than lists
	lists [][]span
}

// Parse returns the names of a hostlist in its order, at most most. The error is an [*Error].
func Parse(text string, most int) ([]string, error) {
	if text == "" {
		return nil, wrong(text, "a name, or a list such as n[001-128],m7")
	}
	var patterns []pattern
	var all uint64
	for rest := text; ; {
		element, tail, more := cutElement(rest)
		p, err := parseElement(element)
		if err != nil {
			return nil, err
		}
		n, ok := p.count(uint64(max(most, 0)))
		if all += n; !ok || all > uint64(max(most, 0)) {
			return nil, &Error{shorten(text), fmt.Sprintf("at most %d names", most), most}
		}
		patterns = append(patterns, p)
		if !more {
			break
		}
		rest = tail
	}
	names := make([]string, 0, all)
	seen := make(map[string]bool, all)
	for _, p := range patterns {
		for name := range p.all {
			switch {
			case len(name) > mostOctets:
				return nil, wrong(name, fmt.Sprintf("names of at most %d octets", mostOctets))
			case seen[name]:
				return nil, wrong(name, "every name once")
			}
			seen[name] = true
			names = append(names, name)
		}
	}
	return names, nil
}

// cutElement cuts a list at its first comma outside of brackets.
func cutElement(text string) (element, rest string, more bool) {
	inside := false
	for i := range len(text) {
		switch text[i] {
		case '[':
			inside = true
		case ']':
			inside = false
		case ',':
			if !inside {
				return text[:i], text[i+1:], true
			}
		}
	}
	return text, "", false
}

func parseElement(element string) (pattern, error) {
	var p pattern
	if element == "" {
		return p, wrong(element, "a name between two commas")
	}
	for rest := element; ; {
		literal, bracket, opened := strings.Cut(rest, "[")
		for _, c := range []byte(literal) {
			if !inName(c) {
				return p, wrong(shorten(element),
					"letters, digits, '.', '_', '-' and numbers in brackets, such as n[001-128]")
			}
		}
		p.texts = append(p.texts, literal)
		if !opened {
			return p, nil
		}
		ranges, tail, closed := strings.Cut(bracket, "]")
		if !closed {
			return p, wrong(shorten(element), "a ']' after every '['")
		}
		var list []span
		for r := range strings.SplitSeq(ranges, ",") {
			s, err := parseSpan(r)
			if err != nil {
				return p, err
			}
			list = append(list, s)
		}
		if p.lists = append(p.lists, list); len(p.lists) > mostBrackets {
			return p, wrong(shorten(element), fmt.Sprintf("at most %d brackets in a name", mostBrackets))
		}
		rest = tail
	}
}

func inName(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' ||
		c == '.' || c == '_' || c == '-'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// parseSpan reads 7, 1-128 or 001-128. The first number has the width: 08-10 is 08, 09, 10, and
// 8-10 is 8, 9, 10.
func parseSpan(text string) (span, error) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	lo, okLo := number(first)
	hi, okHi := number(last)
	switch {
	case !okLo || !okHi:
		return span{}, wrong(shorten(text),
			fmt.Sprintf("a number or a range such as 001-128, of at most %d digits", mostDigits))
	case lo > hi:
		return span{}, wrong(text, "a range that ends at its first number or behind it")
	case len(last) < len(first), len(last) > len(first) && last[0] == '0':
		return span{}, wrong(text, "both ends of a range with the same number of digits")
	}
	return span{lo, hi, len(first)}, nil
}

func number(text string) (uint64, bool) {
	if text == "" || len(text) > mostDigits {
		return 0, false
	}
	for i := range len(text) {
		if !isDigit(text[i]) {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

// count returns the number of names of a pattern; false when it is over most.
func (p *pattern) count(most uint64) (uint64, bool) {
	all := uint64(1)
	for _, list := range p.lists {
		var n uint64
		for _, s := range list {
			if n += s.count(); n > most {
				return 0, false
			}
		}
		if n > most/all {
			return 0, false
		}
		all *= n
	}
	return all, all <= most
}

// all yields the names of a pattern; the last bracket counts fastest.
func (p *pattern) all(yield func(string) bool) { p.from(0, nil, yield) }

func (p *pattern) from(i int, head []byte, yield func(string) bool) bool {
	head = append(head, p.texts[i]...)
	if i == len(p.lists) {
		return yield(string(head))
	}
	for _, s := range p.lists[i] {
		for n := s.lo; n <= s.hi; n++ {
			if !p.from(i+1, padded(head, n, s.width), yield) {
				return false
			}
		}
	}
	return true
}

// padded appends a number of at least width digits.
func padded(head []byte, n uint64, width int) []byte {
	digits := strconv.FormatUint(n, 10)
	for range width - len(digits) {
		head = append(head, '0')
	}
	return append(head, digits...)
}

// shorten keeps messages in a line.
func shorten(text string) string {
	const most = 64
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
