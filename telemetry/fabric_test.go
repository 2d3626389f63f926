package telemetry

import (
	"math"
	"testing"
	"time"

	"github.com/weft-sdn/weft/southbound/gnmi"
)

// TestSums: ports that lead to no switch count for the traffic of hosts, and all ports for losses.
// The uplinks of a plane count for the plane, and the ports of a job's NICs for the job.
func TestSums(t *testing.T) {
	st, now := New(Config{}), began
	sums := NewSums(st)
	inner := func(sw string, port uint32) bool { return port > 2 }
	uplinks := []Uplink{{Plane: 2, From: "s1", To: "s2", Port: 3}}
	jobs := map[string]map[uint32][]string{"s1": {1: {"a"}, 2: {"a", "b"}}}
	for i := range uint64(20) {
		now = now.Add(time.Second)
		for port := uint32(1); port <= 3; port++ {
			s := gnmi.Sample{Switch: "s1", Port: port, Time: now, Arrived: now}
			s.In.Octets, s.Out.Octets = count(1000*i*uint64(port)), count(100*i*uint64(port))
			s.Out.Discards = count(7 * i)
			st.Take([]gnmi.Sample{s})
		}
		sums.Take([]string{"s1", "away"}, inner, uplinks, jobs, now)
	}
	for name, want := range map[string]map[string]float64{
		WholeFabric:  {"offeredBits": 8 * 3000, "deliveredBits": 8 * 300, "lostPackets": 21},
		PlaneName(2): {"offeredBits": 8 * 300, "deliveredBits": 8 * 3000},
		JobName("a"): {"offeredBits": 8 * 3000, "deliveredBits": 8 * 300, "lostPackets": 14},
		JobName("b"): {"offeredBits": 8 * 2000, "deliveredBits": 8 * 200, "lostPackets": 7},
	} {
		h, err := st.History(Query{Kind: Fabric, Name: name, Since: now.Add(-9 * time.Second), Until: now,
			Step: time.Second}, now)
		if err != nil {
			t.Fatal(name, err)
		}
		for _, s := range h.Series {
			for _, v := range s.Values {
				if w := want[s.Metric.Name]; math.Abs(v-w) > 0.01*w { // counts are whole
					t.Errorf("%s of %s: %v, want %v", s.Metric.Name, name, s.Values, w)
					break
				}
			}
			delete(want, s.Metric.Name)
		}
		if len(want) > 0 {
			t.Errorf("%s lacks %v", name, want)
		}
	}
}
