package lab

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/host/nic"
)

// TestReceive: a host with limits from the network description refuses packets for lack of
// resources, and its peer sends the packets again.
func TestReceive(t *testing.T) {
	for _, c := range []struct {
		name    string
		receive *Receive
		refuses bool
	}{
		{"unlimited", nil, false},
		{"few packets", &Receive{Rate: 100_000_000, Packets: 4}, true},
		{"small buffer", &Receive{Rate: 100_000_000, Buffer: 16384}, true},
		{"many packets", &Receive{Rate: 100_000_000, Packets: 1000, Buffer: 1 << 24}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := Clos(ClosConfig{T0: 2, T1: 2, Hosts: 4, Rate: 1_000_000_000, Delay: 10 * time.Microsecond})
			i := slices.IndexFunc(n.Hosts, func(h Host) bool { return h.Name == "H4" })
			n.Hosts[i].Receive = c.receive
			w, err := NewWorld(n, Options{Seed: 1, Managed: true})
			if err != nil {
				t.Fatal(err)
			}
			control, err := NewControl(w, DefaultLatencies())
			if err != nil {
				t.Fatal(err)
			}
			control.MRC = MRCSettings(&w.Network, ev.ModeStructured)
			if err := control.Start(); err != nil {
				t.Fatal(err)
			}
			if !w.Run(10*time.Second, w.Supplied) {
				t.Fatalf("hosts have no profiles: %v", control.Err())
			}
			qp := nic.DefaultQPConfig()
			qp.AckTimeout, qp.ProbeTimeout = w.Network.Timers()
			m, err := w.NewMesh(MeshConfig{Flows: []FlowConfig{{From: "H1", To: "H4", Bytes: 1 << 20}},
				Message: 1 << 16, QP: qp})
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Start(); err != nil {
				t.Fatal(err)
			}
			var failed error
			w.Run(w.Now()+10*time.Second, func() bool {
				failed = m.Pump()
				return failed != nil || m.Done()
			})
			if failed != nil || !m.Done() || m.Corrupt() != 0 {
				t.Fatalf("%v, %.2f done, %d flows corrupt", failed, m.Progress(), m.Corrupt())
			}
			if n := m.Flows[0].QP.Counters().ResourceNACKsReceived; (n > 0) != c.refuses {
				t.Errorf("%d packets were refused", n)
			}
		})
	}
	for want, text := range map[string]string{
		"hosts[0].receive: is given, of a host with transport roce: want": "switches: [{name: A}]\nhosts: [{name: H, " +
			"receive: {packets: 1}}]\nlinks: [{a: A, b: H}]\n",
		"hosts[0].receive: bitmap -1: want at least 0": "switches: [{name: A}]\nhosts: [{name: H, " +
			"transport: mrc, receive: {bitmap: -1}}]\nlinks: [{a: A, b: H}]\n",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
