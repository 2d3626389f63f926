package p4rt

import (
	"testing"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// TestMeterTypes: the type of a meter decides which configurations it accepts, and a configuration
// reads back as written.
func TestMeterTypes(t *testing.T) {
	const (
		two    = configv1.MeterSpec_TWO_RATE_THREE_COLOR
		single = configv1.MeterSpec_SINGLE_RATE_THREE_COLOR
		colors = configv1.MeterSpec_SINGLE_RATE_TWO_COLOR
	)
	for _, c := range []struct {
		typ  configv1.MeterSpec_Type
		m    *p4v1.MeterConfig
		want string
	}{
		{two, &p4v1.MeterConfig{Cir: 1, Cburst: 2, Pir: 3, Pburst: 4}, ""},
		{two, &p4v1.MeterConfig{Cir: 1, Cburst: 2, Pir: 3, Pburst: 4, Eburst: 5},
			"eburst 5; the meter is TWO_RATE_THREE_COLOR, which wants it unset"},
		{single, &p4v1.MeterConfig{Cir: 1, Cburst: 2, Pir: 1, Pburst: 2, Eburst: 5}, ""},
		{single, &p4v1.MeterConfig{Cir: 1, Cburst: 2, Pir: 1, Pburst: 2}, ""},
		{single, &p4v1.MeterConfig{Cir: 1, Cburst: 2, Pir: 3, Pburst: 4, Eburst: 5},
			"pir 3 and pburst 4; the meter is SINGLE_RATE_THREE_COLOR, which wants them equal to cir 1 " +
				"and cburst 2"},
		{colors, &p4v1.MeterConfig{Cir: 1, Cburst: 2, Pir: 1, Pburst: 2}, ""},
		{colors, &p4v1.MeterConfig{Cir: 1, Cburst: 2, Pir: 1, Pburst: 2, Eburst: 5},
			"eburst 5; the meter is SINGLE_RATE_TWO_COLOR, which wants it unset"},
		{colors, &p4v1.MeterConfig{Cir: 1, Cburst: 2, Pir: 1, Pburst: 3},
			"pir 1 and pburst 3; the meter is SINGLE_RATE_TWO_COLOR, which wants them equal to cir 1 and " +
				"cburst 2"},
		{two, &p4v1.MeterConfig{Cir: -1}, "cir -1; want 0 or more"},
	} {
		got, err := meterConfig(c.m, c.typ)
		message := ""
		if err != nil {
			message = err.Message
		}
		if message != c.want {
			t.Errorf("%s %v: %q, want %q", c.typ, c.m, message, c.want)
		}
		if back := meterProto(got); err == nil && back.String() != c.m.String() {
			t.Errorf("%s %v reads back as %v", c.typ, c.m, back)
		}
	}
}
