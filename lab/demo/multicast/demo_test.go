package multicast

import (
	"context"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
)

// TestDemo runs the demo with real sessions of every kind on loopback, in both modes.
func TestDemo(t *testing.T) {
	octets := 1 << 20
	if testing.Short() {
		octets = 1 << 17
	}
	for _, c := range []struct {
		name string
		mode api.GroupMode
	}{{"provisioned", api.ModeProvisioned}, {"inband", api.ModeInband}} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.mode != api.ModeInband {
				t.Skip("the same but for what is on one goroutine")
			}
			var out strings.Builder
			r, err := Run(context.Background(), Options{Bytes: octets, Mode: c.mode, Out: &out})
			t.Log(out.String())
			if err != nil {
				t.Fatal(err)
			}
			if r.Delivered != 5 || r.Corrupt != 0 || r.EarlyAcks != 0 {
				t.Errorf("result is %+v", r)
			}
			// One packet crosses each link of the tree once, whatever the number of receivers.
			for _, link := range []string{"S1-N6", "N6-N4", "N6-N5", "N1-R1", "N3-R5"} {
				if got := r.LinkPackets[link]; got != r.SourcePackets {
					t.Errorf("%d data packets on %s, want the source's %d", got, link, r.SourcePackets)
				}
			}
		})
	}
}
