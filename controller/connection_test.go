package controller_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/controllertest"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/store"
)

// TestBackWhileBusy: a switch that goes down and comes up while the core is busy is up for the core
// too, although the core takes it with a switch that was read before it went down.
func TestBackWhileBusy(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		south := new(controllertest.Southbound)
		r := run(t, sample.Figure1(), store.NewMemory(), south)
		time.Sleep(time.Minute)
		busy, done := make(chan struct{}), make(chan error)
		go func() { done <- r.Do(t.Context(), func(*controller.Core) { <-busy }) }()
		for _, name := range []string{"n1", "n2"} {
			synctest.Wait()
			south.Disconnect(name, false)
			synctest.Wait()
			south.Connect(name)
		}
		synctest.Wait()
		close(busy)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		switches, err := r.Switches(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range switches {
			if !s.Connected || !s.Synced {
				t.Errorf("%s: connected %v, synced %v, %s", s.Name, s.Connected, s.Synced, s.Reason)
			}
		}
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	})
}
