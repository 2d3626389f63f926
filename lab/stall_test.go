package lab

import (
	"strings"
	"testing"
	"time"
)

// TestStall: stalled traffic is an error with the reason of the wait; slow traffic is no error.
func TestStall(t *testing.T) {
	w, err := NewWorld(Clos(ClosConfig{Planes: 1, T0: 1, T1: 1, Hosts: 2, Rate: 1e9,
		Delay: time.Microsecond}), Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	m, err := w.NewMesh(MeshConfig{Flows: []FlowConfig{{From: "H1", To: "H2", Bytes: 10_000},
		{From: "H2", To: "H1", Bytes: 10_000}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(); err != nil { // through a switch without a program
		t.Fatal(err)
	}
	var s Stall
	for w.now < StallTime+5*time.Second {
		w.Run(w.now+time.Second, nil)
		if w.now < 5*time.Second {
			m.Flows[0].complete++ // it gets on
		}
		err = s.Look(m)
		if err != nil {
			break
		}
	}
	if want := 4*time.Second + StallTime; err == nil || w.now != want ||
		!strings.Contains(err.Error(), "H1 to H2 has 4 of 10000 octets acknowledged, is ") {
		t.Errorf("after %v: %v, want an error after %v", w.now, err, want)
	}
	for _, f := range m.Flows {
		f.complete = f.Bytes
	}
	if err := s.Look(m); err != nil {
		t.Errorf("done, but %v", err)
	}
}
