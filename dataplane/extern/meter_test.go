package extern

import (
	"testing"
	"time"
)

// TestSingleRateMeter checks that a meter of a single rate with an excess burst marks as RFC 2697
// says: tokens beyond the committed burst fill the excess bucket.
func TestSingleRateMeter(t *testing.T) {
	const born = 300 * time.Millisecond
	m := newMarker(MeterConfig{CIR: 2, CBurst: 3, EBurst: 2}, born)
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
		{time.Hour + time.Second, 1, Green},
		{time.Hour + 3*time.Second, 4, red}, // four came, two fit
		{time.Hour + 3*time.Second, 3, Green}, {time.Hour + 3*time.Second, 2, yellow},
		{time.Hour + 3499*time.Millisecond, 1, red}, {time.Hour + 3500*time.Millisecond, 1, Green},
	} {
		if got := m.execute(born+c.at, c.n); got != c.want {
			t.Errorf("packet %d: color %d, want %d", i, got, c.want)
		}
	}
}

// TestDirectMeterCounts: a direct meter counts packets and octets by their colour, and an
// unconfigured meter marks everything green. A meter without an excess burst has two rates (RFC
// 2698).
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

// TestTwoRateMeter: buckets are full at first and fill with time, up to their bursts: by whole
// tokens, the rate being of a second (RFC 2698, as BMv2 counts). A packet that the peak bucket does
// not hold is red and takes nothing; one that the committed bucket does not hold is yellow.
func TestTwoRateMeter(t *testing.T) {
	const born = 300 * time.Millisecond
	m := newMarker(MeterConfig{CIR: 2, CBurst: 3, PIR: 4, PBurst: 5}, born)
	for i, c := range []struct {
		at   time.Duration // since it was configured
		n    uint64
		want uint64
	}{
		{0, 6, red}, {0, 3, Green}, {0, 1, yellow}, {0, 2, red}, {0, 1, yellow}, {0, 1, red},
		{249999 * time.Microsecond, 1, red},
		{250 * time.Millisecond, 1, yellow}, // 1 of the peak came
		{250 * time.Millisecond, 1, red},
		{500 * time.Millisecond, 1, Green}, // 1 and 1
		{500 * time.Millisecond, 1, red},
		{time.Second, 1, Green}, {time.Second, 1, yellow}, {time.Second, 1, red}, // 2 and 1
		{time.Hour, 6, red}, {time.Hour, 4, yellow}, {time.Hour, 2, red}, {time.Hour, 1, Green},
		{time.Hour, 1, red},
		{time.Minute, 1, red}, // time that goes back makes nothing
		{time.Hour + 1250*time.Millisecond, 5, yellow},
		{time.Hour + 1250*time.Millisecond, 1, red},
		{time.Hour + 1500*time.Millisecond, 1, Green},
	} {
		if got := m.execute(born+c.at, c.n); got != c.want {
			t.Errorf("packet %d: color %d, want %d", i, got, c.want)
		}
	}
}

// TestExcessBurst: an excess burst of one unit makes a meter of a single rate.
func TestExcessBurst(t *testing.T) {
	m := newMarker(MeterConfig{CIR: 1, CBurst: 1, PIR: 9, PBurst: 9, EBurst: 1}, 0)
	for i, want := range []uint64{Green, yellow, red} {
		if got := m.execute(0, 1); got != want {
			t.Errorf("packet %d: color %d, want %d", i, got, want)
		}
	}
	if got := m.execute(time.Second-1, 1); got != red {
		t.Errorf("before a unit came: color %d", got)
	}
	if got := m.execute(time.Second, 1); got != Green {
		t.Errorf("after a unit came: color %d", got)
	}
}

// TestMeters: a meter, of an array or of a table's entry, marks by what it was configured with last
// and all green without; it counts by colour, and its neighbours do not. Bytes or packets are what
// it takes.
func TestMeters(t *testing.T) {
	const size = 3
	for _, unit := range []MeterUnit{MeterPackets, MeterBytes} {
		array := NewMeterArray(size, unit)
		if array.Size != size {
			t.Errorf("%d meters", array.Size)
		}
		direct := &DirectMeter{}
		for name, k := range map[string]struct {
			m       Meter
			execute func(octets int) uint64
		}{
			"an array's": {array.At(size - 1), func(n int) uint64 { return array.Execute(size-1, 0, n) }},
			"an entry's": {direct, func(n int) uint64 { return direct.Execute(0, unit, n) }},
		} {
			if c, ok := k.m.Configuration(); ok || c != (MeterConfig{}) {
				t.Errorf("%s: configured with %+v", name, c)
			}
			k.m.Configure(nil, 0) // which it is already
			if got := k.execute(10); got != Green {
				t.Errorf("%s without a configuration: color %d", name, got)
			}
			cfg := MeterConfig{CIR: 1, CBurst: 1, PIR: 1, PBurst: 2}
			if unit == MeterBytes {
				cfg = MeterConfig{CIR: 1, CBurst: 20, PIR: 1, PBurst: 50}
			}
			for range 2 { // a new configuration begins with full buckets
				k.m.Configure(&cfg, 0)
				if c, ok := k.m.Configuration(); !ok || c != cfg {
					t.Errorf("%s: configured with %+v, %v; want %+v", name, c, ok, cfg)
				}
				for i, want := range []uint64{Green, yellow, red} {
					if got := k.execute(20 + i); got != want {
						t.Errorf("%s: packet %d: color %d, want %d", name, i, got, want)
					}
				}
			}
			want := MeterCounts{Green: {3, 50}, yellow: {2, 42}, red: {2, 44}}
			if got := k.m.Counts(); got != want {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
			k.m.Configure(nil, 0)
			if _, ok := k.m.Configuration(); ok || k.execute(1000) != Green {
				t.Errorf("%s: configured after it was taken away", name)
			}
			want = MeterCounts{Green: {1, 2}, yellow: {3, 4}, red: {5, 6}}
			k.m.SetCounts(want)
			if got := k.m.Counts(); got != want {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
		}
		for i := range uint64(size - 1) {
			if c := array.At(i).Counts(); c != (MeterCounts{}) || array.Execute(i, 0, 1000) != Green {
				t.Errorf("meter %d has counted %+v", i, c)
			}
		}
		if direct.Configured() {
			t.Error("configured after it was taken away")
		}
		if direct.Configure(&MeterConfig{}, 0); !direct.Configured() {
			t.Error("not configured")
		}
		array.Execute(size, 0, 1) // out of range
		fresh := NewMeterArray(size, unit)
		if fresh.At(0).SetCounts(MeterCounts{}); fresh.marked.pages != nil {
			t.Error("counts that stay 0 take memory")
		}
	}
	for color, want := range map[uint64]string{0: "green", 1: "yellow", 2: "red"} {
		if got := ColorName(color); got != want {
			t.Errorf("color %d is %s, want %s", color, got, want)
		}
	}
}
