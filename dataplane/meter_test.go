package dataplane

import (
	"testing"
	"time"
)

// A meter of a single rate with an excess burst marks as RFC 2697 has it: what comes in beyond the committed burst fills the excess one.
func TestSingleRateMeter(t *testing.T) {
	m := newMeter(MeterConfig{CIR: 2, CBurst: 3, EBurst: 2}, time.Second)
	for i, c := range []struct {
		at   time.Duration // since it was configured
		n    uint64
		want uint64
	}{
		{0, 3, green}, {0, 1, yellow}, {0, 2, red}, {0, 1, yellow}, {0, 1, red},
		{time.Second, 2, green}, {time.Second, 1, red},
		{3 * time.Second, 2, green}, // four came, three fit
		{3 * time.Second, 2, red}, {3 * time.Second, 1, green}, {3 * time.Second, 1, yellow}, {3 * time.Second, 1, red},
		{time.Hour, 4, red}, {time.Hour, 3, green}, {time.Hour, 2, yellow}, {time.Hour, 1, red},
	} {
		if got := m.execute(time.Second+c.at, c.n); got != c.want {
			t.Errorf("packet %d: color %d, want %d", i, got, c.want)
		}
	}
}
