package controller_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

// contents are what the switches of a world hold.
func (w *bed) contents() map[string]map[entry.Key]entry.Entity {
	out := make(map[string]map[entry.Key]entry.Entity)
	for name, d := range w.devices {
		out[name] = maps.Clone(d.Entities)
	}
	return out
}

// changed returns how two contents differ, as a trial says it.
func changed(before, after map[string]map[entry.Key]entry.Entity) (out []api.SwitchChange) {
	for _, sw := range slices.Sorted(maps.Keys(after)) {
		if u := controller.Difference(before[sw], after[sw]); len(u) > 0 {
			out = append(out, api.SwitchChange{Switch: sw, Updates: u})
		}
	}
	return out
}

// TestTrialTellsTheTruth: a dry run changes nothing, and says exactly what the write then
// changes on the switches, also on one that is away.
func TestTrialTellsTheTruth(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	net := sample.Figure1()
	net.Inventory.Intervals.Drain = api.Duration(5 * time.Second)
	w := up(t, net, seed)
	receivers := []string{"r1", "r2", "r3", "r4", "r5"}
	for step := range 12 {
		name := fmt.Sprintf("g%d", rng.IntN(3))
		chosen := slices.Clone(receivers)
		rng.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		number := int(name[1] - '0')
		spec := net.Spec(number+1, "s1", chosen[:1+rng.IntN(len(chosen))]...)
		if step%3 == 2 {
			spec.Objective = api.ObjectiveCost
		}
		away := ""
		if step%4 == 3 {
			away = "n1"
			w.disconnect(away)
			w.run(time.Second)
		}
		before, groups := w.contents(), w.core.Groups().List()
		var said api.MulticastGroup
		predicted, err := w.core.Try(func(c *controller.Core) (err error) {
			said, _, err = c.Groups().Put(name, spec, resource.Precondition{})
			return err
		})
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		w.run(0) // what the core wants done now
		if !reflect.DeepEqual(w.core.Groups().List(), groups) || len(changed(before, w.contents())) > 0 {
			t.Fatalf("step %d: the trial changed something", step)
		}
		g, _, err := w.core.Groups().Put(name, spec, resource.Precondition{})
		if err != nil {
			t.Fatal(err)
		}
		if away != "" {
			w.connect(away)
		}
		w.run(time.Minute)
		if got := changed(before, w.contents()); !reflect.DeepEqual(got, predicted) {
			t.Errorf("step %d, %s with %v: predicted\n%v\nhappened\n%v", step, name, chosen, predicted, got)
		}
		if said.Version != g.Version || !reflect.DeepEqual(said.Spec, g.Spec) ||
			said.Status.Index != g.Status.Index {
			t.Errorf("step %d: the trial says\n%+v\nthe write\n%+v", step, said, g)
		}
	}
	w.converged()
}

// tries puts a group in a trial and then in truth, and compares what the two change on switches.
func (w *bed) tries(name string, spec api.MulticastGroupSpec) {
	w.t.Helper()
	put := func(c *controller.Core) error {
		_, _, err := c.Groups().Put(name, spec, resource.Precondition{})
		return err
	}
	before := w.contents()
	predicted, err := w.core.Try(put)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := put(w.core); err != nil {
		w.t.Fatal(err)
	}
	w.run(time.Second)
	if got := changed(before, w.contents()); !reflect.DeepEqual(got, predicted) || len(got) == 0 {
		w.t.Errorf("predicted\n%v\nhappened\n%v", predicted, got)
	}
}

// TestTrialKnowsEVs: a dry run knows what EVs mean, without which no routes are planned.
func TestTrialKnowsEVs(t *testing.T) {
	net := sample.Clos(2, 2, 2)
	net.Inventory.MRC.Mode = "stev"
	w := newBed(t, net, 1)
	whole := net.Topology.Build()
	w.core.SetTopology(whole)
	w.connectAll()
	w.core.SetAssignment(assignment(t, net, whole, ev.ModeStructured))
	w.run(time.Second)
	w.tries("g", net.Spec(1, net.Inventory.Hosts[0].Name,
		net.Inventory.Hosts[len(net.Inventory.Hosts)-1].Name))
}

// TestTrialAdopts: a dry run goes on with a group's tree from an earlier controller, and so changes
// epochs, and no entry that carries data.
func TestTrialAdopts(t *testing.T) {
	w, specs, _ := orphans(t, 1, api.ModeProvisioned)
	w.core.SetTopology(w.net.Topology.Build())
	w.connectAll()
	w.run(150 * time.Millisecond)
	predicted, err := w.core.Try(func(c *controller.Core) error {
		_, _, err := c.Groups().Put("again", specs[1], resource.Precondition{})
		return err
	})
	if err != nil || len(predicted) == 0 {
		t.Fatalf("predicted %v, %v", predicted, err)
	}
	for _, sw := range predicted {
		for _, u := range sw.Updates {
			if strings.HasPrefix(u.Entity, "multicast/") ||
				strings.HasPrefix(u.Entity, p4.TableLocalSid+"/") {
				t.Errorf("%s: %s %s", sw.Switch, u.Type, u.Entity)
			}
		}
	}
}

// TestTrialRefuses: a trial refuses what the write would.
func TestTrialRefuses(t *testing.T) {
	net := sample.Figure1()
	w := up(t, net, 1)
	w.put("g1", net.Spec(1, "s1", "r1"))
	for _, c := range []struct {
		name string
		pre  resource.Precondition
		spec api.MulticastGroupSpec
		want error
	}{
		{"g1", resource.Precondition{Absent: true}, net.Spec(1, "s1", "r1"), api.ErrExists},
		{"g1", resource.Precondition{Version: 99}, net.Spec(1, "s1", "r1"), api.ErrVersion},
		// the proxy address is taken
		{"g2", resource.Precondition{}, net.Spec(1, "s1", "r1"), &api.Error{Code: api.CodeInvalid}},
	} {
		_, err := w.core.Try(func(core *controller.Core) error {
			_, _, err := core.Groups().Put(c.name, c.spec, c.pre)
			return err
		})
		_, _, real := w.core.Groups().Put(c.name, c.spec, c.pre)
		if err == nil || real == nil || err.Error() != real.Error() {
			t.Errorf("%s: the trial says %v, the write %v", c.name, err, real)
		}
		var known *api.Error
		if !errors.As(err, &known) || !errors.Is(err, c.want) && known.Code != c.want.(*api.Error).Code &&
			known.Code != api.CodeConflict {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}
