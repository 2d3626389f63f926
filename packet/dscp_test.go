package packet

import "testing"

func TestDSCPClassesValidate(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(c *DSCPClasses)
		words  []string // none: accepted
	}{
		{"default", func(*DSCPClasses) {}, nil},
		{"last hop not told apart", func(c *DSCPClasses) { c.TrimmedLastHop = c.Trimmed }, nil},
		{"retransmissions not told apart", func(c *DSCPClasses) { c.TrimmableRetx = c.Trimmable }, nil},
		{"greatest", func(c *DSCPClasses) { c.Control = 63 }, nil},
		{"zero", func(c *DSCPClasses) { c.NoTrim = 0 }, nil},
		{"too great", func(c *DSCPClasses) {
			c.TrimmableRetx = 64
		}, []string{"TrimmableRetx", "64", "at most 63"}},
		{"trimmable and not", func(c *DSCPClasses) {
			c.Trimmable = c.NoTrim
		}, []string{"Trimmable: 3", "NoTrim"}},
		{"retransmissions as not trimmable", func(c *DSCPClasses) {
			c.TrimmableRetx = c.NoTrim
		}, []string{"TrimmableRetx: 3", "NoTrim"}},
		{"trimmed as trimmable", func(c *DSCPClasses) {
			c.Trimmed = c.Trimmable
		}, []string{"Trimmed: 7", "Trimmable"}},
		{"trimmed as not trimmable", func(c *DSCPClasses) {
			c.Trimmed = c.NoTrim
		}, []string{"Trimmed: 3", "NoTrim"}},
		{"trimmed as retransmitted", func(c *DSCPClasses) {
			c.TrimmedLastHop = c.TrimmableRetx
		}, []string{"TrimmedLastHop: 11", "TrimmableRetx"}},
		{"control as trimmed", func(c *DSCPClasses) {
			c.Control = c.Trimmed
		}, []string{"Control: 35", "Trimmed"}},
		{"control as data", func(c *DSCPClasses) {
			c.Control = c.NoTrim
		}, []string{"Control: 3", "NoTrim"}},
		{"too great for control", func(c *DSCPClasses) {
			c.Control = 64
		}, []string{"Control", "64", "at most 63"}},
	} {
		classes := DefaultDSCPClasses()
		c.change(&classes)
		err := classes.Validate()
		switch {
		case c.words == nil && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.words != nil:
			wantError(t, err, ErrMalformed, c.words...)
		}
	}
}

// Table 7-8, from the receiving side.
func TestDSCPClasses(t *testing.T) {
	c := DSCPClasses{NoTrim: 1, Trimmable: 2, TrimmableRetx: 3, Trimmed: 4, TrimmedLastHop: 5,
		Control: 6}
	for dscp := range uint8(64) {
		if got, want := c.MayTrim(dscp), dscp == 2 || dscp == 3; got != want {
			t.Errorf("DSCP %d: may be trimmed %v, want %v", dscp, got, want)
		}
		if got, want := c.High(dscp), dscp >= 4 && dscp <= 6; got != want {
			t.Errorf("DSCP %d: high %v, want %v", dscp, got, want)
		}
		want := map[uint8]Trim{4: Trimmed, 5: TrimmedLastHop}[dscp]
		if got := c.Trim(dscp); got != want {
			t.Errorf("DSCP %d: trim %d, want %d", dscp, got, want)
		}
	}
	c.TrimmedLastHop = c.Trimmed
	if c.Trim(4) != Trimmed || c.Trim(5) != NotTrimmed {
		t.Error("with one codepoint for both, trimmed is trimmed somewhere")
	}
}

// Table 7-8, from the sending side.
func TestDSCPClassesOf(t *testing.T) {
	c := DSCPClasses{NoTrim: 1, Trimmable: 2, TrimmableRetx: 3, Trimmed: 4, TrimmedLastHop: 5,
		Control: 6}
	for o := range 256 {
		o := Opcode(o)
		ext, ok := (MRCBTH{Opcode: o}).Extensions()
		if !ok {
			continue
		}
		for _, rtx := range []bool{false, true} {
			for _, trimmable := range []bool{false, true} {
				want := c.Control
				switch {
				case o == OpMRCProbe:
					want = c.Trimmable
				case ext.Is(ExtRETH) && rtx:
					want = c.TrimmableRetx
				case ext.Is(ExtRETH) && trimmable:
					want = c.Trimmable
				case ext.Is(ExtRETH):
					want = c.NoTrim
				}
				if got := c.Of(MRCBTH{Opcode: o, Retransmission: rtx}, trimmable); got != want {
					t.Errorf("%v, rtx %v, trimmable %v: DSCP %d, want %d", o, rtx, trimmable, got, want)
				}
			}
		}
	}
}

func TestDSCPClassesDecap(t *testing.T) {
	c := DSCPClasses{NoTrim: 1, Trimmable: 2, TrimmableRetx: 3, Trimmed: 4, TrimmedLastHop: 5,
		Control: 6}
	for _, x := range []struct {
		name         string
		inner, outer uint8
		want         uint8
		ok           bool
	}{
		{"as it was", TrafficClass(2, ECT0), TrafficClass(2, ECT0), TrafficClass(2, ECT0), true},
		{"marked", TrafficClass(2, ECT0), TrafficClass(2, CE), TrafficClass(2, CE), true},
		{"trimmed", TrafficClass(2, ECT0), TrafficClass(4, ECT0), TrafficClass(4, ECT0), true},
		{"trimmed at the last hop, marked", TrafficClass(3, ECT0), TrafficClass(5, CE),
			TrafficClass(5, CE), true},
		{"trimmed before the tunnel", TrafficClass(4, ECT0), TrafficClass(0, ECT0), TrafficClass(4, ECT0),
			true},
		{"another outer codepoint", TrafficClass(2, ECT0), TrafficClass(6, ECT0), TrafficClass(2, ECT0),
			true},
		{"marked but not capable", TrafficClass(2, NotECT), TrafficClass(2, CE), TrafficClass(2, NotECT),
			false},
	} {
		if got, ok := c.Decap(x.inner, x.outer); got != x.want || ok != x.ok {
			t.Errorf("%s: %#02x, %v; want %#02x, %v", x.name, got, ok, x.want, x.ok)
		}
	}
}
