package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/job"
	"github.com/weft-sdn/weft/controller/mrc/flows"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/store"
)

// TestSimulationBounded: a simulation ends at its deadline, also while it waits for another
// simulation. A client that has gone gets its own error.
func TestSimulationBounded(t *testing.T) { bubble.Test(t, simulationBounded) }

func simulationBounded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	core := pfcCore(t, nil)
	fabric := &knownFabric{}
	c, err := NewController(ctx, Options{Inventory: *core.configured, Store: store.NewMemory(),
		Multipath: fabric})
	if err != nil {
		t.Fatal(err)
	}
	fabric.to.Store(c)
	c.core.configured.Switches = nil
	served := make(chan error, 1)
	go func() { served <- c.ledger.Run(ctx, c.core, c.step) }()
	defer func() {
		cancel()
		<-served
	}()
	took := longestSimulation + time.Second
	fabric.look(func(v *fabricview.View) {
		v.Fluid = func() (*flows.Network, *flows.State) {
			time.Sleep(took)
			return &flows.Network{}, &flows.State{}
		}
	})
	synctest.Wait()
	is := func(err error, code api.Code, text string) {
		t.Helper()
		var refused *api.Error
		if !errors.As(err, &refused) || refused.Code != code ||
			!strings.Contains(refused.Message, text) {
			t.Errorf("the error is %v, want %s with %q", err, code, text)
		}
	}
	_, err = c.simulate(ctx, api.SimulationSpec{})
	is(err, api.CodeLimit, "fewer events")

	took *= 2
	other := make(chan error, 1)
	go func() {
		_, err := c.simulate(ctx, api.SimulationSpec{})
		other <- err
	}()
	synctest.Wait()
	began := time.Now()
	_, err = c.simulate(ctx, api.SimulationSpec{})
	is(err, api.CodeUnavailable, "one runs at a time")
	if waited := time.Since(began); waited != longestSimulation {
		t.Errorf("a simulation waits %v for another, want %v", waited, longestSimulation)
	}
	is(<-other, api.CodeLimit, "fewer events")

	gone, leave := context.WithTimeout(ctx, time.Second)
	defer leave()
	if _, err = c.simulate(gone, api.SimulationSpec{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the client is gone, and the error is %v", err)
	}
}

// TestStepsOf: a request names jobs and communicators that exist, each job once.
func TestStepsOf(t *testing.T) {
	d := &job.Demand{}
	d.NICs = []string{"1", "2", "3", "4"}
	tasks := []job.Task{{Name: "a", Demand: d,
		Spec: api.JobSpec{Layout: &api.JobLayout{TP: 2, DP: 2}}}}
	data := func(names ...string) (out []api.SimulationData) {
		for _, name := range names {
			out = append(out, api.SimulationData{Communicator: name, Bytes: 1})
		}
		return out
	}
	if got, err := stepsOf([]api.SimulationStep{{Name: "a", Data: data("tp", "dp")}}, tasks); err !=
		nil || got["a"] == nil {
		t.Errorf("%v, %v", got, err)
	}
	_, err := stepsOf([]api.SimulationStep{{Name: "a", Data: data("tp", "x", "y")}, {Name: "a"},
		{Name: "b"}}, tasks)
	var refused *api.Error
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	got := ""
	for _, f := range refused.Fields {
		got += f.Field + " is " + f.Value + ": want " + f.Want + "\n"
	}
	if want := `jobs[0].data[1].communicator is x: want one of dp, tp
jobs[0].data[2].communicator is y: want one of dp, tp
jobs[1].name is a: want a job that has not ended, once
jobs[2].name is b: want a job that has not ended, once
`; got != want {
		t.Errorf("refused are\n%s, want\n%s", got, want)
	}
}
