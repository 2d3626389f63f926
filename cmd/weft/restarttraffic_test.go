package main

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/test/writes"
)

// load is traffic of a network. Its methods run on the goroutine of the network.
type load interface {
	// Step works on, and returns how many units have arrived so far.
	Step() (arrived uint64, err error)
	// Drain ends it, and reports whether nothing is under way any more.
	Drain() (done bool, err error)
	// Check returns an error if the traffic broke a promise.
	Check() error
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
			arrived, err := r.load.Step()
			r.arrived.Store(arrived)
			if err == nil && stopping {
				done, err = r.load.Drain()
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
	if err := r.d.network.Do(t.Context(),
		func(*lab.World) error { return r.load.Check() }); err != nil {
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

func (d *deployment) newGroupWrites() *writes.Group {
	d.t.Helper()
	var g *writes.Group
	if err := d.network.Do(d.t.Context(), func(w *lab.World) (err error) {
		g, err = writes.New(w, "S1", "R1", "R2", "R3", "R4", "R5")
		return err
	}); err != nil {
		d.t.Fatal(err)
	}
	return g
}

// tenantStream is packets from one host to another, at a rate.
type tenantStream struct{ *lab.Stream }

func (d *deployment) newTenantStream(from, to string) tenantStream {
	d.t.Helper()
	var s *lab.Stream
	if err := d.network.Do(d.t.Context(), func(w *lab.World) (err error) {
		if s, err = w.NewStream(lab.StreamConfig{From: from, To: to, QPN: 0x100, Payload: 1024,
			Rate: 2_000_000, Priority: 3}); err == nil {
			s.Start()
		}
		return err
	}); err != nil {
		d.t.Fatal(err)
	}
	return tenantStream{s}
}

// Step implements load: a unit is a packet.
func (s tenantStream) Step() (uint64, error) { return s.Received, nil }

// Drain implements load.
func (s tenantStream) Drain() (bool, error) {
	s.Stop()
	return s.Lost() == 0, nil
}

// Check implements load.
func (s tenantStream) Check() error {
	if s.Corrupt+s.Reordered > 0 {
		return fmt.Errorf("of %d packets %d are not what was sent, %d came after a later one", s.Received,
			s.Corrupt, s.Reordered)
	}
	return nil
}

// TestTrafficIsSeen: the load notices a lost packet; otherwise the tests of restarts would prove
// nothing.
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
