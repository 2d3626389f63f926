package mrc

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/packet"
)

// TestCodepointsReachHosts: hosts send and read with the DSCPs of the controller's inventory, which
// its switches are programmed with, and nobody configures them on hosts: data is trimmed, and
// refused by NACKs, as with the defaults.
func TestCodepointsReachHosts(t *testing.T) {
	want := packet.DSCPClasses{NoTrim: 1, Trimmable: 2, TrimmableRetx: 4, Trimmed: 20,
		TrimmedLastHop: 21, Control: 30}
	change := func(m *inventory.MRC) {
		m.Classes.DSCP = inventory.DSCPs(want)
		// so that there is something to trim
		m.Classes.DataPackets, m.Classes.ECNMin, m.Classes.ECNMax = 8, 2, 6
	}
	run(t, change, func(t *testing.T, f *bed) {
		x := f.traffic(200_000)
		x.finish(20 * time.Second)
		f.do(func() {
			trimmed := uint64(0)
			for _, flow := range x.mesh.Flows {
				if w := flow.Source.Config().Wire; w.DSCP != want || w.Port != packet.RoCEPort {
					t.Errorf("host %s reads packets with %+v, want %+v", flow.From, w, want)
				}
				trimmed += flow.SinkQP.Counters().Trimmed
			}
			if trimmed == 0 {
				t.Error("nothing was trimmed, or no host saw it: the test tests little")
			}
		})
	})
}
