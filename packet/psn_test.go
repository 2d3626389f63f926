package packet

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestPSNTable(t *testing.T) {
	for _, c := range []struct {
		a, b   uint32
		before bool
		diff   int // PSNDiff(a, b)
	}{
		{0, 0, false, 0},
		{0, 1, true, -1},
		{1, 0, false, 1},
		{0xFFFFFF, 0, true, -1},
		{0, 0xFFFFFF, false, 1},
		{0, 0x7FFFFF, true, -0x7FFFFF},
		{0, 0x800000, false, -0x800000},
		{0x800000, 0, false, -0x800000},
		{0x800001, 0, true, -0x7FFFFF},
		{0xFFFFF0, 0x00000F, true, -31},
	} {
		if got := PSNBefore(c.a, c.b); got != c.before {
			t.Errorf("PSNBefore(%#x, %#x) = %v", c.a, c.b, got)
		}
		if got := PSNDiff(c.a, c.b); got != c.diff {
			t.Errorf("PSNDiff(%#x, %#x) = %d, want %d", c.a, c.b, got, c.diff)
		}
	}
}

// TestPSNAgainstDefinition compares with the text of the rule, in numbers without a width.
func TestPSNAgainstDefinition(t *testing.T) {
	modulus := big.NewInt(1 << 24)
	mod := func(x int64) int64 { return new(big.Int).Mod(big.NewInt(x), modulus).Int64() }
	rapid.Check(t, func(t *rapid.T) {
		psn := rapid.OneOf(rapid.Uint32Range(0, PSNMask), rapid.Uint32Range(0, 3),
			rapid.Uint32Range(PSNMask-3, PSNMask))
		a, b := psn.Draw(t, "a"), psn.Draw(t, "b")
		n := rapid.IntRange(-1<<30, 1<<30).Draw(t, "n")
		if got, want := PSNAdd(a, n), uint32(mod(int64(a)+int64(n))); got != want {
			t.Fatalf("PSNAdd(%#x, %d) = %#x, want %#x", a, n, got, want)
		}
		d := mod(int64(b) - int64(a))
		if got, want := PSNBefore(a, b), d >= 1 && d <= 1<<23-1; got != want {
			t.Fatalf("PSNBefore(%#x, %#x) = %v, want %v", a, b, got, want)
		}
		diff := PSNDiff(a, b)
		if diff < -1<<23 || diff >= 1<<23 || PSNAdd(b, diff) != a {
			t.Fatalf("PSNDiff(%#x, %#x) = %d", a, b, diff)
		}
	})
}
