package extern

import (
	"testing"
	"time"
)

// TestSingleRateMeter checks that a meter of a single rate with an excess burst marks as RFC 2697
// says: tokens beyond the committed burst fill the excess bucket.
func TestSingleRateMeter(t *testing.T) {
	m := newMarker(MeterConfig{CIR: 2, CBurst: 3, EBurst: 2}, time.Second)
	for i, c := range []struct {
		at   time.Duration // since it was configured
		n    uint64
		want uint64
	}{
		{0, 3, Green}, {0, 1, yellow}, {0, 2, red}, {0, 1, yellow}, {0, 1, red},
		{time.Second, 2, Green}, {time.Second, 1, red},
		{3 * time.Second, 2, Green}, // four came, three fit
		{3 * time.Second, 2, red}, {3 * time.Second, 1, Green}, {3 * time.Second, 1, yellow},
		{3 * time.Second, 1, red},
		{time.Hour, 4, red}, {time.Hour, 3, Green}, {time.Hour, 2, yellow}, {time.Hour, 1, red},
	} {
		if got := m.execute(time.Second+c.at, c.n); got != c.want {
			t.Errorf("packet %d: color %d, want %d", i, got, c.want)
		}
	}
}

// TestDirectMeterCounts: a direct meter counts packets and octets by the colour that they get, and
// one that is not configured marks everything green. A meter without an excess burst has two rates
// (RFC 2698).
func TestDirectMeterCounts(t *testing.T) {
	d := DirectMeter{}
	if c := d.Execute(0, MeterPackets, 100); c != Green {
		t.Errorf("not configured: color %d", c)
	}
	d.state = newMarker(MeterConfig{CIR: 1, CBurst: 1, PIR: 2, PBurst: 3}, 0)
	for i, want := range []uint64{Green, yellow, yellow, red, red} {
		if c := d.Execute(0, MeterPackets, 10<<i); c != want {
			t.Errorf("packet %d: color %d, want %d", i, c, want)
		}
	}
	if want := (MeterCounts{Green: {Packets: 2, Bytes: 110}, yellow: {Packets: 2, Bytes: 60},
		red: {Packets: 2, Bytes: 240}}); d.Marked != want {
		t.Errorf("%+v, want %+v", d.Marked, want)
	}
}
