package telemetry

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/southbound/gnmi"
)

// uplinks are links that stay.
func uplinks(all ...Uplink) func(context.Context, any) ([]Uplink, any, error) {
	return func(context.Context, any) ([]Uplink, any, error) { return all, "all", nil }
}

// TestBalanceEvents: after three looks in a row, an event reports that a leaf uses a plane
// unevenly, and a second event reports the end. Neither an index in between nor a gap changes
// anything, and the condition agrees.
func TestBalanceEvents(t *testing.T) {
	st, now := New(Config{}), time.Unix(1_800_000_000, 0)
	p := NewPlanes(PlanesConfig{Store: st, Now: func() time.Time { return now }, Uplinks: uplinks(
		Uplink{1, "a1", "x1", 11}, Uplink{1, "a1", "y1", 12}, Uplink{2, "a2", "x2", 11},
	)})
	st.SetSwitch("a1", time.Second, map[uint32]uint64{11: 1e6, 12: 1e6})
	var octets [2]uint64
	// pass lets 35 s pass in which a1 sends so much to x and y, in kbit/s; nil: there are no samples.
	pass := func(rate ...uint64) {
		for range 35 {
			now = now.Add(time.Second)
			var batch []gnmi.Sample
			for i, r := range rate {
				octets[i] += r * 125
				x := gnmi.Sample{Switch: "a1", Port: uint32(11 + i), Time: now, Arrived: now}
				x.Out.Octets = gnmi.Count{Value: octets[i], OK: true}
				batch = append(batch, x)
			}
			st.Take(batch)
		}
	}
	var said []string
	look := func(n int) {
		t.Helper()
		for range n {
			if err := p.look(t.Context(), func(e api.Event) {
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
	unbalanced := func(over time.Duration) bool {
		t.Helper()
		all, err := p.Balance(t.Context(), over)
		if err != nil || len(all) != 2 || all[0].Leaf != "a1" {
			t.Fatalf("%+v: %v", all, err)
		}
		return all[0].Conditions.Find(api.Unbalanced).Status
	}
	pass(100, 300)
	look(2)
	check()
	if unbalanced(0) || !unbalanced(30*time.Second) {
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
	if check(); !unbalanced(0) || unbalanced(30*time.Second) {
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
	if check(); unbalanced(0) {
		t.Error("an index in between is unbalanced")
	}
	pass(100, 300)
	look(3)
	check("a1: plane 1: the link to y1 is used 1.50 times as much as the mean of 2 links")
	pass(1, 3)
	look(3)
	check("a1: plane 1 is no longer used unevenly: the links up are used by less than 1 %")
}

// TestUplinksAreKept: the layout of the uplinks is rebuilt only when their key changes.
func TestUplinksAreKept(t *testing.T) {
	key, all := 1, []Uplink{{1, "a", "x", 11}}
	p := NewPlanes(PlanesConfig{Store: New(Config{}), Now: time.Now, Uplinks: func(
		_ context.Context, known any,
	) ([]Uplink, any, error) {
		if known == key {
			return nil, known, nil
		}
		return all, key, nil
	}})
	for step, want := range [][]string{{"a"}, {"a"}, {"a", "b"}} {
		if step == 2 {
			key, all = 2, append(all, Uplink{1, "b", "x", 11})
		}
		m, err := p.Matrix(t.Context(), 1, time.Minute, time.Now())
		if err != nil || !slices.Equal(m.Rows, want) {
			t.Errorf("step %d: rows %v, %v, want %v", step, m.Rows, err, want)
		}
	}
	if _, err := p.Matrix(t.Context(), 2, time.Minute, time.Now()); err == nil {
		t.Error("a plane without links has a matrix")
	}
}
