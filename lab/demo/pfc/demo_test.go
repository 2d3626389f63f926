package pfc

import (
	"strings"
	"testing"
)

// TestDemo: without the policy packets are lost, with it none, and the other tenant feels nothing.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("many packets on one goroutine")
	}
	var out strings.Builder
	r, err := Run(t.Context(), Options{Out: &out})
	t.Logf("%s", out.String())
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	if r.XOFFToPauseMs < 10 || r.XOFFToPauseMs > 11 || r.TunnelRTTMs < 20 || r.TunnelRTTMs > 22 {
		t.Errorf("%+v", r)
	}
	if r.HeadroomBytes == 0 || r.MaxHeld == 0 || r.MaxHeld > buffer {
		t.Errorf("%+v", r)
	}
	if r.LinkStops < 2 || r.LinkResumes < 2 || r.SentWhileStopped != 0 {
		t.Errorf("DC2 stops R3, and R1 stops DC1: %+v", r)
	}
	if !strings.Contains(out.String(), "{R3.End, R2.End, R1.End.X.PFC}") {
		t.Error("the tunnel is not shown")
	}
}

// TestStories: Figure 2 by either way and scenario 2 keep the same promises; the tunnel follows the
// story, and in scenario 2 appears after the first packet only.
func TestStories(t *testing.T) {
	if testing.Short() {
		t.Skip("many packets on one goroutine")
	}
	for _, c := range []struct {
		name, tunnel string
		story        Story
		before       int
	}{
		{"figure 2, by R2", "{R5.End, R2.End, R1.End.X.PFC}", Figure2("R2"), 2},
		{"figure 2, by R3 and R4", "{R5.End, R4.End, R3.End, R1.End.X.PFC}", Figure2("R3", "R4"), 2},
		{"scenario 2", "{R3.End, R2.End, R1.End.X.PFC}", Scenario2(), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			r, err := Run(t.Context(), Options{Out: &out, Story: c.story})
			t.Logf("%s", out.String())
			if err != nil {
				t.Fatalf("%+v: %v", r, err)
			}
			if r.TunnelsBefore != c.before || r.MaxHeld == 0 || !strings.Contains(out.String(), c.tunnel) {
				t.Errorf("%+v, want %d tunnels before, and %s", r, c.before, c.tunnel)
			}
		})
	}
}
