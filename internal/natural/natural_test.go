package natural

import (
	"cmp"
	"slices"
	"testing"
)

func TestCompare(t *testing.T) {
	want := []string{
		"", "-1", "0", "00", "01", "1", "1.2", "1.10", "2", "10", "18446744073709551616",
		"18446744073709551617",
		"P1-T0-2", "P1-T0-10", "P1-T1-1", "P2-T0-1", "P10-T0-1", "leaf", "leaf01", "leaf1", "leaf1a",
		"leaf2", "leaf10", "\u00df1",
	}
	got := slices.Clone(want)
	slices.Sort(got)
	if slices.SortFunc(got, Compare); !slices.Equal(got, want) {
		t.Errorf("ordered %q, want %q", got, want)
	}
}

// FuzzCompare: the order is total.
func FuzzCompare(f *testing.F) {
	for _, s := range [][3]string{{"a1", "a01", "a1b"}, {"2", "2.2", "02.a2"}, {"10", "9", "1"},
		{"", "0", "00"}, {"a", "a0", "a-"}} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		sign := func(x, y string) int { return cmp.Compare(Compare(x, y), 0) }
		if ab, ba := sign(a, b), sign(b, a); ab != -ba || (ab == 0) != (a == b) {
			t.Errorf("%q and %q: %d, the other way round %d", a, b, ab, ba)
		}
		if sign(a, b) <= 0 && sign(b, c) <= 0 && sign(a, c) > 0 {
			t.Errorf("%q, %q and %q are in order, but the first comes after the last", a, b, c)
		}
	})
}
