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
	if !strings.Contains(out.String(), "{R3.End, R2.End, R1.End.X.PFC}") {
		t.Error("the tunnel is not shown")
	}
}
