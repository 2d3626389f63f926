package telemetry

import (
	"math/rand/v2"
	"testing"
)

// TestBlock: a block returns the values put into it, in each form of a column, and reads wanted
// columns without the rest.
func TestBlock(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		span := []int{fineSpan, coarseSpan}[r.IntN(2)]
		var in columns
		in.known = mask(r.Uint32()) & (1<<maxMetrics - 1)
		in.present = r.Uint64() | r.Uint64()
		if r.IntN(2) == 0 {
			in.present = 1<<span - 1
		}
		in.known.each(func(m int) {
			form, same := r.IntN(4), code(r.Uint32())
			for i := range span {
				switch {
				case form == 0, form == 1 && r.IntN(10) > 0:
				case form == 2:
					in.values[m][i] = same
				default:
					in.values[m][i] = code(r.Uint32())
				}
			}
		})
		b := appendBlock([]byte{1, 2, 3}, &in, span)[3:]
		for _, w := range []mask{^mask(0), mask(r.Uint32())} {
			var out columns
			first := r.IntN(span)
			end := first + 1 + r.IntN(span-first)
			if r.IntN(2) == 0 {
				first, end = 0, span
			}
			out.decode(b, span, first, end, w)
			for m := range maxMetrics {
				for i := first; i < end; i++ {
					want, ok := in.at(m, i)
					if !w.has(m) {
						want, ok = 0, false
					}
					if got, has := out.at(m, i); has != ok || ok && got != want {
						t.Fatalf("seed %d: metric %d at %d is %g, %v, want %g, %v", seed, m, i, got, has, want, ok)
					}
				}
			}
		}
	}
}
