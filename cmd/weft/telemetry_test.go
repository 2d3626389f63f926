package main

import (
	"bytes"
	"testing"

	"github.com/weft-sdn/weft/api"
)

// TestQuantity: values have a prefix of SI and up to 3 significant digits.
func TestQuantity(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{0, "bit/s", "0 bit/s"}, {0.5, "packets/s", "0.5 packets/s"},
		{12.34, "packets/s", "12.3 packets/s"}, {999.6, "bit/s", "1 kbit/s"},
		{96_543_210, "bit/s", "96.5 Mbit/s"}, {4e11, "bit/s", "400 Gbit/s"},
		{1.2e15, "bit/s", "1200 Tbit/s"}, {4192, "octets", "4.19 koctets"}, {0.25, "1", "0.25"},
	} {
		if got := quantity(c.v, c.unit); got != c.want {
			t.Errorf("%g %s: %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

// TestTelemetryTables: gaps are blank, and metrics that are 0 throughout take no column.
func TestTelemetryTables(t *testing.T) {
	value := func(v float64) *float64 { return &v }
	var b bytes.Buffer
	historyTable(&b, &api.History{Kind: "port", Name: "s1/1", Step: 1,
		Times: []int64{1795426200, 1795426201}, Series: []api.Series{
			{Metric: "inBits", Unit: "bit/s", Values: []*float64{value(1e9), nil}},
			{Metric: "inErrors", Unit: "packets/s", Values: []*float64{value(0), nil}},
		}})
	topTable(&b, &api.Top{Metric: "utilization",
		Items: []api.TopItem{{Name: "s1/1", Value: 0.25, In: 0.25, Out: 0.01,
			Speed: 100e9}}})
	want := `TIME                  INBITS
2026-11-23T09:30:00Z  1 Gbit/s
2026-11-23T09:30:01Z

0 throughout: inErrors
NAME  UTILIZATION  IN         OUT       SPEED
s1/1  25.0%        25 Gbit/s  1 Gbit/s  100 Gbit/s
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
