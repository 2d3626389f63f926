package northbound

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/northbound/northboundtest"
	"github.com/weft-sdn/weft/southbound/gnmi"
	"github.com/weft-sdn/weft/telemetry"
)

// TestPortColumns: a stream has every port that was measured, its rates in both directions and its
// speed, a new one each second, until the server closes.
func TestPortColumns(t *testing.T) {
	st, now := telemetry.New(telemetry.Config{}), northboundtest.Began
	st.SetSwitch("s10", time.Second, map[uint32]uint64{7: 1e9})
	for i := range uint64(10) {
		now = now.Add(time.Second)
		for _, port := range []uint32{7, 8} {
			x := gnmi.Sample{Switch: "s10", Port: port, Time: now, Arrived: now}
			x.In.Octets = gnmi.Count{Value: i * 125_000 * uint64(port), OK: true}
			if port == 7 {
				x.Out.Octets = gnmi.Count{Value: i * 250_000, OK: true}
			}
			st.Take([]gnmi.Sample{x})
		}
		x := gnmi.Sample{Switch: "s9", Port: 1, Time: now, Arrived: now}
		x.Out.Octets = gnmi.Count{Value: i * 125, OK: true}
		st.Take([]gnmi.Sample{x})
	}
	s, _, _ := newTestServer(t, func(c *Config) {
		c.Telemetry, c.Now = st, func() time.Time { return now }
	})
	base, stop := serve(t, s)
	w := streamAt(t, base+portsPath, "")
	read := func() (c api.PortColumns) {
		t.Helper()
		for w.in.Scan() {
			if data, ok := strings.CutPrefix(w.in.Text(), "data: "); ok {
				if err := json.Unmarshal([]byte(data), &c); err != nil {
					t.Fatal(err)
				}
				return c
			}
		}
		t.Fatalf("the stream ended: %v", w.in.Err())
		return c
	}
	first := read()
	if len(first.Switches) != 2 || first.Over != 3 || first.Switches[0].Name != "s9" {
		t.Fatalf("%+v", first)
	}
	got := first.Switches[1]
	near := func(a, b float64) bool { return math.Abs(a-b) <= 0.001*math.Abs(b) } // as it is kept
	if got.Name != "s10" || !slices.Equal(got.Ports, []uint32{7, 8}) ||
		!slices.Equal(got.Speed, []uint64{1e9, 0}) ||
		!slices.EqualFunc(got.In, []float64{7e6, 8e6}, near) ||
		!slices.EqualFunc(got.Out, []float64{2e6, -1}, near) {
		t.Errorf("%+v", got)
	}
	if second := read(); len(second.Switches) != 2 {
		t.Errorf("after a second: %+v", second)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	for w.in.Scan() {
	}
}
