package mrc

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/resource"
)

func (f *bed) simulate(spec api.SimulationSpec) (api.Simulation, error) {
	return kind.Ask[api.Simulation](f.t.Context(), f.controller.Jobs(), "",
		api.Simulate{SimulationSpec: spec}, resource.Precondition{})
}

// TestSimulation: the controller says what a job would get after events on its present fabric: one
// of four T1s costs nothing, a plane half, leaves cut their hosts off. Present faults count before
// the events too, and nothing is changed.
func TestSimulation(t *testing.T) {
	run(t, nil, func(t *testing.T, f *bed) {
		f.putJob("train", ring)
		f.until(10*time.Second, "the job is ready", func() bool { return f.readiness("train").Go })
		simulate := func(action api.SimulationAction, objects ...api.SimulationObject) api.SimulatedJob {
			t.Helper()
			var spec api.SimulationSpec
			for _, o := range objects {
				spec.Events = append(spec.Events, api.SimulationEvent{Action: action, Object: o})
			}
			s, err := f.simulate(spec)
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Jobs) != 1 || s.Jobs[0].Before == nil || len(s.Events) != len(objects) {
				t.Fatalf("%+v", s)
			}
			return s.Jobs[0]
		}
		longer := func(j api.SimulatedJob, least, most float64) {
			t.Helper()
			if j.Increase == nil || *j.Increase < least || *j.Increase > most {
				t.Errorf("%+v, after %+v, increase %v: want %v to %v", j, j.After, j.Increase, least, most)
			}
		}
		longer(simulate(api.SimulationFail), 0, 0)
		longer(simulate(api.SimulationFail, api.SimulationObject{Node: "P1-T1-1"}), 0, 0.01)
		plane := simulate(api.SimulationDrain, api.SimulationObject{Plane: 1})
		longer(plane, 0.95, 1.05)
		if plane.Before.Share < 0.9 || plane.After.Share > 0.55 {
			t.Errorf("the shares are %v and %v", plane.Before.Share, plane.After.Share)
		}
		longer(simulate(api.SimulationFail, api.SimulationObject{Host: "H1", Port: 1}), 0.5, 1.05)
		cut := simulate(api.SimulationFail, api.SimulationObject{Node: "P1-T0-1"},
			api.SimulationObject{Node: "P2-T0-1"})
		if cut.Increase != nil || cut.After.CutOff != 2 || cut.After.Step != 0 ||
			!slices.Equal(cut.After.NICs, []string{"H1", "H2"}) {
			t.Errorf("without its leaves: %+v", cut.After)
		}

		for _, link := range []string{"P1-T1-1", "P1-T1-2"} {
			f.setLink("P1-T0-1", link, false)
		}
		f.until(10*time.Second, "the present faults count", func() bool {
			return simulate(api.SimulationFail).Before.Share < 0.6
		})
		back := simulate(api.SimulationRepair, api.SimulationObject{Plane: 1})
		longer(back, -0.55, -0.4)
		var drains []api.Drain
		if err := f.mrc.Do(t.Context(), func(c *mrc.Core) { drains = c.Drains() }); err != nil ||
			len(drains) > 0 {
			t.Errorf("a simulation has drained %v, %v", drains, err)
		}

		_, err := f.simulate(api.SimulationSpec{
			Events: []api.SimulationEvent{{Action: "fail", Object: api.SimulationObject{Plane: 9}}},
			Jobs:   []api.SimulationStep{{Name: "other"}}})
		var refused *api.Error
		if !errors.As(err, &refused) || len(refused.Fields) != 1 ||
			refused.Fields[0].Field != "events[0].object" {
			t.Errorf("an unknown plane: %v", err)
		}
		if _, err = f.simulate(api.SimulationSpec{
			Jobs: []api.SimulationStep{{Name: "other"}}}); !errors.As(err, &refused) ||
			!strings.Contains(refused.Fields[0].Want, "has not ended") {
			t.Errorf("an unknown job: %v", err)
		}
	})
}
