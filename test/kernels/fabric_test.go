package kernels

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/dataplane/kernel"
	"github.com/weft-sdn/weft/internal/race"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/demo/flow"
	"github.com/weft-sdn/weft/lab/demo/multicast"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// capable skips where no kernel can be a switch.
func capable(t *testing.T) {
	t.Helper()
	if testing.Short() || race.Enabled() {
		t.Skip("in real time, which kernels go on in however slow hosts are")
	}
	lacks, err := kernel.Lacks()
	if err != nil {
		t.Skipf("no kernel can be a switch here: %v", err)
	}
	if len(lacks) > 0 {
		t.Skipf("this kernel lacks %s", strings.Join(lacks, ", "))
	}
}

// bed is a fabric of two planes with two T0s and two T1s each, and four MRC hosts, that runs.
type bed struct {
	*testing.T
	*lab.Live
	ctx  context.Context
	mesh *lab.Mesh
}

// rate of links: slow enough to make the machine's time per packet small compared with the links'
// time per packet.
const rate = 20_000_000

// start runs the fabric, to which add may add something.
func start(t *testing.T, to lab.Switches, mode ev.Mode, add func(*lab.Network)) *bed {
	t.Helper()
	capable(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	c := lab.ClosConfig{T0: 2, T1: 2, Hosts: 4, Rate: rate, Delay: 500 * time.Microsecond}
	network := lab.Clos(c)
	if add != nil {
		add(&network)
	}
	if err := network.SetSwitches(to); err != nil {
		t.Fatal(err)
	}
	network.MRC = lab.MRCSettings(&network, mode)
	live, err := lab.StartLive(ctx, lab.LiveOptions{Network: network, Listen: "127.0.0.1:0",
		Progress: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bed{T: t, Live: live, ctx: ctx}
	if err := live.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return b
}

// do runs f on the world's goroutine.
func (b *bed) do(f func(w *lab.World) error) {
	b.Helper()
	if err := b.Do(b.ctx, f); err != nil {
		b.Fatal(err)
	}
}

// write has all MRC hosts write to each other until finish.
func (b *bed) write() {
	b.Helper()
	b.do(func(w *lab.World) (err error) {
		// Write twice the capacity of a host's links to fill the windows.
		window := int(4*rate/8*w.Network.RoundTrip().Seconds())/lab.MRCMTU*lab.MRCMTU + lab.MRCMTU
		b.mesh, err = w.NewMesh(lab.MeshConfig{
			Flows: lab.AllToAll(w.Network.MRCHosts(), window), Message: window, Repeat: true,
			QP: flow.QueuePairs(&w.Network)})
		if err == nil {
			err = b.mesh.Start()
		}
		return err
	})
}

// pass has time pass, of the network's.
func (b *bed) pass(d time.Duration) {
	b.Helper()
	var end time.Duration
	b.do(func(w *lab.World) error {
		end = w.Now() + d
		return nil
	})
	if err := flow.Until(b.ctx, b.Live, "time passes",
		func() bool { return b.mesh.World().Now() >= end }, b.mesh); err != nil {
		b.Fatal(err)
	}
}

// goodput returns what arrives for the first time, in bits a second: after a while, and measured
// for a while.
func (b *bed) goodput() float64 {
	b.Helper()
	var m *flow.Meter
	var from time.Duration
	b.pass(1500 * time.Millisecond)
	b.do(func(w *lab.World) error {
		from = w.Now()
		m = flow.NewMeter(w, b.mesh.Flows, 50*time.Millisecond)
		return nil
	})
	b.pass(2 * time.Second)
	var got float64
	b.do(func(w *lab.World) error {
		m.Stop()
		got = m.Rate(from, w.Now()) * 8
		return nil
	})
	return got
}

// share returns the sum of max-min fair shares of the remaining links, in payload bits a second.
func (b *bed) share(lost ...lab.Loss) float64 {
	b.Helper()
	s, err := b.World.Network.AllToAllShares(lost...)
	if err != nil {
		b.Fatal(err)
	}
	return s.Total() * lab.PayloadShare
}

// finish ends the writing, and checks memory and queue pairs.
func (b *bed) finish() {
	b.Helper()
	b.do(func(*lab.World) error {
		b.mesh.Finish()
		return nil
	})
	if err := flow.Until(b.ctx, b.Live, "all is acknowledged", b.mesh.Done, b.mesh); err != nil {
		b.Fatal(err)
	}
	b.do(func(*lab.World) error {
		if n := flow.Corrupt(b.mesh); n > 0 {
			b.Errorf("%d octets of memory are not what was written", n)
		}
		for _, f := range b.mesh.Flows {
			if f.QP.Failed() || f.SinkQP.Failed() {
				b.Errorf("the queue pair from %s to %s is in error", f.From, f.To)
			}
		}
		return nil
	})
}

// carried returns the frames that a plane has brought to MRC hosts.
func (b *bed) carried(plane string) (frames uint64) {
	b.Helper()
	b.do(func(w *lab.World) error {
		for _, x := range w.Wires() {
			if strings.HasPrefix(x.From, plane+"-T0") && strings.HasPrefix(x.To, "H") {
				frames += x.Arrived
			}
		}
		return nil
	})
	return frames
}

// TestFabric: MRC over eight kernels. A link and a T1 fail under an all-to-all: memory stays
// correct, no queue pair enters the error state, and the goodput stays high, as far as the
// remaining links allow. The T1 returns as a kernel without routes, and hosts use the T1 again.
func TestFabric(t *testing.T) {
	for _, mode := range []ev.Mode{ev.ModeF3216, ev.ModeUSIDStructured} {
		t.Run(mode.String(), func(t *testing.T) {
			b := start(t, lab.SwitchesLinux, mode, nil)
			b.write()
			whole := b.share()
			before := b.enough("whole", whole, 1)
			var lost []lab.Loss
			for _, l := range []lab.Loss{{Links: [][2]string{{"P1-T0-1", "P1-T1-1"}}},
				{Switches: []string{"P1-T1-2"}}} {
				if err := b.Lose(b.ctx, l); err != nil {
					t.Fatal(err)
				}
				lost = append(lost, l)
				b.enough(fmt.Sprintf("without %v", l), b.share(lost...), before/whole)
			}
			b.Log("the T1 comes back")
			if err := b.Revive(b.ctx, lab.Part{Kind: lab.PartSwitch, Name: "P1-T1-2"}); err != nil {
				t.Fatal(err)
			}
			base := uint64(0)
			err := b.Until(b.ctx, "the T1 forwards again", func(w *lab.World) (bool, error) {
				wire, err := w.Wire("P1-T1-2", "P1-T0-1")
				if err != nil {
					return false, err
				}
				if base == 0 {
					base = wire.Arrived // by the kernel that has died
				}
				return wire.Arrived > base+arrivedAtLeast, b.mesh.Pump()
			})
			if err != nil {
				t.Fatal(err)
			}
			b.countsSIDs("P1-T0-1")
			b.finish()
		})
	}
}

// countsSIDs: the telemetry has packets of the local SIDs of a switch.
func (b *bed) countsSIDs(sw string) {
	b.Helper()
	rest, err := client.New(client.Config{Server: b.URL()})
	if err != nil {
		b.Fatal(err)
	}
	defer rest.Close()
	err = b.Until(b.ctx, "SIDs of "+sw+" have a rate", func(*lab.World) (bool, error) {
		a, err := rest.Get(b.ctx, client.Path("v1", "telemetry", "top"), url.Values{"kind": {"sid"},
			"metric": {"packets"}, "limit": {"1000"}})
		if err != nil {
			return false, err
		}
		var top api.Top
		if err := json.Unmarshal(a.Body, &top); err != nil {
			return false, err
		}
		return slices.ContainsFunc(top.Items, func(i api.TopItem) bool {
			return strings.HasPrefix(i.Name, sw+"/") && i.Value > 1
		}), b.mesh.Pump()
	})
	if err != nil {
		b.Fatal(err)
	}
}

// enough measures the goodput until the goodput reaches the least share of a part of the link
// capacity, and returns the goodput. Hosts need a while to find the capacity of each plane.
func (b *bed) enough(when string, links, part float64) float64 {
	b.Helper()
	for try := 1; ; try++ {
		got := b.goodput()
		kept := got / links / part
		b.Logf("%s: %.1f of %.1f Mb/s, kept %.3f", when, got/1e6, links/1e6, kept)
		if kept >= least() {
			return got
		}
		if try == tries {
			b.Errorf("%s %.3f of the capacity is kept, want %v", when, kept, least())
			return got
		}
	}
}

// least returns what is kept of the capacity at least: 0.9 on a machine that does nothing else
// (WEFT_CAPACITY), where 0.90 to 0.98 were seen, and otherwise a bound that other work on the
// machine does not break, and a plane that is not left does.
func least() float64 {
	if os.Getenv("WEFT_CAPACITY") != "" {
		return 0.9
	}
	return 0.5
}

// tries are how often the goodput is measured until it is enough.
const tries = 5

// arrivedAtLeast are more frames than a kernel sends of its own, and fewer than in a second of
// traffic.
const arrivedAtLeast = 200

// TestMixedFabric: plane 1 has P4 switches and plane 2 kernels. MRC works over both, a group over
// plane 1 too, and a group over plane 2 is refused with the reason.
func TestMixedFabric(t *testing.T) {
	b := start(t, lab.SwitchesMixed, ev.ModeUSIDStructured, func(n *lab.Network) {
		for _, x := range [][2]string{{"S1", "P1-T0-1"}, {"R1", "P1-T0-2"}, {"S2", "P2-T0-1"},
			{"R2", "P2-T0-2"}} {
			n.Hosts = append(n.Hosts, lab.Host{Name: x[0]})
			n.Links = append(n.Links, lab.Link{A: x[1], B: x[0], Rate: rate})
		}
	})
	b.write()
	b.pass(time.Second)
	for _, plane := range []string{"P1", "P2"} {
		if n := b.carried(plane); n < arrivedAtLeast {
			t.Errorf("plane %s has brought %d frames to hosts only", plane, n)
		}
	}
	if err := b.Lose(b.ctx, lab.Loss{Links: [][2]string{{"P2-T0-1", "P2-T1-1"}}}); err != nil {
		t.Fatal(err)
	}
	b.pass(time.Second)
	b.finish()

	transfer := &multicast.Transfer{Live: b.Live, Say: t.Logf, Name: "plane1",
		Mode: api.ModeInband, Data: []byte(strings.Repeat("weft", 1<<14)), Hosts: lab.GroupConfig{
			Proxy: netip.MustParseAddr("2001:db8:ffff::1"), DesignatedQPN: 0x00beef, Source: "S1",
			Receivers: []string{"R1"}}}
	if err := transfer.Begin(b.ctx); err != nil {
		t.Fatal(err)
	}
	if err := transfer.Write(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.refused("S2", "R2")
	b.refused("S1", "R2")
}

// refused: the controller refuses a group from one host to another, and names a switch of plane 2
// and the missing feature.
func (b *bed) refused(source, receiver string) {
	b.Helper()
	rest, err := client.New(client.Config{Server: b.URL()})
	if err != nil {
		b.Fatal(err)
	}
	defer rest.Close()
	address := make(map[string]netip.Addr)
	for _, h := range b.World.Network.Hosts {
		address[h.Name] = h.Address
	}
	_, err = rest.Groups().Create(b.ctx, "refused", api.MulticastGroupSpec{
		ProxyAddress: netip.MustParseAddr("2001:db8:ffff::2"), DesignatedQPN: 0x00bee0,
		Source:    api.GroupSource{Address: address[source], QPN: 0x10},
		Receivers: []api.GroupReceiver{{Address: address[receiver], QPN: 0x20}}}, client.Write{})
	if err == nil || !strings.Contains(err.Error(), "P2-T0-") ||
		!strings.Contains(err.Error(), "Linux") {
		b.Errorf("a group from %s to %s: %v, want a refusal that names a switch of plane 2 and Linux",
			source, receiver, err)
	} else {
		b.Logf("as it should be: %v", err)
	}
}
