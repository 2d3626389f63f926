package controller_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/controllertest"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// TestStandby: a controller that takes a core that was kept ready goes on at once with what was
// stored last, writes to no switch that agrees, and stores what it decides from then on.
func TestStandby(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		net, s, south := sample.Figure1(), store.NewMemory(), &controllertest.Southbound{}
		net.Inventory.Intervals.Settle = 0
		var topo topology.Publisher
		standby := controller.NewStandby(controller.StandbyOptions{
			Inventory: net.Inventory, Store: s, Topology: &topo, Ignore: func(string) bool { return false },
			Log: slog.New(slog.DiscardHandler),
		})
		ctx, cancel := context.WithCancel(t.Context())
		var kept sync.WaitGroup
		kept.Go(func() { standby.Run(ctx) })

		first := run(t, net, s, south)
		topo.Publish(net.Topology.Build())
		put := func(r *running, name string, n int) {
			t.Helper()
			if _, _, err := r.Groups().Put(t.Context(), name, net.Spec(n, "s1", "r1", "r2"),
				resource.Precondition{}); err != nil {
				t.Fatal(err)
			}
		}
		put(first, "g1", 1)
		before := first.programmed(t, "g1")
		time.Sleep(time.Minute) // the core is made anew
		if err := first.stop(); err != nil {
			t.Fatal(err)
		}
		cancel()
		kept.Wait()
		if !standby.Ready() {
			t.Fatal("no core is ready")
		}
		writes := 0
		for i := range net.Inventory.Switches {
			south.With(net.Inventory.Switches[i].Name, func(d *controllertest.Device) { writes += d.Writes })
		}
		began := time.Now()
		second := &running{south: south}
		var err error
		if second.Controller, err = controller.NewController(t.Context(),
			controller.Options{Inventory: net.Inventory, Store: s, Standby: standby,
				Southbound: south}); err != nil {
			t.Fatal(err)
		}
		if standby.Ready() {
			t.Error("the core was not taken")
		}
		running, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- second.Run(running) }()
		after := second.programmed(t, "g1")
		if after.Status.Index != before.Status.Index || after.Status.Epoch != before.Status.Epoch ||
			after.Version != before.Version {
			t.Errorf("%+v, was %+v", after, before)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("programmed after %v", took)
		}
		for i := range net.Inventory.Switches {
			south.With(net.Inventory.Switches[i].Name, func(d *controllertest.Device) { writes -= d.Writes })
		}
		if writes != 0 {
			t.Errorf("%d updates were written to switches that agree", -writes)
		}
		put(second, "g2", 2)
		second.programmed(t, "g2")
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		third := run(t, net, s, south)
		third.programmed(t, "g2")
		if err := third.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestStandbyOutdated: the controller does not take a standby core if the records have changed
// since.
func TestStandbyOutdated(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		net, s, south := sample.Figure1(), store.NewMemory(), &controllertest.Southbound{}
		var topo topology.Publisher
		topo.Publish(net.Topology.Build())
		standby := controller.NewStandby(controller.StandbyOptions{
			Inventory: net.Inventory, Store: s, Topology: &topo, Ignore: func(string) bool { return false },
			Log: slog.New(slog.DiscardHandler),
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			standby.Run(ctx)
		}()
		time.Sleep(time.Minute)
		cancel()
		<-done
		first := run(t, net, s, south)
		if _, _, err := first.Groups().Put(t.Context(), "g1", net.Spec(1, "s1", "r1", "r2"),
			resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		first.programmed(t, "g1")
		if err := first.stop(); err != nil {
			t.Fatal(err)
		}
		if !standby.Ready() {
			t.Fatal("no core is ready")
		}
		second := &running{south: south}
		var err error
		if second.Controller, err = controller.NewController(t.Context(),
			controller.Options{Inventory: net.Inventory, Store: s, Standby: standby,
				Southbound: south}); err != nil {
			t.Fatal(err)
		}
		running, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- second.Run(running) }()
		if err := second.SetTopology(running, net.Topology.Build()); err != nil {
			t.Fatal(err)
		}
		second.programmed(t, "g1")
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
