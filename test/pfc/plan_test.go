package pfc

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
)

// TestFigure3: what the controller programs carries the tenants' packets over the SRv6 policy, the
// probes of the tunnels there and back, and the tunnels are those of the draft.
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

// TestDetour: when the link from R2 to R3 fails, the policy and its tunnels move to the detour, and
// back when the link returns. With a host that pauses all the time, only packets on the failed link
// are lost: PFC frames find a path at any time during the move back.
func TestDetour(t *testing.T) {
	if testing.Short() {
		t.Skip("on one goroutine, like those beside it")
	}
	b := newBed(t, lab.PFCNetwork(4*time.Millisecond, 1e9), 1)
	b.change(func(c *controller.Core) error {
		_, _, err := c.SRv6Policies().Put("wan", api.SRv6PolicySpec{Headend: "R1", Endpoint: "R3"},
			resource.Precondition{})
		return err
	})
	b.tenantsOn()
	b.lossless(func(s *api.PFCPolicySpec) { s.Buffer, s.XOFF = 8<<20, 64<<10 })
	b.programmed()
	stream := func(qpn uint32) *lab.Stream {
		s, err := b.w.NewStream(lab.StreamConfig{From: "DC1", To: "DC2", QPN: qpn, Payload: 4096,
			Rate: 400e6, Priority: 3})
		b.must(err)
		s.Start()
		return s
	}
	fails := stream(1)
	// DC2 accepts half of the arriving packets, so R3 stops R1 again and again.
	stopped := false
	var pausing func()
	pausing = func() {
		if !stopped {
			b.pause("DC2", 3, 8*time.Millisecond, true)
			b.w.After(16*time.Millisecond, pausing)
		}
	}
	pausing()
	on := func(path ...string) {
		t.Helper()
		policy, err := b.core().SRv6Policies().Get("wan")
		b.must(err)
		p := b.policy()
		if !slices.Equal(policy.Status.Path, path) || !p.Status.Conditions.Is(api.Programmed) ||
			p.Status.Conditions.Is(api.Degraded) {
			t.Fatalf("path %v, want %v; %+v", policy.Status.Path, path, p.Status.Conditions)
		}
		for _, x := range p.Status.Tunnels {
			if x.State != api.TunnelUp {
				t.Errorf("tunnel %+v", x)
			}
		}
	}
	b.run(300 * time.Millisecond)
	on("R1", "R2", "R3")
	link := func(up bool) {
		b.must(b.w.SetLink("R2", "R3", up))
		b.control.NetworkChanged()
	}
	link(false)
	b.run(time.Second)
	on("R1", "R4", "R5", "R3")
	fails.Stop()
	b.run(300 * time.Millisecond)
	// What was on the link, and what followed before R1 was told: at most 40 ms of it.
	if most := uint64(500); fails.Lost() > most || fails.Sent < 1000 {
		t.Errorf("the failure has cost %d packets, want at most %d", fails.Lost(), most)
	}
	returns := stream(2)
	b.run(100 * time.Millisecond)
	link(true)
	b.run(time.Second)
	on("R1", "R2", "R3")
	stopped = true
	b.run(100 * time.Millisecond)
	returns.Stop()
	b.run(1200 * time.Millisecond)
	if returns.Lost()+returns.Corrupt+fails.Corrupt > 0 || returns.Sent < 1000 {
		t.Errorf("the move back: of %d packets %d lost, %d corrupt", returns.Sent, returns.Lost(),
			returns.Corrupt)
	}
	if b.pausesAt("R1") == 0 {
		t.Error("R1 was not paused")
	}
}
