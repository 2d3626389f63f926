package telemetry

import (
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/weft-sdn/weft/southbound/gnmi"
)

// TestSIDs: local SIDs have rates beside the ports of their switch. A SID removed and written again
// restarts its counters, and leaves other counters alone.
func TestSIDs(t *testing.T) {
	b := newBed(t)
	one, two := netip.MustParsePrefix("5f00:0:1::/48"), netip.MustParsePrefix("5f00:0:1:e001::/64")
	at := map[netip.Prefix]uint64{}
	step := func(seconds int) {
		for range seconds {
			b.run(1, 1000)
			at[one], at[two] = at[one]+10, at[two]+20
			s := gnmi.Sample{Switch: "s1", Time: b.now, Arrived: b.now}
			for _, p := range []netip.Prefix{one, two} {
				s.SIDs = append(s.SIDs, gnmi.SID{Prefix: p, Packets: count(at[p]), Octets: count(100 * at[p])})
			}
			b.st.Take([]gnmi.Sample{s})
		}
	}
	values := func(name, metric string) []float64 {
		t.Helper()
		h, err := b.st.History(Query{Kind: SID, Name: name, Metrics: []string{metric}, Since: began,
			Until: b.now, Step: time.Second}, b.now)
		if err != nil {
			t.Fatal(err)
		}
		return h.Series[0].Values
	}
	step(3)
	at[two] = 0
	step(2)
	gap := math.NaN()
	b.want(values("s1/5f00:0:1::/48", "packets"), gap, gap, 10, 10, 10, 10)
	b.want(values("s1/5f00:0:1:e001::/64", "bits"), gap, gap, 16000, 16000, gap, 16000)
	b.want(b.history(0, 5, time.Second), gap, gap, 8000, 8000, 8000, 8000)

	top, unit, err := b.st.Top(SID, "packets", 3*time.Second, 10, b.now)
	if err != nil || unit != PacketsPerSecond || len(top) != 2 ||
		top[0].Name != "s1/5f00:0:1:e001::/64" {
		t.Errorf("%v %v %s", top, err, unit)
	}
	for _, name := range []string{"", "s1", "s1/48", "s1/5f00:0:1::", "/48", "5f00:0:1::/48",
		"s1/5f00:0:1::/129", "s1/5f00:0:2::/48", "s2/5f00:0:1::/48"} {
		q := Query{Kind: SID, Name: name, Since: began, Until: b.now}
		if _, err := b.st.History(q, b.now); err == nil {
			t.Errorf("%q has a history", name)
		}
	}
}
