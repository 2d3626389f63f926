package telemetry

import (
	"math"
	"testing"
)

// TestIncrease: a counter that wraps at 32 or 64 bits has grown. A counter that decreases for
// another reason, or grows more than its port can explain, has no known growth.
func TestIncrease(t *testing.T) {
	const most = 1 << 30
	for _, c := range []struct {
		name              string
		before, now, most uint64
		want              uint64
		verdict           verdict
	}{
		{"grows", 5, 7, most, 2, counted},
		{"rests", 5, 5, most, 0, counted},
		{"grows without a bound", 0, math.MaxUint64, 0, math.MaxUint64, counted},
		{"jumps", 5, 6 + most, most, 0, doubtful},
		{"wraps at 32 bits", wrap32 - 3, 4, most, 7, counted},
		{"wraps at 32 bits without a speed", wrap32 - 3, 4, 0, 7, counted},
		{"wraps at 64 bits", math.MaxUint64 - 2, 4, most, 7, counted},
		{"wraps at 64 bits without a speed", math.MaxUint64 - 2, 4, 0, 7, counted},
		{"restarts", 1000, 5, most, 0, restarted},
		{"restarts without a speed", 1000, 5, 0, 0, restarted},
		{"restarts above 32 bits", wrap32 + 10, 5, most, 0, restarted},
		{"restarts above 63 bits", 1<<63 + 5, 7, most, 0, restarted},
		{"goes back", 1000, 999, most, 0, restarted},
		{"may have wrapped twice", wrap32 - 3, 4, wrap32, 0, narrow},
	} {
		if got, v := increase(c.before, c.now, c.most); got != c.want || v != c.verdict {
			t.Errorf("%s: %d, %d, want %d, %d", c.name, got, v, c.want, c.verdict)
		}
	}
}

// FuzzIncrease: growth is never more than the bound, and takes the count from the one before to the
// present one, modulo 32 or 64 bits.
func FuzzIncrease(f *testing.F) {
	f.Add(uint64(wrap32-3), uint64(4), uint64(1<<30))
	f.Add(uint64(math.MaxUint64), uint64(4), uint64(0))
	f.Add(uint64(9), uint64(4), uint64(wrap32))
	f.Fuzz(func(t *testing.T, before, now, most uint64) {
		d, v := increase(before, now, most)
		if v != counted {
			if d != 0 {
				t.Errorf("%d with verdict %d", d, v)
			}
			return
		}
		if most > 0 && d > most {
			t.Errorf("%d is more than %d", d, most)
		}
		if before+d != now && uint64(uint32(before)+uint32(d)) != now {
			t.Errorf("%d and %d make not %d", before, d, now)
		}
	})
}

// TestCode: codes keep whole numbers up to 2048 exactly and others to 0.05 %, in order, up to more
// than any port can send.
func TestCode(t *testing.T) {
	for n := range 2049 {
		if got := encode(float64(n)).value(); got != float64(n) {
			t.Fatalf("%d is %g", n, got)
		}
	}
	last := code(0)
	for v := 0.004; v < 1e16; v *= 1.0007 {
		c := encode(v)
		if got := c.value(); math.Abs(got-v) > 0.0005*v {
			t.Fatalf("%g is %g", v, got)
		}
		if c < last || c == codeGap {
			t.Fatalf("%g has the code %d after %d", v, c, last)
		}
		last = c
	}
	for v, want := range map[float64]code{0: 0, -1: 0, math.NaN(): 0, 1e-9: 1, math.Inf(1): codeMost,
		math.MaxFloat64: codeMost} {
		if got := encode(v); got != want {
			t.Errorf("%g has the code %d, want %d", v, got, want)
		}
	}
}
