package pfc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/test/seeds"
)

// pause makes a host pause its switch's port for a while by repeated frames. xon ends the pause by
// a frame; otherwise the pause times out.
func (b *bed) pause(host string, priority uint8, d time.Duration, xon bool) {
	sw, _ := b.w.Network.Uplink(host)
	wire, err := b.w.Wire(host, sw)
	b.must(err)
	until := b.w.Now() + d
	full := time.Duration(math.MaxUint16 * packet.PFCQuantumBits * uint64(time.Second) / wire.Rate)
	var next func()
	next = func() {
		frame := packet.PFC{Classes: 1 << priority}
		left := until - b.w.Now()
		if left <= 0 && !xon {
			return
		}
		if left > 0 {
			quanta := uint64(min(left, full)) * wire.Rate / packet.PFCQuantumBits / uint64(time.Second)
			frame.Quanta[priority] = uint16(max(1, quanta))
			b.w.After(min(left, full/2), next)
		}
		wire.Inject(frame.AppendFrame(nil, b.mac(host)))
	}
	next()
}

// obedience checks how R1 obeys incoming PFC frames: while stopped, R1 sends no packets of the
// tenant, and continues after an XON or after the quanta have run out.
type obedience struct {
	rate    uint64        // bit/s of R1's port
	stopped time.Duration // since then, and
	until   time.Duration // until then; 0: it is not
	from    time.Duration // an XON has come, and nothing has been sent since
	longest time.Duration // from an XON to the next packet
	late    time.Duration // from where quanta ran out to the next packet, at most
	xons    int
	expired int
	early   int // packets while stopped
}

func (r *obedience) Arrived(now time.Duration, w *lab.Wire, frame []byte) {
	if w.Name() != "R2-R1" {
		return
	}
	pfc, ok := lab.TunnelledPFC(frame)
	if !ok {
		return
	}
	r.from = 0
	if pfc.Quanta[3] == 0 {
		r.until, r.from = 0, now
		r.xons++
		return
	}
	if now >= r.until {
		r.stopped = now
	}
	r.until = now + time.Duration(uint64(pfc.Quanta[3])*packet.PFCQuantumBits*uint64(
		time.Second)/r.rate)
}

func (r *obedience) Sent(now time.Duration, w *lab.Wire, frame []byte) {
	if w.Name() != "R1-R2" || len(frame) < 1000 || frame[17] != 1 { // of slice 1
		return
	}
	if r.from > 0 {
		r.longest = max(r.longest, now-r.from)
		r.from = 0
	}
	if r.until == 0 {
		return
	}
	// a packet that had begun, and a packet that has left the queue
	begun := 2 * time.Duration(uint64(len(frame))*8*uint64(time.Second)/r.rate)
	if now < r.until {
		if now > r.stopped+begun {
			r.early++
		}
		return
	}
	r.late = max(r.late, now-r.until)
	r.until = 0
	r.expired++
}

// TestLossless: over random WANs, rates and pauses, and with single PFC frames lost, a tenant with
// a PFC policy whose buffers are XOFF and headroom, and nothing more, loses nothing and gets
// everything in order; the other tenant on the same links does not notice.
func TestLossless(t *testing.T) {
	first, count := seeds.Range(t, 1, 4)
	for seed := first; seed < first+count; seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			delay := time.Duration(float64(100*time.Microsecond) * math.Pow(500, rng.Float64())) // to 50 ms
			rate := []uint64{300e6, 1e9, 2e9}[rng.IntN(3)]
			b := newBed(t, lab.PFCNetwork(delay, rate), seed)
			b.tenants()
			const big = 1 << 28
			b.lossless(func(s *api.PFCPolicySpec) { s.Buffer = big })
			b.programmed()
			xoff := uint64(64<<10 + rng.IntN(512<<10))
			buffer := uint64(0)
			for _, n := range b.policy().Status.Nodes {
				if !n.Watermarks.Measured && n.Upstream != "" {
					t.Fatalf("not measured: %+v", n)
				}
				buffer = max(buffer, xoff+n.Watermarks.Headroom)
			}
			b.lossless(func(s *api.PFCPolicySpec) { s.Buffer, s.XOFF, s.XON = buffer, xoff, xoff/2 })
			b.run(300 * time.Millisecond)

			share := func(lo, hi int) uint64 { return rate / 100 * uint64(lo+rng.IntN(hi-lo)) }
			a, err := b.w.NewStream(lab.StreamConfig{From: "DC1", To: "DC2", QPN: 1, Payload: 4096,
				Rate: share(15, 45), Priority: 3})
			b.must(err)
			o, err := b.w.NewStream(lab.StreamConfig{From: "B1", To: "B2", QPN: 2, Payload: 4096,
				Rate: share(10, 30), Priority: 2})
			b.must(err)
			back := &obedience{rate: rate}
			b.w.AddTap(back)
			dropped := 0
			for _, name := range [][2]string{{"R3", "R2"}, {"R2", "R1"}} {
				wire, err := b.w.Wire(name[0], name[1])
				b.must(err)
				last := time.Duration(-time.Hour)
				// single ones: a refresh interval lies between
				wire.Lose = func(now time.Duration, frame []byte) bool {
					if _, ok := lab.TunnelledPFC(frame); !ok || dropped > 3 || now-last < 3*time.Second ||
						rng.IntN(2) == 0 {
						return false
					}
					last = now
					dropped++
					return true
				}
			}
			a.Start()
			o.Start()
			b.run(2*delay + 20*time.Millisecond)
			for range 2 + rng.IntN(2) {
				b.pause("DC2", 3, time.Duration(5+rng.IntN(55))*time.Millisecond, rng.IntN(2) == 0)
				b.run(time.Duration(40+rng.IntN(60)) * time.Millisecond)
			}
			inFlight := float64(delay+time.Millisecond)/float64(time.Second)*float64(o.Config.Rate)/8/4096 +
				2
			if missing := float64(o.Lost()) - inFlight; missing > float64(o.Sent)/100 {
				t.Errorf("the other tenant is behind by %.0f of %d packets", missing, o.Sent)
			}
			a.Stop()
			o.Stop()
			b.run(2*time.Second + 4*delay)
			what := fmt.Sprintf("delay %v, rate %d, buffer %d, XOFF %d, %d XONs, %d pauses that ran out, "+
				"%d PFC frames lost", delay, rate, buffer, xoff, back.xons, back.expired, dropped)
			t.Log(what)
			if a.Lost()+a.Reordered+a.Corrupt > 0 || a.Sent < 100 {
				t.Errorf("%s: of %d packets %d lost, %d late, %d corrupt; %+v", what, a.Sent, a.Lost(),
					a.Reordered, a.Corrupt, b.policy().Status.Nodes)
			}
			if o.Lost()+o.Reordered+o.Corrupt > 0 {
				t.Errorf("%s: the other tenant: of %d packets %d lost, %d late, %d corrupt", what, o.Sent,
					o.Lost(), o.Reordered, o.Corrupt)
			}
			if rtt := 2*delay + time.Millisecond; back.longest > rtt {
				t.Errorf("%s: R1 went on %v after an XON, want at most %v", what, back.longest, rtt)
			}
			if back.early > 0 || back.late > time.Millisecond {
				t.Errorf("%s: R1 sent %d packets while it was stopped, and went on %v after a pause had run "+
					"out", what, back.early, back.late)
			}
			// A round trip that is measured longer later asks for more than there is, and is said to.
			if c := b.policy().Status.Conditions.Find(api.Degraded); c.Status &&
				c.Reason != api.ReasonHeadroom {
				t.Errorf("%s: %+v", what, c)
			}
		})
	}
}

// TestTunnelLost: when PFC frames and probes no longer reach R1, traffic goes on, and the loss is
// said.
func TestTunnelLost(t *testing.T) {
	b := newBed(t, lab.PFCNetwork(2*time.Millisecond, 1e9), 1)
	b.tenants()
	b.lossless(func(s *api.PFCPolicySpec) { s.XOFF = 64 << 10 })
	b.programmed()
	a, err := b.w.NewStream(lab.StreamConfig{From: "DC1", To: "DC2", QPN: 1, Payload: 4096,
		Rate: 200e6, Priority: 3})
	b.must(err)
	a.Start()
	b.run(20 * time.Millisecond)
	b.pause("DC2", 3, 30*time.Millisecond, false)
	b.run(15 * time.Millisecond) // R1 holds by now
	wire, err := b.w.Wire("R3", "R2")
	b.must(err)
	wire.Lose = func(time.Duration, []byte) bool { return true }
	b.run(time.Second)
	p := b.policy()
	if c := p.Status.Conditions.Find(api.Degraded); c == nil || !c.Status ||
		c.Reason != api.ReasonTunnelDown {
		t.Errorf("%+v", p.Status.Conditions)
	}
	if !b.saw("pfc.tunnel-lost", "R3 to R1") {
		t.Errorf("no event: %v", b.events)
	}
	got := a.Received
	b.run(100 * time.Millisecond)
	if a.Received == got || a.Lost() > 100 {
		t.Errorf("traffic stands still: %d, %d, lost %d", got, a.Received, a.Lost())
	}
	wire.Lose = nil
	b.run(time.Second)
	if p := b.policy(); p.Status.Conditions.Is(api.Degraded) ||
		!b.saw("pfc.tunnel-recovered", "R3 to R1") {
		t.Errorf("after: %+v", p.Status.Conditions)
	}
}

func (b *bed) saw(event api.EventType, object string) bool {
	for _, e := range b.events {
		if e.Type == event && e.Object == object {
			return true
		}
	}
	return false
}

// TestNodeLost: when R2 dies, packets and tunnels take the detour, and everything holds there too.
func TestNodeLost(t *testing.T) {
	b := newBed(t, lab.PFCNetwork(2*time.Millisecond, 1e9), 1)
	b.change(func(c *controller.Core) error {
		_, _, err := c.SRv6Policies().Put("wan", api.SRv6PolicySpec{Headend: "R1", Endpoint: "R3"},
			resource.Precondition{})
		return err
	})
	b.tenantsOn()
	b.lossless(func(s *api.PFCPolicySpec) { s.XOFF = 64 << 10 })
	b.programmed()
	r2, err := b.w.Switch("R2")
	b.must(err)
	r2.Stop()
	b.control.SwitchChanged("R2")
	b.control.NetworkChanged()
	b.run(2 * time.Second)
	p := b.policy()
	if !p.Status.Conditions.Is(api.Programmed) || !b.saw("srv6-policy.path-changed", "wan") ||
		p.Status.Tunnels[0].State != "up" {
		t.Fatalf("%+v", p.Status)
	}
	samples := b.core().TunnelSamples()
	for _, x := range p.Status.Tunnels {
		name := fmt.Sprintf("%s/%d", x.From, x.ID)
		if !slices.ContainsFunc(samples, func(s controller.TunnelSample) bool {
			return s.Tunnel == name && s.Sent == x.Sent && s.Lost == x.Lost && s.RTT == x.RTT.D() &&
				s.Probed && !s.Down && s.Sent > 0
		}) {
			t.Errorf("no sample of tunnel %s: %+v among %+v", name, x, samples)
		}
	}
	a, err := b.w.NewStream(lab.StreamConfig{From: "DC1", To: "DC2", QPN: 1, Payload: 4096,
		Rate: 200e6, Priority: 3})
	b.must(err)
	a.Start()
	b.run(20 * time.Millisecond)
	b.pause("DC2", 3, 40*time.Millisecond, true)
	b.run(100 * time.Millisecond)
	a.Stop()
	b.run(time.Second)
	if a.Lost()+a.Reordered+a.Corrupt > 0 || a.Sent < 100 {
		t.Errorf("of %d packets %d lost, %d late", a.Sent, a.Lost(), a.Reordered)
	}
	b.run(2 * time.Second)
	held := uint64(0)
	for _, n := range b.policy().Status.Nodes {
		if n.Switch == "R1" && n.Queue != nil {
			held = n.Queue.MaxHeld
		}
	}
	if held == 0 {
		t.Errorf("R1 has held nothing: %+v", b.policy().Status.Nodes)
	}
}

// TestScenario2: the tunnels are made when R3 has seen the first packet of the tenant on the
// policy.
func TestScenario2(t *testing.T) {
	b := newBed(t, lab.PFCNetwork(2*time.Millisecond, 1e9), 1)
	b.tenants()
	b.lossless(func(s *api.PFCPolicySpec) { s.Scenario = 2 })
	b.run(time.Second)
	if p := b.policy(); p.Status.Conditions.Is(api.Programmed) || len(p.Status.Tunnels) != 0 {
		t.Fatalf("before any packet: %+v", p.Status)
	}
	b.send("B1", b.datagram("B1", "B2", 1, 100)) // another tenant's
	b.run(time.Second)
	if p := b.policy(); len(p.Status.Tunnels) != 0 {
		t.Fatalf("after another tenant's packet: %+v", p.Status)
	}
	b.send("DC1", b.datagram("DC1", "DC2", 1, 100))
	b.run(time.Second)
	if p := b.policy(); !p.Status.Conditions.Is(api.Programmed) || len(p.Status.Tunnels) != 2 ||
		p.Status.Tunnels[0].State != "up" {
		t.Errorf("after the packet: %+v; %v", p.Status, b.events)
	}
}
