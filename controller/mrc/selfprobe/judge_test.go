package selfprobe

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
)

// TestLateReports: the Judge names a switch that forwards nothing, and none of its links before,
// although hosts report half of the links a round of probes and some time after the others.
func TestLateReports(t *testing.T) {
	f, hosts := network{t0: 4, t1: 4, hosts: 12}.make(t, ev.ModeF3216, nil)
	plan := Make(f, hosts, 3, Avoid{}, nil)
	j := NewJudge()
	c := j.Change(f, plan)
	of := hostapi.SelfProbes{Interval: 200 * time.Microsecond, Report: 100 * time.Millisecond,
		Timeout: time.Millisecond}
	for _, h := range hosts {
		c.Add(h.Name, &of)
	}
	j.Use(0, c)
	report := func(at time.Duration, n hostapi.SelfProbeCount, about func(*fabric.Edge) bool) {
		for _, h := range hosts {
			m := hostapi.SelfProbeCounts{Version: of.Version}
			for i, x := range plan.Targets[h.Name] {
				if n.Target = i; len(x.Climb) == 0 && n.Misses == 0 ||
					len(x.Climb) > 0 && about(f.Edge(x.Climb[0])) {
					m.Counts = append(m.Counts, n)
				}
			}
			if err := j.Report(at, h.Name, &m); err != nil {
				t.Fatal(err)
			}
		}
	}
	open := func(int32) bool { return true }
	j.Run(0, open)
	for n := range uint64(2) {
		report(time.Duration(n), hostapi.SelfProbeCount{Passed: n + 1},
			func(*fabric.Edge) bool { return true })
	}
	dead := hostapi.SelfProbeCount{Passed: 2, Misses: 3}
	const ( // a round is a millisecond: a host has five targets
		first  = 10 * time.Millisecond
		second = first + time.Millisecond + 400*time.Microsecond
	)
	report(first, dead, func(e *fabric.Edge) bool {
		return e.Remote == "t1-002" && (e.Local == "t0-000" || e.Local == "t0-001")
	})
	for at := first; at < second; at = j.Next(second) {
		if v := j.Run(at, open); len(v) > 0 {
			t.Fatalf("after %v, before all reports have come: %+v", at-first, v)
		}
	}
	report(second, dead, func(e *fabric.Edge) bool { return e.Remote == "t1-002" })
	v := j.Run(second, open)
	for at := j.Next(time.Second); at < time.Second && len(v) == 0; at = j.Next(time.Second) {
		v = j.Run(at, open)
	}
	if len(v) != 1 || v[0].Node != "t1-002" || len(v[0].Links) != 4 || v[0].Kind != BlackHole {
		t.Errorf("%+v, want the switch t1-002", v)
	}
}
