package flows

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/host/spray"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/test/seeds"
	"github.com/weft-sdn/weft/topology"
)

// across are the places in a flow's profile of the EVs whose packets take a wire.
func (f *fabric) across(t *testing.T, x *lab.Flow, w *lab.Wire) (at []int) {
	t.Helper()
	_, evs := f.received(t, x.From, x.To)
	from, to := f.attachment(x.From), f.attachment(x.To)
	for i, v := range evs {
		route, err := f.assign.Decode(from[v.Port-1], to[v.Port-1], v.Value)
		if err != nil {
			t.Fatal(err)
		}
		for _, hop := range route.Hops {
			if slices.ContainsFunc(hop.Links, func(l *topology.Link) bool {
				return l.Local == f.nodes[w.From] && l.Remote == f.nodes[w.To]
			}) {
				at = append(at, i)
			}
		}
	}
	return at
}

// TestDeadPath: a link from a leaf to a spine loses everything under traffic, and then nothing. The
// sender finds out by its losses alone, keeps off the link's entropy value and no other, and goes
// on at full rate; probes find the link again.
func TestDeadPath(t *testing.T) {
	t.Parallel()
	for _, mode := range []ev.Mode{ev.ModeStructured, ev.ModeSRH} {
		t.Run(mode.String(), func(t *testing.T) {
			seed := seeds.One(t, 1)
			f := newFabric(t, lab.ClosConfig{}, mode, fast, seed)
			e := f.write(t, seed, nil, lab.FlowConfig{From: "H5", To: "H1", Bytes: 96 << 20})
			x := e.Flows[0]
			wire, err := f.Wire("P2-T0-2", "P2-T1-4")
			if err != nil {
				t.Fatal(err)
			}
			dead := f.across(t, x, wire)
			if len(dead) != 1 || x.Spray.Len() != 8 {
				t.Fatalf("EVs %v of %d take %s, want one of 8", dead, x.Spray.Len(), wire.Name())
			}
			state := func(i int) spray.State {
				s, err := x.Spray.State(i)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			e.start()
			rate := func(d time.Duration) float64 { return e.rates(d, x)[0] }
			rate(100 * time.Microsecond)
			wire.Faults.Loss = 1
			rate(200 * time.Microsecond)
			for i := range x.Spray.Len() {
				if s := state(i); (s == spray.AssumedBad) != (i == dead[0]) {
					t.Errorf("EV %d is %v after %s went dark, want EV %d alone ASSUMED_BAD", i, s, wire.Name(),
						dead[0])
				}
			}
			lost := wire.Lost
			without := rate(200 * time.Microsecond)
			// Only probes go there now.
			counts, err := x.Spray.Counts(dead[0])
			if n := wire.Lost - lost; err != nil || n == 0 || n > 3 || counts.Probes == 0 ||
				counts.ProbesOK != 0 {
				t.Errorf("%d packets sent over the dead link; %+v, %v", n, counts, err)
			}
			wire.Faults.Loss = 0
			since := e.Now()
			for state(dead[0]) == spray.AssumedBad && !e.Done() && e.Now() < since+10*time.Millisecond {
				e.pump(10 * time.Microsecond)
			}
			s := x.QP.Counters()
			t.Logf("%d packets lost, rate %.3f without the link, recovered after %v; %d timeouts", lost,
				without, e.Now()-since, s.Timeouts)
			if without < 0.9 {
				t.Errorf("rate %.3f of the host's ports without the link, want 0.9: the other links have room",
					without)
			}
			if s := state(dead[0]); s == spray.AssumedBad || x.QP.Failed() {
				t.Errorf("EV %d is %v after the link came back, queue pair failed: %v", dead[0], s,
					x.QP.Failed())
			}
		})
	}
}

// TestNoPath: with every entropy value denied a host sends nothing, and one value allowed again
// suffices.
func TestNoPath(t *testing.T) {
	t.Parallel()
	e := newFabric(t, lab.ClosConfig{}, ev.ModeStructured, fast, 1).write(t, 1, nil,
		lab.FlowConfig{From: "H5", To: "H1", Bytes: 16 << 20})
	x := e.Flows[0]
	e.start()
	e.pump(50 * time.Microsecond)
	for i := range x.Spray.Len() {
		if err := x.Spray.Deny(i); err != nil {
			t.Fatal(err)
		}
	}
	e.pump(50 * time.Microsecond)
	before := x.QP.Counters().RequestsSent
	if r := e.rates(5*time.Millisecond, x)[0]; r != 0 || x.QP.Counters().RequestsSent != before ||
		x.QP.Failed() {
		t.Fatalf("rate %.3f, %d packets sent with every EV denied, failed %v", r,
			x.QP.Counters().RequestsSent-before, x.QP.Failed())
	}
	if err := x.Spray.Allow(5); err != nil {
		t.Fatal(err)
	}
	x.Source.Wake()
	if !e.pump(time.Second) {
		t.Errorf("not complete: %v", x.QP.Schedule())
	}
}
