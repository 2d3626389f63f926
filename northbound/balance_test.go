package northbound

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/southbound/gnmi"
	"github.com/weft-sdn/weft/telemetry"
)

// TestBalanceEvents: an event says that a leaf has come to use a plane unevenly when three looks in a
// row say so, and another one that it does no longer; neither an index in between nor a gap changes
// anything, and what REST says agrees.
func TestBalanceEvents(t *testing.T) {
	s, _ := newFabricServer(t, ev.ModeStructured)
	st, now := telemetry.New(telemetry.Config{}), s.cfg.Now()
	s.cfg.Telemetry = st
	s.cfg.Now = func() time.Time { return now }
	st.SetSwitch("a1", time.Second, map[uint32]uint64{11: 1e6, 12: 1e6})
	var octets [2]uint64
	// pass lets 35 s pass in which a1 sends so much to x and y, in kbit/s; nil: there are no samples.
	pass := func(rate ...uint64) {
		for range 35 {
			now = now.Add(time.Second)
			var batch []gnmi.Sample
			for p, r := range rate {
				octets[p] += r * 125
				x := gnmi.Sample{Switch: "a1", Port: uint32(11 + p), Time: now, Arrived: now}
				x.Out.Octets = gnmi.Count{Value: octets[p], OK: true}
				batch = append(batch, x)
			}
			st.Take(batch)
		}
	}
	var said []string
	look := func(n int) {
		t.Helper()
		for range n {
			if err := s.lookAtBalance(t.Context(), func(e api.Event) {
				said = append(said, e.Object+": "+e.Message)
				if e.Type != api.EventBalanceChanged {
					t.Errorf("%+v", e)
				}
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(want ...string) {
		t.Helper()
		if !slices.Equal(said, want) {
			t.Errorf("events %q, want %q", said, want)
		}
		said = nil
	}
	unbalanced := func(query string) bool {
		t.Helper()
		var l api.List[api.PlaneBalance]
		w := do(s, http.MethodGet, "/v1/telemetry/balance"+query, "")
		if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil || len(l.Items) == 0 || l.Items[0].Leaf != "a1" {
			t.Fatalf("%d %s: %v", w.Code, w.Body, err)
		}
		return l.Items[0].Conditions.Find(api.Unbalanced).Status
	}
	pass(100, 300)
	look(2)
	check()
	if unbalanced("") || !unbalanced("?over=30s") {
		t.Error("two looks: want the condition false, and true for a time alone")
	}
	pass(200, 200)
	look(1) // which begins anew
	pass(100, 300)
	look(2)
	check()
	look(1)
	check("a1: plane 1: the link to y1 is used 1.50 times as much as the mean of 2 links")
	look(5)
	check()
	pass(160, 240) // an index of 1.2
	look(5)
	if check(); !unbalanced("") || unbalanced("?over=30s") {
		t.Error("an index in between: want the condition true, and false for a time alone")
	}
	pass()
	look(5)
	check()
	pass(190, 210)
	look(2)
	check()
	look(1)
	check("a1: plane 1 is no longer used unevenly: the links up are used evenly")
	pass(160, 240)
	look(5)
	if check(); unbalanced("") {
		t.Error("an index in between is unbalanced")
	}
	pass(100, 300)
	look(3)
	check("a1: plane 1: the link to y1 is used 1.50 times as much as the mean of 2 links")
	pass(1, 3)
	look(3)
	check("a1: plane 1 is no longer used unevenly: the links up are used by less than 1 %")
}
