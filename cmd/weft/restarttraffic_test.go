package main

import (
	"bytes"
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/endpoint/rc"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/p4"
)

// load is traffic of a network. Its methods run on the goroutine of the network.
type load interface {
	// step works on, and returns how many units have arrived so far.
	step() (arrived uint64, err error)
	// drain ends it, and reports whether nothing is under way any more.
	drain() (done bool, err error)
	// check returns what became of it that must not.
	check() error
}

// running is a load of a deployment that goes on until end.
type running struct {
	d       *deployment
	load    load
	arrived atomic.Uint64
	stop    chan struct{}
	ended   chan error
	lost    uint64 // before it began
}

// run runs a load until end is called.
func (d *deployment) run(l load) *running {
	d.t.Helper()
	r := &running{d: d, load: l, stop: make(chan struct{}), ended: make(chan error, 1), lost: d.lost()}
	go func() { r.ended <- r.loop() }()
	return r
}

func (r *running) loop() error {
	ctx := r.d.t.Context()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	stop, stopping := r.stop, false
	for {
		done := false
		err := r.d.network.Do(ctx, func(*lab.World) error {
			arrived, err := r.load.step()
			r.arrived.Store(arrived)
			if err == nil && stopping {
				done, err = r.load.drain()
			}
			return err
		})
		if err != nil || done {
			return err
		}
		select {
		case <-tick.C:
		case <-stop:
			stop, stopping = nil, true
		}
	}
}

// more waits until more has arrived.
func (r *running) more(when string) {
	r.d.t.Helper()
	const units = 20
	began := r.arrived.Load()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); r.arrived.Load() < began+units; <-ticker.C {
		select {
		case err := <-r.ended:
			r.d.t.Fatalf("the traffic ended %s: %v", when, err)
		default:
		}
		if time.Now().After(deadline) {
			r.d.t.Fatalf("no traffic arrives %s", when)
		}
	}
}

// end ends the load, and fails when a packet was lost or is not what was sent.
func (r *running) end() {
	t := r.d.t
	t.Helper()
	close(r.stop)
	select {
	case err := <-r.ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatalf("what was sent has not arrived after %v", patience)
	}
	if err := r.d.network.Do(t.Context(), func(*lab.World) error { return r.load.check() }); err != nil {
		t.Error(err)
	}
	if n := r.d.lost() - r.lost; n != 0 {
		t.Errorf("%d packets are lost, want none", n)
	}
}

// lost counts the packets that wires and switches have lost.
func (d *deployment) lost() (n uint64) {
	d.t.Helper()
	if err := d.network.Do(d.t.Context(), func(w *lab.World) error {
		for _, wire := range w.Wires() {
			n += wire.Lost
		}
		for _, s := range w.Network.Switches {
			node, err := w.Switch(s.Name)
			if err != nil {
				return err
			}
			for reason, drops := range node.Drops() {
				if reason != p4.DropReasonMtAbsorbed && reason != p4.DropReasonMtPollIdle { // no faults
					n += drops
				}
			}
		}
		return nil
	}); err != nil {
		d.t.Fatal(err)
	}
	return n
}

// groupWrites is the source of a multicast group of Figure 1 that writes to R1 to R5 again and
// again.
type groupWrites struct {
	group   *lab.Group
	traffic *lab.Traffic
	data    []byte
	writes  uint64 // completed
	ending  bool
}

// Sizes of groupWrites.
const (
	groupWriteOctets  = 32 << 10
	groupWritePackets = groupWriteOctets / 4096
)

func (d *deployment) newGroupWrites() *groupWrites {
	d.t.Helper()
	g := &groupWrites{traffic: lab.NewTraffic(), data: make([]byte, groupWriteOctets)}
	qp := rc.DefaultQPConfig()
	qp.LocalAckTimeout = 24 // 69 s: a busy machine is no lossy network
	if err := d.network.Do(d.t.Context(), func(w *lab.World) (err error) {
		g.group, err = w.NewGroup(lab.GroupConfig{
			Proxy: netip.MustParseAddr("2001:db8:ffff::ff:ff"), DesignatedQPN: 0xbeef, Source: "S1",
			Receivers: []string{"R1", "R2", "R3", "R4", "R5"}, InitialPSN: 0xfffff0, QP: qp, Memory: groupWriteOctets,
		})
		w.AddTap(g.traffic)
		return err
	}); err != nil {
		d.t.Fatal(err)
	}
	return g
}

// spec is the group of the API.
func (g *groupWrites) spec() api.MulticastGroupSpec {
	spec := api.MulticastGroupSpec{
		ProxyAddress: g.group.Config.Proxy, DesignatedQPN: g.group.Config.DesignatedQPN, InitialPSN: g.group.Config.InitialPSN,
		Source: api.GroupSource{Address: g.group.Source.Config().Addr, QPN: g.group.SourceQP.Config().QPN},
	}
	for _, r := range g.group.Receivers {
		spec.Receivers = append(spec.Receivers, api.GroupReceiver{Address: r.Host.Config().Addr, QPN: r.QP.Config().QPN})
	}
	return spec
}

// step implements load: a unit is a write.
func (g *groupWrites) step() (uint64, error) {
	if err := g.group.Pump(); err != nil || !g.group.Done() {
		return g.writes, err
	}
	if g.group.Size() > 0 && !g.ending {
		g.writes++
		if corrupt := g.group.Corrupt(); len(corrupt) > 0 {
			return g.writes, fmt.Errorf("%q do not have what write %d wrote", corrupt, g.writes)
		}
	}
	if g.ending {
		return g.writes, nil
	}
	for i := range g.data {
		g.data[i] = byte(i) + byte(g.writes)
	}
	return g.writes, g.group.Write(bytes.Clone(g.data), groupWriteOctets)
}

// drain implements load.
func (g *groupWrites) drain() (bool, error) {
	g.ending = true
	return g.group.Done(), nil
}

// check implements load: every packet crosses every link once.
func (g *groupWrites) check() error {
	sent := g.traffic.Data["S1-N6"]
	if want := (g.writes + 1) * groupWritePackets; sent != want {
		return fmt.Errorf("S1 sent %d packets for %d writes, want %d", sent, g.writes+1, want)
	}
	for link, n := range g.traffic.Data {
		if n != sent {
			return fmt.Errorf("%d packets on %s, want each of the %d of S1 once", n, link, sent)
		}
	}
	if n, first := g.group.EarlyAcks(); n > 0 {
		return fmt.Errorf("%d early ACKs: %s", n, first)
	}
	return nil
}

// tenantStream is packets from one host to another, at a rate.
type tenantStream struct{ *lab.Stream }

func (d *deployment) newTenantStream(from, to string) tenantStream {
	d.t.Helper()
	var s *lab.Stream
	if err := d.network.Do(d.t.Context(), func(w *lab.World) (err error) {
		if s, err = w.NewStream(lab.StreamConfig{From: from, To: to, QPN: 0x100, Payload: 1024, Rate: 2_000_000, Priority: 3}); err == nil {
			s.Start()
		}
		return err
	}); err != nil {
		d.t.Fatal(err)
	}
	return tenantStream{s}
}

// step implements load: a unit is a packet.
func (s tenantStream) step() (uint64, error) { return s.Received, nil }

// drain implements load.
func (s tenantStream) drain() (bool, error) {
	s.Stop()
	return s.Lost() == 0, nil
}

// check implements load.
func (s tenantStream) check() error {
	if s.Corrupt+s.Reordered > 0 {
		return fmt.Errorf("of %d packets %d are not what was sent, %d came after a later one", s.Received, s.Corrupt, s.Reordered)
	}
	return nil
}

// TestTrafficIsSeen: a packet that is lost is noticed, or the tests of restarts prove nothing.
func TestTrafficIsSeen(t *testing.T) {
	d := deploy(t)
	before := d.lost()
	if err := d.network.Do(t.Context(), func(w *lab.World) error {
		wire, err := w.Wire("N6", "N4")
		if err == nil {
			wire.Lose = func(time.Duration, []byte) bool { return true }
			wire.Inject(make([]byte, 64))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if n := d.lost() - before; n != 1 {
		t.Errorf("%d packets are lost, want 1", n)
	}
}
