package flow

import (
	"math"
	"testing"
	"time"
)

func TestMeter(t *testing.T) {
	ms := time.Millisecond
	m := &Meter{samples: []sample{{0, 0}, {10 * ms, 100}, {20 * ms, 200}, {30 * ms, 200},
		{40 * ms, 300}}}
	for _, c := range []struct {
		from, to time.Duration
		want     float64
	}{{0, 40 * ms, 7500}, {10 * ms, 20 * ms, 10000}, {20 * ms, 30 * ms, 0}, {-5 * ms, 100 * ms, 7500},
		{40 * ms, 50 * ms, 0}} {
		if got := m.Rate(c.from, c.to); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("from %v to %v: %v octets a second, want %v", c.from, c.to, got, c.want)
		}
	}
}
