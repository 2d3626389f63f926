package lab

import (
	"testing"

	"github.com/weft-sdn/weft/api"
)

// TestLacking: what a lab waits for has a name, and many have a bound.
func TestLacking(t *testing.T) {
	r := &api.Readiness{Checks: []api.ReadinessCheck{{Name: "store", OK: true, Message: "x"},
		{Name: "bgp-peer/1", Advisory: true, Message: "gone"}, {Name: "bgp-ls"},
		{Name: "switch/N1", Message: "installing the pipeline"}}}
	if got, want := lacking(r), "bgp-ls, switch/N1: installing the pipeline"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for range 4 {
		r.Checks = append(r.Checks, api.ReadinessCheck{Name: "more"})
	}
	want := "bgp-ls, switch/N1: installing the pipeline, more, more, 2 more"
	if got := lacking(r); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
