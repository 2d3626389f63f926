package pfc

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
)

// TestFigure3: what the controller programs carries the tenants' packets over the SRv6 policy, the probes of the tunnels
// there and back, and the tunnels are those of the draft.
func TestFigure3(t *testing.T) {
	b := newBed(t, lab.PFCNetwork(10*time.Millisecond, 1e9), 1)
	b.tenants()
	b.lossless(nil)
	b.programmed()
	p := b.policy()
	if len(p.Status.Tunnels) != 2 {
		t.Fatalf("%+v", p.Status)
	}
	for _, x := range p.Status.Tunnels {
		if x.State != "up" || x.RTT.D() < 20*time.Millisecond || x.RTT.D() > 22*time.Millisecond {
			t.Errorf("tunnel %+v", x)
		}
	}
	for _, pair := range [][2]string{{"DC1", "DC2"}, {"DC2", "DC1"}, {"B1", "B2"}} {
		got := 0
		tap := &watch{f: func(w *lab.Wire, frame []byte) {
			if w.To == pair[1] && len(frame) > 54 && frame[20] == packet.NextHeaderUDP {
				got++
			}
		}}
		b.w.AddTap(tap)
		b.send(pair[0], b.datagram(pair[0], pair[1], 1, 100))
		b.run(50 * time.Millisecond)
		tap.f = func(*lab.Wire, []byte) {}
		if got != 1 {
			t.Errorf("%v: %d packets, drops %v %v", pair, got, b.drops("R1"), b.drops("R3"))
		}
	}
}

type watch struct {
	f func(w *lab.Wire, frame []byte)
}

func (*watch) Sent(time.Duration, *lab.Wire, []byte) {}
func (t *watch) Arrived(_ time.Duration, w *lab.Wire, frame []byte) {
	t.f(w, frame)
}

func (b *bed) send(host string, frame []byte) {
	b.t.Helper()
	sw, _ := b.w.Network.Uplink(host)
	w, err := b.w.Wire(host, sw)
	b.must(err)
	w.Inject(frame)
}

func (b *bed) drops(sw string) any {
	s, err := b.w.Switch(sw)
	b.must(err)
	return s.Drops()
}
