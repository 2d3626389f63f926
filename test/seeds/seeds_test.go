package seeds

import "testing"

func TestRange(t *testing.T) {
	for _, c := range []struct {
		one, many    string
		first, count uint64
	}{
		{"", "", 7, 40},
		{"3", "", 3, 1},
		{"", "500", 7, 500},
		{"3", "500", 3, 500},
	} {
		t.Setenv("WEFT_SEED", c.one)
		t.Setenv("WEFT_SEEDS", c.many)
		if testing.Short() && c.one == "" && c.many == "" {
			c.count = 10
		}
		if first, count := Range(t, 7, 40); first != c.first || count != c.count {
			t.Errorf("WEFT_SEED=%s WEFT_SEEDS=%s: %d seeds from %d; want %d from %d", c.one, c.many, count,
				first, c.count, c.first)
		}
		want := uint64(7)
		if c.one != "" {
			want = c.first
		}
		if got := One(t, 7); got != want {
			t.Errorf("WEFT_SEED=%s: seed %d; want %d", c.one, got, want)
		}
	}
}

// failing notes that a test was failed.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Fatalf(string, ...any) { f.failed = true }

func TestBadSeed(t *testing.T) {
	for _, bad := range []string{"x", "-1", "1.5", "18446744073709551616"} {
		t.Setenv("WEFT_SEED", bad)
		f := &failing{TB: t}
		One(f, 1)
		if !f.failed {
			t.Errorf("WEFT_SEED=%s was taken", bad)
		}
	}
}
