package northbound

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/southbound/gnmi"
)

// TestMatrixAndBalance: the fabric has the leaves a, b and c in plane 1, each with a link to x and
// one to y. a sends three times as much to y as to x, b sends evenly, c nearly nothing.
func TestMatrixAndBalance(t *testing.T) {
	s, _ := newFabricServer(t, ev.ModeStructured)
	st, now := s.cfg.Telemetry, s.cfg.Now()
	// kbit/s to x and y
	rates := map[string][2]uint64{"a1": {100, 300}, "b1": {200, 200}, "c1": {1, 0}}
	for i := range uint64(31) {
		for name, rate := range rates {
			st.SetSwitch(name, time.Second, map[uint32]uint64{11: 1e6, 12: 1e6})
			at := now.Add(time.Duration(i)*time.Second - 30*time.Second)
			var batch []gnmi.Sample
			for p, r := range rate {
				x := gnmi.Sample{Switch: name, Port: uint32(11 + p), Time: at, Arrived: at}
				x.Out.Octets = gnmi.Count{Value: i * r * 125, OK: true}
				x.In.Octets = gnmi.Count{Value: i * 50 * 125, OK: true}
				batch = append(batch, x)
			}
			st.Take(batch)
		}
	}
	var m api.Matrix
	w := do(s, http.MethodGet, "/v1/telemetry/matrices/1", "")
	if err := json.Unmarshal(w.Body.Bytes(), &m); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	if !slices.Equal(m.Rows, []string{"a1", "b1", "c1"}) ||
		!slices.Equal(m.Columns, []string{"x1", "y1"}) || m.Over != 10 {
		t.Fatalf("%+v", m)
	}
	for r, want := range [][]int{{100, 300}, {200, 200}, {1, 0}} {
		if !slices.Equal(m.Up[r], want) || !slices.Equal(m.Down[r], []int{50, 50}) {
			t.Errorf("%s: %v up, %v down, want %v and 50", m.Rows[r], m.Up[r], m.Down[r], want)
		}
	}
	// Two minutes ago there were no samples yet.
	if w = do(s, http.MethodGet, "/v1/telemetry/matrices/1?until=2m", ""); !strings.Contains(
		w.Body.String(), `"up":[[-1,-1],[-1,-1],[-1,-1]]`) {
		t.Errorf("two minutes ago: %s", w.Body)
	}
	if w = do(s, http.MethodGet, "/v1/telemetry/matrices/2", ""); !strings.Contains(w.Body.String(),
		`"up":[[-1,-1],[-1,-1]]`) {
		t.Errorf("without samples: %s", w.Body)
	}
	if w = do(s, http.MethodGet, "/v1/telemetry/matrices/3", ""); w.Code != http.StatusNotFound {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	var l api.List[api.PlaneBalance]
	w = do(s, http.MethodGet, "/v1/telemetry/balance", "")
	if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil || len(l.Items) != 5 {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	for i, want := range []struct {
		leaf, busiest, reason string
		index, used           float64
	}{{"a1", "y1", api.ReasonUneven, 1.5, 0.2}, {"b1", "", api.ReasonEven, 1, 0.2},
		{"c1", "x1", api.ReasonIdle, 2, 0.0005}, {"a2", "", api.ReasonIdle, 0, 0}} {
		b := &l.Items[i]
		c := b.Conditions.Find(api.Unbalanced)
		if b.Leaf != want.leaf || math.Abs(b.Index-want.index) > 0.002 ||
			math.Abs(b.Utilization-want.used) > 0.001 || c == nil ||
			c.Reason != want.reason || c.Status != (want.reason == api.ReasonUneven) || want.busiest != "" &&
			b.Busiest != want.busiest {
			t.Errorf("%+v, want %+v", b, want)
		}
	}
}
