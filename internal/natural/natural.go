// Package natural orders names as people count: P1-T0-2 comes before P1-T0-10.
package natural

import "strings"

// Compare returns a negative number when a comes before b, a positive one when it comes after, and
// 0 only when both are the same. Runs of the digits 0 to 9 compare by value, whatever their length,
// and all else by octet. Names that differ only in leading zeros are ordered by octet.
//
// The order is total, so a list can continue behind any name.
func Compare[S ~string](a, b S) int {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if isDigit(a[i]) && isDigit(b[j]) {
			x, y := run(a[i:]), run(b[j:])
			i, j = i+len(x), j+len(y)
			if c := compareNumbers(string(x), string(y)); c != 0 {
				return c
			}
			continue
		}
		if a[i] != b[j] {
			return int(a[i]) - int(b[j])
		}
		i, j = i+1, j+1
	}
	if rest := (len(a) - i) - (len(b) - j); rest != 0 {
		return rest
	}
	return strings.Compare(string(a), string(b))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// run returns the digits that s begins with.
func run[S ~string](s S) S {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return s[:n]
}

func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
