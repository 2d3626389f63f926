package controller_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/controllertest"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a controller with fake switches.
type running struct {
	*controller.Controller
	south  *controllertest.Southbound
	stop   func() error
	mu     sync.Mutex
	events []api.Event
}

func run(t *testing.T, net *sample.Net, s store.Store, south *controllertest.Southbound) *running {
	t.Helper()
	r := runOptions(t, net, south, controller.Options{Store: s})
	if err := r.SetTopology(t.Context(), net.Topology.Build()); err != nil {
		t.Fatal(err)
	}
	return r
}

// runOptions runs a controller that knows no topology yet.
func runOptions(
	t *testing.T, net *sample.Net, south *controllertest.Southbound, o controller.Options,
) *running {
	t.Helper()
	r := &running{south: south}
	var err error
	o.Inventory, o.Southbound = net.Inventory, south
	o.Events = func(e api.Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, e)
	}
	r.Controller, err = controller.NewController(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.stop = func() error {
		cancel()
		return <-ended
	}
	return r
}

// programmed waits until a group is.
func (r *running) programmed(t *testing.T, name string) api.MulticastGroup {
	t.Helper()
	for range 100 {
		g, err := r.Groups().Get(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if g.Status.Is(api.Programmed) {
			return g
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%s was not programmed in time", name)
	return api.MulticastGroup{}
}

// TestSaysYesDoesNothing: a switch that accepts an update without effect does not count as
// programmed, and is written again.
func TestSaysYesDoesNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		net := sample.Figure1()
		south := new(controllertest.Southbound)
		r := run(t, net, store.NewMemory(), south)
		asked := make(map[entry.Key]int)
		south.With("n4", func(d *controllertest.Device) {
			d.Ignore = func(u entry.Update) bool {
				if u.Entity.Kind() != entry.KindMulticast {
					return false
				}
				asked[u.Entity.Key()]++
				return true
			}
		})
		if _, _, err := r.Groups().Put(t.Context(), "g", net.Spec(1, "s1", "r1", "r2", "r3", "r4", "r5"),
			resource.Precondition{Absent: true}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		g, err := r.Groups().Get(t.Context(), "g")
		if err != nil {
			t.Fatal(err)
		}
		if g.Status.Is(api.Programmed) {
			t.Error("programmed, by a switch that has done nothing")
		}
		why := ""
		for _, c := range g.Status.Conditions {
			why += c.Message + "\n"
		}
		if want := "the switch accepted it, and holds nothing there"; !strings.Contains(why, want) {
			t.Errorf("the conditions say\n%swant %q", why, want)
		}
		south.With("n4", func(d *controllertest.Device) {
			for k, n := range asked {
				if n < 2 || n > 10 {
					t.Errorf("%d tries of %s in 10 s, want some that grow rarer", n, k)
				}
			}
			if len(asked) == 0 {
				t.Error("nothing was written")
			}
			d.Ignore = nil
		})
		r.programmed(t, "g")
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestController(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		net := sample.Figure1()
		south, records := new(controllertest.Southbound), store.NewMemory()
		r := run(t, net, records, south)
		spec := net.Spec(1, "s1", "r1", "r2", "r3", "r4", "r5")
		g, created, err := r.Groups().Put(t.Context(), "g", spec, resource.Precondition{Absent: true})
		if err != nil || !created {
			t.Fatal(created, err)
		}
		// Answered changes are kept.
		if _, err := records.Get(t.Context(), "groups/g"); err != nil {
			t.Error(err)
		}
		r.programmed(t, "g")

		// A switch that restarts empty is repaired without being asked.
		before := 0
		south.With("n1", func(d *controllertest.Device) { before = len(d.Entities) })
		south.Disconnect("n1", true)
		time.Sleep(time.Second)
		if g, _ := r.Groups().Get(t.Context(), "g"); g.Status.Is(api.Programmed) {
			t.Error("programmed without n1")
		}
		south.Connect("n1")
		r.programmed(t, "g")
		south.With("n1", func(d *controllertest.Device) {
			if len(d.Entities) != before || before == 0 {
				t.Errorf("n1 has %d entities, had %d", len(d.Entities), before)
			}
		})

		for _, sw := range []string{"n1", "n2", "n3", "n4", "n5", "n6"} {
			south.With(sw, func(d *controllertest.Device) {
				d.State = func(uint16, uint8) (entry.PacketIn, bool) {
					return entry.PacketIn{Epoch: g.Status.Epoch, Valid: true, AckPSN: 41, LastKnown: true,
						LastPSN: 42}, sw != "n5"
				}
			})
		}
		state, err := kind.Ask[api.GroupState](t.Context(), r.Groups(), "g", api.ReadGroupState{},
			resource.Precondition{})
		if err != nil || state.Complete || len(state.Nodes) != 6 {
			t.Errorf("state %+v, %v", state, err)
		}
		for _, n := range state.Nodes {
			if n.Answered != (n.Switch != "n5") || n.Answered &&
				(n.LastPSN != 42 || n.Branches[0].EPSN != 42) {
				t.Errorf("state of %+v", n)
			}
		}

		asked := 0
		south.With("n6", func(d *controllertest.Device) {
			answer := d.State
			d.State = func(group uint16, branch uint8) (entry.PacketIn, bool) {
				asked++
				return answer(group, branch)
			}
		})
		samples, err := r.GroupSamples(t.Context())
		if err != nil || len(samples) != 1 || samples[0].Group != "g" || samples[0].PSN != 42 ||
			samples[0].Epoch != g.Status.Epoch || samples[0].Switch != "n6" {
			t.Errorf("samples %+v, %v", samples, err)
		}
		south.With("n6", func(*controllertest.Device) {
			if asked != 1 {
				t.Errorf("the root was asked %d times for one group", asked)
			}
		})
		south.With("n6", func(d *controllertest.Device) {
			d.State = func(uint16, uint8) (entry.PacketIn, bool) { return entry.PacketIn{}, false }
		})
		if samples, err := r.GroupSamples(t.Context()); err != nil || len(samples) != 1 ||
			!samples[0].At.IsZero() || samples[0].PSN != -1 {
			t.Errorf("samples of a switch that does not answer: %+v, %v", samples, err)
		}

		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if _, err := r.Groups().List(t.Context(), kind.Query{}); !errors.Is(err, controller.ErrStopped) {
			t.Errorf("a call after the end: %v", err)
		}

		// Another controller on the same records goes on, and writes nothing.
		writes := 0
		south.With("n6", func(d *controllertest.Device) { writes = d.Writes })
		r2 := run(t, net, records, south)
		again := r2.programmed(t, "g")
		if again.Status.Epoch != g.Status.Epoch || again.Version != g.Version {
			t.Errorf("epoch %d version %d, were %d and %d", again.Status.Epoch, again.Version,
				g.Status.Epoch, g.Version)
		}
		south.With("n6", func(d *controllertest.Device) {
			if d.Writes != writes {
				t.Errorf("%d writes to a switch that had everything", d.Writes-writes)
			}
		})

		// A switch that leaves the inventory is let go.
		inv := *r2.Inventory()
		inv.Switches = inv.Switches[1:]
		inv.Hosts = inv.Hosts[:1]
		if err := r2.SetInventory(t.Context(), inv); err != nil {
			t.Error(err)
		}
		switches := kind.Of[struct{}, api.SwitchStatus](r2.Kinds())
		_, err = switches.Ask(t.Context(), "n1", api.ReadCounters{}, resource.Precondition{})
		if !errors.Is(err, api.ErrNotFound) {
			t.Errorf("counters of a switch that is gone: %v", err)
		}
		if err := r2.stop(); err != nil {
			t.Error(err)
		}
	})
}
