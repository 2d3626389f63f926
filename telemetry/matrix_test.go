package telemetry

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/southbound/gnmi"
)

// TestMatrix: the values of a matrix, and of a top, equal the means of the seconds shown by
// histories. The seconds lie in the present minute and in earlier minutes, and have gaps.
func TestMatrix(t *testing.T) {
	const seed = 7
	r := rand.New(rand.NewPCG(seed, 0))
	speeds := map[uint32]uint64{1: 100e9, 2: 400e9, 3: 200e9} // that of port 4 is not known
	st, now := New(Config{}), began
	st.SetSwitch("s1", time.Second, speeds)
	var in, out [5]uint64
	for range 200 {
		now = now.Add(time.Second)
		for port := uint32(1); port <= 4; port++ {
			in[port], out[port] = in[port]+r.Uint64N(12e9), out[port]+r.Uint64N(6e9)
			if r.IntN(5) == 0 {
				continue
			}
			s := gnmi.Sample{Switch: "s1", Port: port, Time: now, Arrived: now}
			s.In.Octets = count(in[port])
			s.Out.Octets = gnmi.Count{Value: out[port], OK: r.IntN(4) > 0}
			st.Take([]gnmi.Sample{s})
		}
		over := []time.Duration{1, 3, 10, 30, 75, 180}[r.IntN(6)] * time.Second
		ups, downs := st.Matrix([]Row{{"s1", map[uint32]int{1: 1, 2: 1, 3: 0, 4: 2}},
			{"s2", map[uint32]int{1: 0}}}, 3, over, now)
		mean := func(port, metric string) (mean float64, known bool) {
			h, err := st.History(Query{Kind: Port, Name: "s1/" + port, Metrics: []string{metric},
				Since: now.Add(time.Second - over), Until: now, Step: time.Second}, now)
			if err != nil || len(h.Series) == 0 {
				return 0, false
			}
			values := slices.DeleteFunc(h.Series[0].Values, math.IsNaN)
			for _, v := range values {
				mean += v / float64(len(values))
			}
			return mean, len(values) > 0
		}
		top, _, err := st.Top(Port, Utilization, over, 4, now)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range top {
			in, _ := mean(p.Name[3:], "inBits")
			out, _ := mean(p.Name[3:], "outBits")
			if math.Abs(p.In*float64(p.Speed)-in) > 1 || math.Abs(p.Out*float64(p.Speed)-out) > 1 {
				t.Fatalf("seed %d: the top has %+v, want %g and %g bit/s", seed, p, in, out)
			}
		}
		for metric, got := range map[string][][]int{"outBits": ups, "inBits": downs} {
			for c, ports := range [][]string{{"3"}, {"1", "2"}} {
				sum, speed := 0.0, 0.0
				for _, port := range ports {
					if v, known := mean(port, metric); known {
						sum, speed = sum+v, speed+float64(speeds[uint32(port[0]-'0')])
					}
				}
				want := -1.0
				if speed > 0 {
					want = 1000 * sum / speed
				}
				if g := float64(got[0][c]); math.Abs(g-want) > 0.51 {
					t.Fatalf("seed %d: %s of column %d is %g, want %g, over %s at %s", seed, metric, c, g, want,
						over, now.Sub(began))
				}
			}
			if got[0][2] != -1 || !slices.Equal(got[1], []int{-1, -1, -1}) {
				t.Fatalf("%s has %v where nothing is known", metric, got)
			}
		}
	}
}
